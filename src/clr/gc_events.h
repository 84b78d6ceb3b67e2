/*
 * gc_events: numbers of the runtime's events about collections, which the agent meets in the
 * process and the tool in event files. Constant data; any thread.
 */
#ifndef CLARINET_CLR_GC_EVENTS_H
#define CLARINET_CLR_GC_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

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
};

/* The program asked for it: GC.Collect in its three forms. */
static inline bool gc_reason_is_induced(uint64_t reason)
{
    return reason == 1 || reason == 7 || reason == 10;
}

#endif
