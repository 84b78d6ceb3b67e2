/*
 * trace: what the method tracer recorded, a row per method, over all processes of a recording.
 */
#ifndef CLARINET_ANALYSIS_TRACE_H
#define CLARINET_ANALYSIS_TRACE_H

#include "analysis/model.h"

typedef struct {
    uint32_t name;       /* string: Namespace.Type.Method */
    uint32_t parameters; /* string: (int, string) */
    uint32_t module;     /* string */
    uint32_t state;      /* string: "probed", "waiting", "left alone: reason" */
    uint64_t calls;
    uint64_t failures; /* left by an exception */
    uint64_t total_ns; /* with what it called; a recursive call counts at each level */
    uint64_t self_ns;  /* without other traced methods */
    uint64_t least_ns, most_ns;
    uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
    uint64_t active;      /* calls still running at the end */
    uint64_t threads;     /* that called it */
    bool step;            /* these are the steps of an async method: what runs between awaits */
    uint64_t completions; /* of it */
} trace_result;

typedef struct {
    trace_result *items; /* by total time, longest first; then by name */
    size_t count;
} trace_results;

int trace_analyse(const model *m, trace_results *out, error *e);
void trace_results_free(trace_results *results);

#endif
