/*
 * heap_types: what is read of a class when its first object is met: its size, whether it has
 * elements or a finalizer, where its references are, and whether its values are wanted.
 *
 * Thread rules: those of heap_record.
 */
#ifndef CLARINET_AGENT_HEAP_TYPES_H
#define CLARINET_AGENT_HEAP_TYPES_H

#include "agent/heap_record.h"

/* Room for `count` items; false when there is no memory. */
bool heap_types_reserve(void **items, size_t *capacity, size_t count, size_t size);
/* The next type of the record, which the caller counts; NULL when there is no memory. */
heap_record_type *heap_types_add(heap_record *r, ClassID class_id);

#endif
