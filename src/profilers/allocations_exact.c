/* allocations_exact: see allocations_exact.h. */
#include "profilers/allocations_exact.h"

#include <string.h>

#include "agent/snapshot.h"
#include "base/memory.h"
#include "base/os.h"

enum { PLACES = ALLOCATIONS_EXACT_PLACES, PROBES = 64, MOST_FRAMES = 512 };

bool allocations_exact_want(allocations_exact *x, bool wanted)
{
    if (wanted && x->places == NULL)
        x->places = memory_allocate_array(PLACES, sizeof *x->places);
    atomic_store(&x->wanted, wanted && x->places != NULL);
    return !wanted || x->places != NULL;
}

/* ---- on the target's threads ---- */

static uint64_t key_of(ClassID class_id, const uintptr_t *frames, size_t count)
{
    uint64_t key = table_hash_u64(class_id);

    for (size_t i = 0; i < count; i++)
        key = table_hash_u64(key ^ frames[i]);
    return key | 1;
}

static allocations_exact_place *find(allocations_exact *x, uint64_t key)
{
    for (size_t i = 0; i < PROBES; i++) {
        allocations_exact_place *p = &x->places[((key >> 1) + i) & (PLACES - 1)];
        uint_fast64_t is = atomic_load_explicit(&p->key, memory_order_relaxed);

        if (p == x->places)
            continue;
        if (is == key || (is == 0 && atomic_compare_exchange_strong(&p->key, &is, key)) ||
            is == key)
            return p;
    }
    return NULL;
}

static void tell_place(agent *a, const allocations_exact *x, allocations_exact_place *p,
                       unsigned engine_index, unsigned kind, const allocations_exact_news *what,
                       const uintptr_t *frames)
{
    size_t length = sizeof *what + what->frames * sizeof *frames;
    allocations_exact_news *news;

    if (atomic_exchange(&p->is_told, true))
        return;
    news = ring_reserve(&a->events, length);
    if (news == NULL) { /* the next object from there tries again */
        atomic_store(&p->is_told, false);
        return;
    }
    *news = *what;
    news->place = (uint32_t)(p - x->places);
    memcpy(news + 1, frames, what->frames * sizeof *frames);
    agent_commit(a, engine_index, news, length, kind, length);
}

bool allocations_exact_count(agent *a, allocations_exact *x, unsigned engine_index, unsigned kind,
                             ClassID class_id, size_t size, uint32_t depth)
{
    uintptr_t frames[MOST_FRAMES];
    bool cut = false;
    size_t count = snapshot_take(&a->info, frames, depth < MOST_FRAMES ? depth : MOST_FRAMES, &cut);
    allocations_exact_news what = {class_id, 0, (uint16_t)count, cut};
    allocations_exact_place *p = find(x, key_of(class_id, frames, count));
    bool found = p != NULL;

    if (!found)
        p = x->places;
    atomic_fetch_add_explicit(&p->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->bytes, size, memory_order_relaxed);
    if (found && !atomic_load_explicit(&p->is_told, memory_order_relaxed))
        tell_place(a, x, p, engine_index, kind, &what, frames);
    return found;
}

/* ---- on the own thread ---- */

void allocations_exact_take(agent *a, allocations_exact *x, const allocations_exact_news *news)
{
    allocations_exact_place *p;

    if (x->places == NULL || news->place >= PLACES)
        return;
    p = &x->places[news->place];
    p->is_known = true;
    p->type = names_of_class(&a->names, news->class_id);
    p->stack = news->frames == 0 ? 0
                                 : names_stack_of(&a->names, (const uintptr_t *)(news + 1),
                                                  news->frames, true, news->cut != 0);
}

void allocations_exact_drain(agent *a, allocations_exact *x, bool last,
                             allocations_exact_tell *tell)
{
    uint64_t now = os_monotonic_ns();

    if (x->places == NULL || (!last && now - x->told_ns < 1000000000))
        return;
    x->told_ns = now;
    for (size_t i = 0; i < PLACES; i++) {
        allocations_exact_place *p = &x->places[i];
        uint64_t count = atomic_load_explicit(&p->count, memory_order_relaxed);
        uint64_t bytes = atomic_load_explicit(&p->bytes, memory_order_relaxed);

        if (count == p->count_before || (!last && i != 0 && !p->is_known))
            continue;
        tell(a, p->type, p->stack, count - p->count_before, bytes - p->bytes_before);
        p->count_before = count;
        p->bytes_before = bytes;
    }
}

void allocations_exact_forget(allocations_exact *x)
{
    for (size_t i = 0; x->places != NULL && i < PLACES; i++) {
        x->places[i].count_before = atomic_load(&x->places[i].count);
        x->places[i].bytes_before = atomic_load(&x->places[i].bytes);
    }
}
