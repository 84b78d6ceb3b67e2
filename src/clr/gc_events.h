/*
 * gc_events: what the runtime's events about collections hold. The agent meets them in the process,
 * the tool in the runtime's event stream. No state but the caller's; any thread.
 */
#ifndef CLARINET_CLR_GC_EVENTS_H
#define CLARINET_CLR_GC_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"

enum {
    GC_EVENT_START = 1,
    GC_EVENT_END = 2,
    GC_EVENT_RESTART_END = 3,
    GC_EVENT_HEAP_STATS = 4,
    GC_EVENT_SUSPEND_END = 8,
    GC_EVENT_SUSPEND_BEGIN = 9,
    GC_EVENT_TRIGGERED = 35,
    GC_EVENT_HEAP_HISTORY = 204,
    GC_EVENT_GLOBAL_HISTORY = 205,
    GC_MECHANISM_COMPACTION = 2, /* bit of GlobalMechanisms */
    GC_KIND_BACKGROUND = 1,
    GC_KIND_NOTHING = 3,       /* ours: counted by the runtime, nothing was collected */
    GC_SUSPEND_COLLECTION = 1, /* reasons of a suspension that are the collector's */
    GC_SUSPEND_BACKGROUND = 6,
    GC_SPACES = 5, /* three generations, large and pinned objects */
};

/* What one collection tells of the spaces that it collected, all heaps together. */
typedef struct {
    uint64_t before[GC_SPACES];
    uint64_t after[GC_SPACES];
    uint64_t free; /* room between objects */
} gc_spaces;

/* Sizes after the last collection that told. */
typedef struct {
    uint64_t sizes[GC_SPACES];
    bool is_known[GC_SPACES];
} gc_known_sizes;

/* Adds one heap's part of a collection (GC_EVENT_HEAP_HISTORY of a 64-bit process); how many bytes
 * it left. */
uint64_t gc_spaces_add(gc_spaces *spaces, reader *r);
/* What was allocated since the last collection, by how much the youngest generation and the large
 * objects have grown; `known` is brought up to date. One in the background leaves the youngest
 * generation to the others: what is in it at its end came after theirs. */
uint64_t gc_spaces_allocated(gc_known_sizes *known, const gc_spaces *spaces, bool in_background);

/* The program asked for it: GC.Collect in its four forms. */
static inline bool gc_reason_is_induced(uint64_t reason)
{
    return reason == 1 || reason == 7 || reason == 10 || reason == 17;
}

#endif
