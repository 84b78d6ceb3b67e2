/*
 * trace_rewrite: a method's body with probes in it, handed to the runtime. Runs inside of
 * GetReJITParameters, on threads of the target: quick, no lock, no state of its own.
 */
#ifndef CLARINET_PROFILERS_TRACE_REWRITE_H
#define CLARINET_PROFILERS_TRACE_REWRITE_H

#include "base/error.h"
#include "clarinet/emit.h"
#include "profilers/trace_counters.h"
#include "profilers/trace_plan.h"

/* What the rewriter needs of a module. */
typedef struct {
    ModuleID module;
    clr_emitter *emitter;
    mdToken probe_signature; /* StandAloneSig: unmanaged, SuppressGCTransition, void (int64) */
    mdToken step_signature;  /* the same with two int64 */
    mdToken value_signature; /* with three */
    mdToken span_signature;  /* with four */
    mdToken wait_signature;  /* of a function that may wait: int64 (int64), like any native one */
    mdToken handle_value;    /* RuntimeTypeHandle.ToIntPtr; 0 = there is none */
} trace_module;

/* Opens the module's metadata for writing and makes the probes' signature. */
int trace_module_open(const clr_info *info, ModuleID module, trace_module *out, error *e);

/* How a method is wanted. */
typedef struct {
    bool step;               /* it is the MoveNext of an async method */
    bool spans;              /* its calls as spans, instead of counting: trace_spans.h */
    bool async;              /* it is async; its steps are traced too */
    bool lean;               /* no probes, only optimised at once: trace_deep.h */
    bool empty;              /* probes that do nothing, to measure them */
    bool results;            /* of a step: of what it hands on */
    bool whole;              /* its calls are measured until they are complete */
    const trace_wish *wish;  /* its values; NULL = none */
    trace_plan **plans;      /* all that were made for it */
    const trace_plan **plan; /* gets the one that its new body uses; NULL = none */
    bool *has_task;          /* gets whether its task can be read, when `whole` was asked for */
} trace_request;

/* Wraps the method, checks the result and gives it to the runtime, with the map of offsets. The
 * error says why a method cannot carry a probe; then it is left as it was. */
int trace_rewrite(const clr_info *info, const trace_module *module, mdMethodDef token,
                  const trace_method *method, const trace_request *request,
                  ICorProfilerFunctionControl *control, error *e);

#endif
