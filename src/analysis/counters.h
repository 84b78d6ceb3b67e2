/*
 * counters: the values of counters put together by series (provider, name, tags). Works on the
 * tables `counters` and `meters`; columns that are missing count as 0.
 */
#ifndef CLARINET_ANALYSIS_COUNTERS_H
#define CLARINET_ANALYSIS_COUNTERS_H

#include "analysis/model.h"
#include "base/table.h"

enum { COUNTERS_SUMMARY_INCREASE = 1 }; /* of `kind`: grew by so much in an interval */

typedef struct {
    uint32_t provider, name, title, unit, tags; /* strings */
    uint32_t kind;
    uint64_t count;
    uint64_t numbers; /* values that are numbers; others are NaN or infinite */
    double sum;       /* of the numbers, as the next two; these are NaN where there is none */
    double least;
    double most;
    double last; /* whatever it is */
} counters_item;

typedef struct {
    counters_item *items; /* in the order of their first value */
    size_t count;
    size_t capacity;
    table_text index;
} counters_summary;

int counters_summarise(const model *m, const model_table *table, counters_summary *result,
                       error *e);
void counters_free(counters_summary *result);

#endif
