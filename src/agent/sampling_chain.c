/* sampling_chain: see sampling_chain.h. */
#include "agent/sampling_chain.h"

#include <string.h>

/* The innermost method that was resumed is mostly the only one on the stack whose task is not over:
 * two such boxes are enough. */
enum { DEEPEST_TYPE = 6, BOX_DEPTH = 2, ENOUGH = 2 };

chain_places chain_state;

/* A word of memory, where there is some. */
SIGNAL_SAFE static bool load(uintptr_t address, uintptr_t *out)
{
    uintptr_t page = address >> 12;
    atomic_uintptr_t *bad = &chain_state.bad[page % CHAIN_BAD_PAGES];

    if ((address & 7) != 0 || atomic_load_explicit(bad, memory_order_relaxed) == page)
        return false;
    if (sampling_try_load(address, out))
        return true;
    atomic_store_explicit(bad, page, memory_order_relaxed);
    return false;
}

/* The type of an object; 0 = there is none. */
SIGNAL_SAFE static uintptr_t type_of(uintptr_t object, uintptr_t low, uintptr_t high)
{
    uintptr_t type = 0;

    if (object < low || object >= high || !load(object, &type))
        return 0;
    return type & ~(uintptr_t)7; /* the collector keeps marks there */
}

/* Types lie where the loader maps memory, all in one neighbourhood; other words mostly do not. */
SIGNAL_SAFE static bool is_near(uintptr_t type)
{
    const uintptr_t wide = (uintptr_t)1 << 39;

    return type - chain_state.links[0].type + wide < 2 * wide;
}

/* The link of a type or of what it derives from, which is `depth` steps away; NULL = none. */
SIGNAL_SAFE static const chain_link *link_of(uintptr_t type, unsigned *depth)
{
    const chain_places *p = &chain_state;
    unsigned count = atomic_load_explicit(&p->link_count, memory_order_acquire);

    for (*depth = 0; *depth < DEEPEST_TYPE && is_near(type); ++*depth) {
        for (unsigned i = 0; i < count; i++) {
            if (p->links[i].type == type)
                return &p->links[i];
        }
        if (!load(type + p->parent_at, &type))
            return NULL;
    }
    return NULL;
}

/* Follows the chain from a box; writes types while there is room. */
SIGNAL_SAFE static void follow(chain_entry *e, uint8_t *types, size_t room, uintptr_t low,
                               uintptr_t high)
{
    uintptr_t object = (uintptr_t)e->box;

    e->end = CHAIN_NOT_KNOWN;
    for (unsigned steps = 0; steps < CHAIN_STEPS * 2 && e->count < room; steps++) {
        uintptr_t type = type_of(object, low, high);
        unsigned depth;
        const chain_link *link = type != 0 ? link_of(type, &depth) : NULL;

        if (link == NULL) {
            e->end = type == chain_state.object ? CHAIN_OVER : CHAIN_NOT_KNOWN;
            e->last = type;
            return;
        }
        if (!load(object + link->next_at, &object))
            return;
        if (link == &chain_state.links[0]) {
            memcpy(types + e->count * sizeof type, &type, sizeof type);
            e->count++;
        }
        if (object == 0) {
            e->end = CHAIN_NOBODY;
            return;
        }
    }
}

void sampling_chain_forget_pages(void)
{
    for (unsigned i = 0; i < CHAIN_BAD_PAGES; i++)
        atomic_store_explicit(&chain_state.bad[i], 0, memory_order_relaxed);
}

/* Whether an entry for the box was written before. */
SIGNAL_SAFE static bool is_written(const uint8_t *out, size_t used, uint64_t box)
{
    chain_entry e;

    for (size_t at = 0; at < used; at += sizeof e + e.count * sizeof(uint64_t)) {
        memcpy(&e, out + at, sizeof e);
        if (e.box == box)
            return true;
    }
    return false;
}

SIGNAL_SAFE size_t sampling_chain_collect(const ucontext_t *context, const uint8_t *stack,
                                          uintptr_t address, size_t length,
                                          uint8_t out[CHAIN_WORDS * 8])
{
    uintptr_t low = atomic_load_explicit(&chain_state.low, memory_order_acquire);
    uintptr_t high = atomic_load_explicit(&chain_state.high, memory_order_relaxed);
    size_t end = length & ~(size_t)7, used = 0;
    unsigned live = 0;
    size_t from = end > CHAIN_SCANNED ? end - CHAIN_SCANNED : SAMPLING_RED_ZONE;

    if (low == 0 || !sampling_fault_can_mend(context))
        return 0;
    for (size_t at = end;
         at > from && live < ENOUGH && used + sizeof(chain_entry) < CHAIN_WORDS * 8; at -= 8) {
        chain_entry e = {.slot = address + at - 8, .end = CHAIN_SAME};
        size_t room = (CHAIN_WORDS * 8 - used - sizeof e) / sizeof(uint64_t);
        uintptr_t word, type;
        unsigned depth;

        memcpy(&word, stack + at - 8, sizeof word);
        /* the thread's own stack may lie between the heap's mappings */
        if (word < low || word >= high || word - address < length)
            continue;
        type = type_of(word, low, high);
        if (type == 0 || link_of(type, &depth) != &chain_state.links[0] || depth < BOX_DEPTH)
            continue;
        e.box = word;
        if (!is_written(out, used, word)) {
            follow(&e, out + used + sizeof e, room < CHAIN_STEPS ? room : CHAIN_STEPS, low, high);
            live += e.end != CHAIN_OVER || e.count > 1;
        }
        memcpy(out + used, &e, sizeof e);
        used += sizeof e + e.count * sizeof(uint64_t);
    }
    return used;
}
