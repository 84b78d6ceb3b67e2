/*
 * dominators: see dominators.h.
 *
 * Semi-NCA: number the nodes in depth-first order; find semidominators from the highest number
 * down with path compression over the spanning forest; the immediate dominator of a node is then
 * the nearest ancestor, in the tree of dominators found so far, whose number is not above the
 * node's semidominator. All arrays below are indexed by depth-first number, so that the inner
 * loops walk memory mostly forwards.
 */
#include "analysis/dominators.h"

#include <string.h>

#include "base/memory.h"

typedef struct {
    const dominators_graph *graph;
    uint32_t reached;
    uint32_t *number;   /* node -> depth-first number, or NONE */
    uint32_t *node;     /* number -> node (becomes dominators.order) */
    uint32_t *parent;   /* by number: parent in the depth-first tree */
    uint32_t *ancestor; /* by number: compressed link towards the forest's root */
    uint32_t *label;    /* by number: the node of least semidominator on that link */
    uint32_t *semi;     /* by number */
    uint32_t *stack;    /* for compression without recursion */
    uint64_t *in_first; /* reverse edges by number */
    uint32_t *in;
} work;

static int number_nodes(work *w, error *e);
static int reverse_edges(work *w, error *e);
static void find_semidominators(work *w);

static void *take(size_t count, size_t size, error *e)
{
    void *memory = memory_allocate_array(count, size);

    if (memory == NULL)
        error_set(e, ERROR_MEMORY, "no memory for %zu MiB of the object graph", count * size >> 20);
    return memory;
}

static void work_free(work *w)
{
    memory_free(w->number);
    memory_free(w->parent);
    memory_free(w->ancestor);
    memory_free(w->label);
    memory_free(w->semi);
    memory_free(w->stack);
    memory_free(w->in_first);
    memory_free(w->in);
}

int dominators_compute(const dominators_graph *graph, dominators *result, error *e)
{
    size_t n = graph->nodes;
    work w;
    int code;

    memset(&w, 0, sizeof w);
    memset(result, 0, sizeof *result);
    w.graph = graph;
    result->nodes = graph->nodes;
    result->dominator = take(n, sizeof(uint32_t), e);
    w.node = take(n, sizeof(uint32_t), e);
    result->order = w.node;
    if (result->dominator == NULL || w.node == NULL) {
        dominators_free(result);
        return ERROR_MEMORY;
    }
    code = number_nodes(&w, e);
    if (code == 0)
        code = reverse_edges(&w, e);
    if (code == 0) {
        memory_free(w.number);
        w.number = NULL;
        w.label = take(w.reached, sizeof(uint32_t), e);
        w.semi = take(w.reached, sizeof(uint32_t), e);
        w.stack = take(w.reached, sizeof(uint32_t), e);
        code = w.label == NULL || w.semi == NULL || w.stack == NULL ? ERROR_MEMORY : 0;
    }
    if (code != 0) {
        work_free(&w);
        dominators_free(result);
        return code;
    }
    find_semidominators(&w);
    /* From here on `ancestor` is free: it takes the dominators by number. */
    memset(result->dominator, 0xff, n * sizeof(uint32_t));
    w.ancestor[0] = 0;
    for (uint32_t i = 1; i < w.reached; i++) {
        uint32_t d = w.parent[i];

        while (d > w.semi[i])
            d = w.ancestor[d];
        w.ancestor[i] = d;
        result->dominator[w.node[i]] = w.node[d];
    }
    result->reached = w.reached;
    work_free(&w);
    return 0;
}

void dominators_free(dominators *d)
{
    memory_free(d->dominator);
    memory_free(d->order);
    memset(d, 0, sizeof *d);
}

/* Depth first from node 0; w->ancestor serves as the stack of nodes, `at` as their next edge. */
static int number_nodes(work *w, error *e)
{
    const dominators_graph *g = w->graph;
    uint32_t depth = 0;
    uint64_t *at;

    w->number = take(g->nodes, sizeof(uint32_t), e);
    w->parent = take(g->nodes, sizeof(uint32_t), e);
    w->ancestor = take(g->nodes, sizeof(uint32_t), e);
    at = take(g->nodes, sizeof(uint64_t), e);
    if (w->number == NULL || w->parent == NULL || w->ancestor == NULL || at == NULL) {
        memory_free(at);
        return ERROR_MEMORY;
    }
    memset(w->number, 0xff, g->nodes * sizeof(uint32_t));
    w->number[0] = 0;
    w->node[0] = 0;
    w->reached = 1;
    w->ancestor[0] = 0;
    at[0] = g->first[0];
    for (;;) {
        uint32_t node = w->ancestor[depth];
        uint32_t target;

        if (at[depth] == g->first[node + 1]) {
            if (depth == 0)
                break;
            depth--;
            continue;
        }
        target = g->targets[at[depth]++];
        if (target >= g->nodes) {
            memory_free(at);
            return error_set(e, ERROR_CORRUPT, "a reference leads to object %u of %u", target,
                             g->nodes);
        }
        if (w->number[target] != DOMINATORS_NONE)
            continue;
        w->number[target] = w->reached;
        w->node[w->reached] = target;
        w->parent[w->reached] = w->number[node];
        w->reached++;
        w->ancestor[++depth] = target;
        at[depth] = g->first[target];
    }
    memory_free(at);
    return 0;
}

