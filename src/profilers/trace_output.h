/*
 * trace_output: what the tracer writes into the recording, and the state it keeps for that. Own
 * thread only, apart from what trace_registry says.
 */
#ifndef CLARINET_PROFILERS_TRACE_OUTPUT_H
#define CLARINET_PROFILERS_TRACE_OUTPUT_H

#include "agent/agent.h"
#include "profilers/trace_async.h"
#include "profilers/trace_exceptions.h"
#include "profilers/trace_registry.h"
#include "profilers/trace_spans.h"
#include "profilers/trace_tree.h"
#include "profilers/trace_wanted.h"

enum {
    TRACE_TABLE_METHODS,
    TRACE_TABLE_CALLS,
    TRACE_TABLE_TIMES,
    TRACE_TABLE_EVENTS,
    TRACE_TABLE_FAILURES,
    TRACE_TABLE_TREE,
    TRACE_TABLE_SPANS,
    TRACE_TABLE_MISSING,
    TRACE_TABLE_COUNT,
};
enum {
    TRACE_LOSS_RING,
    TRACE_LOSS_TIMES,
    TRACE_LOSS_DEPTH,
    TRACE_LOSS_THREADS,
    TRACE_LOSS_METHODS,
    TRACE_LOSS_EVENTS,
    TRACE_LOSS_RATE,
    TRACE_LOSS_TREE,
    TRACE_LOSS_ASYNC,
    TRACE_LOSS_TYPES,
    TRACE_LOSS_MODULES,
    TRACE_LOSS_UNLISTED,
    TRACE_LOSS_BODILESS,
    TRACE_LOSS_COUNT,
};
extern const recording_table TRACE_TABLES[TRACE_TABLE_COUNT];
extern const char TRACE_LOSSES[];

typedef struct {
    trace_registry registry;
    _Atomic(trace_wanted *) wanted;
    atomic_int loading;    /* threads of the target that ask for a module's methods */
    atomic_bool unloading; /* an assembly is about to go */
    trace_tree *tree;      /* kept once it was wanted */
    uint64_t events;
    bool asked;   /* this session's request for what is loaded was made */
    bool empty;   /* probes that do nothing, for the benchmark */
    bool counted; /* calls were written */
    uint64_t next_write_ns;
    uint64_t allowed_ns; /* single calls are allowed for the time until then; 0 = none yet */
    trace_span_clock span_clock;
    ring spans;                      /* kept once they were wanted */
    uint64_t spans_dropped;          /* of them, as told to the agent */
    uint64_t lost[TRACE_LOSS_COUNT]; /* as told to the agent */
    uint64_t unkept; /* calls of the whole session whose times are in no histogram */
    atomic_uint_fast64_t lost_methods;
    atomic_uint_fast64_t left_modules; /* that can be unloaded */
    atomic_uint_fast64_t bodiless;     /* methods */
    uint32_t listed;                   /* methods before they are called */
    uint64_t unlisted; /* methods that were not called, for whose names there is no room */
} trace_state_of_engine;

/* Everything that has changed; at the end (`last`) everything. */
void trace_output_write(agent *a, trace_state_of_engine *s, bool last);
/* In every round: the types of exceptions that left traced methods, while they are there. */
void trace_output_name_failures(agent *a, trace_state_of_engine *s);
/* Looks how many calls run at this moment. */
void trace_output_look(trace_state_of_engine *s);
/* The method's name for rows; 0 = the runtime cannot be asked any more. */
uint32_t trace_output_name(agent *a, trace_entry *entry);
/* A single call out of the ring. */
void trace_output_record(agent *a, unsigned kind, const void *payload, size_t length);

#endif
