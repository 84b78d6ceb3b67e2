/* tally: see tally.h. */
#include "agent/tally.h"

#include "agent/agent.h"
#include "base/table.h"

enum { PROBES = 32, TICKS_PER_SECOND = 1000 / AGENT_TICK_MS };

void allowance_set(allowance *w, uint64_t per_second)
{
    uint64_t per_tick = per_second / TICKS_PER_SECOND;

    atomic_store(&w->burst, (unsigned)per_second);
    atomic_store(&w->per_tick, (unsigned)(per_tick == 0 ? 1 : per_tick));
}

void allowance_reset(allowance *w)
{
    for (unsigned i = 0; i < ALLOWANCE_BUCKETS; i++)
        atomic_store(&w->buckets[i], 0);
}

bool allowance_take(agent *a, allowance *w, uint64_t key)
{
    atomic_uint_fast64_t *bucket = &w->buckets[table_hash_u64(key) & (ALLOWANCE_BUCKETS - 1)];
    uint64_t tick = (uint32_t)atomic_load_explicit(&a->tick, memory_order_relaxed) + 1u;
    uint64_t old = atomic_load_explicit(bucket, memory_order_relaxed);
    uint64_t left;

    do {
        uint64_t burst = atomic_load_explicit(&w->burst, memory_order_relaxed);
        uint64_t passed = (tick - (old >> 32)) & UINT32_MAX;

        left = old & UINT32_MAX;
        if (old >> 32 == 0) {
            left = burst; /* never used */
        } else if (passed != 0) {
            left += passed * atomic_load_explicit(&w->per_tick, memory_order_relaxed);
            left = left < burst ? left : burst;
        }
        if (left == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(bucket, &old, tick << 32 | (left - 1),
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

bool tally_add(tally *t, uintptr_t key, uint64_t count, uint64_t sum)
{
    size_t at = (size_t)table_hash_u64(key) & (TALLY_KEYS - 1);

    for (int probe = 0; probe < PROBES; probe++, at = (at + 1) & (TALLY_KEYS - 1)) {
        uintptr_t there = atomic_load_explicit(&t->places[at].key, memory_order_relaxed);

        if (there == 0)
            atomic_compare_exchange_strong(&t->places[at].key, &there, key);
        if (there == 0 || there == key) {
            atomic_fetch_add_explicit(&t->places[at].sum, sum, memory_order_relaxed);
            atomic_fetch_add_explicit(&t->places[at].count, count, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

bool tally_take(tally *t, unsigned i, uintptr_t *key, uint64_t *count, uint64_t *sum)
{
    if (atomic_load_explicit(&t->places[i].count, memory_order_relaxed) == 0 &&
        atomic_load_explicit(&t->places[i].sum, memory_order_relaxed) == 0)
        return false;
    *key = atomic_load_explicit(&t->places[i].key, memory_order_relaxed);
    *count = atomic_exchange_explicit(&t->places[i].count, 0, memory_order_relaxed);
    *sum = atomic_exchange_explicit(&t->places[i].sum, 0, memory_order_relaxed);
    return true;
}

void tally_reset(tally *t)
{
    for (unsigned i = 0; i < TALLY_KEYS; i++) {
        atomic_store(&t->places[i].count, 0);
        atomic_store(&t->places[i].sum, 0);
    }
}
