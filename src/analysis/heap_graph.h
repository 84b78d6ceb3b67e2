/* heap_graph: from addresses to nodes; private to analysis/heap. */
#ifndef CLARINET_ANALYSIS_HEAP_GRAPH_H
#define CLARINET_ANALYSIS_HEAP_GRAPH_H

#include "analysis/heap.h"

/* Fills nodes, first, targets, root_of and the counts of roots and references. */
int heap_graph_build(heap *h, error *e);

#endif
