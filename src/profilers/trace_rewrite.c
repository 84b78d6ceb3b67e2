/* trace_rewrite: see trace_rewrite.h. */
#include "profilers/trace_rewrite.h"

#include <string.h>

#include "base/memory.h"
#include "cil/compressed.h"
#include "cil/encode.h"
#include "clarinet/cil.h"
#include "clarinet/lookup.h"
#include "clarinet/profiler.h"
#include "profilers/trace_rewrite_private.h"

enum { CONVENTION_C = 1 };

/* A plain function in C: the runtime may collect while it runs. */
static const uint8_t WAITS[] = {CONVENTION_C, 1, CIL_TYPE_I8, CIL_TYPE_I8};

static int refused(error *e, const char *what, HRESULT hr)
{
    char text[CLR_HRESULT_TEXT];

    return error_set(e, ERROR_RUNTIME, "the runtime refused %s (%s)", what,
                     clr_hresult_name(hr, text));
}

/* static IntPtr RuntimeTypeHandle.ToIntPtr(RuntimeTypeHandle) */
static mdToken find_handle_value(clr_emitter *emitter)
{
    buffer signature = BUFFER_EMPTY;
    mdToken handle = trace_core_type(emitter, "System.RuntimeTypeHandle");
    mdToken method = 0;

    buffer_append_u8(&signature, 0);
    buffer_append_u8(&signature, 1);
    buffer_append_u8(&signature, CIL_TYPE_INT_PTR);
    buffer_append_u8(&signature, CIL_TYPE_VALUETYPE);
    cil_append_compressed_token(&signature, handle);
    if (handle != 0 && !buffer_failed(&signature))
        method = clr_emitter_member(emitter, handle, "ToIntPtr", signature.data, signature.length);
    buffer_free(&signature);
    return method;
}

int trace_module_open(const clr_info *info, ModuleID module, trace_module *out, error *e)
{
    HRESULT hr;

    memset(out, 0, sizeof *out);
    out->module = module;
    hr = clr_emitter_open(info, module, &out->emitter);
    if (!CLR_OK(hr))
        return refused(e, "the module's metadata", hr);
    out->probe_signature = clr_cil_probe_signature(out->emitter, 1);
    out->step_signature = clr_cil_probe_signature(out->emitter, 2);
    out->value_signature = clr_cil_probe_signature(out->emitter, 3);
    out->span_signature = clr_cil_probe_signature(out->emitter, 4);
    out->wait_signature = clr_emitter_signature(out->emitter, WAITS, sizeof WAITS);
    out->handle_value = find_handle_value(out->emitter);
    if (out->probe_signature == 0 || out->step_signature == 0 || out->value_signature == 0 ||
        out->span_signature == 0 || out->wait_signature == 0) {
        hr = clr_emitter_result(out->emitter);
        clr_emitter_free(out->emitter);
        out->emitter = NULL;
        return refused(e, "the probe's signature", hr);
    }
    return 0;
}

/* What the checker asks. */
static bool signature_of(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    trace_rewriting *w = context;
    uint32_t size = 0;
    HRESULT hr = clr_get_signature(w->import, token, bytes, &size);

    *length = size;
    return CLR_OK(hr);
}

static int read_method(trace_rewriting *w, mdMethodDef token, cil_check_method *m, error *e)
{
    const uint8_t *body = NULL;
    uint32_t size = 0;
    HRESULT hr = clr_get_method(w->import, token, NULL, &w->method);
    int code;

    if (!CLR_OK(hr))
        return refused(e, "the method's signature", hr);
    if ((w->method.impl_flags & miAsync) != 0) /* its code leaves the value, not the task */
        return error_set(e, ERROR_UNSUPPORTED, "the runtime makes the method asynchronous");
    hr = clr_info_get_il_function_body(w->info, w->module->module, token, &body, &size);
    if (!CLR_OK(hr) || body == NULL)
        return error_set(e, ERROR_UNSUPPORTED, "the method has no CIL");
    m->signature = w->method.signature;
    m->signature_length = w->method.signature_size;
    code =
        cil_signature_read_method(&w->signature, w->method.signature, w->method.signature_size, e);
    if (code == 0 && (w->signature.convention & CIL_CONVENTION_MASK) == CIL_CONVENTION_VARARG)
        return error_set(e, ERROR_UNSUPPORTED, "the method has variable arguments");
    if (code == 0)
        code = cil_decode(&w->body, body, size, e);
    if (code == 0 && w->body.local_signature != 0) {
        hr = clr_import_get_sig_from_token(w->import, w->body.local_signature, &w->old_locals,
                                           &w->old_locals_length);
        if (!CLR_OK(hr))
            return refused(e, "the method's locals", hr);
    }
    return code;
}

