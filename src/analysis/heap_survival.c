/* heap_survival: see heap_survival.h. */
#include "analysis/heap_survival.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/reader.h"
#include "base/table.h"

enum { OLDEST = 2, FROZEN = 5, LONGEST_STEP = 64 << 10, ALIGNMENT = 8 };

/* ---- objects by address ---- */

/* Objects in a row whose addresses rise. */
typedef struct {
    uint64_t low;
    size_t first, count;
} run;

static int compare_runs(const void *a, const void *b)
{
    const run *x = a, *y = b;

    return x->low < y->low ? -1 : x->low > y->low;
}

/* The runs by address; false without memory. */
static bool find_runs(const model_heap *s, run **runs, size_t *count)
{
    size_t capacity = 0;

    *runs = NULL;
    *count = 0;
    for (size_t i = 0; i < s->object_count; i++) {
        if (i != 0 && s->addresses[i] > s->addresses[i - 1] &&
            s->addresses[i] - s->addresses[i - 1] <= LONGEST_STEP) {
            (*runs)[*count - 1].count++;
            continue;
        }
        if (!array_reserve(runs, &capacity, *count + 1, sizeof **runs)) {
            memory_free(*runs);
            return false;
        }
        (*runs)[(*count)++] = (run){s->addresses[i], i, 1};
    }
    if (*count != 0)
        qsort(*runs, *count, sizeof **runs, compare_runs);
    return true;
}

typedef void visit_object(void *context, const heap *h, size_t object);

/* The objects that may be compared, each address once and in order. */
static bool each_old(const heap *h, visit_object *visit, void *context)
{
    const model_heap *s = h->snapshot;
    uint64_t last = 0;
    run *runs;
    size_t count;

    if (!find_runs(s, &runs, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = runs[i].first; k < runs[i].first + runs[i].count; k++) {
            if (s->generations[k] < OLDEST || s->generations[k] > FROZEN ||
                s->addresses[k] <= last || s->addresses[k] % ALIGNMENT != 0)
                continue;
            last = s->addresses[k];
            visit(context, h, k);
        }
    memory_free(runs);
    return true;
}

static uint32_t class_number(const heap *h, size_t object)
{
    return h->snapshot->shapes[h->snapshot->shape_of[object]].type;
}

/* ---- the earlier snapshot ---- */

typedef struct {
    buffer *out;
    uint64_t last;
} writer;

static void put_object(void *context, const heap *h, size_t object)
{
    writer *w = context;
    uint64_t address = h->snapshot->addresses[object];

    buffer_append_varint(w->out, (address - w->last) / ALIGNMENT);
    buffer_append_varint(w->out, class_number(h, object));
    buffer_append_varint(w->out, h->own[object + 1]);
    w->last = address;
}

/* A hash of what tells processes with the same PID apart, as far as it was recorded. */
static uint64_t process_of(const heap *h)
{
    static const char *const KEYS[] = {"host", "start_ticks"};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const char *value = model_info_value(h->m, h->p, KEYS[i]);

        if (value != NULL)
            hash = table_hash_u64(hash + i) ^ table_hash_bytes(value, strlen(value));
    }
    return hash;
}

bool heap_survival_keep(heap_survival *s, const heap *h, const uint32_t *rows)
{
    writer w = {&s->objects, 0};

    s->classes = memory_allocate_array(h->class_count + 1, sizeof *s->classes);
    if (s->classes == NULL)
        return false;
    s->class_count = h->class_count;
    for (size_t i = 0; i < h->class_count; i++)
        s->classes[i] = (heap_survival_class){h->classes[i].id, rows[h->classes[i].type]};
    if (!each_old(h, put_object, &w) || buffer_failed(&s->objects))
        return false;
    s->pid = h->p->pid;
    s->process = process_of(h);
    return true;
}

void heap_survival_free(heap_survival *s)
{
    buffer_free(&s->objects);
    memory_free(s->classes);
    memset(s, 0, sizeof *s);
}

/* ---- the later one ---- */

bool heap_survival_is_same(const heap_survival *s, const heap *h)
{
    return s->pid != 0 && s->pid == h->p->pid && s->process == process_of(h);
}

typedef struct {
    const heap_survival *before;
    reader in;
    uint64_t address, size; /* of the object of the earlier snapshot that is compared next */
    uint64_t number;        /* of its class */
    const uint32_t *rows;
    uint64_t *survived;
} matcher;

static bool read_object(matcher *m)
{
    if (reader_left(&m->in) == 0)
        return false;
    m->address += reader_varint(&m->in) * ALIGNMENT;
    m->number = reader_varint(&m->in);
    m->size = reader_varint(&m->in);
    return true;
}

static void match_object(void *context, const heap *h, size_t object)
{
    matcher *m = context;
    uint64_t address = h->snapshot->addresses[object];
    const heap_class *now = &h->classes[class_number(h, object)];
    const heap_survival_class *then;

    while (m->address < address)
        if (!read_object(m))
            return;
    if (m->address != address || m->number >= m->before->class_count)
        return;
    then = &m->before->classes[m->number];
    if (then->id == now->id && then->id != 0 && then->row == m->rows[now->type] &&
        m->size == h->own[object + 1])
        m->survived[then->row]++;
}

bool heap_survival_count(const heap_survival *s, const heap *h, const uint32_t *rows,
                         uint64_t *survived)
{
    matcher m = {.before = s,
                 .in = reader_of(s->objects.data, s->objects.length),
                 .rows = rows,
                 .survived = survived};

    return each_old(h, match_object, &m);
}
