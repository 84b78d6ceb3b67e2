/*
 * groups: rows put together by a few numbers that tell them apart, and what the amounts of many
 * rows look like (their spread). What the sections about events are made of.
 *
 * Thread rules: one thread at a time. After a failure (no memory) everything may still be freed.
 */
#ifndef CLARINET_ANALYSIS_GROUPS_H
#define CLARINET_ANALYSIS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model.h"
#include "base/table.h"

enum { GROUPS_KEYS = 3 };

typedef struct {
    uint32_t key[GROUPS_KEYS]; /* what the caller put there: a type, a stack, a reason, … */
    uint64_t count;
    uint64_t sum;  /* of the amounts */
    uint64_t most; /* the largest amount of a single row */
} groups_item;

typedef struct {
    groups_item *items;
    size_t count;
    size_t capacity;
    table_text index;
} groups_list;

/* A zeroed list is empty. `count` events with `sum` together; false when there is no memory. */
bool groups_add(groups_list *g, uint32_t first, uint32_t second, uint32_t third, uint64_t count,
                uint64_t sum);
/* Largest sum first, then largest count, then key. The groups take no more rows after this. */
void groups_sort(groups_list *g);
/* The same with the count first. */
void groups_sort_by_count(groups_list *g);
void groups_free(groups_list *g);

typedef struct {
    uint64_t *values;
    size_t count;
    size_t capacity;
    uint64_t sum;
} groups_spread;

bool groups_spread_add(groups_spread *s, uint64_t value);
/* After the last value, before asking for quantiles. */
void groups_spread_sort(groups_spread *s);
/* The smallest value that at least this share (0 to 1) of the values do not exceed; 0 if none. */
uint64_t groups_spread_at(const groups_spread *s, double share);
void groups_spread_free(groups_spread *s);

/* The column of this name and type, NULL when the table has none. */
const model_column *groups_column(const model *m, const model_table *table, const char *name,
                                  uint8_t type);
/* A cell, or `missing` where there is no such column. */
static inline uint64_t groups_cell(const model_column *column, size_t row, uint64_t missing)
{
    return column == NULL ? missing : model_cell(column, row);
}

/* How long a profiler looked: from its start to its stop, else the whole recording. */
uint64_t groups_time_watched(const model *m, const model_process *process, const char *profiler);

#endif
