/*
 * strings: every text of a recording once. A text is named by its index; index 0 is "". Texts are
 * valid UTF-8 without zero bytes (what is broken became U+FFFD), closed by a zero, and stay where
 * they are until strings_free. Thread rules: one thread at a time.
 */
#ifndef CLARINET_ANALYSIS_STRINGS_H
#define CLARINET_ANALYSIS_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct strings_block strings_block;

typedef struct {
    const char **texts;
    size_t count;
    /* private */
    size_t capacity;
    uint32_t *slots; /* index, 0 = free */
    uint32_t *hashes;
    size_t hash_capacity;
    size_t slot_count;
    strings_block *blocks;
    buffer scratch;
    size_t bytes; /* memory in use, about */
} strings;

bool strings_init(strings *s);
void strings_free(strings *s);
/* The index of the text, added if it is new; false when there is no memory. */
bool strings_add(strings *s, const char *text, size_t length, uint32_t *index);
/* The same for a C string. */
bool strings_add_text(strings *s, const char *text, uint32_t *index);
static inline const char *strings_at(const strings *s, uint32_t index)
{
    return index < s->count ? s->texts[index] : "";
}

#endif
