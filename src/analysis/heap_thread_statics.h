/*
 * heap_thread_statics: the static fields that every thread has for itself as roots with their
 * names: what the table heap_statics says of them, found again among the arrays of threads;
 * private to analysis/heap_roots.
 */
#ifndef CLARINET_ANALYSIS_HEAP_THREAD_STATICS_H
#define CLARINET_ANALYSIS_HEAP_THREAD_STATICS_H

#include "analysis/heap_places.h"

/* Rows of heap_statics. */
typedef struct {
    const model_column *slot, *name, *length, *index, *class;
    const model_column *array, *thread_index, *handle; /* NULL in old recordings */
    size_t rows;
} heap_static_rows;

/* The reference kept at an address; 0 = none there. */
uint64_t heap_static_reference(const model_heap *s, uint32_t node, uint64_t address);
/* A thread keeps a struct in a box, whose place at the look is all that is known of it. */
bool heap_static_is_box(const heap_static_rows *r, size_t row);
/* false: no memory. */
bool heap_thread_statics_add(heap *h, heap_places *p, const heap_static_rows *rows);

#endif
