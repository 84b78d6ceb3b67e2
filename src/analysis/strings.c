/* strings: see strings.h. An open hash table of indexes over texts that live in blocks. */
#include "analysis/strings.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"

static const size_t BLOCK_SIZE = 64u << 10;

struct strings_block {
    strings_block *next;
    size_t used;
    size_t size;
    char bytes[];
};

bool strings_init(strings *s)
{
    uint32_t index;

    memset(s, 0, sizeof *s);
    return strings_add(s, "", 0, &index);
}

void strings_free(strings *s)
{
    while (s->blocks != NULL) {
        strings_block *next = s->blocks->next;

        memory_free(s->blocks);
        s->blocks = next;
    }
    memory_free(s->texts);
    memory_free(s->slots);
    memory_free(s->hashes);
    buffer_free(&s->scratch);
    memset(s, 0, sizeof *s);
}

static char *keep(strings *s, const char *text, size_t length)
{
    strings_block *block = s->blocks;
    char *place;

    if (block == NULL || block->size - block->used <= length) {
        size_t size = length + 1 > BLOCK_SIZE ? length + 1 : BLOCK_SIZE;

        block = memory_allocate(sizeof *block + size);
        if (block == NULL)
            return NULL;
        block->size = size;
        block->used = 0;
        block->next = s->blocks;
        s->blocks = block;
        s->bytes += size;
    }
    place = block->bytes + block->used;
    memcpy(place, text, length);
    place[length] = '\0';
    block->used += length + 1;
    return place;
}

static bool grow_slots(strings *s)
{
    size_t wish = s->slot_count == 0 ? 1024 : s->slot_count * 2;
    uint32_t *slots = memory_allocate_array(wish, sizeof *slots);

    if (slots == NULL)
        return false;
    for (uint32_t i = 1; i < s->count; i++) {
        size_t slot = s->hashes[i] & (wish - 1);

        while (slots[slot] != 0)
            slot = (slot + 1) & (wish - 1);
        slots[slot] = i;
    }
    memory_free(s->slots);
    s->slots = slots;
    s->slot_count = wish;
    return true;
}

/* Most texts are plain ASCII and are taken as they are. */
static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= 0)
            return false;
    return true;
}

static bool clean(strings *s, const char **text, size_t *length)
{
    const char *from = *text;
    const char *end = from + *length;

    buffer_clear(&s->scratch);
    while (from < end) {
        const char *zero = memchr(from, 0, (size_t)(end - from));
        const char *stop = zero == NULL ? end : zero;

        text_append_cleaned(&s->scratch, from, (size_t)(stop - from));
        if (zero != NULL)
            text_append_code_point(&s->scratch, 0xFFFD);
        from = zero == NULL ? end : zero + 1;
    }
    *text = buffer_text(&s->scratch);
    *length = s->scratch.length;
    return !buffer_failed(&s->scratch);
}

static bool append(strings *s, const char *text, size_t length, uint32_t hash, uint32_t *index)
{
    char *kept;

    if (s->count == UINT32_MAX || (s->count + 1) * 3 > s->slot_count * 2)
        if (s->count == UINT32_MAX || !grow_slots(s))
            return false;
    if (!array_reserve(&s->texts, &s->capacity, s->count + 1, sizeof *s->texts) ||
        !array_reserve(&s->hashes, &s->hash_capacity, s->count + 1, sizeof *s->hashes))
        return false;
    kept = keep(s, text, length);
    if (kept == NULL)
        return false;
    s->texts[s->count] = kept;
    s->hashes[s->count] = hash;
    *index = (uint32_t)s->count++;
    if (*index != 0) {
        size_t slot = hash & (s->slot_count - 1);

        while (s->slots[slot] != 0)
            slot = (slot + 1) & (s->slot_count - 1);
        s->slots[slot] = *index;
    }
    return true;
}

bool strings_add(strings *s, const char *text, size_t length, uint32_t *index)
{
    uint32_t hash;

    if (!is_plain(text, length) && !clean(s, &text, &length))
        return false;
    if (length == 0 && s->count != 0) {
        *index = 0;
        return true;
    }
    hash = (uint32_t)table_hash_bytes(text, length);
    if (s->slot_count != 0) {
        size_t slot = hash & (s->slot_count - 1);

        for (; s->slots[slot] != 0; slot = (slot + 1) & (s->slot_count - 1)) {
            uint32_t candidate = s->slots[slot];

            if (s->hashes[candidate] == hash && strlen(s->texts[candidate]) == length &&
                memcmp(s->texts[candidate], text, length) == 0) {
                *index = candidate;
                return true;
            }
        }
    }
    return append(s, text, length, hash, index);
}

bool strings_add_text(strings *s, const char *text, uint32_t *index)
{
    return strings_add(s, text, strlen(text), index);
}
