/*
 * heap_counts: how full arrays and collections are. A collection of plain values tells by its own
 * count, nothing in its array does. Snapshots have the counts of List, Dictionary, HashSet and
 * Queue.
 *
 * Thread rules: as analysis/heap.
 */
#ifndef CLARINET_ANALYSIS_HEAP_COUNTS_H
#define CLARINET_ANALYSIS_HEAP_COUNTS_H

#include "analysis/heap.h"

/* Where the objects of a class keep it; 0 = they do not. */
typedef struct {
    uint32_t count_at;
    uint32_t free_at; /* of the counted elements, those that were removed */
} heap_counts_place;

/* One entry a class, to be freed with memory_free; NULL without memory. */
heap_counts_place *heap_counts_find(const heap *h);
/* The elements of a collection, and the array they are in; false: that is not known. */
bool heap_counts_of(const heap *h, const heap_counts_place *places, uint32_t node, uint64_t *count,
                    uint32_t *array);
/* Elements that an array has room for, and those with a reference in them. */
uint64_t heap_counts_room(const heap *h, uint32_t node);
uint64_t heap_counts_used(const heap *h, uint32_t node);

#endif
