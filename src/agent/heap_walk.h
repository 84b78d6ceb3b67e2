/*
 * heap_walk: from the runtime's heap-dump events to the records of a heap snapshot
 * (docs/recording.md). The thread that collects garbage only copies what an event says (heap_relay)
 * and walks on; a thread of ours reads the objects and writes their records meanwhile, on another
 * processor. Before the program runs again, the first waits for the second.
 *
 * One dump may hold several walks (another collection ran while it was armed): each one is whole,
 * the last one counts, and its records have a higher attempt number.
 *
 * Thread rules: heap_walk_on_event on whatever thread raises events; those of a dump come while the
 * program stands still. heap_walk_run on a thread of its own that is none of the runtime's, and
 * what is marked so belongs to it. Everything else on the agent's own thread while no dump is under
 * way.
 */
#ifndef CLARINET_AGENT_HEAP_WALK_H
#define CLARINET_AGENT_HEAP_WALK_H

#include "agent/engine.h"
#include "agent/heap_record.h"
#include "agent/heap_relay.h"
#include "agent/lock.h"
#include "base/reader.h"
#include "base/table.h"
#include "clarinet/clarinet.h"

typedef struct {
    lock_word guard; /* from snapshot to snapshot: events of others may come at any time */
    /* guarded */
    bool is_open;           /* a walk that begins is taken */
    atomic_bool is_walking; /* one is under way, and taken */
    /* anew for each snapshot, from here on */
    const clr_info *info;
    heap_relay relay;
    uint64_t event_count;     /* of all walks */
    bool saw_nodes;           /* in that walk */
    uint64_t most_references; /* of one object, as the runtime says */
    /* of the thread that writes records, while it runs */
    heap_record record;
    table_u64 functions; /* that stack roots name */
    table_u64 slots;     /* addresses of static variables, to the slot of their root */
    bool has_nodes;
    uint64_t roots;
    uint64_t first_ns, last_ns; /* of the walk's events */
} heap_walk;

/* What is opened for the first time is zero. To be closed, without memory too. */
bool heap_walk_open(heap_walk *w, const clr_info *info, const heap_record_wishes *wishes);
void heap_walk_close(heap_walk *w);
/* The engine's on_raw_event: its state begins with the walk. Takes what belongs to a heap dump, and
 * before the program runs again, waits until no object is read any more. */
bool heap_walk_on_event(agent *a, uint32_t id, const uint8_t *metadata, uint32_t metadata_length,
                        const uint8_t *data, uint32_t length);

/* Makes records until heap_walk_finish, then ends the stream. */
void heap_walk_run(heap_walk *w);

/* Whether walks that begin are taken. One that is under way is taken to its end. */
void heap_walk_set_open(heap_walk *w, bool is_open);
/* Whether one is under way; *event_count tells whether it goes on. */
bool heap_walk_is_walking(heap_walk *w, uint64_t *event_count);
/* No event comes any more, or none is taken: no object is read after this. */
void heap_walk_finish(heap_walk *w);

#endif
