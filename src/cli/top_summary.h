/*
 * top_summary: the tables of the moment that `clarinet top` shows, put together. Each is made when
 * it is first asked for and kept until the next moment, because the vital signs and the view want
 * the same ones, and a key that is pressed draws the view again.
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_CLI_TOP_SUMMARY_H
#define CLARINET_CLI_TOP_SUMMARY_H

#include "analysis/allocations.h"
#include "analysis/contention.h"
#include "analysis/exceptions.h"
#include "analysis/gc.h"
#include "analysis/requests.h"

typedef enum {
    TOP_ALLOCATIONS,
    TOP_EXCEPTIONS,
    TOP_WAITS,
    TOP_REQUESTS,
    TOP_COLLECTIONS,
    TOP_SUMMARIES
} top_summary_kind;

typedef struct {
    const model *m;
    const model_process *process;
    double seconds; /* how long the model's rows took */
    unsigned made;  /* how many were made */
    bool has[TOP_SUMMARIES];
    allocations allocations; /* each only where `has` says so */
    exceptions exceptions;
    contention waits;
    requests requests;
    gc collections;
} top_summary;

/* Nothing is made yet. The model must outlive it; the first process of the model is meant. */
void top_summary_init(top_summary *s, const model *m, double seconds);
/* Makes a summary unless it is there. 0 also when the model has no such table: then `has` stays
 * false. */
int top_summary_need(top_summary *s, top_summary_kind kind, error *e);
/* A zeroed one may be freed too. */
void top_summary_free(top_summary *s);

#endif
