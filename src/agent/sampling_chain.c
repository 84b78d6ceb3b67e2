/* sampling_chain: see sampling_chain.h. */
#include "agent/sampling_chain.h"

#include <string.h>

/* The innermost method that was resumed is mostly the only one on the stack whose task is not over:
 * two such boxes are enough. */
enum { DEEPEST_TYPE = 6, ENOUGH = 2, BATCH = 32, OWN_FRAMES = 8192, SCAN_EVERY = 8 };

chain_places chain_state;

/* A word of memory, where there is some. */
SIGNAL_SAFE static bool load(uintptr_t address, uintptr_t *out)
{
    uintptr_t page = address >> 12;
    /* mixed: halves of other words have the same low bits */
    unsigned number = (unsigned)(page * 0x9e3779b97f4a7c15u >> 32) % CHAIN_BAD_PAGES;

    if ((address & 7) != 0)
        return false;
    if ((atomic_load_explicit(&chain_state.any_bad, memory_order_relaxed) >> number & 1) != 0 &&
        atomic_load_explicit(&chain_state.bad[number], memory_order_relaxed) == page)
        return false;
    if (sampling_try_load(address, out))
        return true;
    atomic_store_explicit(&chain_state.bad[number], page, memory_order_relaxed);
    atomic_fetch_or_explicit(&chain_state.any_bad, (uint64_t)1 << number, memory_order_relaxed);
    return false;
}

/* The copied stack, from its outer end inwards. */
typedef struct {
    const uint8_t *stack;
    uintptr_t address; /* where it lay */
    size_t at, from;   /* what is left to look through */
    uintptr_t low, high;
    /* The thread's own stack, down to what the handler itself uses: that may lie between the heap's
     * mappings, and has types in it which are no object's. */
    uintptr_t own, own_end;
} scan;

/* The type of an object; 0 = there is none. */
SIGNAL_SAFE static uintptr_t type_of(uintptr_t object, const scan *s)
{
    uintptr_t type = 0;

    if (object < s->low || object >= s->high || object - s->own < s->own_end - s->own ||
        !load(object, &type))
        return 0;
    return type & ~(uintptr_t)7; /* the collector keeps marks there */
}

/* Types lie where the loader maps memory, all in one neighbourhood; other words mostly do not. */
SIGNAL_SAFE static bool is_near(uintptr_t type, const scan *s)
{
    const uintptr_t wide = (uintptr_t)1 << 39;

    return type - chain_state.links[0].type + wide < 2 * wide &&
           type - s->low >= s->high - s->low; /* and never among the objects */
}

/* The link of a type or of what it derives from, which is `depth` steps away; NULL = none. */
SIGNAL_SAFE static const chain_link *find_link(uintptr_t type, const scan *s, unsigned *depth)
{
    const chain_places *p = &chain_state;
    unsigned count = atomic_load_explicit(&p->link_count, memory_order_acquire);

    for (*depth = 0; *depth < DEEPEST_TYPE && is_near(type, s); ++*depth) {
        for (unsigned i = 0; i < count; i++) {
            if (p->links[i].type == type)
                return &p->links[i];
        }
        if (!load(type + p->parent_at, &type))
            return NULL;
    }
    return NULL;
}

SIGNAL_SAFE static atomic_uintptr_t *judged_place(uintptr_t type)
{
    return &chain_state.judged[(type >> 3 ^ type >> 11) % CHAIN_TYPES & ~(uintptr_t)1];
}

/* The same, of types met before without looking at them: what lies far apart in memory is what
 * takes time here. A judgement is the type's address, its depth, and its link from 1 on. Two types
 * may have the same pair of places; the one that was met last comes first. */
SIGNAL_SAFE static const chain_link *link_of(uintptr_t type, const scan *s, unsigned *depth)
{
    chain_places *p = &chain_state;
    atomic_uintptr_t *place = judged_place(type);
    uintptr_t judgement = atomic_load_explicit(place, memory_order_relaxed), before = judgement;
    const chain_link *link;

    if (!is_near(type, s))
        return NULL;
    if (judgement >> 16 != type)
        judgement = atomic_load_explicit(place + 1, memory_order_relaxed);
    if (judgement >> 16 == type) {
        *depth = judgement >> 8 & 0xff;
        return (judgement & 0xff) != 0 ? &p->links[(judgement & 0xff) - 1] : NULL;
    }
    link = find_link(type, s, depth);
    judgement =
        type << 16 | (uintptr_t)*depth << 8 | (link != NULL ? (uintptr_t)(link - p->links) + 1 : 0);
    atomic_store_explicit(place + 1, before, memory_order_relaxed);
    atomic_store_explicit(place, judgement, memory_order_relaxed);
    return link;
}

SIGNAL_SAFE static bool is_over(uintptr_t object, const chain_link *link)
{
    uintptr_t word;

    return link->over_at != 0 && load(object + (link->over_at & ~7u), &word) &&
           (word >> (link->over_at & 7) * 8 & 0xff) != 0;
}

/* Follows the chain from a box; writes types while there is room. */
SIGNAL_SAFE static void follow(const scan *s, chain_entry *e, uint8_t *types, size_t room)
{
    uintptr_t object = (uintptr_t)e->box;

    e->end = CHAIN_NOT_KNOWN;
    for (unsigned steps = 0; steps < CHAIN_STEPS * 2 && e->count < room; steps++) {
        uintptr_t type = type_of(object, s);
        unsigned depth;
        const chain_link *link = type != 0 ? link_of(type, s, &depth) : NULL;

        if (link == NULL) {
            e->end = type == chain_state.object ? CHAIN_OVER : CHAIN_NOT_KNOWN;
            e->last = type;
            return;
        }
        if (is_over(object, link)) {
            e->end = CHAIN_OVER;
            return;
        }
        if (!load(object + link->next_at, &object))
            return;
        if (link->is_method) {
            memcpy(types + e->count * sizeof type, &type, sizeof type);
            e->count++;
        }
        if (object == 0) { /* of an iterator: it is run by its reader, further in */
            e->end = link->over_at != 0 && e->count == 1 ? CHAIN_OVER : CHAIN_NOBODY;
            return;
        }
    }
}

