/* heap_stream: see heap_stream.h. */
#include "agent/heap_stream.h"

#include <string.h>

#include "agent/lock.h"
#include "base/os.h"
#include "recording/encode.h"

enum { HEAD = RECORDING_CHUNK_HEADER_SIZE };

bool heap_stream_open(heap_stream *s)
{
    memset(s, 0, sizeof *s);
    return heap_blocks_open(&s->blocks, HEAP_STREAM_BLOCKS, HEAP_STREAM_BLOCK_SIZE);
}

void heap_stream_close(heap_stream *s)
{
    heap_blocks_close(&s->blocks);
}

void heap_stream_abandon(heap_stream *s)
{
    atomic_store(&s->abandoned, 1);
    lock_wake(&s->blocks.taken, 1);
}

/* ---- the writer ---- */

/* Waits until a block is free; false: abandoned. */
static bool wait_for_block(heap_stream *s)
{
    uint64_t end = 0;

    while (atomic_load(&s->abandoned) == 0) {
        if (heap_blocks_take(&s->blocks, &s->block))
            return true;
        if (end == 0)
            end = os_monotonic_ns() + (uint64_t)HEAP_STREAM_PATIENCE_MS * 1000000;
        else if (os_monotonic_ns() >= end)
            atomic_store(&s->abandoned, 1);
    }
    return false;
}

void heap_stream_flush(heap_stream *s)
{
    if (s->at == NULL)
        return;
    s->lengths[s->block] = (size_t)(s->at - heap_blocks_at(&s->blocks, s->block));
    s->at = NULL;
    heap_blocks_hand_over(&s->blocks, s->block, 1);
}

uint8_t *heap_stream_new_room(heap_stream *s, unsigned section, uint64_t attempt)
{
    heap_stream_flush(s);
    if (!wait_for_block(s))
        return NULL;
    s->section = section;
    s->attempt = attempt;
    s->at = heap_blocks_at(&s->blocks, s->block) + HEAD;
    s->limit = heap_blocks_at(&s->blocks, s->block) + HEAP_STREAM_BLOCK_SIZE - 1;
    s->at = heap_stream_put_varint(s->at, section);
    s->at = heap_stream_put_varint(s->at, attempt);
    return s->at;
}

void heap_stream_finish(heap_stream *s)
{
    heap_stream_flush(s);
    heap_blocks_finish(&s->blocks);
}

/* ---- the reader ---- */

const uint8_t *heap_stream_next(heap_stream *s, size_t *length)
{
    unsigned block;
    buffer chunk;
    size_t payload;
    uint8_t first;

    if (!heap_blocks_next(&s->blocks, &block))
        return NULL;
    payload = s->lengths[block] - HEAD;
    /* the head in front of the payload that is there; a buffer closes itself with a zero */
    buffer_fix(&chunk, heap_blocks_at(&s->blocks, block), HEAP_STREAM_BLOCK_SIZE);
    first = chunk.data[HEAD];
    recording_begin_chunk(&chunk, RECORDING_HEAP, 0);
    chunk.data[HEAD] = first;
    chunk.length += payload;
    if (!recording_end_chunk(&chunk, 0))
        return NULL;
    *length = chunk.length;
    return chunk.data;
}
