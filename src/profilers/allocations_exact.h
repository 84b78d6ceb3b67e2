/*
 * allocations_exact: every object counted by its type and stack, for programs that are started with
 * `exact`. The stack is taken at each object, but told only when it is seen for the first time with
 * that type: after that two counters move.
 *
 * Thread rules: allocations_exact_count on the thread that allocates, inside the runtime's
 * callback, without locks; the rest on the agent's own thread. A place, once claimed, stays for
 * good, so what the two sides say of it always fits together.
 */
#ifndef CLARINET_PROFILERS_ALLOCATIONS_EXACT_H
#define CLARINET_PROFILERS_ALLOCATIONS_EXACT_H

#include "agent/agent.h"

enum { ALLOCATIONS_EXACT_PLACES = 1 << 15 };

typedef struct {
    atomic_uint_fast64_t key; /* of type and stack; 0 = free */
    atomic_uint_fast64_t count;
    atomic_uint_fast64_t bytes;
    atomic_bool is_told; /* its type and stack are on their way to the own thread */
    /* own thread */
    bool is_known;
    uint32_t type;
    uint32_t stack;
    uint64_t count_before;
    uint64_t bytes_before;
} allocations_exact_place;

/* In the ring; `frames` addresses follow. */
typedef struct {
    uintptr_t class_id;
    uint32_t place;
    uint16_t frames;
    uint16_t cut;
} allocations_exact_news;

typedef struct {
    atomic_bool wanted;
    allocations_exact_place *places; /* NULL = not wanted so far; the first is for all that have
                                        found no other */
    uint64_t told_ns;
} allocations_exact;

/* What changed since the last time, as a row would say it. */
typedef void allocations_exact_tell(agent *a, uint32_t type, uint32_t stack, uint64_t count,
                                    uint64_t bytes);

/* False: no memory. */
bool allocations_exact_want(allocations_exact *x, bool wanted);
/* Counts an object; false when it found no place of its own. */
bool allocations_exact_count(agent *a, allocations_exact *x, unsigned engine_index, unsigned kind,
                             ClassID class_id, size_t size, uint32_t depth);
void allocations_exact_take(agent *a, allocations_exact *x, const allocations_exact_news *news);
/* Once a second, and at the end. */
void allocations_exact_drain(agent *a, allocations_exact *x, bool last,
                             allocations_exact_tell *tell);
/* So that the next session counts from 0. */
void allocations_exact_forget(allocations_exact *x);

#endif
