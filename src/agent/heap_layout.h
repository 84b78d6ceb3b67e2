/*
 * heap_layout: where the objects of a class keep their references, as the collector's own
 * description before the class says. It is the same on every runtime we know; who uses it compares
 * it with what the runtime answers for the first objects of each class. Thread rules: any thread.
 */
#ifndef CLARINET_AGENT_HEAP_LAYOUT_H
#define CLARINET_AGENT_HEAP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "clarinet/clarinet.h"

enum {
    HEAP_LAYOUT_PLACES = 64, /* at most */
    HEAP_LAYOUT_UNKNOWN = -1,
    /* in a class's flags: each object keeps its type's allocator alive, too */
    HEAP_LAYOUT_COLLECTIBLE = 0x00200000,
};

/* The places in words of 8 bytes from the object's start, in the collector's order; how many.
 * HEAP_LAYOUT_UNKNOWN: too many, or not of this kind. `flags`: the class's; `base`: bytes of an
 * object, or of an array without elements. */
int heap_layout_read(ClassID class_id, uint32_t flags, uint32_t base,
                     uint16_t places[HEAP_LAYOUT_PLACES]);
/* Whether it is a class of arrays whose elements are references, from `base` - 8 bytes on. */
bool heap_layout_is_references(ClassID class_id, uint32_t flags, uint32_t base);

#endif
