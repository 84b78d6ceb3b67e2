/*
 * gc_collections: the runtime's events about collections put together, one collection at a time.
 * The agent does it while they happen, the tool with an event stream that it has put in order.
 *
 * A suspension for the collector belongs to the collection that starts inside of it, else to the
 * background one that is under way. A collection is over when it has ended and the threads run
 * again. One that was asked for, and for which the threads were stopped, but that never starts, is
 * told as GC_KIND_NOTHING: GC.TryStartNoGCRegion found the room that it wants. The runtime counts
 * it in GC.CollectionCount, and has no other event for it.
 *
 * A thread says that it stops all before its turn comes, and that they run again after its turn: so
 * the events of a stop for something else (a look of the runtime's sample profiler, say) can stand
 * in the midst of those of a collection. They are known by their thread and left out.
 *
 * No state but the caller's; one thread at a time.
 */
#ifndef CLARINET_CLR_GC_COLLECTIONS_H
#define CLARINET_CLR_GC_COLLECTIONS_H

#include "clr/gc_events.h"

/* What is told of a collection, in the order of the columns of `collections` (recording/tables.h;
 * who writes them checks it with GC_CELL_IS_COLUMN). */
enum {
    GC_CELL_TIME,
    GC_CELL_THREAD,
    GC_CELL_NUMBER,
    GC_CELL_GENERATION,
    GC_CELL_REASON,
    GC_CELL_KIND,
    GC_CELL_DURATION,
    GC_CELL_PAUSE,
    GC_CELL_SUSPENDING,
    GC_CELL_GEN0,
    GC_CELL_GEN1,
    GC_CELL_GEN2,
    GC_CELL_LOH,
    GC_CELL_POH,
    GC_CELL_PROMOTED,
    GC_CELL_FINALIZED,
    GC_CELL_PINNED,
    GC_CELL_HANDLES,
    GC_CELL_COMPACTING,
    GC_CELL_MEMORY_LOAD,
    GC_CELL_STACK,
    GC_CELL_ALLOCATED,
    GC_CELL_COLLECTED,
    GC_CELL_FREE,
    GC_CELL_SINCE_STOP, /* from the begin of its (first) pause to its start */
    GC_CELLS
};

#define GC_CELL_IS_COLUMN(cell, type, name, unit)                                                  \
    _Static_assert((int)cell == (int)GC_CELL_##cell, name);

enum {
    GC_MOST_BYTES = 544, /* of an event: the parts of a heap's history */
    GC_UNDER_WAY = 4,    /* one blocking and one background collection, and those not yet told */
    GC_PENDING = 16,
    GC_OTHERS = 4,
};

typedef struct {
    uint64_t time;
    uint64_t thread;
    uint32_t id;
    uint32_t stack; /* of GC_EVENT_TRIGGERED: of who asked; 0 = not known */
    reader data;
} gc_event;

typedef struct {
    bool is_used;
    bool has_ended;
    bool has_stats;
    gc_spaces spaces;
    uint64_t cells[GC_CELLS];
} gc_collection;

/* Begin with zeros. */
typedef struct {
    gc_collection under_way[GC_UNDER_WAY];
    gc_collection *newest; /* started or ended last */
    bool is_suspended;
    bool is_triggered;    /* and nothing has started since */
    bool has_strange_end; /* a collection that was not seen to start ended in this suspension */
    uint32_t trigger_reason;
    uint32_t suspend_reason;
    uint64_t suspend_thread;
    uint64_t suspend_begin;
    uint64_t suspend_end;
    uint64_t others[GC_OTHERS]; /* threads that stop all for something else; 0 = none */
    uint64_t number;            /* of the last collection that was counted */
    struct {
        uint64_t thread;
        uint32_t stack;
    } pending[GC_PENDING]; /* collections asked for and not begun, oldest first */
    size_t pending_count;
    uint32_t asked_stack; /* of who asked for what started in this suspension */
    gc_known_sizes sizes;
    uint64_t lost; /* collections that were seen in part only */
} gc_collections;

/* Whether it is for the collector that the threads are stopped. */
static inline bool gc_suspends_for_collector(uint32_t reason)
{
    return reason == GC_SUSPEND_COLLECTION || reason == GC_SUSPEND_BACKGROUND;
}

/* Whether gc_collections_take wants it. */
bool gc_collections_want(uint32_t id);
void gc_collections_take(gc_collections *g, const gc_event *event);
/* The cells of a collection that is over, valid until the next call; NULL when there is none.
 * `last`: no event comes any more, what has ended is over. */
const uint64_t *gc_collections_next(gc_collections *g, bool last);

#endif
