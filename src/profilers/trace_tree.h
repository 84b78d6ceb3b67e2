/*
 * trace_tree: who called whom among the traced methods. A node stands for a method called in one
 * way (by one chain of traced methods) on one thread; only that thread writes it, the own thread
 * reads. A method that calls itself stays on its node, so that recursion does not fill the pool;
 * its time counts once. Calls for which there is no node are counted as lost.
 */
#ifndef CLARINET_PROFILERS_TRACE_TREE_H
#define CLARINET_PROFILERS_TRACE_TREE_H

#include "profilers/trace_counters.h"

enum { TRACE_NODES = 1 << 16 };

typedef struct {
    uint64_t calls, total, self;
    uint32_t method; /* index */
    /* nodes, number + 1 */
    uint32_t parent, first_child, next;
} trace_node;

typedef struct trace_tree {
    atomic_uint used;
    atomic_uint_fast64_t lost;
    trace_node nodes[TRACE_NODES];
} trace_tree;

/* ---- probes ---- */
/* The frame's method is called by the frame at t->depth - 1. */
void trace_tree_enter(trace_counters *c, trace_thread *t, trace_frame *f);
void trace_tree_leave(trace_counters *c, const trace_thread *t, const trace_frame *f,
                      uint64_t time);

/* ---- own thread ---- */
/* NULL without memory; the pages are taken as they are used. */
trace_tree *trace_tree_create(void);
void trace_tree_clear(trace_tree *tree);
uint32_t trace_tree_count(const trace_tree *tree);

#endif
