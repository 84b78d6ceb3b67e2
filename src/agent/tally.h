/*
 * tally: what callbacks need to keep totals exact at any rate while only a sample is recorded
 * whole: an allowance (so many a second for each key, refilled by the own thread's tick, no clock
 * is read), and counts and sums by key for the rest.
 *
 * Thread rules: allowance_take and tally_add on any thread, without locks. The others on the own
 * thread. Zeroed memory is an empty one.
 */
#ifndef CLARINET_AGENT_TALLY_H
#define CLARINET_AGENT_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ALLOWANCE_BUCKETS = 1024, TALLY_KEYS = 1024 };

typedef struct agent agent;

typedef struct {
    atomic_uint per_tick;
    atomic_uint burst;
    atomic_uint_fast64_t buckets[ALLOWANCE_BUCKETS]; /* tick << 32 | left */
} allowance;

void allowance_set(allowance *w, uint64_t per_second);
void allowance_reset(allowance *w);
/* Takes one of the key's allowance; false when it is used up. Keys may share a bucket. */
bool allowance_take(agent *a, allowance *w, uint64_t key);

typedef struct {
    struct {
        _Atomic uintptr_t key;
        atomic_uint_fast64_t count;
        atomic_uint_fast64_t sum;
    } places[TALLY_KEYS];
} tally;

/* key is not 0. false when there is no place for another key. */
bool tally_add(tally *t, uintptr_t key, uint64_t count, uint64_t sum);
/* Takes out what place i has; false when that is nothing. */
bool tally_take(tally *t, unsigned i, uintptr_t *key, uint64_t *count, uint64_t *sum);
void tally_reset(tally *t);

#endif
