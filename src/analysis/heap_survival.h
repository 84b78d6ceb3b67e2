/*
 * heap_survival: which objects of an earlier snapshot are still there in a later one of the same
 * process: those of the oldest generation, the large, pinned and frozen ones that have the same
 * address, class and size in both.
 *
 * A collection may move objects, so what is found is the least. An object that took the place of an
 * equal one counts for it: nothing in memory tells the two apart.
 *
 * Of the earlier snapshot only addresses, classes and sizes are kept, as differences: about five
 * bytes an object.
 */
#ifndef CLARINET_ANALYSIS_HEAP_SURVIVAL_H
#define CLARINET_ANALYSIS_HEAP_SURVIVAL_H

#include "analysis/heap.h"

typedef struct {
    uint64_t id;  /* of the runtime */
    uint32_t row; /* of its type */
} heap_survival_class;

typedef struct {
    uint64_t pid;     /* 0 = nothing is kept */
    uint64_t process; /* which of those with this PID */
    buffer objects;
    heap_survival_class *classes; /* by number */
    size_t class_count;
} heap_survival;

/* The earlier snapshot; `rows`: the caller's number of each type. False without memory. */
bool heap_survival_keep(heap_survival *s, const heap *h, const uint32_t *rows);
void heap_survival_free(heap_survival *s);

/* Whether the snapshot is of the process that the kept one is of. */
bool heap_survival_is_same(const heap_survival *s, const heap *h);
/* Counts survivors by the caller's numbers into `survived`. False without memory. */
bool heap_survival_count(const heap_survival *s, const heap *h, const uint32_t *rows,
                         uint64_t *survived);

#endif
