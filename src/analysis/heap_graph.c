/*
 * heap_graph: see heap_graph.h. Objects come in runs of rising addresses; an address is found by
 * its run and by the page in the run, without a table of all objects.
 */
#include "analysis/heap_graph.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/array.h"
#include "base/memory.h"

enum { PAGE_BITS = 12, LONGEST_STEP = 64 << 10 };

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
    if (worth(h, &h->snapshot->roots[root]) > worth(h, &h->snapshot->roots[*known]))
        *known = root;
    return true;
}

/* Edges that roots stand for: from node 0, and from a key to its value. */
static int collect_edges(heap *h, places *p, edge *edges, size_t *count, error *e)
{
    const model_heap *s = h->snapshot;

    *count = 0;
    for (size_t i = 0; i < s->root_count; i++) {
        const model_heap_root *root = &s->roots[i];
        uint32_t node = node_at(p, root->object);
        uint32_t value;

        if ((root->flags & RECORDING_ROOT_WEAK) != 0 && root->kind == RECORDING_ROOT_HANDLE) {
            h->weak_roots++;
            continue;
        }
        h->root_counts[root->kind]++;
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
    int code = 0;

    h->nodes = (uint32_t)s->object_count + 1;
    h->first = memory_allocate_array((size_t)h->nodes + 1, sizeof *h->first);
    h->targets = memory_allocate_array(s->target_count + s->root_count + 1, sizeof *h->targets);
    h->places = memory_allocate_array(s->target_count + s->root_count + 1, sizeof *h->places);
    edges = memory_allocate_array(s->root_count + 1, sizeof *edges);
    if (!places_init(&p, s) || h->first == NULL || h->targets == NULL || h->places == NULL ||
        edges == NULL)
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
