/*
 * ring: records of any size from many producers to the agent's own thread, bounded, without locks.
 *
 * Producers are the runtime's callbacks and signal handlers: reserving is a few loads and one
 * compare-and-swap, and a full ring answers NULL and counts; nobody ever waits. The one consumer
 * takes records in the order they were reserved and stops at one that is not yet committed.
 *
 * Invariant: tail <= head <= tail + size. Bytes in [head, tail + size) are zero, so a reserved
 * record reads as "not committed" until its producer stores the head word with release order.
 * A record never wraps: the rest of the buffer before it becomes a padding record.
 * In the common case neither side touches a line of memory that the other one writes, but for the
 * records themselves: seen <= tail, and the consumer knows by a record's head word that it is
 * there.
 */
#ifndef CLARINET_AGENT_RING_H
#define CLARINET_AGENT_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Marks what may run inside a signal handler: no locks, no allocation, no call of the runtime. */
#ifndef SIGNAL_SAFE
#define SIGNAL_SAFE
#endif

typedef struct ring {
    uint8_t *data;
    size_t size;        /* a power of two */
    int wake;           /* eventfd written when the ring becomes half full; -1 = none */
    atomic_bool waking; /* written already and not yet seen by the consumer */
    alignas(64) atomic_uint_fast64_t head;
    atomic_uint_fast64_t seen; /* a tail that a producer saw: most need not ask for the newest */
    alignas(64) atomic_uint_fast64_t tail;
    alignas(64) atomic_uint_fast64_t dropped; /* records that found no room */
} ring;

/* What the consumer sees of a record. */
typedef struct {
    unsigned kind;
    const void *payload; /* aligned to 8; valid until ring_release */
    size_t length;
} ring_record;

/* Maps and prefaults `size` bytes (a power of two, at least 4096). */
int ring_create(ring *r, size_t size, int wake, error *e);
void ring_destroy(ring *r);

/* Room for up to `length` bytes (at most a quarter of the ring), aligned to 8, or NULL. */
SIGNAL_SAFE void *ring_reserve(ring *r, size_t length);
/* Publishes a reserved record: `reserved` as asked for, `length` <= reserved as really used. Kind
 * is 1 to 4095. Every reserved record must be committed; kind 0 gives it up. */
SIGNAL_SAFE void ring_commit(ring *r, void *payload, size_t reserved, unsigned kind, size_t length);

/* The oldest committed record; false when there is none. Consumer only. */
bool ring_next(ring *r, ring_record *record);
/* Gives the record's room back. Consumer only, once per ring_next. */
void ring_release(ring *r);
static inline size_t ring_fill(ring *r)
{
    return (size_t)(atomic_load_explicit(&r->head, memory_order_relaxed) -
                    atomic_load_explicit(&r->tail, memory_order_relaxed));
}

#endif