static int reverse_edges(work *w, error *e)
{
    const dominators_graph *g = w->graph;
    uint64_t edges = 0;

    w->in_first = take((size_t)w->reached + 2, sizeof(uint64_t), e);
    if (w->in_first == NULL)
        return ERROR_MEMORY;
    for (uint32_t i = 0; i < w->reached; i++) {
        for (uint64_t k = g->first[w->node[i]]; k < g->first[w->node[i] + 1]; k++)
            w->in_first[w->number[g->targets[k]] + 2]++;
    }
    for (uint32_t i = 2; i < w->reached + 2; i++) {
        edges += w->in_first[i];
        w->in_first[i] = edges;
    }
    w->in = take((size_t)edges, sizeof(uint32_t), e);
    if (w->in == NULL)
        return ERROR_MEMORY;
    for (uint32_t i = 0; i < w->reached; i++) {
        for (uint64_t k = g->first[w->node[i]]; k < g->first[w->node[i] + 1]; k++)
            w->in[w->in_first[w->number[g->targets[k]] + 1]++] = i;
    }
    return 0;
}

/* The label of least semidominator between v and the root of its tree in the forest of nodes
 * numbered above `last`, with the path compressed. */
static uint32_t least(work *w, uint32_t v, uint32_t last)
{
    uint32_t depth = 0;
    uint32_t p;

    if (v <= last)
        return w->label[v];
    for (p = v; w->ancestor[p] > last; p = w->ancestor[p])
        w->stack[depth++] = p;
    while (depth-- > 0) {
        uint32_t q = w->stack[depth];
        uint32_t above = w->ancestor[q];

        if (w->semi[w->label[above]] < w->semi[w->label[q]])
            w->label[q] = w->label[above];
        w->ancestor[q] = w->ancestor[above];
    }
    return w->label[v];
}

static void find_semidominators(work *w)
{
    memcpy(w->ancestor, w->parent, w->reached * sizeof(uint32_t));
    for (uint32_t i = 0; i < w->reached; i++) {
        w->label[i] = i;
        w->semi[i] = i;
    }
    for (uint32_t i = w->reached; i-- > 1;) {
        uint32_t semi = w->parent[i];

        for (uint64_t k = w->in_first[i]; k < w->in_first[i + 1]; k++) {
            uint32_t s = w->semi[least(w, w->in[k], i)];

            if (s < semi)
                semi = s;
        }
        w->semi[i] = semi;
    }
}

void dominators_retained(const dominators *d, const uint64_t *own, uint64_t *retained)
{
    memset(retained, 0, d->nodes * sizeof *retained);
    for (uint32_t i = d->reached; i-- > 0;) {
        uint32_t node = d->order[i];

        retained[node] += own[node];
        if (d->dominator[node] != DOMINATORS_NONE)
            retained[d->dominator[node]] += retained[node];
    }
}

/* The nodes in the queue from `head` on are known; goes on from them until nothing is left. */
static uint32_t spread(const dominators_graph *graph, uint32_t *towards_root, uint32_t *queue,
                       uint32_t head, uint32_t tail)
{
    while (head < tail) {
        uint32_t node = queue[head++];

        for (uint64_t k = graph->first[node]; k < graph->first[node + 1]; k++) {
            uint32_t target = graph->targets[k];

            if (target == 0 || target >= graph->nodes || towards_root[target] != DOMINATORS_NONE)
                continue;
            towards_root[target] = node;
            queue[tail++] = target;
        }
    }
    return tail;
}

int dominators_shortest(const dominators_graph *graph, uint64_t preferred, uint32_t *towards_root,
                        error *e)
{
    uint32_t *queue = take(graph->nodes, sizeof *queue, e);
    uint64_t ends[2] = {preferred, graph->first[1]};
    uint64_t k = 0;
    uint32_t done = 0;

    if (queue == NULL)
        return ERROR_MEMORY;
    memset(towards_root, 0xff, graph->nodes * sizeof *towards_root);
    for (size_t wave = 0; wave < 2; wave++) {
        uint32_t tail = done;

        for (; k < ends[wave]; k++) {
            uint32_t target = graph->targets[k];

            if (target == 0 || target >= graph->nodes || towards_root[target] != DOMINATORS_NONE)
                continue;
            towards_root[target] = 0;
            queue[tail++] = target;
        }
        done = spread(graph, towards_root, queue, done, tail);
    }
    memory_free(queue);
    return 0;
}
