/*
 * heap_quick: every object on the heap in one suspension, without a collection. Objects that are
 * dead and not collected yet are met too. .NET 9 and later.
 *
 * The runtime's walk reads freed memory and ends the program while a background collection is under
 * way, inside our own suspension too. So the events of collections are followed (heap_guard), and
 * the walk is made only in a suspension in which none is. Whoever walks must have asked for them:
 * an engine with the wish HEAP_QUICK_WISH, active for as long as it walks.
 *
 * Thread rules: heap_guard_take on any thread, nothing else at the same time as events_apply.
 * heap_quick_walk on the agent's own thread, or on one that it waits for; it may take seconds where
 * the heap must come to rest first.
 */
#ifndef CLARINET_AGENT_HEAP_QUICK_H
#define CLARINET_AGENT_HEAP_QUICK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clarinet/clarinet.h"

typedef struct agent agent;

#define HEAP_QUICK_WISH                                                                            \
    {                                                                                              \
        EVENTS_RUNTIME, EVENTS_KEYWORD_GC, 4, NULL                                                 \
    }

/* What is known of background collections. */
typedef struct {
    atomic_int state;        /* heap_guard_state */
    atomic_uint first_count; /* of the collection that is under way, or of one that began in it */
} heap_guard;

typedef enum {
    HEAP_GUARD_UNKNOWN = 0, /* one may have begun before we listened */
    HEAP_GUARD_REST,        /* none is under way */
    HEAP_GUARD_BACKGROUND,  /* first_count is its number */
    HEAP_GUARD_WITHIN,      /* first_count began within it: its own number is lower */
} heap_guard_state;

static inline void heap_guard_reset(heap_guard *g)
{
    atomic_store(&g->state, HEAP_GUARD_UNKNOWN);
}
/* From every event of the runtime. */
void heap_guard_take(heap_guard *g, uint32_t id, const uint8_t *metadata, uint32_t metadata_length,
                     const uint8_t *data, uint32_t length);

/* One object, while the program stands still: its memory may be read in place. false ends the walk.
 * Nothing may be allocated by the runtime, and no lock of the program waited for. */
typedef bool heap_quick_visit(void *context, uint64_t object, ClassID class_id);

typedef struct {
    uint64_t pause_ns; /* that the program stood still */
    bool collected;    /* a collection had to be forced to be sure */
} heap_quick_result;

/* S_OK; E_NOINTERFACE: the runtime is too old; HEAP_QUICK_NO_REST: it was never safe, or not known
 * to be without a collection, which only `may_collect` allows. */
#define HEAP_QUICK_NO_REST CORPROF_E_SUSPENSION_IN_PROGRESS
HRESULT heap_quick_walk(agent *a, bool may_collect, heap_quick_visit *visit, void *context,
                        heap_quick_result *result);

#endif
