/*
 * heap_graph: see heap_graph.h. Objects come in runs of rising addresses; an address is found by
 * its run and by the page in the run, without a table of all objects.
 */
#include "analysis/heap_graph.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/array.h"
#include "base/memory.h"

enum { PAGE_BITS = 12, LONGEST_STEP = 64 << 10, PINNED = 4 };

typedef struct {
    uint64_t low, high; /* first and last address */
    uint32_t first;     /* object */
    uint32_t count;
    size_t pages; /* index of its first page */
} run;

typedef struct {
    const model_heap *s;
    run *runs;
    size_t run_count, run_capacity;
    uint32_t *pages; /* first object at or after the page's start */
    size_t page_count;
    size_t last; /* run of the last hit */
} places;

typedef struct {
    uint32_t from, to;
} edge;

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to analyse the snapshot");
}

static int compare_runs(const void *a, const void *b)
{
    const run *x = a, *y = b;

    return x->low < y->low ? -1 : x->low > y->low;
}

static bool find_runs(places *p)
{
    const model_heap *s = p->s;

    for (size_t i = 0; i < s->object_count; i++) {
        run *r = p->run_count == 0 ? NULL : &p->runs[p->run_count - 1];

        if (r != NULL && s->addresses[i] > r->high && s->addresses[i] - r->high <= LONGEST_STEP) {
            r->high = s->addresses[i];
            r->count++;
            continue;
        }
        if (!array_reserve(&p->runs, &p->run_capacity, p->run_count + 1, sizeof *p->runs))
            return false;
        p->runs[p->run_count++] = (run){s->addresses[i], s->addresses[i], (uint32_t)i, 1, 0};
    }
    if (p->run_count != 0)
        qsort(p->runs, p->run_count, sizeof *p->runs, compare_runs);
    return true;
}

static size_t pages_of(const run *r)
{
    return (size_t)((r->high - r->low) >> PAGE_BITS) + 2;
}

static bool places_init(places *p, const model_heap *s)
{
    size_t total = 0;

    memset(p, 0, sizeof *p);
    p->s = s;
    if (!find_runs(p))
        return false;
    for (size_t i = 0; i < p->run_count; i++) {
        p->runs[i].pages = total;
        total += pages_of(&p->runs[i]);
    }
    p->pages = memory_allocate_array(total + 1, sizeof *p->pages);
    if (p->pages == NULL)
        return false;
    for (size_t i = 0; i < p->run_count; i++) {
        const run *r = &p->runs[i];
        uint32_t object = r->first;

        for (size_t k = 0; k < pages_of(r); k++) {
            while (object < r->first + r->count && s->addresses[object] - r->low < (uint64_t)k
                                                                                       << PAGE_BITS)
                object++;
            p->pages[r->pages + k] = object;
        }
    }
    return true;
}

static void places_free(places *p)
{
    memory_free(p->runs);
    memory_free(p->pages);
}

static const run *find_run(places *p, uint64_t address)
{
    size_t low = 0, high = p->run_count;

    if (p->run_count == 0)
        return NULL;
    if (address >= p->runs[p->last].low && address <= p->runs[p->last].high)
        return &p->runs[p->last];
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->runs[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address > p->runs[low - 1].high)
        return NULL;
    p->last = low - 1;
    return &p->runs[low - 1];
}

/* The node of the object at an address; 0 when there is none. */
static uint32_t node_at(places *p, uint64_t address)
{
    const run *r = find_run(p, address);
    size_t page;
    uint32_t low, high;

    if (r == NULL)
        return 0;
    page = r->pages + (size_t)((address - r->low) >> PAGE_BITS);
    low = p->pages[page];
    high = p->pages[page + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->s->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= r->first + r->count || p->s->addresses[low] != address)
        return 0;
    return low + 1;
}

/* How telling a root is: a name is worth more than a kind. */
static int worth(const heap *h, const model_heap_root *root)
{
    uint64_t known;

    switch (root->kind) {
    case RECORDING_ROOT_STATIC:
        return table_u64_get(&h->statics, root->id, &known) ? 6 : 5;
    case RECORDING_ROOT_STACK:
        return root->id != 0 ? 4 : 1;
    case RECORDING_ROOT_HANDLE:
        return 3;
    case RECORDING_ROOT_FINALIZER:
        return 2;
    default:
        return 0;
    }
}

static bool note_root(heap *h, uint32_t node, uint32_t root)
{
    uint64_t *known = table_u64_at(&h->root_of, node, root);

    if (known == NULL)
        return false;
    if (worth(h, &h->roots[root]) > worth(h, &h->roots[*known]))
        *known = root;
    return true;
}

