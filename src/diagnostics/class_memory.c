/* class_memory: see class_memory.h. */
#include "diagnostics/class_memory.h"

#include <string.h>

#include "base/memory.h"

enum {
    WORD = 8,
    HEAD = 8, /* behind an object's end, as its size counts it, and before its fields */
    MOST_RUNS = 256,
    MOST_FIELDS = 4096,
    PIECE = 16, /* fields that are read at once */
    HAS_REFERENCES = 0x01000000,
    IS_COLLECTIBLE = 0x00200000,
    IS_GENERIC = 0x30,
    /* of a class */
    PARENT = 16,
    MODULE = 24,
    DETAILS = 40,
    CLASS_SIZE = 48,
    IS_SHARED = 1, /* the details are those of the class that is pointed to */
    /* of its details */
    DETAILS_CLASS = 16,
    DETAILS_FIELDS = 24,
    DETAILS_SIZE = 32,
    /* of a field */
    TOKEN_BITS = 24,
    IS_STATIC = 1 << 24,
    OFFSET_BITS = 27,
    FIELD_TOKEN = 0x04000000,
};
#define HAS_ELEMENTS UINT32_C(0x80000000)

static bool read_all(const class_memory *m, uint64_t address, void *out, size_t size)
{
    return m->read != NULL && m->read(m->context, address, out, size) == size;
}

/* ---- references ---- */

/* A table grows down from before the class: how many runs, then each with its length and place. */
static bool read_runs(const class_memory *m, uint64_t class_id, uint64_t count,
                      class_memory_shape *s)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t words[2];

        if (!read_all(m, class_id - WORD - (i + 1) * sizeof words, words, sizeof words))
            return false;
        s->runs[i] = (class_memory_run){words[1], words[0]};
        if (words[1] < WORD || words[1] % WORD != 0 || words[1] > s->base || words[0] % WORD != 0)
            return false;
    }
    return true;
}

/* Of an array of structs: where the first element is, then words with two numbers each. */
static bool read_repeated(const class_memory *m, uint64_t class_id, uint64_t count,
                          class_memory_shape *s)
{
    uint64_t sum = 0;

    if (!read_all(m, class_id - 2 * WORD, &s->repeated, sizeof s->repeated) ||
        s->repeated < 2 * WORD || s->repeated % WORD != 0 || s->element == 0)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t numbers[2];

        if (!read_all(m, class_id - (3 + i) * WORD, numbers, sizeof numbers))
            return false;
        s->runs[i] = (class_memory_run){numbers[1], (uint64_t)numbers[0] * WORD};
        if (numbers[0] == 0 || numbers[1] % WORD != 0)
            return false;
        sum += s->runs[i].length + numbers[1];
    }
    return sum == s->element;
}

class_memory_shape class_memory_shape_of(const class_memory *m, uint64_t class_id)
{
    class_memory_shape s = {0};
    uint32_t words[2]; /* flags, and bytes of an element in the low half; bytes of an object */
    int64_t count;
    uint64_t most;

    if (!read_all(m, class_id, words, sizeof words))
        return s;
    s.base = words[1];
    s.element = (words[0] & HAS_ELEMENTS) != 0 ? words[0] & 0xffff : 0;
    s.is_collectible = (words[0] & IS_COLLECTIBLE) != 0;
    s.is_known = (words[0] & HAS_REFERENCES) == 0;
    if (s.is_known || !read_all(m, class_id - WORD, &count, sizeof count))
        return s;
    most = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    if (most == 0 || most > MOST_RUNS ||
        (s.runs = memory_allocate_array((size_t)most, sizeof *s.runs)) == NULL)
        return s;
    s.is_known =
        count < 0 ? read_repeated(m, class_id, most, &s) : read_runs(m, class_id, most, &s);
    if (s.is_known)
        s.run_count = (uint32_t)most;
    else
        class_memory_shape_free(&s);
    return s;
}

void class_memory_shape_free(class_memory_shape *s)
{
    memory_free(s->runs);
    s->runs = NULL;
    s->run_count = 0;
}

