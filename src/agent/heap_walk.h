/*
 * heap_walk: from the runtime's heap-dump events to the records of a heap snapshot
 * (docs/recording.md). The thread that collects garbage only copies what an event says (heap_relay)
 * and walks on; a thread of ours reads the objects and writes their records meanwhile, on another
 * processor. Before the program runs again, the first waits for the second.
 *
 * One dump may hold several walks (another collection ran while it was armed): each one is whole,
 * the last one counts, and its records have a higher attempt number.
 *
 * Thread rules: heap_walk_take and heap_walk_let_go on whatever thread collects garbage, while the
 * program stands still. heap_walk_run on a thread of its own that is none of the runtime's, and
 * what is marked so belongs to it. Everything else on the agent's own thread while no dump is under
 * way.
 */
#ifndef CLARINET_AGENT_HEAP_WALK_H
#define CLARINET_AGENT_HEAP_WALK_H

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
/* Whether the event is one of a heap dump. */
bool heap_walk_wants(uint32_t id, const uint8_t *metadata, uint32_t metadata_length);
void heap_walk_take(heap_walk *w, uint32_t id, const uint8_t *data, uint32_t length);
/* Whether the event says that the program is about to run again; it comes with the keyword of
 * collections. */
bool heap_walk_ends(uint32_t id, const uint8_t *metadata, uint32_t metadata_length);
/* Before the program runs again: until no object is read any more. */
void heap_walk_let_go(heap_walk *w);

/* Makes records until heap_walk_finish, then ends the stream. */
void heap_walk_run(heap_walk *w);

/* Whether walks that begin are taken. One that is under way is taken to its end. */
void heap_walk_set_open(heap_walk *w, bool is_open);
/* Whether one is under way; *event_count tells whether it goes on. */
bool heap_walk_is_walking(heap_walk *w, uint64_t *event_count);
/* No event comes any more, or none is taken: no object is read after this. */
void heap_walk_finish(heap_walk *w);

#endif
