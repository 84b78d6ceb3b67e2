/*
 * trace_rewrite: a method's body with probes in it, handed to the runtime. Runs inside of
 * GetReJITParameters, on threads of the target: quick, no lock, no state of its own.
 */
#ifndef CLARINET_PROFILERS_TRACE_REWRITE_H
#define CLARINET_PROFILERS_TRACE_REWRITE_H

#include "base/error.h"
#include "clr/emit.h"
#include "profilers/trace_counters.h"

/* What the rewriter needs of a module. */
typedef struct {
    ModuleID module;
    clr_emitter *emitter;
    mdToken probe_signature; /* StandAloneSig: unmanaged, SuppressGCTransition, void (int64) */
    mdToken step_signature;  /* the same with two int64 */
    mdToken value_signature; /* with three */
} trace_module;

/* Opens the module's metadata for writing and makes the probes' signature. */
int trace_module_open(const clr_info *info, ModuleID module, trace_module *out, error *e);

/* Wraps the method, checks the result and gives it to the runtime, with the map of offsets. The
 * error says why a method cannot carry a probe; then it is left as it was. */
enum {
    TRACE_STEP = 1,       /* the method is the MoveNext of an async method */
    TRACE_WITH_VALUES = 2 /* arguments and result are handed to trace_value */
};
int trace_rewrite(const clr_info *info, const trace_module *module, mdMethodDef token,
                  const trace_method *method, unsigned flags, ICorProfilerFunctionControl *control,
                  error *e);

#endif
