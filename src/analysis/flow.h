/*
 * flow: calls that were recorded as spans (the tracer's parameter `spans`), whole: what was told of
 * an async call at its begin and at its end is joined here.
 *
 * Spans are taken out of a model that grows, so that memory is needed for async calls that are
 * under way and for what the caller has not used yet, however many spans there are. An async call's
 * begin comes before its end: both go through one ring.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_ANALYSIS_FLOW_H
#define CLARINET_ANALYSIS_FLOW_H

#include "analysis/model.h"

typedef struct {
    uint32_t process; /* index of the model's process */
    uint32_t method;  /* index of the process's method */
    uint32_t thread;  /* index of the process's thread: where it began */
    uint32_t
        exception;   /* string: type of what made it fail, as the runtime spells it; 0 = unknown */
    uint64_t id;     /* the upper half is the trace's number */
    uint64_t parent; /* 0 = none */
    uint64_t start, end; /* ns since the process's time 0 */
    bool failed;
    bool is_async;
    bool unfinished; /* its end was not seen: `end` is its start */
} flow_span;

typedef struct {
    table_u64 open; /* id to the index of `open_items` + 1; 0 = has ended */
    size_t open_count;
    uint32_t newest; /* number of a span */
    uint64_t known;  /* spans */
} flow_process;

typedef struct {
    flow_span *items; /* whole ones; whoever uses them sets `count` to 0 */
    size_t count, capacity;
    /* private */
    flow_span *open_items; /* id 0 = free; then `parent` is the next free one + 1 */
    size_t open_count, open_capacity, first_free;
    flow_process *processes; /* as the model's */
    size_t process_count, process_capacity;
} flow; /* a zeroed one is empty */

/* Takes the rows of spans out of the model. */
int flow_take(flow *f, model *m, error *e);
/* Nothing more comes: what has not ended is unfinished. */
int flow_finish(flow *f, error *e);
/* Calls that had begun before the newest span and have none, by their numbers. */
uint64_t flow_missing(const flow *f);
void flow_free(flow *f);

/* What a reason for a loss counts, as far as spans go. */
typedef enum {
    FLOW_LOSS_CALLS,      /* calls without a span */
    FLOW_LOSS_METHODS,    /* methods there was no memory for: none of their calls has one */
    FLOW_LOSS_ASSEMBLIES, /* that can be unloaded */
    FLOW_LOSS_NOTHING,    /* methods not called or without code, types: no span is missing */
} flow_loss;

flow_loss flow_loss_of(const char *reason);

#endif