void sampling_chain_forget(void)
{
    for (unsigned i = 0; i < CHAIN_BAD_PAGES; i++)
        atomic_store_explicit(&chain_state.bad[i], 0, memory_order_relaxed);
    atomic_store_explicit(&chain_state.any_bad, 0, memory_order_relaxed);
    for (unsigned i = 0; i < CHAIN_TYPES; i++)
        atomic_store_explicit(&chain_state.judged[i], 0, memory_order_relaxed);
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

typedef struct {
    uintptr_t slot, object, type;
} candidate;

/* The next words that may point at objects. Their memory is asked for at once, so that it arrives
 * together: waiting for one after the other is what takes time. A prefetch of an address where
 * nothing is does nothing. */
SIGNAL_SAFE static unsigned gather(scan *s, candidate found[BATCH])
{
    unsigned count = 0;

    for (; s->at > s->from && count < BATCH; s->at -= 8) {
        uintptr_t word;

        memcpy(&word, s->stack + s->at - 8, sizeof word);
        if (word < s->low || word >= s->high || (word & 7) != 0 ||
            word - s->own < s->own_end - s->own)
            continue;
        __builtin_prefetch((const void *)word);
        found[count++] = (candidate){s->address + s->at - 8, word, 0};
    }
    for (unsigned i = 0; i < count; i++) {
        found[i].type = type_of(found[i].object, s);
        __builtin_prefetch((const void *)judged_place(found[i].type));
    }
    return count;
}

/* Writes the entry of a box; the bytes. `live`: counts those that are not over. */
SIGNAL_SAFE static size_t put_box(const scan *s, const candidate *c, uint8_t *out, size_t used,
                                  unsigned *live)
{
    chain_entry e = {.slot = c->slot, .box = c->object, .end = CHAIN_SAME};
    size_t room = (CHAIN_WORDS * 8 - used - sizeof e) / sizeof(uint64_t);

    if (!is_written(out, used, e.box)) {
        follow(s, &e, out + used + sizeof e, room < CHAIN_STEPS ? room : CHAIN_STEPS);
        *live += e.end != CHAIN_OVER || e.count > 1;
    }
    memcpy(out + used, &e, sizeof e);
    return sizeof e + e.count * sizeof(uint64_t);
}

SIGNAL_SAFE static bool is_box(const scan *s, const candidate *c)
{
    unsigned depth;
    const chain_link *link = c->type != 0 ? link_of(c->type, s, &depth) : NULL;

    return link != NULL && link->is_method && depth >= link->box_depth;
}

/* A word of the copied stack by the address where it lay; 0 = it is not in the copy. */
SIGNAL_SAFE static uintptr_t word_at(const scan *s, uintptr_t slot)
{
    uintptr_t word, inside = slot - s->address;

    if (inside < SAMPLING_RED_ZONE || inside + 8 > s->own_end - s->address)
        return 0;
    memcpy(&word, s->stack + inside, sizeof word);
    return word;
}

/* The boxes that lie where the thread had some before; the bytes, 0 = none that is not over. */
SIGNAL_SAFE static size_t look_where_they_were(const scan *s, chain_memory *m, uint8_t *out)
{
    unsigned live = 0;
    size_t used = 0;

    for (unsigned i = 0; i < CHAIN_PLACES; i++) {
        uintptr_t first = atomic_load_explicit(&m->places[i].first, memory_order_relaxed);
        uintptr_t last = atomic_load_explicit(&m->places[i].last, memory_order_relaxed);
        candidate c = {first, first != 0 ? word_at(s, first) : 0, 0};

        if (c.object == 0 || (c.object & 7) != 0 || c.object != word_at(s, last) ||
            used + sizeof(chain_entry) >= CHAIN_WORDS * 8)
            continue;
        c.type = type_of(c.object, s);
        if (is_box(s, &c))
            used += put_box(s, &c, out, used, &live);
    }
    return live != 0 ? used : 0;
}

SIGNAL_SAFE size_t sampling_chain_collect(const ucontext_t *context, chain_memory *m,
                                          const uint8_t *stack, uintptr_t address, size_t length,
                                          uint8_t out[CHAIN_WORDS * 8])
{
    size_t end = length & ~(size_t)7, used = 0;
    scan s = {.stack = stack,
              .address = address,
              .at = end,
              .from = end > CHAIN_SCANNED ? end - CHAIN_SCANNED : SAMPLING_RED_ZONE,
              .low = atomic_load_explicit(&chain_state.low, memory_order_acquire),
              .high = atomic_load_explicit(&chain_state.high, memory_order_relaxed),
              .own = (uintptr_t)__builtin_frame_address(0) - OWN_FRAMES,
              .own_end = address + length};
    candidate found[BATCH];
    unsigned count, live = 0;

    if (s.low == 0 || !sampling_fault_can_mend(context))
        return 0;
    if (m->turn++ % SCAN_EVERY != 0)
        used = look_where_they_were(&s, m, out);
    if (used != 0)
        return used;
    while (live < ENOUGH && (count = gather(&s, found)) > 0) {
        for (unsigned i = 0; i < count && live < ENOUGH; i++) {
            if (used + sizeof(chain_entry) >= CHAIN_WORDS * 8)
                return used;
            if (is_box(&s, &found[i]))
                used += put_box(&s, &found[i], out, used, &live);
        }
    }
    return used;
}
