/*
 * sampling_stacks: alternate signal stacks of 64 KB.
 *
 * The runtime gives each of its threads one of 16 KB, a page of which is a guard. A signal that
 * arrives while its SIGSEGV handler runs lands on that same stack and can run over its end; with
 * AVX-512 one signal frame alone is 3.4 KB. So a thread's first signal swaps it for a larger one.
 *
 * Address space is reserved once; stacks are made usable in advance by the own thread and taken by
 * handlers from a lock-free list. Invariant: a stack is on the list or belongs to one thread; it
 * comes back only when that thread is gone. Nothing is ever unmapped.
 */
#include <sys/mman.h>

#include "agent/sampling.h"

enum { STACKS = 4096, GUARD = 4096, SLOT = SAMPLING_STACK_SIZE + GUARD, READY = 256 };

static struct {
    uint8_t *base;
    atomic_uint made; /* stacks made usable so far */
    atomic_int ready; /* on the list */
    atomic_int most;  /* taken at once */
    /* The list: index + 1 of its first stack, and a counter against ABA in the upper half. */
    atomic_uint_fast64_t head;
    atomic_uint next[STACKS];
} pool;

static void push(unsigned index)
{
    uint64_t head = atomic_load_explicit(&pool.head, memory_order_relaxed);
    uint64_t wanted;

    do {
        atomic_store_explicit(&pool.next[index], (unsigned)head, memory_order_relaxed);
        wanted = ((head >> 32) + 1) << 32 | (index + 1);
    } while (!atomic_compare_exchange_weak_explicit(&pool.head, &head, wanted, memory_order_release,
                                                    memory_order_relaxed));
    atomic_fetch_add_explicit(&pool.ready, 1, memory_order_relaxed);
}

void sampling_stacks_fill(void)
{
    if (pool.base == NULL) {
        void *memory = mmap(NULL, (size_t)STACKS * SLOT, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
            return;
        pool.base = memory;
    }
    while (atomic_load(&pool.ready) < READY && atomic_load(&pool.made) < STACKS) {
        unsigned index = atomic_load(&pool.made);

        /* The lowest page of a slot stays a guard. */
        if (mprotect(pool.base + (size_t)index * SLOT + GUARD, SAMPLING_STACK_SIZE,
                     PROT_READ | PROT_WRITE) != 0)
            return;
        atomic_store(&pool.made, index + 1);
        push(index);
    }
}

SIGNAL_SAFE uintptr_t sampling_stacks_take(void)
{
    uint64_t head = atomic_load_explicit(&pool.head, memory_order_acquire);
    uint64_t wanted;
    int most = atomic_load(&pool.most), taken;
    unsigned index;

    do {
        index = (unsigned)head;
        if (index == 0)
            return 0;
        wanted = ((head >> 32) + 1) << 32 |
                 atomic_load_explicit(&pool.next[index - 1], memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&pool.head, &head, wanted, memory_order_acquire,
                                                    memory_order_acquire));
    taken = (int)atomic_load(&pool.made) - atomic_fetch_sub(&pool.ready, 1) + 1;
    while (most < taken && !atomic_compare_exchange_weak(&pool.most, &most, taken)) {
    }
    return (uintptr_t)pool.base + (size_t)(index - 1) * SLOT + GUARD;
}

void sampling_stacks_give(uintptr_t stack)
{
    push((unsigned)((stack - GUARD - (uintptr_t)pool.base) / SLOT));
}

size_t sampling_stacks_used(void)
{
    /* Two pages of each are ever touched: one signal frame and the handler's own. Those given back
     * are taken again first. */
    return (size_t)atomic_load(&pool.most) * 2 * 4096;
}