/* Static fields of references live in arrays of the pinned heap. */
static bool is_array_of_statics(const heap *h, const model_heap_root *root, uint32_t node)
{
    return root->kind == RECORDING_ROOT_HANDLE && root->flags == 0 &&
           h->snapshot->generations[node - 1] == PINNED &&
           strcmp(heap_type_name(h, heap_class_of(h, node)->type), "object[]") == 0;
}

/* The object at or before an address, 0 = none. */
static uint32_t node_before(const places *p, uint64_t address)
{
    size_t from = 0, to = p->run_count;
    uint32_t low, high;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (p->runs[middle].low <= address)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == 0)
        return 0;
    low = p->runs[from - 1].first;
    high = low + p->runs[from - 1].count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->s->addresses[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low; /* of the object before, the node */
}

/* The reference kept at an address; 0 = none there. */
static uint64_t reference_at(const model_heap *s, uint32_t node, uint64_t address)
{
    uint64_t place = address - s->addresses[node - 1];
    uint64_t end = node == s->object_count ? s->target_count : s->first[node];

    for (uint64_t k = s->first[node - 1]; k < end; k++)
        if (s->places[k] == place)
            return s->targets[k];
    return 0;
}

/* Rows of heap_statics. */
typedef struct {
    const model_column *slot, *name, *length, *index, *class;
    const model_column *array; /* NULL in old recordings */
    size_t rows;
} static_rows;

static static_rows find_static_rows(const heap *h)
{
    const model_table *t = model_find_table(h->m, h->p, "heap_statics", "heap");
    static_rows r = {0};

    if (t == NULL)
        return r;
    r.slot = model_find_column(h->m, t, "slot");
    r.name = model_find_column(h->m, t, "name");
    r.length = model_find_column(h->m, t, "length");
    r.index = model_find_column(h->m, t, "index");
    r.class = model_find_column(h->m, t, "class");
    r.array = model_find_column(h->m, t, "array");
    r.rows =
        r.slot == NULL || r.name == NULL || r.length == NULL || r.index == NULL || r.class == NULL
            ? 0
            : t->rows;
    return r;
}

/* Static fields of generic classes, for which the runtime has no record: what is kept at their
 * slots becomes a root with the field's name. */
static bool add_generic(heap *h, places *p, const static_rows *rows, table_u64 *known, size_t row)
{
    const model_heap *s = h->snapshot;
    uint64_t address = model_cell(rows->slot, row), ignored;
    uint32_t node = table_u64_get(known, address, &ignored) ? 0 : node_before(p, address);
    uint64_t object = node == 0 ? 0 : reference_at(s, node, address);

    if (object == 0 || heap_class_of(h, node)->element != 8)
        return true;
    if (!array_reserve(&h->roots, &h->root_capacity, h->root_count + 1, sizeof *h->roots))
        return false;
    h->roots[h->root_count++] =
        (model_heap_root){.kind = RECORDING_ROOT_STATIC, .object = object, .id = address};
    return table_u64_put(known, address, 1);
}

/* Static fields of threads. Each row is what one thread had at one place of an array; that may have
 * moved since. */
typedef struct {
    heap *h;
    places *p;
    const static_rows *rows;
    uint32_t *arrays; /* nodes that may be those of threads */
    size_t count, capacity;
    table_u64 taken; /* arrays that are known to be a row's, and objects that have a name */
} thread_search;

/* What the array keeps where the row says, when it is of the row's shape; 0 = it is not. */
static uint64_t fitting(const thread_search *t, uint32_t node, size_t row)
{
    const model_heap *s = t->h->snapshot;
    const heap_class *class = heap_class_of(t->h, node);
    uint64_t place = 16 + 8 * model_cell(t->rows->index, row);
    uint64_t object;
    uint32_t held;

    if (class->element != 8 ||
        s->sizes[node - 1] != class->data + 8 + 8 * model_cell(t->rows->length, row))
        return 0;
    object = reference_at(s, node, s->addresses[node - 1] + place);
    held = object == 0 ? 0 : node_at(t->p, object);
    return held != 0 && heap_class_of(t->h, held)->id == model_cell(t->rows->class, row) ? object
                                                                                         : 0;
}

static bool name_of_thread(thread_search *t, uint32_t array, size_t row)
{
    heap *h = t->h;
    uint64_t object = fitting(t, array, row), ignored;

    if (!table_u64_put(&t->taken, array, 1))
        return false;
    if (table_u64_get(&t->taken, object, &ignored))
        return true;
    if (!array_reserve(&h->roots, &h->root_capacity, h->root_count + 1, sizeof *h->roots))
        return false;
    h->roots[h->root_count++] = (model_heap_root){.kind = RECORDING_ROOT_STATIC,
                                                  .flags = RECORDING_ROOT_THREAD,
                                                  .object = object,
                                                  .id = object,
                                                  .name = (uint32_t)model_cell(t->rows->name, row)};
    return table_u64_put(&t->taken, object, 1);
}

