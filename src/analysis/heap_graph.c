/* heap_graph: see heap_graph.h. */
#include "analysis/heap_graph.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/heap_roots.h"
#include "base/memory.h"

enum { PINNED = 4 };

typedef struct {
    uint32_t from, to;
    bool is_late; /* from a stack only: taken for a way when nothing that stays leads there */
} edge;

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to analyse the snapshot");
}

/* Not the array of a thread's statics, which is told as one of a stack. */
static bool is_stack(const model_heap_root *root)
{
    return root->kind == RECORDING_ROOT_STACK && root->id != 0;
}

/* How telling a root is: a name is worth more than a kind, and what stays more than a stack, which
 * goes. */
static int worth(const heap *h, const model_heap_root *root)
{
    uint64_t known;

    switch (root->kind) {
    case RECORDING_ROOT_STATIC:
        return table_u64_get(&h->statics, root->id, &known) ? 6 : 5;
    case RECORDING_ROOT_HANDLE:
        return 4;
    case RECORDING_ROOT_FINALIZER:
        return 3;
    case RECORDING_ROOT_STACK:
        return is_stack(root) ? 0 : 2;
    default:
        return 1;
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

/* Edges that roots stand for: from node 0, and from a key to its value. */
static int collect_edges(heap *h, heap_places *p, edge *edges, size_t *count, error *e)
{
    *count = 0;
    for (size_t i = 0; i < h->root_count; i++) {
        model_heap_root *root = &h->roots[i];
        uint32_t node = heap_places_at(p, root->object);
        uint32_t value;

        if ((root->flags & RECORDING_ROOT_WEAK) != 0 && root->kind == RECORDING_ROOT_HANDLE) {
            h->weak_roots++;
            continue;
        }
        h->root_counts[root->kind]++;
        if (root->kind == RECORDING_ROOT_HANDLE && (root->flags & RECORDING_ROOT_PINNED) != 0)
            h->pinned_handles++;
        else if (root->kind == RECORDING_ROOT_HANDLE && (root->flags & RECORDING_ROOT_COUNTED) != 0)
            h->counted_handles++;
        root->is_statics = node != 0 && is_array_of_statics(h, root, node);
        if (node == 0) {
            h->unknown_references++;
        } else if (root->kind == RECORDING_ROOT_DEPENDENT) {
            value = heap_places_at(p, root->id);
            if (value == 0)
                continue;
            edges[(*count)++] = (edge){node, value, false};
            if (!table_u64_put(&h->dependents, (uint64_t)node << 32 | value, 1))
                return no_memory(e);
        } else {
            if (!note_root(h, node, (uint32_t)i))
                return no_memory(e);
            edges[(*count)++] = (edge){0, node, false};
        }
    }
    for (size_t i = 0; i < *count; i++) {
        uint64_t root;

        if (edges[i].from == 0 && table_u64_get(&h->root_of, edges[i].to, &root))
            edges[i].is_late = is_stack(&h->roots[root]);
    }
    return 0;
}

static int compare_edges(const void *a, const void *b)
{
    const edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->is_late != y->is_late)
        return x->is_late ? 1 : -1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static void fill_edges(heap *h, heap_places *p, const edge *edges, size_t count)
{
    const model_heap *s = h->snapshot;
    uint64_t at = 0;
    size_t next = 0;

    for (uint32_t node = 0; node < h->nodes; node++) {
        h->first[node] = at;
        for (; next < count && edges[next].from == node; next++)
            if (next == 0 || compare_edges(&edges[next], &edges[next - 1]) != 0) {
                h->targets[at++] = edges[next].to;
                h->lasting += node == 0 && !edges[next].is_late;
            }
        if (node == 0)
            continue;
        for (uint64_t k = s->first[node - 1];
             k < (node == s->object_count ? s->target_count : s->first[node]); k++) {
            uint32_t target = heap_places_at(p, s->targets[k]);

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
    heap_places p;
    edge *edges = NULL;
    size_t count = 0;
    bool good;
    int code = 0;

    h->nodes = (uint32_t)s->object_count + 1;
    good = heap_places_init(&p, s) && heap_roots_add(h, &p);
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
    heap_places_free(&p);
    return code;
}
