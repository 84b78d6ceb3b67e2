/*
 * arena: all heap memory of the agent, from mappings of its own and never above a cap.
 *
 * Blocks up to 32 KB are cut from slabs of 64 KB by size class and go back to the free list of
 * their class; larger ones are mappings of their own that return to the system when freed.
 * Invariant: the bytes mapped never exceed the cap; a request that would is refused, counted, and
 * answered with NULL. It plugs into base/memory as its backend.
 *
 * Thread rules: any thread, one short lock; never from a signal handler.
 */
#ifndef CLARINET_AGENT_ARENA_H
#define CLARINET_AGENT_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/lock.h"
#include "base/memory.h"

enum { ARENA_CLASSES = 21, ARENA_DEFAULT_CAP = 32 << 20 };

typedef struct arena_slab arena_slab;
typedef struct arena_large arena_large;
typedef struct arena_free_block arena_free_block;

typedef struct {
    lock_word guard;
    size_t cap;
    atomic_size_t mapped;         /* bytes mapped now */
    atomic_size_t idle;           /* of them in free blocks */
    atomic_uint_fast64_t refused; /* requests that the cap or the system refused */
    arena_slab *slabs;
    uint8_t *slab_next; /* the free rest of the newest slab */
    size_t slab_left;
    arena_large *larges;
    arena_free_block *free_blocks[ARENA_CLASSES];
} arena;

void arena_init(arena *a, size_t cap);
/* Memory of the caller (aligned to 16) that is used first; it is not charged and not unmapped. */
void arena_lend(arena *a, void *memory, size_t size);
/* Unmaps everything that was ever allocated from it. */
void arena_destroy(arena *a);
/* As memory_backend.resize; the context is the arena. */
void *arena_resize(void *context, void *pointer, size_t size);
/* Charges (or, negative, gives back) memory that the agent mapped itself, a ring say, to the cap.
 * Returns 0, or ERROR_LIMIT and charges nothing. */
int arena_charge(arena *a, ptrdiff_t bytes);
static inline size_t arena_used(const arena *a)
{
    return atomic_load_explicit(&a->mapped, memory_order_relaxed);
}
/* What can be done without should be: five eighths of the cap are in use. */
static inline bool arena_is_short(const arena *a)
{
    return arena_used(a) > a->cap / 8 * 5 + atomic_load_explicit(&a->idle, memory_order_relaxed);
}

#endif
