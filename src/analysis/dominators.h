/*
 * dominators: who keeps what alive. For a graph of objects and its roots: the dominator tree (the
 * object whose loss would free another one), the retained size of each object (what its loss would
 * free), and the shortest way from a root.
 *
 * Node 0 is the virtual root: its edges lead to the roots. Nodes that it can't reach have no
 * dominator (DOMINATORS_NONE) and retain nothing. Made for tens of millions of nodes: arrays of
 * 32-bit numbers only, no recursion.
 */
#ifndef CLARINET_ANALYSIS_DOMINATORS_H
#define CLARINET_ANALYSIS_DOMINATORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DOMINATORS_NONE UINT32_MAX

/* A directed graph by rows: the targets of node n are targets[first[n]] to targets[first[n+1]-1].
 */
typedef struct {
    uint32_t nodes;
    const uint64_t *first; /* nodes + 1 entries */
    const uint32_t *targets;
} dominators_graph;

typedef struct {
    uint32_t nodes;
    uint32_t reached;    /* with node 0 */
    uint32_t *dominator; /* immediate; of node 0: DOMINATORS_NONE */
    uint32_t *order;     /* the reached nodes in depth-first order, node 0 first */
} dominators;

/* Fails with ERROR_MEMORY (saying how much was asked for) or ERROR_CORRUPT (a target outside). */
int dominators_compute(const dominators_graph *graph, dominators *result, error *e);
void dominators_free(dominators *d);

/* retained[n] = own[n] plus the retained sizes of all that n dominates. `retained` has room for
 * all nodes. */
void dominators_retained(const dominators *d, const uint64_t *own, uint64_t *retained);

/* towards_root[n] = the node before n on a shortest way from node 0 (DOMINATORS_NONE when there is
 * none). Only the first `preferred` edges of node 0 are taken for what they lead to at all; the
 * others for the rest. */
int dominators_shortest(const dominators_graph *graph, uint64_t preferred, uint32_t *towards_root,
                        error *e);

#endif
