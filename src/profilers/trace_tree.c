/* trace_tree: see trace_tree.h. */
#include "profilers/trace_tree.h"

#include <sys/mman.h>

#include "profilers/trace_memory.h"

static uint32_t make_node(trace_tree *tree, uint32_t method, uint32_t parent, uint32_t *list)
{
    uint32_t number = atomic_fetch_add_explicit(&tree->used, 1, memory_order_relaxed);
    trace_node *node;

    if (number >= TRACE_NODES) {
        atomic_store_explicit(&tree->used, TRACE_NODES, memory_order_relaxed);
        return 0;
    }
    node = &tree->nodes[number];
    node->method = method;
    node->parent = parent;
    node->next = *list;
    __atomic_store_n(list, number + 1, __ATOMIC_RELEASE);
    return number + 1;
}

void trace_tree_enter(trace_counters *c, trace_thread *t, trace_frame *f)
{
    trace_tree *tree = c->tree;
    uint32_t method = f->method->index;
    const trace_frame *around = t->depth == 0 ? NULL : trace_memory_frame(t, t->depth - 1);
    uint32_t parent = around == NULL ? 0 : around->node;
    uint32_t *list = parent == 0 ? &t->root : &tree->nodes[parent - 1].first_child;

    f->node = 0;
    if (around != NULL && parent == 0)
        return; /* the caller has none */
    if (parent != 0 && tree->nodes[parent - 1].method == method) {
        f->node = parent;
        return;
    }
    for (uint32_t n = *list; n != 0; n = tree->nodes[n - 1].next) {
        if (tree->nodes[n - 1].method == method) {
            f->node = n;
            return;
        }
    }
    f->node = make_node(tree, method, parent, list);
}

void trace_tree_leave(trace_counters *c, const trace_thread *t, const trace_frame *f, uint64_t time)
{
    trace_tree *tree = c->tree;
    const trace_frame *around = t->depth == 0 ? NULL : trace_memory_frame(t, t->depth - 1);
    trace_node *node;

    if (f->node == 0) {
        atomic_fetch_add_explicit(&tree->lost, 1, memory_order_relaxed);
        return;
    }
    node = &tree->nodes[f->node - 1];
    node->self += time > f->inside ? time - f->inside : 0;
    if (around == NULL || around->node != f->node)
        node->total += time;
    __atomic_store_n(&node->calls, node->calls + 1, __ATOMIC_RELEASE);
}

trace_tree *trace_tree_create(void)
{
    void *tree = mmap(NULL, sizeof(trace_tree), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return tree == MAP_FAILED ? NULL : tree;
}

void trace_tree_clear(trace_tree *tree)
{
    madvise(tree, sizeof *tree, MADV_DONTNEED);
}

uint32_t trace_tree_count(const trace_tree *tree)
{
    uint32_t used = atomic_load(&tree->used);

    return used < TRACE_NODES ? used : TRACE_NODES;
}
