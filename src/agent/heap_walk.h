/*
 * heap_walk: from the runtime's heap-dump events to the records of a heap snapshot
 * (docs/recording.md). Every object that an event names is asked for its references, which the
 * runtime answers inside the event.
 *
 * One dump may hold several walks (another collection ran while it was armed): each one is whole,
 * the last one counts, and its records have a higher attempt number.
 *
 * Thread rules: heap_walk_take on whatever thread collects garbage, while the program stands still:
 * it waits for nothing but a free block of the stream. Everything else on the agent's own thread
 * while no dump is under way.
 */
#ifndef CLARINET_AGENT_HEAP_WALK_H
#define CLARINET_AGENT_HEAP_WALK_H

#include "agent/heap_record.h"
#include "agent/lock.h"
#include "base/reader.h"
#include "base/table.h"
#include "clarinet/clarinet.h"

typedef struct {
    const clr_info *info;
    heap_record record;
    lock_word guard;
    atomic_bool is_open; /* events are taken */
    table_u64 functions; /* that stack roots name */
    table_u64 slots;     /* addresses of static variables, to the slot of their root */
    /* the walk under way */
    bool has_nodes;
    uint64_t roots;
    uint64_t first_ns, last_ns; /* of its events */
    uint64_t event_count;       /* of all attempts */
} heap_walk;

/* `strings`, `values`: as heap_record_open has them. */
bool heap_walk_open(heap_walk *w, const clr_info *info, bool strings, bool values);
void heap_walk_close(heap_walk *w);
/* Whether the event is one of a heap dump. */
bool heap_walk_wants(uint32_t id, const uint8_t *metadata, uint32_t metadata_length);
void heap_walk_take(heap_walk *w, uint32_t id, const uint8_t *data, uint32_t length);

#endif
