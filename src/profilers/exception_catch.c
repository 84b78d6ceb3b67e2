/* exception_catch: see exception_catch.h. */
#include "profilers/exception_catch.h"

#include <stddef.h>

#include "base/table.h"

enum { PROBES = 16 };

#define MARK UINT64_MAX

static unsigned first_place(uintptr_t thread)
{
    return (unsigned)table_hash_u64(thread) & (CATCH_THREADS - 1);
}

/* Nobody is asked for entries while no thread has any. */
static void set_depth(exception_catch *c, catch_thread *t, unsigned depth)
{
    unsigned before = atomic_exchange_explicit(&t->depth, depth, memory_order_relaxed);

    if ((before == 0) != (depth == 0))
        atomic_fetch_add_explicit(&c->busy, depth != 0 ? 1 : -1, memory_order_relaxed);
}

void catch_reset(exception_catch *c)
{
    atomic_store(&c->busy, 0);
    for (unsigned i = 0; i < CATCH_THREADS; i++) {
        atomic_store(&c->threads[i].depth, 0);
        atomic_store(&c->threads[i].thread, 0);
    }
}

catch_thread *catch_find(exception_catch *c, uintptr_t thread)
{
    unsigned at = first_place(thread);

    for (int probe = 0; probe < PROBES; probe++, at = (at + 1) & (CATCH_THREADS - 1)) {
        uintptr_t there = atomic_load_explicit(&c->threads[at].thread, memory_order_relaxed);

        if (there == thread)
            return &c->threads[at];
        if (there == 0)
            return NULL;
    }
    return NULL;
}

catch_thread *catch_find_or_make(exception_catch *c, uintptr_t thread, unsigned tick)
{
    unsigned at = first_place(thread);
    catch_thread *oldest = NULL;
    uintptr_t owner;

    for (int probe = 0; probe < PROBES; probe++, at = (at + 1) & (CATCH_THREADS - 1)) {
        catch_thread *t = &c->threads[at];
        uintptr_t there = 0;

        if (atomic_compare_exchange_strong(&t->thread, &there, thread) || there == thread) {
            if (there == 0)
                set_depth(c, t, 0);
            atomic_store_explicit(&t->used, tick, memory_order_relaxed);
            return t;
        }
        if (oldest == NULL || tick - atomic_load(&t->used) > tick - atomic_load(&oldest->used))
            oldest = t;
    }
    owner = atomic_load(&oldest->thread);
    if (!atomic_compare_exchange_strong(&oldest->thread, &owner, thread))
        return NULL;
    set_depth(c, oldest, 0);
    atomic_store_explicit(&oldest->used, tick, memory_order_relaxed);
    return oldest;
}

void catch_push(exception_catch *c, catch_thread *t, uint64_t number, uintptr_t outermost,
                unsigned tick)
{
    unsigned depth = atomic_load_explicit(&t->depth, memory_order_relaxed) + 1;
    catch_entry *entry = &t->entries[depth % CATCH_DEPTH];

    atomic_store_explicit(&entry->number, number, memory_order_relaxed);
    atomic_store_explicit(&entry->block, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->outermost, outermost, memory_order_relaxed);
    atomic_store_explicit(&entry->frames_to_go, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->level, depth, memory_order_relaxed);
    atomic_store_explicit(&entry->tick, tick, memory_order_relaxed);
    atomic_store_explicit(&entry->searched_through, false, memory_order_relaxed);
    atomic_store_explicit(&entry->found, false, memory_order_relaxed);
    atomic_store_explicit(&entry->ended, false, memory_order_relaxed);
    atomic_store_explicit(&entry->uncaught, false, memory_order_relaxed);
    atomic_store_explicit(&entry->doubtful, false, memory_order_relaxed);
    set_depth(c, t, depth);
}

void catch_push_mark(exception_catch *c, catch_thread *t)
{
    catch_push(c, t, MARK, 0, 0);
}

/* The entry at the top, a mark too; NULL when there is none or it was overwritten. */
static catch_entry *top(catch_thread *t)
{
    unsigned depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    catch_entry *entry = &t->entries[depth % CATCH_DEPTH];

    return depth != 0 && atomic_load_explicit(&entry->level, memory_order_relaxed) == depth ? entry
                                                                                            : NULL;
}

catch_entry *catch_top(catch_thread *t)
{
    catch_entry *entry = top(t);

    return entry != NULL && atomic_load_explicit(&entry->number, memory_order_relaxed) != MARK
               ? entry
               : NULL;
}

static uint64_t take_off(exception_catch *c, catch_thread *t)
{
    catch_entry *entry = top(t);
    unsigned depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

    if (depth != 0)
        set_depth(c, t, depth - 1);
    return entry == NULL ? 0 : atomic_load_explicit(&entry->number, memory_order_relaxed);
}

uint64_t catch_pop(exception_catch *c, catch_thread *t)
{
    return catch_top(t) == NULL && top(t) != NULL ? 0 : take_off(c, t);
}

void catch_drop_ended(exception_catch *c, catch_thread *t)
{
    catch_entry *entry = catch_top(t);

    if (entry != NULL && atomic_load_explicit(&entry->ended, memory_order_relaxed))
        take_off(c, t);
}

/* The depth of the latest mark; 0 = none. */
static unsigned mark_depth(const catch_thread *t)
{
    unsigned depth = atomic_load_explicit(&t->depth, memory_order_relaxed);

    for (unsigned i = 0; i < CATCH_DEPTH && i < depth; i++) {
        const catch_entry *entry = &t->entries[(depth - i) % CATCH_DEPTH];

        if (atomic_load(&entry->level) != depth - i)
            break;
        if (atomic_load(&entry->number) == MARK)
            return depth - i;
    }
    return 0;
}

void catch_pop_mark(exception_catch *c, catch_thread *t)
{
    unsigned depth = mark_depth(t);

    if (depth != 0)
        set_depth(c, t, depth - 1);
}

bool catch_is_in_filter(const catch_thread *t)
{
    return mark_depth(t) != 0;
}
