/*
 * part: the rows of event profilers that belong to the part of a recording that a report is of.
 * Rows with a time are chosen by --from and --to. Rows that are about one thread are chosen by
 * --thread too; collections and pauses are about all, counters about none.
 */
#ifndef CLARINET_REPORT_PART_H
#define CLARINET_REPORT_PART_H

#include "report/report.h"

/* What of a report of a part is of the whole recording all the same. */
#define PART_OF_WHOLE                                                                              \
    "findings, losses, own cost and what has no time (traced methods, transitions, heaps, live "   \
    "objects) are of the whole; collections, pauses and counters are of all threads"

typedef struct {
    const model_process *whole;
    model_process process; /* as `whole`, with the tables and profilers of the part */
    bool *is_chosen;       /* by table: its rows were; NULL = the report is of the whole */
} part_view;

int part_make(const model *m, const model_process *p, const report_options *options,
              part_view *made, error *e);
/* What a section about the table with this index sees. */
const model_process *part_process(const part_view *made, size_t table);
const model_table *part_table(const part_view *made, size_t table);
void part_free(part_view *made);

#endif