/* A local for the result, then those of spans; *first gets the number of the first of these. */
static int add_locals(trace_rewriting *w, cil_wrap_options *options, bool spans, uint32_t *first,
                      error *e)
{
    buffer types = BUFFER_EMPTY;
    uint32_t more = 0;
    int code;

    options->has_result =
        w->signature.types[cil_type_skip_modifiers(&w->signature, 0)].element != CIL_TYPE_VOID;
    if (!options->has_result && !spans)
        return 0;
    if (options->has_result)
        cil_type_copy(&w->signature, 0, &types);
    if (spans)
        more = trace_spans_locals(&types);
    code = cil_signature_append_locals(w->old_locals, w->old_locals_length, &types,
                                       more + options->has_result, &w->locals,
                                       &options->result_local, e);
    *first = options->result_local + options->has_result;
    buffer_free(&types);
    if (code != 0)
        return code;
    w->body.local_signature =
        clr_emitter_signature(w->module->emitter, w->locals.data, w->locals.length);
    if (w->body.local_signature == 0)
        return refused(e, "a local signature", clr_emitter_result(w->module->emitter));
    return 0;
}

static int check(trace_rewriting *w, cil_check_method *m, error *e)
{
    cil_resolver resolver = {w, signature_of};
    cil_check_result result;
    int code;

    m->locals = w->locals.length != 0 ? w->locals.data : w->old_locals;
    m->locals_length = w->locals.length != 0 ? w->locals.length : w->old_locals_length;
    w->checker = cil_checker_create();
    if (w->checker == NULL)
        return error_set(e, ERROR_MEMORY, "no memory");
    m->resolver = &resolver;
    code = cil_check(w->checker, &w->body, m, &result, e);
    m->resolver = NULL; /* it ends with this function */
    if (code == 0 && result.max_stack > w->body.max_stack)
        w->body.max_stack = (uint16_t)result.max_stack;
    return code;
}

static int hand_over(trace_rewriting *w, ICorProfilerFunctionControl *control, error *e)
{
    size_t count;
    HRESULT hr;
    int code = cil_encode(&w->body, CIL_ENCODE_FAT, &w->bytes, e);

    if (code != 0)
        return code;
    count = cil_offset_map(&w->body, NULL, 0);
    w->map = memory_allocate_array(count + 1, sizeof *w->map);
    if (w->map == NULL)
        return error_set(e, ERROR_MEMORY, "no memory");
    count = 0;
    for (cil_at at = cil_first(&w->body); at != CIL_END; at = cil_get(&w->body, at)->next) {
        const cil_instruction *i = cil_get(&w->body, at);

        if (i->offset != CIL_NEW)
            w->map[count++] = (COR_IL_MAP){i->offset, i->placed, 1};
    }
    hr = clr_function_control_set_il_function_body(control, (uint32_t)w->bytes.length,
                                                   w->bytes.data);
    if (!CLR_OK(hr))
        return refused(e, "the new body", hr);
    hr = clr_function_control_set_il_instrumented_code_map(control, (uint32_t)count, w->map);
    return CLR_OK(hr) ? 0 : refused(e, "the map of offsets", hr);
}

