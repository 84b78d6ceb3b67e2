/*
 * counters_live: the values of the profiler `counters`, taken out of the agent's chunks as they
 * come, by series (provider, name, tags). Thread rules: one thread at a time.
 */
#ifndef CLARINET_CLI_COUNTERS_LIVE_H
#define CLARINET_CLI_COUNTERS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "recording/decode.h"

/* What a value is; as the profiler writes it. */
enum { COUNTERS_LEVEL, COUNTERS_INCREASE };

typedef struct {
    uint64_t time_ns; /* since the recording's begin */
    uint64_t interval_ns;
    double value;
} counters_value;

/* Texts belong to the whole. */
typedef struct {
    const char *provider;
    const char *name;
    const char *title;
    const char *unit;
    const char *tags; /* "a=b,c=d"; "" = none */
    unsigned kind;
    double sum;       /* of the values that are numbers */
    size_t not_added; /* those that are none */
    counters_value *values;
    size_t count;
    size_t capacity;
} counters_series;

typedef struct {
    counters_series *series;
    size_t count;
    size_t capacity;
    table_u64 strings; /* id to its place in texts, + 1 */
    char **texts;
    size_t text_count;
    size_t text_capacity;
    table_text index; /* of series */
    uint64_t table;   /* id of the table; 0 = not seen */
    uint64_t meters;  /* the same */
    uint8_t types[16];
    size_t columns;
    bool last_only; /* of each series only the last value is kept: it may go on for weeks */
    /* Called for every value; may be NULL. */
    void (*on_value)(void *context, const counters_series *series, const counters_value *value);
    void *context;
} counters_live;

/* A zeroed one is empty. What cannot be kept for lack of memory is left out. */
void counters_live_feed(counters_live *c, const recording_chunk *chunk);
void counters_live_free(counters_live *c);

/* "level", "increase". */
const char *counters_kind_name(unsigned kind);

#endif
