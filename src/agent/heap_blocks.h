/*
 * heap_blocks: memory that goes from one thread to another and back, block by block, in order.
 *
 * Invariant: a block belongs to one side at a time. The writer always takes the lowest free one, so
 * that with a reader that keeps up only a few of them are ever touched, and stay in the cache.
 *
 * Thread rules: one writer at a time (the caller sees to that), one reader.
 */
#ifndef CLARINET_AGENT_HEAP_BLOCKS_H
#define CLARINET_AGENT_HEAP_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAP_BLOCKS = 64 }; /* at most */

typedef struct {
    uint8_t *memory; /* all blocks */
    size_t size;     /* of one */
    _Atomic uint64_t free;
    uint8_t order[HEAP_BLOCKS]; /* blocks as they were handed over */
    atomic_int written;         /* handed over so far */
    atomic_int taken;           /* given back so far */
    atomic_int done;            /* no further one comes */
} heap_blocks;

/* false when there is no memory. */
bool heap_blocks_open(heap_blocks *b, unsigned count, size_t size);
void heap_blocks_close(heap_blocks *b);
static inline uint8_t *heap_blocks_at(const heap_blocks *b, unsigned block)
{
    return b->memory + block * b->size;
}

/* ---- the writer ---- */

/* Takes a free block; waits a moment where there is none: false. */
bool heap_blocks_take(heap_blocks *b, unsigned *block);
/* The reader is woken for no fewer than `batch` of them: a call for each one costs more than it
 * helps. It looks by itself now and then. */
void heap_blocks_hand_over(heap_blocks *b, unsigned block, int batch);
/* Until the reader has given back every block. */
void heap_blocks_drain(heap_blocks *b);
/* After the last block. */
void heap_blocks_finish(heap_blocks *b);

/* ---- the reader ---- */

/* The next block, waiting a moment for it; false: none now. */
bool heap_blocks_next(heap_blocks *b, unsigned *block);
/* Gives that block back. */
void heap_blocks_release(heap_blocks *b);
static inline bool heap_blocks_is_over(heap_blocks *b)
{
    return atomic_load(&b->done) != 0 && atomic_load(&b->written) == atomic_load(&b->taken);
}

#endif
