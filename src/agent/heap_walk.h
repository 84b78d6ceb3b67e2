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

#include "agent/heap_stream.h"
#include "agent/lock.h"
#include "base/reader.h"
#include "base/table.h"
#include "clarinet/clarinet.h"

enum { HEAP_WALK_CACHE = 1024 };

typedef struct {
    ClassID class_id;
    uint64_t size; /* of the first instance met; others say theirs */
} heap_walk_type;

typedef struct {
    const clr_info *info;
    heap_stream stream;
    lock_word guard;
    atomic_bool is_open; /* events are taken */
    bool failed;         /* no memory for a type */
    /* types, numbered as they are met; over all attempts */
    heap_walk_type *types;
    size_t type_count, type_capacity;
    table_u64 type_numbers;
    struct {
        ClassID class_id;
        uint32_t number;
    } cache[HEAP_WALK_CACHE];
    table_u64 functions; /* that stack roots name */
    table_u64 slots;     /* addresses of static variables, to the slot of their root */
    /* the walk under way */
    uint64_t attempt;
    bool has_nodes;
    uint64_t previous; /* address of the last object */
    uint64_t objects, references, roots, bad_references;
    uint64_t object;            /* whose references are being listed */
    uint64_t first_ns, last_ns; /* of its events */
    uint64_t event_count;       /* of all attempts */
} heap_walk;

bool heap_walk_open(heap_walk *w, const clr_info *info);
void heap_walk_close(heap_walk *w);
/* Whether the event is one of a heap dump. */
bool heap_walk_wants(uint32_t id, const uint8_t *metadata, uint32_t metadata_length);
void heap_walk_take(heap_walk *w, uint32_t id, const uint8_t *data, uint32_t length);

#endif
