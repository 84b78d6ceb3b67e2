/* exception_classes: see exception_classes.h. */
#include "profilers/exception_classes.h"

#include "base/table.h"

/* Keys that are no ClassID. */
enum { FREE = 0, CLAIMED = 1, FORGOTTEN = 2, PROBES = 32, COUNT_BITS = 40 };

#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)

static uint32_t first_place(uintptr_t key)
{
    return (uint32_t)table_hash_u64(key) & (EXCEPTION_CLASSES - 1);
}

static uint32_t generation_of(uint64_t word)
{
    return (uint32_t)(word >> COUNT_BITS);
}

bool exception_classes_find(exception_classes *c, uintptr_t key, exception_class *found)
{
    uint32_t at = first_place(key);

    for (int probe = 0; probe < PROBES; probe++, at = (at + 1) & (EXCEPTION_CLASSES - 1)) {
        /* the generation first: a place that changes hands after the key matched is noticed */
        uint64_t word = atomic_load_explicit(&c->places[at].word, memory_order_acquire);
        uintptr_t there = atomic_load_explicit(&c->places[at].key, memory_order_acquire);

        if (there == key) {
            *found = (exception_class){at, generation_of(word)};
            return true;
        }
        if (there == FREE)
            return false;
    }
    return false;
}

bool exception_classes_claim(exception_classes *c, uintptr_t key, exception_class *found)
{
    uint32_t at = first_place(key);

    for (int probe = 0; probe < PROBES; probe++, at = (at + 1) & (EXCEPTION_CLASSES - 1)) {
        uintptr_t there = FREE;

        if (atomic_compare_exchange_strong(&c->places[at].key, &there, CLAIMED)) {
            *found = (exception_class){at, generation_of(atomic_load(&c->places[at].word))};
            return true;
        }
    }
    return false;
}

void exception_classes_publish(exception_classes *c, const exception_class *claimed, uintptr_t key,
                               bool lasting)
{
    atomic_store(&c->places[claimed->place].lasting, lasting);
    atomic_store_explicit(&c->places[claimed->place].key, key, memory_order_release);
}

void exception_classes_abandon(exception_classes *c, const exception_class *claimed)
{
    atomic_store_explicit(&c->places[claimed->place].key, FREE, memory_order_release);
}

bool exception_classes_count(exception_classes *c, const exception_class *class)
{
    atomic_uint_fast64_t *word = &c->places[class->place].word;
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

    do {
        if (generation_of(old) != class->generation)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(word, &old, old + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

void exception_classes_forget(exception_classes *c)
{
    for (uint32_t i = 0; i < EXCEPTION_CLASSES; i++) {
        uintptr_t key = atomic_load(&c->places[i].key);

        if (key > FORGOTTEN && !atomic_load(&c->places[i].lasting))
            atomic_compare_exchange_strong(&c->places[i].key, &key, FORGOTTEN);
    }
}

bool exception_classes_take(exception_classes *c, uint32_t place, uint32_t *generation,
                            uint64_t *count)
{
    uint64_t word = atomic_load_explicit(&c->places[place].word, memory_order_relaxed);

    if ((word & COUNT_MASK) == 0)
        return false;
    word = atomic_fetch_and_explicit(&c->places[place].word, ~COUNT_MASK, memory_order_relaxed);
    *generation = generation_of(word);
    *count = word & COUNT_MASK;
    return true;
}

void exception_classes_return(exception_classes *c, uint32_t place, uint64_t count)
{
    atomic_fetch_add_explicit(&c->places[place].word, count, memory_order_relaxed);
}

void exception_classes_recycle(exception_classes *c, uint32_t place)
{
    uint64_t word = atomic_load(&c->places[place].word);

    if (atomic_load(&c->places[place].key) != FORGOTTEN || (word & COUNT_MASK) != 0)
        return;
    /* a count that comes in between keeps the place as it is */
    if (atomic_compare_exchange_strong(&c->places[place].word, &word,
                                       word + (UINT64_C(1) << COUNT_BITS)))
        atomic_store_explicit(&c->places[place].key, FREE, memory_order_release);
}

void exception_classes_reset(exception_classes *c)
{
    for (uint32_t i = 0; i < EXCEPTION_CLASSES; i++) {
        uint64_t next = (uint64_t)generation_of(atomic_load(&c->places[i].word)) + 1;
        uintptr_t key = atomic_load(&c->places[i].key);

        if (key == CLAIMED || key == FREE)
            continue;
        atomic_store(&c->places[i].word, next << COUNT_BITS);
        atomic_compare_exchange_strong(&c->places[i].key, &key, FREE);
    }
}
