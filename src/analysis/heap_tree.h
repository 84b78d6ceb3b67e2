/*
 * heap_tree: the dominator tree of a snapshot, merged by root and type: what would go with what.
 * Objects of one type under each other (a linked list) are one step; a way of more than 40 steps
 * ends there. Steps below a share of the heap are left out; their bytes stay in the step above.
 */
#ifndef CLARINET_ANALYSIS_HEAP_TREE_H
#define CLARINET_ANALYSIS_HEAP_TREE_H

#include "analysis/heap.h"

typedef struct {
    uint32_t parent; /* 0 = the heap */
    uint32_t type;
    uint32_t root; /* of a first step: index into roots, or HEAP_SEVERAL_ROOTS */
    uint64_t count;
    uint64_t retained;
} heap_branch;

typedef struct {
    heap_branch *items; /* items[0] is the heap; parents come first */
    size_t count, capacity;
    uint64_t left_out; /* branches below the share */
} heap_tree;

/* `most`: branches that are kept. */
int heap_build_tree(const heap *h, size_t most, heap_tree *tree, error *e);
void heap_tree_free(heap_tree *tree);

#endif