static void insert_probes(trace_rewriting *w, const cil_wrap *wrap, const cil_wrap_options *options,
                          int64_t argument, mdToken state, const trace_plan *plan,
                          const trace_request *request)
{
    uint32_t signature = w->module->probe_signature;

    if (request->step)
        trace_insert_step(w, wrap, argument, state, request->results);
    else if (w->old_code == 0 || !trace_insert_deep(w, wrap->enter, argument, w->old_code))
        cil_insert_probe(&w->body, wrap->enter, argument, (uint64_t)(uintptr_t)trace_enter,
                         signature);
    if (plan != NULL)
        trace_insert_values(w, wrap, options, argument, plan, *request->has_task);
    cil_insert_probe(&w->body, wrap->failed, argument, (uint64_t)(uintptr_t)trace_fail, signature);
    if (!request->step)
        cil_insert_probe(&w->body, wrap->leave, argument, (uint64_t)(uintptr_t)trace_leave,
                         signature);
}

/* Enter and leave without what they do. */
static void insert_empty_probes(trace_rewriting *w, const cil_wrap *wrap, int64_t argument)
{
    const cil_at places[] = {wrap->enter, wrap->failed, wrap->leave};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        cil_insert_probe(&w->body, places[i], argument, (uint64_t)(uintptr_t)trace_nothing,
                         w->module->probe_signature);
}

static int insert_spans(trace_rewriting *w, const cil_wrap *wrap, const trace_method *method,
                        const trace_request *request, uint32_t first_local, error *e)
{
    trace_spans_code code = {.module = w->module,
                             .method = method,
                             .wrap = *wrap,
                             .first_local = first_local,
                             .is_async = request->async,
                             .is_step = request->step};

    if (code.is_step)
        trace_insert_completions(w, 0, false, &code);
    return trace_spans_insert(&w->body, &code, e);
}

int trace_rewrite(const clr_info *info, const trace_module *module, mdMethodDef token,
                  const trace_method *method, const trace_request *request,
                  ICorProfilerFunctionControl *control, error *e)
{
    cil_wrap_options options = {.handler = CIL_FAULT};
    cil_check_method m = {0};
    cil_wrap wrap;
    trace_rewriting w;
    int64_t argument = (int64_t)(intptr_t)method;
    const trace_plan *plan = NULL;
    mdToken state = 0;
    uint32_t first_local = 0;
    uint32_t result = 0;
    int code;

    memset(&w, 0, sizeof w);
    w.info = info;
    w.module = module;
    w.import = clr_emitter_import(module->emitter);
    cil_body_init(&w.body);
    cil_signature_init(&w.signature);
    code = read_method(&w, token, &m, e);
    if (code == 0 && request->lean) {
        trace_insert_lean(&w, token);
        code = hand_over(&w, control, e);
        goto out;
    }
    if (code == 0)
        code = add_locals(&w, &options, request->spans, &first_local, e);
    if (code == 0 && !request->step)
        w.old_code = trace_find_old_code(&w, token);
    if (code == 0 && request->step)
        state = trace_find_state(&w);
    if (code == 0 && request->whole)
        *request->has_task = trace_makes_task(&w, &result);
    if (code == 0 && request->wish != NULL)
        plan = trace_plan_make(info, module->module, w.import, token, &w.signature, result,
                               request->wish, request->plans);
    if (code == 0)
        code = cil_wrap_body(&w.body, &options, &wrap, e);
    if (code == 0 && request->spans)
        code = insert_spans(&w, &wrap, method, request, first_local, e);
    else if (code == 0 && request->empty)
        insert_empty_probes(&w, &wrap, argument);
    else if (code == 0)
        insert_probes(&w, &wrap, &options, argument, state, plan, request);
    if (code == 0)
        code = check(&w, &m, e);
    if (code == 0)
        code = hand_over(&w, control, e);
    if (code == 0)
        *request->plan = plan;
out:
    cil_checker_free(w.checker);
    cil_body_free(&w.body);
    cil_signature_free(&w.signature);
    buffer_free(&w.locals);
    buffer_free(&w.bytes);
    memory_free(w.map);
    return code;
}
