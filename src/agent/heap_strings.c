/* heap_strings: see heap_strings.h. */
#include "agent/heap_strings.h"

#include <string.h>

#include "base/memory.h"
#include "base/table.h"

enum {
    SMALLEST = 4096,
    LARGEST = 1 << 19, /* slots of 16 bytes: 8 MB, and half as much again while it is made larger */
};
#define REPEATED UINT64_C(1)

void heap_strings_open(heap_strings *s, bool is_on)
{
    memset(s, 0, sizeof *s);
    s->is_on = is_on;
}

void heap_strings_close(heap_strings *s)
{
    memory_free(s->slots);
    s->slots = NULL;
    s->capacity = s->count = 0;
}

void heap_strings_clear(heap_strings *s)
{
    heap_strings_close(s);
    s->next = s->forgotten = 0;
    s->is_full = false;
}

static inline uint64_t word_at(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

/* Two words into one. */
static inline uint64_t mix(uint64_t first, uint64_t second)
{
    unsigned __int128 product =
        (unsigned __int128)(first ^ 0x9e3779b97f4a7c15u) * (second ^ 0xff51afd7ed558ccdu);

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Up to 14 bytes, an even number of them. */
static inline uint64_t hash_rest(uint64_t hash, const uint8_t *at, size_t left)
{
    uint64_t rest = 0;
    uint32_t four;
    uint16_t two;

    if ((left & 8) != 0) {
        hash = mix(hash, word_at(at));
        at += 8;
    }
    if ((left & 4) != 0) {
        memcpy(&four, at, sizeof four);
        rest = four;
        at += 4;
    }
    if ((left & 2) != 0) {
        memcpy(&two, at, sizeof two);
        rest = rest << 16 | two;
    }
    return mix(hash, rest);
}

/* Two rows of words at a time, which do not wait for each other: strings and small arrays are most
 * of what many heaps hold. */
static uint64_t hash_of(const uint16_t *text, uint32_t length)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t left = (size_t)length * 2;
    uint64_t hash = length;
    uint64_t other = 0;

    for (; left >= 32; at += 32, left -= 32) {
        hash = mix(hash ^ word_at(at), word_at(at + 8));
        other = mix(other ^ word_at(at + 16), word_at(at + 24));
    }
    if (left >= 16) {
        hash = mix(hash ^ word_at(at), word_at(at + 8));
        at += 16;
        left -= 16;
    }
    hash = mix(hash_rest(hash, at, left), other);
    return hash == 0 ? 1 : hash;
}

static void add(heap_strings *s, heap_strings_slot slot)
{
    size_t at = (size_t)slot.hash & (s->capacity - 1);

    while (s->slots[at].hash != 0)
        at = (at + 1) & (s->capacity - 1);
    s->slots[at] = slot;
}

/* Takes out what did not repeat, in place. From behind a free slot on, what is put again finds room
 * at or before where it was. */
__attribute__((cold)) static void forget_single(heap_strings *s)
{
    size_t first = 0;

    while (s->slots[first].hash != 0)
        first++;
    for (size_t i = 1; i < s->capacity; i++) {
        size_t at = (first + i) & (s->capacity - 1);
        heap_strings_slot slot = s->slots[at];

        if (slot.hash == 0)
            continue;
        s->slots[at].hash = 0;
        if ((slot.value & REPEATED) != 0) {
            add(s, slot);
        } else {
            s->forgotten++;
            s->count--;
        }
    }
}

/* Makes room: a larger table or, when it is as large as it may be, one without what did not
 * repeat. */
__attribute__((cold)) static bool grow(heap_strings *s)
{
    size_t old_capacity = s->capacity;
    heap_strings_slot *old = s->slots;
    heap_strings_slot *slots;

    if (old_capacity == LARGEST) {
        forget_single(s);
        return s->count * 2 < s->capacity;
    }
    s->capacity = old_capacity == 0 ? SMALLEST : old_capacity * 2;
    slots = memory_allocate_array(s->capacity, sizeof *slots);
    if (slots == NULL) {
        s->capacity = old_capacity;
        return false;
    }
    s->slots = slots;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].hash != 0)
            add(s, old[i]);
    memory_free(old);
    return true;
}

uint64_t heap_strings_code(heap_strings *s, const uint16_t *text, uint32_t length)
{
    uint64_t hash, code;
    size_t at;

    if (!s->is_on)
        return HEAP_STRINGS_NOT_COMPARED;
    hash = hash_of(text, length);
    if (!s->is_full && s->count * 3 >= s->capacity * 2 && !grow(s))
        s->is_full = true; /* no room to be made: what is known stays, nothing is added */
    if (s->capacity == 0)
        return HEAP_STRINGS_NOT_COMPARED;
    for (at = (size_t)hash & (s->capacity - 1); s->slots[at].hash != 0;
         at = (at + 1) & (s->capacity - 1)) {
        if (s->slots[at].hash != hash)
            continue;
        code = (s->slots[at].value & ~REPEATED) + HEAP_STRINGS_FIRST;
        if ((s->slots[at].value & REPEATED) == 0) {
            s->slots[at].value |= REPEATED;
            code |= 1;
        }
        return code;
    }
    if (s->is_full) {
        s->forgotten++;
        return HEAP_STRINGS_NOT_COMPARED;
    }
    s->slots[at] = (heap_strings_slot){hash, s->next++ << 1};
    s->count++;
    return HEAP_STRINGS_NEW;
}
