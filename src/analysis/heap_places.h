/*
 * heap_places: from addresses to nodes; private to analysis/heap. Objects come in runs of rising
 * addresses; an address is found by its run and by the page in the run, without a table of all
 * objects.
 */
#ifndef CLARINET_ANALYSIS_HEAP_PLACES_H
#define CLARINET_ANALYSIS_HEAP_PLACES_H

#include "analysis/heap.h"

typedef struct {
    uint64_t low, high; /* first and last address */
    uint32_t first;     /* object */
    uint32_t count;
    size_t pages; /* index of its first page */
} heap_run;

typedef struct {
    const model_heap *s;
    heap_run *runs;
    size_t run_count, run_capacity;
    uint32_t *pages; /* first object at or after the page's start */
    size_t page_count;
    size_t last; /* run of the last hit */
} heap_places;

/* False without memory. */
bool heap_places_init(heap_places *p, const model_heap *s);
void heap_places_free(heap_places *p);
/* The node of the object at an address; 0 when there is none. */
uint32_t heap_places_at(heap_places *p, uint64_t address);
/* The object at or before an address, 0 = none. */
uint32_t heap_places_before(const heap_places *p, uint64_t address);

#endif
