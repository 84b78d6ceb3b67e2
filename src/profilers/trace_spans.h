/*
 * trace_spans: calls as spans, each with the span around it, by execution flow: through threads,
 * tasks and awaits, because the current span lives in an AsyncLocal<long> of the program.
 *
 * The rewritten method keeps what belongs to its call in locals of its own: the span around it, its
 * own span and its start, the execution context before and that with its span. A span's number has
 * the trace in its upper half and the call in its lower half, so nobody has to be asked which trace
 * a call belongs to. The AsyncLocal is made by the first method that runs; its handle is published
 * in trace_counters. At the end the context before is put back when nobody has changed it meanwhile
 * (that allocates nothing); else the span around is set in what the context has become.
 *
 * An async method's span begins with its call and ends where a step hands the result or the
 * exception to the task (not with that step: it runs the continuations); both are reported, and
 * joined outside. The probes run on the target's threads in cooperative mode: no lock, no runtime
 * call, no wait. They write into a ring of the spans' own, large enough for what comes while the
 * agent's thread waits for a processor.
 */
#ifndef CLARINET_PROFILERS_TRACE_SPANS_H
#define CLARINET_PROFILERS_TRACE_SPANS_H

#include "agent/ring.h"
#include "base/error.h"
#include "cil/wrap.h"
#include "profilers/trace_rewrite.h"

typedef enum {
    TRACE_SPAN_WHOLE = 0, /* a call from begin to end */
    TRACE_SPAN_BEGIN,     /* an async method was called */
    TRACE_SPAN_END,       /* and completes, well or failed */
} trace_span_part;

typedef struct trace_span {
    uint64_t span;       /* its trace in the upper half */
    uint64_t start, end; /* ticks */
    uint32_t parent;     /* of the same trace; 0 = none */
    uint32_t method;     /* index of the method that was called */
    uint32_t thread;
    uint8_t part; /* trace_span_part */
    bool failed;
    uint16_t exception; /* its type's number (trace_exceptions.h); 0 = none, or not known */
} trace_span;

/* The clock of a session's spans: one straight line from ticks to nanoseconds, so that what was
 * inside something else stays inside. Own thread. */
typedef struct {
    uint64_t ticks, ns;
    double tick_ns; /* 0 = not known yet */
} trace_span_clock;
void trace_span_clock_start(trace_span_clock *k, const trace_counters *c);
/* Before the first look at a time: takes 50 ms when the session has only begun. */
void trace_span_clock_settle(trace_span_clock *k, const trace_counters *c);
static inline uint64_t trace_span_clock_ns(const trace_span_clock *k, uint64_t ticks)
{
    return k->ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - k->ticks) * k->tick_ns);
}

/* What a rewriting needs to know. */
typedef struct {
    const trace_module *module;
    const trace_method *method;
    cil_wrap wrap;
    uint32_t first_local; /* of trace_spans_locals */
    bool is_async;        /* its steps report its end */
    bool is_step;         /* it is the step of an async method */
} trace_spans_code;

/* Types of the locals that a rewritten method needs; returns how many. */
uint32_t trace_spans_locals(buffer *types);

/* A type of the core library, as a module that may be the core library itself names it. */
mdToken trace_core_type(clr_emitter *emitter, const char *name);

/* Puts the probes into the wrapped body. */
int trace_spans_insert(cil_body *body, const trace_spans_code *code, error *e);
/* In a step, before the instruction that hands the result or the exception to the task. */
void trace_spans_insert_end(cil_body *body, const trace_spans_code *code, cil_at at, bool failed);

#endif
