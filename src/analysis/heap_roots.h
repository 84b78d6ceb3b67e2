/*
 * heap_roots: the roots of a snapshot and the static fields among them, which the runtime does not
 * tell as roots; private to analysis/heap.
 */
#ifndef CLARINET_ANALYSIS_HEAP_ROOTS_H
#define CLARINET_ANALYSIS_HEAP_ROOTS_H

#include "analysis/heap_places.h"

/* Fills roots with those of the snapshot and with the static fields of generic classes and of
 * threads, as the table heap_statics has them. False without memory. */
bool heap_roots_add(heap *h, heap_places *p);

#endif
