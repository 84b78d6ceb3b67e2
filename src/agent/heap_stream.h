/*
 * heap_stream: the way of a heap snapshot out of the target: a queue of up to 2 MB between the
 * thread that makes records (while the program stands still) and the agent's own thread, which
 * writes them to the session's socket as HEAP chunks. The graph is never kept.
 *
 * Invariant: the writer waits for a free block at
 * most HEAP_STREAM_PATIENCE_MS; then, or when the socket is gone, the snapshot is abandoned and
 * everything that still comes is thrown away at once, so that the program goes on.
 *
 * Thread rules: one writer at a time (the caller sees to that), one reader.
 */
#ifndef CLARINET_AGENT_HEAP_STREAM_H
#define CLARINET_AGENT_HEAP_STREAM_H

#include <string.h>

#include "agent/heap_blocks.h"

enum {
    HEAP_STREAM_BLOCKS = 32,
    HEAP_STREAM_BLOCK_SIZE = 64 << 10,
    HEAP_STREAM_PATIENCE_MS = 5000,
};

typedef struct {
    heap_blocks blocks;
    size_t lengths[HEAP_BLOCKS];
    atomic_int abandoned;
    /* the writer's */
    uint8_t *at;    /* NULL = no block in hand */
    uint8_t *limit; /* of the block in hand */
    unsigned block;
    unsigned section;
    uint64_t attempt;
} heap_stream;

/* false when there is no memory. */
bool heap_stream_open(heap_stream *s);
void heap_stream_close(heap_stream *s);

/* ---- the writer ---- */

/* The same in a new block. */
uint8_t *heap_stream_new_room(heap_stream *s, unsigned section, uint64_t attempt);
/* Room for `bytes` (far less than a block) in a block of this section and attempt; NULL: abandoned.
 */
static inline uint8_t *heap_stream_room(heap_stream *s, unsigned section, uint64_t attempt,
                                        size_t bytes)
{
    if (s->at != NULL && s->section == section && s->attempt == attempt &&
        (size_t)(s->limit - s->at) >= bytes)
        return s->at;
    return heap_stream_new_room(s, section, attempt);
}
/* Hands over the block in hand. */
void heap_stream_flush(heap_stream *s);
/* After the last block. */
void heap_stream_finish(heap_stream *s);

static inline uint8_t *heap_stream_put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/* The same for numbers of several bytes, without a step for each; writes up to 8 bytes. */
static inline uint8_t *heap_stream_put_wide(uint8_t *at, uint64_t value)
{
    unsigned before_last;

    if (value >> 56 != 0)
        return heap_stream_put_varint(at, value);
    /* 7 bits into each byte: halves, quarters, bytes */
    value = (value & 0xfffffff) | (value & 0xfffffff0000000) << 4;
    value = (value & 0x3fff00003fff) | (value & 0xfffc0000fffc000) << 2;
    value = (value & 0x7f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
    before_last = (63 - (unsigned)__builtin_clzll(value | 1)) & 0x38; /* bits */
    value |= 0x8080808080808080 & ((UINT64_C(1) << before_last) - 1);
    memcpy(at, &value, sizeof value);
    return at + before_last / 8 + 1;
}

static inline uint64_t heap_stream_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* ---- the reader ---- */

/* The next block as a whole chunk, waiting a moment for it; NULL: none now. */
const uint8_t *heap_stream_next(heap_stream *s, size_t *length);
void heap_stream_abandon(heap_stream *s);

#endif
