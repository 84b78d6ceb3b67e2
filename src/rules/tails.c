/*
 * tails: see tails.h. A graph: places are methods, all methods of one name in one type (that is how
 * calls into generic types name them), and all methods of one name (that is where a call goes whose
 * method is chosen at run time). A method comes back when it is in a strongly connected part with
 * more than one place, or calls itself; found by Tarjan's algorithm, once without and once with the
 * calls of the last kind.
 */
#include "rules/tails.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"
#include "base/table.h"
#include "base/text.h"
#include "cil/compressed.h"
#include "cil/signature.h"

enum {
    TYPE_DEF = 0x02,
    METHOD_DEF = 0x06,
    MEMBER_REF = 0x0A,
    TYPE_SPEC = 0x1B,
    METHOD_SPEC = 0x2B
};

const char TAILS_REFUSAL[] =
    "its `tail.` calls come back to it, and as plain calls they would need "
    "stack for each";

typedef struct {
    uint32_t from, to;
    bool is_virtual; /* a call whose method is chosen at run time */
} edge;

typedef struct {
    uint32_t first_edge; /* of the sorted edges */
    uint32_t order;      /* of the visit, 0 = not visited */
    uint32_t lowest;
    uint32_t next_edge;
    bool is_open; /* on the stack of parts that are not finished */
    bool comes_back, may_come_back;
} place;

struct tails {
    table_u64 numbers; /* key of a place to its number */
    uint32_t place_count;
    edge *edges;
    size_t edge_count, edge_capacity;
    place *places; /* after tails_finish; one more than there are */
    bool failed;
};

tails *tails_new(void)
{
    tails *t = memory_allocate_array(1, sizeof *t);

    if (t != NULL)
        table_u64_init(&t->numbers);
    return t;
}

void tails_free(tails *t)
{
    if (t == NULL)
        return;
    table_u64_free(&t->numbers);
    memory_free(t->edges);
    memory_free(t->places);
    memory_free(t);
}

/* ---- building ---- */

bool tails_may_be_in(const uint8_t *bytes, size_t length)
{
    for (size_t i = 1; i < length; i++) {
        if (bytes[i - 1] == 0xFE && bytes[i] == 0x14)
            return true;
    }
    return false;
}

static uint32_t place_of(tails *t, uint64_t key)
{
    uint64_t *number = table_u64_at(&t->numbers, key, t->place_count);

    if (number == NULL) {
        t->failed = true;
        return 0;
    }
    if (*number == t->place_count)
        t->place_count++;
    return (uint32_t)*number;
}

/* The methods of a name in a type, or in all types (0). Two names with the same hash would only
 * make one method more that is left alone. */
static uint32_t place_of_name(tails *t, uint32_t type, const char *name)
{
    uint64_t hash = table_hash_bytes(name, strlen(name)) ^ table_hash_u64(type);

    return place_of(t, hash | (uint64_t)1 << 63);
}

/* Where a virtual call goes. What implements an interface is named after it: `Ns.IFace.Method`; and
 * F# hands several arguments to a function value with InvokeFast. */
static uint32_t place_of_virtual(tails *t, const char *name)
{
    const char *dot = strrchr(name, '.');

    if (dot != NULL)
        name = dot + 1;
    return place_of_name(t, 0, text_equal(name, "InvokeFast") ? "Invoke" : name);
}

static void add_edge(tails *t, uint32_t from, uint32_t to, bool is_virtual)
{
    if (t->edge_count == t->edge_capacity) {
        size_t capacity = t->edge_capacity == 0 ? 64 : t->edge_capacity * 2;
        edge *edges = memory_resize(t->edges, capacity * sizeof *edges);

        if (edges == NULL) {
            t->failed = true;
            return;
        }
        t->edges = edges;
        t->edge_capacity = capacity;
    }
    t->edges[t->edge_count++] = (edge){from, to, is_virtual};
}

/* The type of this module that a parent's token stands for, itself or made generic; 0 = none. */
static uint32_t own_type(const tails_metadata *metadata, uint32_t parent)
{
    const uint8_t *bytes = NULL;
    size_t length = 0;
    reader r;
    uint8_t kind;
    uint32_t token;

    if (parent >> 24 == TYPE_SPEC &&
        metadata->type_spec(metadata->context, parent, &bytes, &length)) {
        r = reader_of(bytes, length);
        if (reader_u8(&r) != CIL_TYPE_GENERIC)
            return 0;
        kind = reader_u8(&r);
        token = cil_read_compressed_token(&r);
        parent = !reader_failed(&r) && (kind == CIL_TYPE_CLASS || kind == CIL_TYPE_VALUETYPE)
                     ? token
                     : 0;
    }
    return parent >> 24 == TYPE_DEF ? parent : 0;
}

static void add_call(tails *t, uint32_t from, const cil_instruction *call,
                     const tails_metadata *metadata)
{
    uint32_t token = call->operand.token;
    buffer name = BUFFER_EMPTY;
    uint32_t type = 0;

    if (token >> 24 == METHOD_SPEC)
        token = metadata->generic_method(metadata->context, token);
    if (token >> 24 == METHOD_DEF || token >> 24 == MEMBER_REF)
        type = own_type(metadata, metadata->member(metadata->context, token, &name));
    if (token >> 24 == METHOD_DEF)
        add_edge(t, from, place_of(t, token), false);
    else if (type != 0)
        add_edge(t, from, place_of_name(t, type, buffer_text(&name)), false);
    if (call->opcode == CIL_CALLVIRT || text_equal(buffer_text(&name), "InvokeFast"))
        add_edge(t, from, place_of_virtual(t, buffer_text(&name)), true);
    t->failed = t->failed || buffer_failed(&name);
    buffer_free(&name);
}

