/*
 * heap_strings: which strings of a heap say the same. A table of hashes, bounded: when it is full,
 * strings met only once are forgotten, so what repeats often stays.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_AGENT_HEAP_STRINGS_H
#define CLARINET_AGENT_HEAP_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAP_STRINGS_NEW = 0,          /* not met before: it has the next number */
    HEAP_STRINGS_NOT_COMPARED = 1, /* switched off, or no room */
    HEAP_STRINGS_FIRST = 2,        /* codes from here on: number * 2 + whether the text follows */
    HEAP_STRINGS_TEXT = 160,       /* characters of a text that are kept */
};

typedef struct {
    uint64_t hash;  /* 0 = free */
    uint64_t value; /* number * 2, + 1 when it was met again */
} heap_strings_slot;

typedef struct {
    heap_strings_slot *slots;
    size_t capacity, count;
    uint64_t next; /* number */
    uint64_t forgotten;
    bool is_on;
    bool is_full; /* of strings that repeat */
} heap_strings;

void heap_strings_open(heap_strings *s, bool is_on);
void heap_strings_close(heap_strings *s);
/* Starts anew. */
void heap_strings_clear(heap_strings *s);
/* What is written of a string. An odd code from HEAP_STRINGS_FIRST on: its text follows. */
uint64_t heap_strings_code(heap_strings *s, const uint16_t *text, uint32_t length);

#endif
