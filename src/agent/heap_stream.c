/* heap_stream: see heap_stream.h. */
#include "agent/heap_stream.h"

#include <string.h>

#include "agent/lock.h"
#include "base/memory.h"
#include "base/os.h"
#include "recording/encode.h"

enum { HEAD = RECORDING_CHUNK_HEADER_SIZE };

bool heap_stream_open(heap_stream *s)
{
    memset(s, 0, sizeof *s);
    s->memory = memory_allocate((size_t)HEAP_STREAM_BLOCKS * HEAP_STREAM_BLOCK_SIZE);
    return s->memory != NULL;
}

void heap_stream_close(heap_stream *s)
{
    memory_free(s->memory);
    s->memory = NULL;
}

void heap_stream_abandon(heap_stream *s)
{
    atomic_store(&s->abandoned, 1);
    lock_wake(&s->taken, 1);
}

static uint8_t *block_at(const heap_stream *s, int number)
{
    return s->memory + (size_t)(number % HEAP_STREAM_BLOCKS) * HEAP_STREAM_BLOCK_SIZE;
}

/* ---- the writer ---- */

/* Waits until a block is free; false: abandoned. */
static bool wait_for_block(heap_stream *s, int written)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)HEAP_STREAM_PATIENCE_MS * 1000000;

    while (atomic_load(&s->abandoned) == 0) {
        int taken = atomic_load(&s->taken);
        struct timespec limit = {0, 50000000};

        if (written - taken < HEAP_STREAM_BLOCKS)
            return true;
        if (os_monotonic_ns() >= end) {
            atomic_store(&s->abandoned, 1);
            return false;
        }
        lock_wait(&s->taken, taken, &limit);
    }
    return false;
}

void heap_stream_flush(heap_stream *s)
{
    int written = atomic_load_explicit(&s->written, memory_order_relaxed);

    if (s->at == NULL)
        return;
    s->lengths[written % HEAP_STREAM_BLOCKS] = (size_t)(s->at - block_at(s, written));
    s->at = NULL;
    atomic_store_explicit(&s->written, written + 1, memory_order_release);
    lock_wake(&s->written, 1);
}

uint8_t *heap_stream_new_room(heap_stream *s, unsigned section, uint64_t attempt)
{
    int written;

    heap_stream_flush(s);
    written = atomic_load_explicit(&s->written, memory_order_relaxed);
    if (!wait_for_block(s, written))
        return NULL;
    s->section = section;
    s->attempt = attempt;
    s->at = block_at(s, written) + HEAD;
    s->limit = block_at(s, written) + HEAP_STREAM_BLOCK_SIZE - 1;
    s->at = heap_stream_put_varint(s->at, section);
    s->at = heap_stream_put_varint(s->at, attempt);
    return s->at;
}

void heap_stream_finish(heap_stream *s)
{
    heap_stream_flush(s);
    atomic_store(&s->done, 1);
    lock_wake(&s->written, 1);
}

/* ---- the reader ---- */

const uint8_t *heap_stream_next(heap_stream *s, size_t *length)
{
    int taken = atomic_load_explicit(&s->taken, memory_order_relaxed);
    struct timespec limit = {0, 20000000};
    buffer chunk;
    size_t payload;
    uint8_t first;

    if (atomic_load_explicit(&s->written, memory_order_acquire) == taken) {
        if (atomic_load(&s->done) == 0)
            lock_wait(&s->written, taken, &limit);
        if (atomic_load_explicit(&s->written, memory_order_acquire) == taken)
            return NULL;
    }
    payload = s->lengths[taken % HEAP_STREAM_BLOCKS] - HEAD;
    /* the head in front of the payload that is there; a buffer closes itself with a zero */
    first = block_at(s, taken)[HEAD];
    buffer_fix(&chunk, block_at(s, taken), HEAP_STREAM_BLOCK_SIZE);
    recording_begin_chunk(&chunk, RECORDING_HEAP, 0);
    chunk.data[HEAD] = first;
    chunk.length += payload;
    if (!recording_end_chunk(&chunk, 0))
        return NULL;
    *length = chunk.length;
    return chunk.data;
}

void heap_stream_release(heap_stream *s)
{
    atomic_fetch_add_explicit(&s->taken, 1, memory_order_release);
    lock_wake(&s->taken, 1);
}
