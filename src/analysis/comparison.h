/*
 * comparison: where two sequences part. Each item has a key, which counts, and a detail, which may
 * differ. Items that only one side has are critical, unless the other side has the same key at
 * another place: then it was moved, which is acceptable (threads take turns as they like).
 *
 * Pure and single-threaded; the items stay the caller's.
 */
#ifndef CLARINET_ANALYSIS_COMPARISON_H
#define CLARINET_ANALYSIS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct {
    char *key;
    char *detail; /* NULL = none */
} comparison_item;

typedef struct {
    comparison_item *items;
    size_t count;
    size_t capacity;
} comparison_sequence;

/* Copies both texts; false without memory. */
bool comparison_add(comparison_sequence *s, const char *key, const char *detail);
void comparison_clear(comparison_sequence *s);

typedef enum {
    COMPARISON_MISSING, /* only the first has it */
    COMPARISON_EXTRA,   /* only the second has it */
    COMPARISON_MOVED,   /* both have it, at another place */
    COMPARISON_DETAIL   /* the same key, another detail */
} comparison_kind;

typedef struct {
    comparison_kind kind;
    size_t first; /* where the difference stands in each sequence */
    size_t second;
} comparison_difference;

typedef struct {
    comparison_difference *differences; /* in order */
    size_t count;
    size_t capacity;
    size_t critical;
    size_t acceptable;
} comparison;

/* With order_matters nothing counts as moved. */
int comparison_make(comparison *c, const comparison_sequence *first,
                    const comparison_sequence *second, bool order_matters, error *e);
void comparison_free(comparison *c);
/* "missing", "extra", "moved", "detail". */
const char *comparison_kind_name(comparison_kind kind);
bool comparison_is_critical(comparison_kind kind);
/* 1 when nothing critical differs, else 1 - critical / items of the first, at least 0. */
double comparison_score(size_t critical, size_t items);

#endif