class_memory_places class_memory_begin(const class_memory_shape *s, uint64_t size)
{
    return (class_memory_places){.shape = s, .end = size < HEAD ? 0 : size - HEAD};
}

static bool next_run(class_memory_places *p)
{
    const class_memory_shape *s = p->shape;
    const class_memory_run *run;

    if (s->repeated == 0) {
        if (p->next == s->run_count)
            return false;
        run = &s->runs[p->next++];
        p->at = run->place;
        p->run_end = run->place + run->length + p->end + HEAD;
        return p->run_end <= p->end;
    }
    if (s->run_count == 0)
        return false;
    if (p->at == 0)
        p->at = s->repeated;
    else
        p->at += s->runs[(p->next - 1) % s->run_count].place;
    run = &s->runs[p->next % s->run_count];
    p->next = p->next % s->run_count + 1;
    p->run_end = p->at + run->length;
    return p->run_end <= p->end;
}

bool class_memory_next(class_memory_places *p, uint64_t *place)
{
    while (p->at >= p->run_end)
        if (!next_run(p))
            return false;
    *place = p->at;
    p->at += WORD;
    return true;
}

/* ---- fields ---- */

/* Fields say whose they are: where that changes, the list is over. What may follow says the same,
 * and then has a pointer, or nothing, where a field has its token and its type. */
static bool read_fields(const class_memory *m, uint64_t list, uint64_t owner,
                        class_memory_class *out)
{
    struct {
        uint64_t owner;
        uint32_t token, place;
    } piece[PIECE];

    for (uint32_t at = 0; at < MOST_FIELDS; at += PIECE) {
        size_t got = m->read(m->context, list + at * sizeof *piece, piece, sizeof piece);
        class_memory_field *grown =
            memory_resize(out->fields, (size_t)(out->field_count + PIECE) * sizeof *grown);

        if (grown == NULL)
            return false;
        out->fields = grown;
        for (size_t i = 0; i < got / sizeof *piece; i++) {
            uint32_t token = piece[i].token & ((1u << TOKEN_BITS) - 1);

            if (piece[i].owner != owner || token == 0 || piece[i].place >> OFFSET_BITS == 0)
                return true;
            if ((piece[i].token & IS_STATIC) == 0)
                out->fields[out->field_count++] = (class_memory_field){
                    piece[i].place & ((1u << OFFSET_BITS) - 1), FIELD_TOKEN | token,
                    (uint8_t)(piece[i].place >> OFFSET_BITS)};
        }
        if (got < sizeof piece)
            return true;
    }
    return false;
}

bool class_memory_class_of(const class_memory *m, uint64_t class_id, class_memory_class *out)
{
    uint64_t words[CLASS_SIZE / WORD], shared[CLASS_SIZE / WORD], details[DETAILS_SIZE / WORD];
    uint64_t owner = class_id, at;

    memset(out, 0, sizeof *out);
    if (!read_all(m, class_id, words, sizeof words))
        return false;
    at = words[DETAILS / WORD];
    if ((at & IS_SHARED) != 0) {
        owner = at & ~UINT64_C(7);
        if (!read_all(m, owner, shared, sizeof shared))
            return false;
        at = shared[DETAILS / WORD];
    }
    if (at % WORD != 0 || !read_all(m, at, details, sizeof details) ||
        details[DETAILS_CLASS / WORD] != owner)
        return false;
    out->class_id = class_id;
    out->parent = words[PARENT / WORD];
    out->module = words[MODULE / WORD];
    out->is_generic = (words[0] & IS_GENERIC) != 0;
    out->rows[0] = (uint32_t)(words[1] >> 16 & 0xffff);
    out->rows[1] = (uint32_t)words[1] >> 8;
    out->field_list = details[DETAILS_FIELDS / WORD];
    if (out->field_list == 0 || read_fields(m, out->field_list, owner, out))
        return true;
    class_memory_class_free(out);
    return false;
}

void class_memory_class_free(class_memory_class *c)
{
    memory_free(c->fields);
    c->fields = NULL;
    c->field_count = 0;
}
