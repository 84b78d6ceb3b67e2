/*
 * allocations_live: which of the sampled objects are still alive when the recording ends.
 *
 * A weak handle of the runtime's is kept per object, with the row that told of it. When the room is
 * full, handles of dead objects go first; if that is not enough, a random half of the rest goes and
 * each that stays stands for twice as many, so that sums keep no bias. The end asks for one full
 * collection, then tells of every object whose handle still has it.
 *
 * Thread rules: allocations_live_hold on the thread that allocates, inside the runtime's callback;
 * everything else on the agent's own thread.
 */
#ifndef CLARINET_PROFILERS_ALLOCATIONS_LIVE_H
#define CLARINET_PROFILERS_ALLOCATIONS_LIVE_H

#include "agent/agent.h"

/* Of a row of the table `allocations`; kind 0 is a sample. */
enum { ALLOCATIONS_BYTES = 4, ALLOCATIONS_KIND = 6, ALLOCATIONS_COLUMNS = 8 };

typedef struct {
    ObjectHandleID handle;
    uint64_t draw; /* decides whether it stays when a half goes */
    uint64_t cells[ALLOCATIONS_COLUMNS];
} allocations_live_object;

typedef struct {
    atomic_bool wanted;
    atomic_uint shift; /* one of 2^shift is kept */
    /* own thread */
    allocations_live_object *objects; /* NULL = not wanted so far */
    size_t count;
} allocations_live;

/* A handle of this object, or 0: not wanted, not among those that are kept, or none to be had. */
ObjectHandleID allocations_live_hold(agent *a, allocations_live *l, ObjectID object, uint64_t draw);
/* Keeps what a record brought; the handle is this module's from now on. */
void allocations_live_keep(agent *a, allocations_live *l, ObjectHandleID handle, uint64_t draw,
                           const uint64_t *cells);
/* Switches on or off, by what the sessions ask for; false: no memory, or a runtime without handles
 * (before .NET 7). */
bool allocations_live_want(agent *a, allocations_live *l, bool wanted);
/* One collection; then a row of table 1 for every object that is alive, to the sessions that stop
 * now and asked for it. */
void allocations_live_tell(agent *a, allocations_live *l, unsigned engine_index);
/* Gives every handle back. */
void allocations_live_forget(agent *a, allocations_live *l);

#endif
