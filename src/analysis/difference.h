/*
 * difference: two recordings side by side: one call tree that has the stacks of both, with the
 * weight before and after on every node, and what changed by method. Methods are the same when name
 * and module are; lines are left out, because they move when code is edited.
 *
 * Two runs are seldom equally long. `scale` makes them comparable: weights before are multiplied
 * with it, so that both sides have the same total. A method then got slower when its share grew.
 */
#ifndef CLARINET_ANALYSIS_DIFFERENCE_H
#define CLARINET_ANALYSIS_DIFFERENCE_H

#include "analysis/calltree.h"
#include "analysis/profile.h"

typedef struct {
    uint32_t name; /* strings of the difference */
    uint32_t module;
    uint32_t kind;
} difference_function;

typedef struct {
    profile_total total;
    uint64_t duration_ns;
    uint64_t lost;       /* of this profiler, all reasons */
    recording_cost cost; /* of all its processes; memory: the largest */
    uint64_t *self;      /* by node */
    uint64_t *sum;       /* by node, with everything below */
    uint32_t title;      /* string */
} difference_side;

typedef struct {
    uint32_t function;
    uint64_t self[2]; /* before, after */
    uint64_t total[2];
    double self_change; /* after - before * scale */
    double total_change;
} difference_method;

typedef struct {
    strings strings;
    const char *unit;
    const char *profiler;           /* whose profiles are compared; the caller's */
    difference_function *functions; /* 0 = none */
    size_t function_count, function_capacity;
    uint32_t *parents; /* node 0 = root */
    uint32_t *keys;    /* functions */
    size_t node_count, parent_capacity, key_capacity;
    size_t self_capacity[2];
    difference_side sides[2]; /* before, after */
    double scale;
    difference_method *methods; /* by the change of self, what grew most first */
    size_t method_count;
    /* private: while building */
    table_u64 function_index;
    table_u64 node_index;
} difference;

void difference_free(difference *d);
bool difference_init(difference *d);
/* Adds a profile to a side (0 before, 1 after); may be called for several processes. */
int difference_add(difference *d, unsigned side, const profile *p,
                   const profile_selection *selection, error *e);
/* Sums, scales (1 when `scaled` is false) and ranks; nothing may be added after. */
int difference_finish(difference *d, bool scaled, error *e);

/* Sorts the methods by the change of total instead. */
void difference_sort_by_total(difference *d);
void difference_sort_by_self(difference *d);

#endif
