/*
 * spans: the single calls that the method tracer recorded, each with the call around it. A call's
 * parent is the nearest recorded call of the same thread that encloses it; calls that were left out
 * (by rate or by condition) are passed over. An async call lasts until it is complete, so it may
 * outlast its parent, and is never the parent of what its thread did meanwhile.
 */
#ifndef CLARINET_ANALYSIS_SPANS_H
#define CLARINET_ANALYSIS_SPANS_H

#include "analysis/model.h"

#define SPANS_NONE SIZE_MAX

typedef struct {
    const model_process *process;
    uint32_t method;     /* index of the process's method */
    uint32_t thread;     /* index of the process's thread */
    uint64_t start, end; /* ns since the process's time 0 */
    uint32_t values;     /* string: arguments and result */
    uint32_t exception;  /* string: type of the exception that left it; 0 = none or unknown */
    uint64_t depth;      /* traced calls around it */
    bool failed;
    bool is_async; /* from the call to its completion, on whatever thread that was */
    size_t parent; /* index of the call around it, SPANS_NONE = none */
    size_t root;   /* index of the outermost one; its own when it has none around it */
} span;

typedef struct {
    span *items; /* by process, thread and start; a parent stands before its children */
    size_t count;
} spans;

/* `wants` chooses (NULL = all). */
int spans_find(const model *m, bool (*wants)(const void *context, const model *m, const span *s),
               const void *context, spans *out, error *e);
void spans_free(spans *s);

#endif
