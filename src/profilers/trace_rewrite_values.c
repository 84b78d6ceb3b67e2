/*
 * trace_rewrite_values: the calls that hand the values of arguments and results to the probes.
 */
#include "cil/compressed.h"
#include "profilers/trace_capture.h"
#include "profilers/trace_classes.h"
#include "profilers/trace_rewrite_private.h"

void trace_insert_type(trace_rewriting *w, cil_at at, const cil_type *t)
{
    buffer bytes = BUFFER_EMPTY;
    mdToken type = 0;

    if (t->element == CIL_TYPE_VARIABLE || t->element == CIL_TYPE_METHOD_VARIABLE) {
        buffer_append_u8(&bytes, t->element);
        cil_append_compressed(&bytes, t->number);
        if (!buffer_failed(&bytes) && w->module->handle_value != 0)
            type = clr_emitter_type_spec(w->module->emitter, bytes.data, bytes.length);
        buffer_free(&bytes);
    }
    if (type == 0) {
        cil_insert_number(&w->body, at, CIL_LDC_I8, 0);
        return;
    }
    cil_insert_token(&w->body, at, CIL_LDTOKEN, type);
    cil_insert_token(&w->body, at, CIL_CALL, w->module->handle_value);
    cil_insert(&w->body, at, CIL_CONV_U8);
}

/* The address of a variable goes to the probe; a by-ref is its address already. */
static void insert_value(trace_rewriting *w, cil_at at, int64_t argument,
                         const trace_capture *capture, uint32_t result_local, bool only_look)
{
    bool result = capture->variable == TRACE_PATH_RESULT;
    bool by_type = capture->shape.onward == TRACE_BY_TYPE;
    int64_t variable = result ? (int64_t)result_local : capture->variable;

    cil_insert_number(&w->body, at, CIL_LDC_I8, argument);
    cil_insert_number(&w->body, at, CIL_LDC_I8, (int64_t)(intptr_t)capture);
    if (capture->by_ref)
        cil_insert_number(&w->body, at, result ? CIL_LDLOC : CIL_LDARG, variable);
    else
        cil_insert_number(&w->body, at, result ? CIL_LDLOCA : CIL_LDARGA, variable);
    cil_insert(&w->body, at, CIL_CONV_U);
    cil_insert(&w->body, at, CIL_CONV_U8);
    if (by_type || only_look)
        trace_insert_type(w, at, &capture->type);
    if (only_look)
        trace_insert_call(w, at, (intptr_t)trace_look, w->module->span_signature);
    else if (by_type)
        trace_insert_call(w, at, (intptr_t)trace_value_of_type, w->module->span_signature);
    else
        trace_insert_call(w, at, (intptr_t)trace_value, w->module->value_signature);
}

/* Where objects' own classes decide: looks until all of them are known. */
static void insert_looks(trace_rewriting *w, cil_at at, int64_t argument, const trace_plan *plan,
                         bool results, uint32_t result_local)
{
    cil_at again = CIL_END;

    for (uint32_t n = 0; n < plan->count; n++) {
        const trace_capture *capture = &plan->captures[n];

        if (capture->shape.onward == TRACE_ENDS ||
            (capture->variable == TRACE_PATH_RESULT) != results)
            continue;
        if (again == CIL_END)
            again = cil_insert_label(&w->body, at);
        insert_value(w, at, argument, capture, result_local, true);
    }
    if (again == CIL_END)
        return;
    cil_insert_number(&w->body, at, CIL_LDC_I8, argument);
    trace_insert_call(w, at, (intptr_t)trace_await_class, w->module->wait_signature);
    cil_insert_branch(&w->body, at, CIL_BRTRUE, again);
}

void trace_insert_values(trace_rewriting *w, const cil_wrap *wrap, const cil_wrap_options *options,
                         int64_t argument, const trace_plan *plan, bool has_task)
{
    bool has_result = options->has_result && !has_task;

    insert_looks(w, wrap->enter, argument, plan, false, 0);
    if (has_result)
        insert_looks(w, wrap->leave, argument, plan, true, options->result_local);
    for (uint32_t n = 0; n < plan->count; n++) {
        const trace_capture *capture = &plan->captures[n];

        if (capture->variable != TRACE_PATH_RESULT)
            insert_value(w, wrap->enter, argument, capture, 0, false);
        else if (has_result)
            insert_value(w, wrap->leave, argument, capture, options->result_local, false);
    }
    cil_insert_probe(&w->body, wrap->enter, argument, (uint64_t)(uintptr_t)trace_entered,
                     w->module->probe_signature);
}
