/*
 * heap_strings: strings of a snapshot that say the same: how often, how many bytes one of each
 * would save, and who holds them.
 */
#ifndef CLARINET_ANALYSIS_HEAP_STRINGS_H
#define CLARINET_ANALYSIS_HEAP_STRINGS_H

#include "analysis/heap.h"
#include "analysis/heap_owners.h"

enum { HEAP_STRINGS_HOLDERS = 3 }; /* kept of each text */

typedef struct {
    uint32_t type;    /* of the holder */
    heap_field field; /* of it */
    uint32_t owner;   /* of a container: whose it is */
    uint64_t count;   /* references */
} heap_string_holder;

typedef struct {
    uint32_t text;   /* string: the beginning of it */
    uint64_t length; /* characters, all of them */
    uint64_t count;
    uint64_t bytes;                                   /* of one */
    uint64_t wasted;                                  /* by all but one */
    heap_string_holder holders[HEAP_STRINGS_HOLDERS]; /* most first; a count of 0 ends them */
} heap_duplicate;

typedef struct {
    heap_duplicate *items; /* by wasted bytes, at most `top` */
    size_t count;
    heap_owners owners;
    uint64_t texts;  /* that more than one string has */
    uint64_t wasted; /* by all of them */
} heap_duplicates;

int heap_find_duplicates(const heap *h, size_t top, heap_duplicates *out, error *e);
void heap_duplicates_free(heap_duplicates *d);
/* "Shop.Order.name"; an array's name ends with [] already. With `owners`, of a container also whose
 * it is: "string[] in Shop.Store.names". */
void heap_string_holder_text(const heap *h, const heap_owners *owners,
                             const heap_string_holder *holder, buffer *out);

#endif