static bool is_same_slot(const static_rows *r, size_t a, size_t b)
{
    return model_cell(r->length, a) == model_cell(r->length, b) &&
           model_cell(r->index, a) == model_cell(r->index, b) &&
           model_cell(r->class, a) == model_cell(r->class, b);
}

/* Of a row whose array has moved: arrays of its shape, unless there are more of them than rows, or
 * rows of another field. */
static bool name_moved(thread_search *t, const uint8_t *is_done, size_t row)
{
    const static_rows *r = t->rows;
    size_t alike = 0, arrays = 0;
    uint64_t ignored;
    bool good = true;

    for (size_t i = 0; i < r->rows; i++) {
        if (is_done[i] || !is_same_slot(r, i, row))
            continue;
        if (model_cell(r->name, i) != model_cell(r->name, row))
            return true;
        alike++;
    }
    for (size_t i = 0; i < t->count; i++)
        arrays +=
            !table_u64_get(&t->taken, t->arrays[i], &ignored) && fitting(t, t->arrays[i], row) != 0;
    for (size_t i = 0; good && arrays <= alike && i < t->count; i++)
        if (!table_u64_get(&t->taken, t->arrays[i], &ignored) && fitting(t, t->arrays[i], row) != 0)
            good = name_of_thread(t, t->arrays[i], row);
    return good;
}

static bool note_array(thread_search *t, table_u64 *known, uint32_t node)
{
    size_t before = known->count;

    if (table_u64_at(known, node, 1) == NULL ||
        !array_reserve(&t->arrays, &t->capacity, t->count + 1, sizeof *t->arrays))
        return false;
    if (known->count != before)
        t->arrays[t->count++] = node;
    return true;
}

/* Arrays that a stack or a handle holds may be those of threads, and so may arrays in these. */
static bool find_arrays(thread_search *t)
{
    const model_heap *s = t->h->snapshot;
    table_u64 known;
    bool good = true;

    table_u64_init(&known);
    for (size_t i = 0; good && i < s->root_count; i++) {
        const model_heap_root *root = &s->roots[i];
        uint32_t node = root->kind == RECORDING_ROOT_STACK || root->kind == RECORDING_ROOT_HANDLE
                            ? node_at(t->p, root->object)
                            : 0;
        uint64_t end;

        if (node == 0 || heap_class_of(t->h, node)->element != 8)
            continue;
        good = note_array(t, &known, node);
        end = node == s->object_count ? s->target_count : s->first[node];
        for (uint64_t k = s->first[node - 1]; good && k < end; k++) {
            uint32_t inner = node_at(t->p, s->targets[k]);

            if (inner != 0 && heap_class_of(t->h, inner) == heap_class_of(t->h, node))
                good = note_array(t, &known, inner);
        }
    }
    table_u64_free(&known);
    return good;
}

static bool add_of_threads(heap *h, places *p, const static_rows *rows)
{
    thread_search t = {.h = h, .p = p, .rows = rows};
    uint8_t *is_done = memory_allocate_array(rows->rows + 1, 1);
    bool good = is_done != NULL;

    table_u64_init(&t.taken);
    good = good && (rows->rows == 0 || find_arrays(&t));
    for (size_t row = 0; good && row < rows->rows; row++) {
        uint32_t node = rows->array == NULL ? 0 : node_at(p, model_cell(rows->array, row));

        is_done[row] = model_cell(rows->length, row) == 0;
        if (is_done[row] || node == 0 || fitting(&t, node, row) == 0)
            continue;
        is_done[row] = true;
        good = name_of_thread(&t, node, row);
    }
    for (size_t row = 0; good && row < rows->rows; row++)
        if (!is_done[row])
            good = name_moved(&t, is_done, row);
    table_u64_free(&t.taken);
    memory_free(t.arrays);
    memory_free(is_done);
    return good;
}

/* Whether the whole name of a static field ends in the bare one. */
static bool is_name_of(const char *whole, const char *bare)
{
    size_t length = strlen(bare), all = strlen(whole);

    return length != 0 && all > length && whole[all - length - 1] == '.' &&
           strcmp(whole + all - length, bare) == 0;
}

/* The class of a struct's static field whose box has moved since the snapshot: by the field's name
 * and the class of the box, where only one field has both. */
