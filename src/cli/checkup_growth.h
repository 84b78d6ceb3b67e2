/*
 * checkup_growth: which types grow, how fast, and what holds them. Where leak-growth was found, the
 * heap is looked at twice, each time with its roots after a full collection, and the looks are
 * compared. Only the sums of the first stay in memory.
 */
#ifndef CLARINET_CLI_CHECKUP_GROWTH_H
#define CLARINET_CLI_CHECKUP_GROWTH_H

#include "analysis/findings.h"
#include "analysis/heap_series.h"

typedef struct {
    heap_series series;
    bool has_first;
} checkup_growth;

bool checkup_growth_is_asked(const findings *found);
/* Reads the first look from a file. */
int checkup_growth_begin(checkup_growth *g, const char *file, error *e);
/* Compares it with the second, and puts into the finding what grew; the looks' own trouble leaves
 * the finding as it is. */
void checkup_growth_tell(checkup_growth *g, const model *second, findings *found);
void checkup_growth_free(checkup_growth *g);

#endif
