/* trace_tree: the call tree of traced methods; the nodes of all threads and processes with the
 * same chain of names are put together. See trace.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "base/memory.h"
#include "base/table.h"

typedef struct {
    const model *m;
    trace_call_tree *out;
    size_t capacity;
    table_u64 known; /* parent + 1 and name to index */
    bool failed;
} work;

static size_t node_of(work *w, size_t parent, uint32_t name, trace_kind kind)
{
    uint64_t key = (uint64_t)(parent + 1) << 32 | (uint64_t)(kind != 0) << 31 | name;
    uint64_t *place = table_u64_at(&w->known, key, w->out->count);

    if (place == NULL) {
        w->failed = true;
        return SIZE_MAX;
    }
    if (*place != w->out->count)
        return (size_t)*place;
    if (w->out->count == w->capacity) {
        size_t capacity = w->capacity == 0 ? 64 : w->capacity * 2;
        trace_tree_node *items = memory_resize(w->out->items, capacity * sizeof *items);

        if (items == NULL) {
            w->failed = true;
            return SIZE_MAX;
        }
        w->out->items = items;
        w->capacity = capacity;
    }
    w->out->items[w->out->count] =
        (trace_tree_node){.name = name,
                          .parent = parent,
                          .depth = parent == SIZE_MAX ? 0 : w->out->items[parent].depth + 1};
    return w->out->count++;
}

static uint64_t cell(const model *m, const model_table *t, const char *column, size_t row)
{
    const model_column *c = model_find_column(m, t, column);

    return c == NULL ? 0 : model_cell(c, row);
}

/* A node's parent was written before it. */
static void take(work *w, const model_process *p, const model_table *t)
{
    table_u64 numbers; /* of the process's nodes to indexes */

    table_u64_init(&numbers);
    for (size_t row = 0; row < t->rows && !w->failed; row++) {
        uint64_t around = cell(w->m, t, "parent", row);
        uint64_t parent = SIZE_MAX;
        uint64_t method = cell(w->m, t, "method", row);
        size_t at;

        if (around != 0 && !table_u64_get(&numbers, around, &parent))
            continue;
        at = node_of(w, (size_t)parent, p->methods[method].name,
                     cell(w->m, t, "kind", row) != 0 ? TRACE_KIND_STEPS : TRACE_KIND_METHOD);
        if (at == SIZE_MAX)
            break;
        w->failed |= !table_u64_put(&numbers, cell(w->m, t, "node", row), at);
        w->out->items[at].calls += cell(w->m, t, "calls", row);
        w->out->items[at].total_ns += cell(w->m, t, "total", row);
        w->out->items[at].self_ns += cell(w->m, t, "self", row);
    }
    table_u64_free(&numbers);
}

static int by_total(const void *left, const void *right, void *context)
{
    const trace_tree_node *items = context;
    const trace_tree_node *a = &items[*(const size_t *)left], *b = &items[*(const size_t *)right];

    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Copies a node and everything below it; `order` has siblings together, by total. */
static size_t place(const trace_tree_node *from, const size_t *order, size_t count, size_t parent,
                    size_t new_parent, trace_tree_node *to, size_t used)
{
    size_t first = 0;
    size_t last = count;

    while (first < last) { /* the first sibling by bisection */
        size_t middle = first + (last - first) / 2;

        if (from[order[middle]].parent < parent)
            first = middle + 1;
        else
            last = middle;
    }
    for (; first < count && from[order[first]].parent == parent; first++) {
        size_t at = used;

        to[used++] = from[order[first]];
        to[at].parent = new_parent;
        if (to[at].depth < 4000)
            used = place(from, order, count, order[first], at, to, used);
    }
    return used;
}

int trace_find_tree(const model *m, trace_call_tree *out, error *e)
{
    work w = {.m = m, .out = out};
    size_t *order;
    trace_tree_node *sorted;

    memset(out, 0, sizeof *out);
    table_u64_init(&w.known);
    for (size_t n = 0; n < m->process_count; n++) {
        const model_table *t = model_find_table(m, &m->processes[n], "trace_tree", "trace");

        if (t != NULL)
            take(&w, &m->processes[n], t);
    }
    table_u64_free(&w.known);
    order = memory_allocate_array(out->count + 1, sizeof *order);
    sorted = memory_allocate_array(out->count + 1, sizeof *sorted);
    if (!w.failed && order != NULL && sorted != NULL) {
        for (size_t n = 0; n < out->count; n++)
            order[n] = n;
        if (out->count != 0)
            qsort_r(order, out->count, sizeof *order, by_total, out->items);
        out->count = place(out->items, order, out->count, SIZE_MAX, SIZE_MAX, sorted, 0);
        memory_free(out->items);
        out->items = sorted;
        memory_free(order);
        return 0;
    }
    memory_free(order);
    memory_free(sorted);
    trace_tree_free(out);
    return error_set(e, ERROR_MEMORY, "no memory for the call tree");
}

void trace_tree_free(trace_call_tree *tree)
{
    memory_free(tree->items);
    memset(tree, 0, sizeof *tree);
}