void tails_add(tails *t, uint32_t method, uint32_t type, const char *name, const cil_body *body,
               const tails_metadata *metadata)
{
    uint32_t self = place_of(t, method);

    add_edge(t, place_of_name(t, type, name), self, false);
    add_edge(t, place_of_virtual(t, name), self, false);
    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);

        if (i->opcode != CIL_TAIL)
            continue;
        do /* other prefixes may stand between */
            i = cil_get(body, i->next);
        while (cil_opcode_of(i->opcode)->flow == CIL_FLOW_PREFIX);
        if (i->opcode == CIL_CALL || i->opcode == CIL_CALLVIRT)
            add_call(t, self, i, metadata);
    }
}

/* ---- searching ---- */

/* Edges by where they begin; the places know their first. */
static bool sort_edges(tails *t)
{
    edge *sorted = memory_allocate_array(t->edge_count + 1, sizeof *sorted);
    place *places = memory_allocate_array((size_t)t->place_count + 1, sizeof *places);

    if (sorted == NULL || places == NULL) {
        memory_free(sorted);
        memory_free(places);
        return false;
    }
    for (size_t i = 0; i < t->edge_count; i++)
        places[t->edges[i].from + 1].first_edge++;
    for (uint32_t n = 1; n <= t->place_count; n++)
        places[n].first_edge += places[n - 1].first_edge;
    for (uint32_t n = 0; n < t->place_count; n++)
        places[n].next_edge = places[n].first_edge;
    for (size_t i = 0; i < t->edge_count; i++)
        sorted[places[t->edges[i].from].next_edge++] = t->edges[i];
    memory_free(t->edges);
    t->edges = sorted;
    t->places = places;
    return true;
}

typedef struct {
    uint32_t *path; /* places from where the search began to where it is */
    uint32_t *open; /* places whose part is not finished */
    uint32_t path_count, open_count;
    uint32_t order;
    bool with_virtual;
} search;

static void enter(tails *t, search *s, uint32_t n)
{
    place *p = &t->places[n];

    p->order = p->lowest = ++s->order;
    p->next_edge = p->first_edge;
    p->is_open = true;
    s->path[s->path_count++] = n;
    s->open[s->open_count++] = n;
}

static void mark(place *p, bool with_virtual)
{
    p->may_come_back = true;
    p->comes_back = p->comes_back || !with_virtual;
}

/* Everything that can be reached from the place is seen: it may be the head of a part. */
static void leave(tails *t, search *s, uint32_t n)
{
    place *p = &t->places[n];
    bool is_alone = s->open[s->open_count - 1] == n;
    uint32_t member;

    s->path_count--;
    if (s->path_count != 0 && t->places[s->path[s->path_count - 1]].lowest > p->lowest)
        t->places[s->path[s->path_count - 1]].lowest = p->lowest;
    if (p->lowest != p->order)
        return;
    do {
        member = s->open[--s->open_count];
        t->places[member].is_open = false;
        if (!is_alone)
            mark(&t->places[member], s->with_virtual);
    } while (member != n);
}

static void step(tails *t, search *s)
{
    uint32_t n = s->path[s->path_count - 1];
    place *p = &t->places[n];
    const edge *call;
    uint32_t to;

    if (p->next_edge == t->places[n + 1].first_edge) {
        leave(t, s, n);
        return;
    }
    call = &t->edges[p->next_edge++];
    to = call->to;
    if (call->is_virtual && !s->with_virtual)
        return;
    if (to == n)
        mark(p, s->with_virtual);
    else if (t->places[to].order == 0)
        enter(t, s, to);
    else if (t->places[to].is_open && p->lowest > t->places[to].order)
        p->lowest = t->places[to].order;
}

static void find_parts(tails *t, search *s, bool with_virtual)
{
    for (uint32_t n = 0; n < t->place_count; n++)
        t->places[n].order = 0;
    s->order = 0;
    s->with_virtual = with_virtual;
    for (uint32_t n = 0; n < t->place_count; n++) {
        if (t->places[n].order == 0)
            enter(t, s, n);
        while (s->path_count != 0)
            step(t, s);
    }
}

bool tails_finish(tails *t)
{
    search s;
    bool done = false;

    memset(&s, 0, sizeof s);
    s.path = memory_allocate_array(t->place_count, sizeof *s.path);
    s.open = memory_allocate_array(t->place_count, sizeof *s.open);
    if (!t->failed && s.path != NULL && s.open != NULL && sort_edges(t)) {
        find_parts(t, &s, false);
        find_parts(t, &s, true);
        done = true;
    }
    memory_free(s.path);
    memory_free(s.open);
    return done;
}

bool tails_come_back(const tails *t, uint32_t method, bool with_virtual)
{
    uint64_t n;

    if (!table_u64_get(&t->numbers, method, &n))
        return false;
    return with_virtual ? t->places[n].may_come_back : t->places[n].comes_back;
}
