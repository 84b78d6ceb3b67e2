/*
 * trace: what the method tracer recorded, a row per method, over all processes of a recording.
 */
#ifndef CLARINET_ANALYSIS_TRACE_H
#define CLARINET_ANALYSIS_TRACE_H

#include "analysis/model.h"

/* What a row stands for. */
typedef enum {
    TRACE_KIND_METHOD,
    TRACE_KIND_STEPS, /* of an async method: what runs between awaits */
    TRACE_KIND_ASYNC, /* its calls as a whole, until their task is complete */
} trace_kind;

typedef struct {
    uint32_t type; /* string; 0 = not known */
    uint64_t count;
} trace_failure_type;

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
    uint64_t p50_ns, p90_ns, p99_ns, p999_ns; /* 0 = not known */
    uint64_t most_calls; /* of a process; until all times are known, these are its quantiles */
    uint64_t active;     /* calls still running at the end */
    uint64_t peak;       /* the most that were seen running at once, in one process */
    uint64_t threads;    /* that called it */
    trace_kind kind;
    uint64_t completions;        /* of an async method; its failures are among them */
    trace_failure_type *by_type; /* most first */
    size_t by_type_count;
} trace_result;

typedef struct {
    trace_result *items; /* by total time, longest first; then by name */
    size_t count;
} trace_results;

/* Who called whom: a node is a method called by one chain of traced methods. */
typedef struct {
    uint32_t name; /* string */
    trace_kind kind;
    size_t parent; /* index; SIZE_MAX = it is outermost */
    size_t depth;
    uint64_t calls, total_ns, self_ns;
} trace_tree_node;

typedef struct {
    trace_tree_node *items; /* a node stands before its callees; siblings by total, longest first */
    size_t count;
} trace_call_tree;

/* Empty when no call tree was recorded. */
int trace_find_tree(const model *m, trace_call_tree *out, error *e);
void trace_tree_free(trace_call_tree *tree);

int trace_analyse(const model *m, trace_results *out, error *e);
/* Methods that were meant, called or not; those too that there was no memory to list. */
size_t trace_count_meant(const model *m, const trace_results *results);
void trace_results_free(trace_results *results);

#endif
