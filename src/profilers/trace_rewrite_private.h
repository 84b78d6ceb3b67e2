/*
 * trace_rewrite_private: what the parts of trace_rewrite share. Values and the steps of async
 * methods have files of their own; so has the way around the stack's end.
 */
#ifndef CLARINET_PROFILERS_TRACE_REWRITE_PRIVATE_H
#define CLARINET_PROFILERS_TRACE_REWRITE_PRIVATE_H

#include "cil/check.h"
#include "cil/edit.h"
#include "cil/signature.h"
#include "cil/wrap.h"
#include "clarinet/clarinet.h"
#include "profilers/trace_rewrite.h"
#include "profilers/trace_spans.h"

/* Everything one rewriting holds; freed together. */
typedef struct {
    const clr_info *info;
    const trace_module *module;
    IMetaDataImport2 *import;
    clr_method method;  /* what the metadata say of it */
    uintptr_t old_code; /* 0 = recursion has no second way */
    cil_body body;
    cil_signature signature;
    cil_checker *checker;
    buffer locals; /* the new local signature */
    buffer bytes;
    COR_IL_MAP *map;
    const uint8_t *old_locals;
    uint32_t old_locals_length;
} trace_rewriting;

static inline void trace_insert_call(trace_rewriting *w, cil_at at, intptr_t function,
                                     uint32_t signature)
{
    cil_insert_number(&w->body, at, CIL_LDC_I8, (int64_t)function);
    cil_insert(&w->body, at, CIL_CONV_I);
    cil_insert_token(&w->body, at, CIL_CALLI, signature);
}

/* ---- trace_rewrite_values.c ---- */

/* The type that a type parameter stands for, as the runtime's number; 0 for what is none. */
void trace_insert_type(trace_rewriting *w, cil_at at, const cil_type *t);
/* What is wanted of arguments and result; then the call has been entered. */
void trace_insert_values(trace_rewriting *w, const cil_wrap *wrap, const cil_wrap_options *options,
                         int64_t argument, const trace_plan *plan, bool has_task);

/* ---- trace_rewrite_steps.c ---- */

/* What the builder of an async method is. */
typedef enum {
    TRACE_BUILDER_NONE,
    TRACE_BUILDER_OTHER, /* one whose calls cannot be told apart */
    TRACE_BUILDER_WITH_TASK,
    TRACE_BUILDER_VOID, /* it has one with a task inside */
} trace_builder;

/* Does the method make a task that can be read? *result gets the node of what the task will have.
 */
bool trace_makes_task(trace_rewriting *w, uint32_t *result);
/* The token by which the state machine reads its state; 0 = it is none. */
mdToken trace_find_state(trace_rewriting *w);
/* Before every hand-over of a result or an exception to the builder. Returns what builder it is.
 * With `spans` the probes are those of spans. */
trace_builder trace_insert_completions(trace_rewriting *w, int64_t argument, bool results,
                                       const trace_spans_code *spans);
/* Enter and leave of a step. */
void trace_insert_step(trace_rewriting *w, const cil_wrap *wrap, int64_t argument, mdToken state,
                       bool results);

/* ---- trace_rewrite_deep.c ---- */

/* The native code that a method without loops which calls itself had before; 0 = it is another
 * one, or has none yet. Before the body is changed. */
uintptr_t trace_find_old_code(const trace_rewriting *w, mdMethodDef token);
/* Makes the runtime optimise the method at its first compile. */
void trace_insert_lean(trace_rewriting *w, mdMethodDef token);
/* The enter probe before `at`, with the way into the old code. */
bool trace_insert_deep(trace_rewriting *w, cil_at at, int64_t argument, uintptr_t old_code);

#endif
