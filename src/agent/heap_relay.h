/*
 * heap_relay: what the runtime's events say of the heap, on its way from the thread that collects
 * garbage to the one that makes records of it. An event is a block: of objects only what cannot be
 * read from their memory is copied, so that the collecting thread goes on at once.
 *
 * Invariant: nothing is dropped: with no block free the writer waits. The reader never waits for
 * longer than the stream has patience (heap_stream.h), so the program goes on whatever becomes of
 * the tool. While a block is out, objects are read in place: the writer lets the program run again
 * only after heap_blocks_drain.
 *
 * Thread rules: as heap_blocks has them.
 */
#ifndef CLARINET_AGENT_HEAP_RELAY_H
#define CLARINET_AGENT_HEAP_RELAY_H

#include "agent/heap_blocks.h"

enum {
    HEAP_RELAY_SIZE = 64 << 10, /* of a block: no event of the runtime is larger */
    HEAP_RELAY_BATCH = 8,
};

typedef struct {
    uint32_t id; /* of the event */
    bool begins; /* a walk */
    size_t length;
} heap_relay_head;

typedef struct {
    heap_blocks blocks;
    heap_relay_head heads[HEAP_BLOCKS];
} heap_relay;

static inline bool heap_relay_open(heap_relay *r)
{
    return heap_blocks_open(&r->blocks, HEAP_BLOCKS, HEAP_RELAY_SIZE);
}

static inline void heap_relay_close(heap_relay *r)
{
    heap_blocks_close(&r->blocks);
}

/* A free block; waits for one. */
static inline uint8_t *heap_relay_room(heap_relay *r, unsigned *block)
{
    while (!heap_blocks_take(&r->blocks, block)) {
    }
    return heap_blocks_at(&r->blocks, *block);
}

static inline void heap_relay_hand_over(heap_relay *r, unsigned block, heap_relay_head head)
{
    r->heads[block] = head;
    heap_blocks_hand_over(&r->blocks, block, HEAP_RELAY_BATCH);
}

/* The next one, waiting for it; NULL: none comes any more. */
static inline const uint8_t *heap_relay_next(heap_relay *r, heap_relay_head *head)
{
    unsigned block;

    while (!heap_blocks_next(&r->blocks, &block))
        if (heap_blocks_is_over(&r->blocks))
            return NULL;
    *head = r->heads[block];
    return heap_blocks_at(&r->blocks, block);
}

#endif
