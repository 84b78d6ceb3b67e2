/*
 * flow: calls that were recorded as spans (the tracer's parameter `spans`), whole: what was told of
 * an async call at its begin and at its end is joined here.
 */
#ifndef CLARINET_ANALYSIS_FLOW_H
#define CLARINET_ANALYSIS_FLOW_H

#include "analysis/model.h"

typedef struct {
    const model_process *process;
    uint32_t method;     /* index of the process's method */
    uint32_t thread;     /* index of the process's thread: where it began */
    uint64_t id;         /* the upper half is the trace's number */
    uint64_t parent;     /* 0 = none */
    uint64_t start, end; /* ns since the process's time 0 */
    uint32_t
        exception; /* string: type of what made it fail, as the runtime spells it; 0 = unknown */
    bool failed;
    bool is_async;
    bool unfinished; /* its end was not seen: `end` is its start */
} flow_span;

typedef struct {
    flow_span *items; /* by process and start */
    size_t count;
} flow;

int flow_find(const model *m, flow *out, error *e);
/* Calls that had begun before the newest span and have none, by their numbers. */
uint64_t flow_missing(const flow *f);
void flow_free(flow *f);

/* What a reason for a loss counts, as far as spans go. */
typedef enum {
    FLOW_LOSS_CALLS,      /* calls without a span */
    FLOW_LOSS_METHODS,    /* methods there was no memory for: none of their calls has one */
    FLOW_LOSS_ASSEMBLIES, /* that can be unloaded */
    FLOW_LOSS_NOTHING, /* methods that were not called or have no code, types: no span is missing */
} flow_loss;

flow_loss flow_loss_of(const char *reason);

#endif
