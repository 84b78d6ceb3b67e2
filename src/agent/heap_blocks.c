/* heap_blocks: see heap_blocks.h. */
#include "agent/heap_blocks.h"

#include <string.h>

#include "agent/lock.h"
#include "base/memory.h"

static const struct timespec MOMENT = {0, 20000000};

bool heap_blocks_open(heap_blocks *b, unsigned count, size_t size)
{
    memset(b, 0, sizeof *b);
    b->size = size;
    b->free = ~UINT64_C(0) >> (HEAP_BLOCKS - count);
    b->memory = memory_allocate(count * size);
    return b->memory != NULL;
}

void heap_blocks_close(heap_blocks *b)
{
    memory_free(b->memory);
    b->memory = NULL;
}

/* ---- the writer ---- */

bool heap_blocks_take(heap_blocks *b, unsigned *block)
{
    int taken = atomic_load(&b->taken);
    uint64_t free = atomic_load_explicit(&b->free, memory_order_acquire);

    if (free == 0) {
        lock_wait(&b->taken, taken, &MOMENT);
        return false;
    }
    *block = (unsigned)__builtin_ctzll(free);
    atomic_fetch_and(&b->free, ~(UINT64_C(1) << *block));
    return true;
}

void heap_blocks_hand_over(heap_blocks *b, unsigned block, int batch)
{
    int written = atomic_load_explicit(&b->written, memory_order_relaxed);

    b->order[(unsigned)written % HEAP_BLOCKS] = (uint8_t)block;
    atomic_store_explicit(&b->written, written + 1, memory_order_release);
    if (written + 1 - atomic_load_explicit(&b->taken, memory_order_relaxed) >= batch)
        lock_wake(&b->written, 1);
}

void heap_blocks_drain(heap_blocks *b)
{
    int written = atomic_load_explicit(&b->written, memory_order_relaxed);
    int taken;

    lock_wake(&b->written, 1);
    while ((taken = atomic_load_explicit(&b->taken, memory_order_acquire)) != written)
        lock_wait(&b->taken, taken, &MOMENT);
}

void heap_blocks_finish(heap_blocks *b)
{
    atomic_store(&b->done, 1);
    lock_wake(&b->written, 1);
}

/* ---- the reader ---- */

bool heap_blocks_next(heap_blocks *b, unsigned *block)
{
    int taken = atomic_load_explicit(&b->taken, memory_order_relaxed);

    if (atomic_load_explicit(&b->written, memory_order_acquire) == taken) {
        if (atomic_load(&b->done) == 0)
            lock_wait(&b->written, taken, &MOMENT);
        if (atomic_load_explicit(&b->written, memory_order_acquire) == taken)
            return false;
    }
    *block = b->order[(unsigned)taken % HEAP_BLOCKS];
    return true;
}

void heap_blocks_release(heap_blocks *b)
{
    int taken = atomic_load_explicit(&b->taken, memory_order_relaxed);

    atomic_fetch_or(&b->free, UINT64_C(1) << b->order[(unsigned)taken % HEAP_BLOCKS]);
    atomic_store_explicit(&b->taken, taken + 1, memory_order_release);
    lock_wake(&b->taken, 1);
}