static bool name_box(heap *h, places *p, const static_rows *rows, const model_heap_root *root)
{
    uint32_t node = node_at(p, root->object);
    uint64_t name = 0;

    if (node == 0 || table_u64_get(&h->statics, root->id, &name))
        return true;
    for (size_t i = 0; i < rows->rows; i++) {
        if (model_cell(rows->slot, i) != 0 || model_cell(rows->length, i) != 0 ||
            model_cell(rows->class, i) != heap_class_of(h, node)->id ||
            !is_name_of(model_text(h->m, (uint32_t)model_cell(rows->name, i)),
                        model_text(h->m, root->name)))
            continue;
        if (name != 0)
            return true;
        name = model_cell(rows->name, i);
    }
    return name == 0 || table_u64_put(&h->statics, root->id, name);
}

static bool add_static_roots(heap *h, places *p)
{
    const model_heap *s = h->snapshot;
    static_rows rows = find_static_rows(h);
    table_u64 known;
    bool good = array_reserve(&h->roots, &h->root_capacity, s->root_count + 1, sizeof *h->roots);

    table_u64_init(&known);
    for (size_t i = 0; good && i < s->root_count; i++) {
        h->roots[h->root_count++] = s->roots[i];
        if (s->roots[i].kind == RECORDING_ROOT_STATIC)
            good = table_u64_put(&known, s->roots[i].id, 1) && name_box(h, p, &rows, &s->roots[i]);
    }
    for (size_t i = 0; good && i < rows.rows; i++)
        good = model_cell(rows.slot, i) == 0 || add_generic(h, p, &rows, &known, i);
    table_u64_free(&known);
    return good && add_of_threads(h, p, &rows);
}

/* Edges that roots stand for: from node 0, and from a key to its value. */
static int collect_edges(heap *h, places *p, edge *edges, size_t *count, error *e)
{
    *count = 0;
    for (size_t i = 0; i < h->root_count; i++) {
        model_heap_root *root = &h->roots[i];
        uint32_t node = node_at(p, root->object);
        uint32_t value;

        if ((root->flags & RECORDING_ROOT_WEAK) != 0 && root->kind == RECORDING_ROOT_HANDLE) {
            h->weak_roots++;
            continue;
        }
        h->root_counts[root->kind]++;
        root->is_statics = node != 0 && is_array_of_statics(h, root, node);
        if (node == 0) {
            h->unknown_references++;
        } else if (root->kind == RECORDING_ROOT_DEPENDENT) {
            value = node_at(p, root->id);
            if (value != 0)
                edges[(*count)++] = (edge){node, value};
        } else {
            if (!note_root(h, node, (uint32_t)i))
                return no_memory(e);
            edges[(*count)++] = (edge){0, node};
        }
    }
    return 0;
}

static int compare_edges(const void *a, const void *b)
{
    const edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static void fill_edges(heap *h, places *p, const edge *edges, size_t count)
{
    const model_heap *s = h->snapshot;
    uint64_t at = 0;
    size_t next = 0;

    for (uint32_t node = 0; node < h->nodes; node++) {
        h->first[node] = at;
        for (; next < count && edges[next].from == node; next++)
            if (next == 0 || compare_edges(&edges[next], &edges[next - 1]) != 0)
                h->targets[at++] = edges[next].to;
        if (node == 0)
            continue;
        for (uint64_t k = s->first[node - 1];
             k < (node == s->object_count ? s->target_count : s->first[node]); k++) {
            uint32_t target = node_at(p, s->targets[k]);

            if (target == 0) {
                h->unknown_references++;
            } else {
                h->places[at] = s->places[k];
                h->targets[at++] = target;
            }
        }
    }
    h->first[h->nodes] = at;
    h->references = s->target_count;
}

int heap_graph_build(heap *h, error *e)
{
    const model_heap *s = h->snapshot;
    places p;
    edge *edges = NULL;
    size_t count = 0;
    bool good;
    int code = 0;

    h->nodes = (uint32_t)s->object_count + 1;
    good = places_init(&p, s) && add_static_roots(h, &p);
    h->first = memory_allocate_array((size_t)h->nodes + 1, sizeof *h->first);
    h->targets = memory_allocate_array(s->target_count + h->root_count + 1, sizeof *h->targets);
    h->places = memory_allocate_array(s->target_count + h->root_count + 1, sizeof *h->places);
    edges = memory_allocate_array(h->root_count + 1, sizeof *edges);
    if (!good || h->first == NULL || h->targets == NULL || h->places == NULL || edges == NULL)
        code = no_memory(e);
    if (code == 0)
        code = collect_edges(h, &p, edges, &count, e);
    if (code == 0) {
        qsort(edges, count, sizeof *edges, compare_edges);
        fill_edges(h, &p, edges, count);
    }
    memory_free(edges);
    places_free(&p);
    return code;
}
