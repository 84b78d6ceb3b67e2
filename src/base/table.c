/* table: see table.h. Slots are found by linear probing from hash & (capacity - 1). */
#include "base/table.h"

#include <string.h>

#include "base/memory.h"

static const size_t FIRST_CAPACITY = 16;

uint64_t table_hash_u64(uint64_t key)
{
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93ULL;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93ULL;
    key ^= key >> 32;
    return key;
}

uint64_t table_hash_bytes(const void *bytes, size_t length)
{
    const uint8_t *p = bytes;
    uint64_t hash = 0xcbf29ce484222325ULL;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ p[i]) * 0x100000001b3ULL;
    return table_hash_u64(hash);
}

static bool is_crowded(size_t count, size_t capacity)
{
    return (count + 1) * 3 > capacity * 2;
}

void table_u64_init(table_u64 *t)
{
    memset(t, 0, sizeof *t);
}

void table_u64_free(table_u64 *t)
{
    memory_free(t->slots);
    table_u64_init(t);
}

static table_u64_slot *u64_find(const table_u64 *t, uint64_t key)
{
    size_t i = (size_t)table_hash_u64(key) & (t->capacity - 1);

    while (t->slots[i].used && t->slots[i].key != key)
        i = (i + 1) & (t->capacity - 1);
    return &t->slots[i];
}

__attribute__((cold, noinline)) static bool u64_grow(table_u64 *t)
{
    table_u64 bigger = {NULL, t->capacity == 0 ? FIRST_CAPACITY : t->capacity * 2, t->count};

    bigger.slots = memory_allocate_array(bigger.capacity, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return false;
    for (size_t i = 0; i < t->capacity; i++) {
        if (t->slots[i].used)
            *u64_find(&bigger, t->slots[i].key) = t->slots[i];
    }
    memory_free(t->slots);
    *t = bigger;
    return true;
}

uint64_t *table_u64_at(table_u64 *t, uint64_t key, uint64_t initial)
{
    table_u64_slot *slot;

    if (t->capacity != 0) {
        slot = u64_find(t, key);
        if (slot->used)
            return &slot->value;
    }
    if (is_crowded(t->count, t->capacity) && !u64_grow(t))
        return NULL;
    slot = u64_find(t, key);
    slot->used = true;
    slot->key = key;
    slot->value = initial;
    t->count++;
    return &slot->value;
}

bool table_u64_put(table_u64 *t, uint64_t key, uint64_t value)
{
    uint64_t *place = table_u64_at(t, key, value);

    if (place == NULL)
        return false;
    *place = value;
    return true;
}

bool table_u64_get(const table_u64 *t, uint64_t key, uint64_t *value)
{
    const table_u64_slot *slot;

    if (t->capacity == 0)
        return false;
    slot = u64_find(t, key);
    if (!slot->used)
        return false;
    *value = slot->value;
    return true;
}

void table_text_init(table_text *t)
{
    memset(t, 0, sizeof *t);
}

void table_text_free(table_text *t)
{
    for (size_t i = 0; i < t->capacity; i++)
        memory_free(t->slots[i].key);
    memory_free(t->slots);
    table_text_init(t);
}

static table_text_slot *text_find(const table_text *t, const char *key, size_t length,
                                  uint64_t hash)
{
    size_t i = (size_t)hash & (t->capacity - 1);

    while (t->slots[i].key != NULL && (t->slots[i].hash != hash || t->slots[i].length != length ||
                                       memcmp(t->slots[i].key, key, length) != 0))
        i = (i + 1) & (t->capacity - 1);
    return &t->slots[i];
}

static bool text_grow(table_text *t)
{
    table_text bigger = {NULL, t->capacity == 0 ? FIRST_CAPACITY : t->capacity * 2, t->count};

    bigger.slots = memory_allocate_array(bigger.capacity, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return false;
    for (size_t i = 0; i < t->capacity; i++) {
        table_text_slot *slot = &t->slots[i];

        if (slot->key != NULL)
            *text_find(&bigger, slot->key, slot->length, slot->hash) = *slot;
    }
    memory_free(t->slots);
    *t = bigger;
    return true;
}

uint64_t *table_text_at(table_text *t, const char *key, size_t length, uint64_t initial)
{
    uint64_t hash = table_hash_bytes(key, length);
    table_text_slot *slot;
    char *copy;

    if (t->capacity != 0) {
        slot = text_find(t, key, length, hash);
        if (slot->key != NULL)
            return &slot->value;
    }
    if (is_crowded(t->count, t->capacity) && !text_grow(t))
        return NULL;
    copy = memory_copy_text_n(key, length);
    if (copy == NULL)
        return NULL;
    slot = text_find(t, key, length, hash);
    slot->key = copy;
    slot->length = length;
    slot->hash = hash;
    slot->value = initial;
    t->count++;
    return &slot->value;
}

bool table_text_put(table_text *t, const char *key, size_t length, uint64_t value)
{
    uint64_t *place = table_text_at(t, key, length, value);

    if (place == NULL)
        return false;
    *place = value;
    return true;
}

bool table_text_get(const table_text *t, const char *key, size_t length, uint64_t *value)
{
    const table_text_slot *slot;

    if (t->capacity == 0)
        return false;
    slot = text_find(t, key, length, table_hash_bytes(key, length));
    if (slot->key == NULL)
        return false;
    *value = slot->value;
    return true;
}
