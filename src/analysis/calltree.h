/*
 * calltree: the stacks of a process merged into a tree by function or by place, weights on it, and
 * what is ranked from it: methods, lines, paths, callers and callees.
 *
 * A run of native frames without symbols in one library is one node: nothing tells them apart.
 *
 * Node 0 is the root (key 0). A node's parent has a smaller index, so one pass forward builds from
 * the top and one pass backward sums from the leaves; nothing here recurses. Weights are 64-bit
 * sums that may wrap in a hostile recording; no size or index is ever taken from them.
 */
#ifndef CLARINET_ANALYSIS_CALLTREE_H
#define CLARINET_ANALYSIS_CALLTREE_H

#include "analysis/model.h"

typedef enum { CALLTREE_FUNCTIONS, CALLTREE_PLACES } calltree_key;

typedef struct {
    uint32_t *parents;
    uint32_t *keys; /* function or place of the process */
    size_t count;
    size_t key_count;
    uint32_t *node_of_stack; /* process->stack_count entries */
    uint64_t *self;
    uint64_t *total;
} calltree;

/* Whether this stack's innermost frame adds nothing to its parent's: both are native code of one
 * library without symbols. */
bool calltree_is_repeated(const model_process *process, uint32_t stack);

int calltree_build(const model_process *process, calltree_key by, calltree *tree, error *e);
void calltree_free(calltree *tree);
/* Puts weights (by stack, process->stack_count of them) on the tree: self and total. */
void calltree_weigh(calltree *tree, const model_process *process, const uint64_t *weight_by_stack);

typedef struct {
    uint32_t key;
    uint64_t self;
    uint64_t total; /* recursion counts once */
} calltree_rank;

/* One entry per key with any weight, by self then total then key, descending. The caller frees
 * *ranks with memory_free. */
int calltree_rank_keys(const calltree *tree, calltree_rank **ranks, size_t *count, error *e);
/* Sorts again by total, then self, then key. */
void calltree_sort_by_total(calltree_rank *ranks, size_t count);

/* The nodes with the most self weight, heaviest first: the hottest paths. */
int calltree_hottest(const calltree *tree, size_t limit, uint32_t **nodes, size_t *count, error *e);

/* Who calls `key` and whom it calls, with the weight that flows there: ranks whose `total` is that
 * weight. The outermost occurrence of a recursive method is what counts. */
int calltree_callers(const calltree *tree, uint32_t key, calltree_rank **ranks, size_t *count,
                     error *e);
int calltree_callees(const calltree *tree, uint32_t key, calltree_rank **ranks, size_t *count,
                     error *e);

#endif
