/* trace_rewrite: see trace_rewrite.h. */
#include "profilers/trace_rewrite.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cil/check.h"
#include "cil/compressed.h"
#include "cil/edit.h"
#include "cil/encode.h"
#include "cil/signature.h"
#include "cil/wrap.h"
#include "clarinet/cil.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "clarinet/profiler.h"
#include "profilers/trace_spans.h"
#include "profilers/trace_async.h"
#include "profilers/trace_capture.h"
#include "profilers/trace_classes.h"

enum { CONVENTION_C = 1 };

/* Everything one rewriting holds; freed together. */
typedef struct {
    const clr_info *info;
    const trace_module *module;
    IMetaDataImport2 *import;
    cil_body body;
    cil_signature signature;
    cil_checker *checker;
    buffer locals; /* the new local signature */
    buffer bytes;
    COR_IL_MAP *map;
    const uint8_t *old_locals;
    uint32_t old_locals_length;
} rewriting;

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
    rewriting *w = context;
    uint32_t size = 0;
    HRESULT hr = clr_get_signature(w->import, token, bytes, &size);

    *length = size;
    return CLR_OK(hr);
}

static int read_method(rewriting *w, mdMethodDef token, cil_check_method *m, error *e)
{
    const uint8_t *body = NULL;
    uint32_t size = 0;
    clr_method method;
    HRESULT hr = clr_get_method(w->import, token, NULL, &method);
    int code;

    if (!CLR_OK(hr))
        return refused(e, "the method's signature", hr);
    hr = clr_info_get_il_function_body(w->info, w->module->module, token, &body, &size);
    if (!CLR_OK(hr) || body == NULL)
        return error_set(e, ERROR_UNSUPPORTED, "the method has no CIL");
    m->signature = method.signature;
    m->signature_length = method.signature_size;
    code = cil_signature_read(&w->signature, method.signature, method.signature_size, e);
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

/* A local for the result, then `more` of int64; *first gets the number of the first of those. */
static int add_locals(rewriting *w, cil_wrap_options *options, uint32_t more, uint32_t *first,
                      error *e)
{
    buffer types = BUFFER_EMPTY;
    int code;

    options->has_result =
        w->signature.types[cil_type_skip_modifiers(&w->signature, 0)].element != CIL_TYPE_VOID;
    if (!options->has_result && more == 0)
        return 0;
    if (options->has_result)
        cil_type_copy(&w->signature, 0, &types);
    buffer_append_fill(&types, CIL_TYPE_I8, more);
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

static int check(rewriting *w, cil_check_method *m, error *e)
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

static int hand_over(rewriting *w, ICorProfilerFunctionControl *control, error *e)
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

/* Is the field or method of this token called so? */
static bool is_named(rewriting *w, mdToken token, const char *name)
{
    WCHAR units[32];
    uint32_t length = 0;
    buffer text = BUFFER_EMPTY;
    HRESULT hr = E_FAIL;
    bool same = false;

    if (CLR_TOKEN_TYPE(token) == mdtFieldDef)
        hr = clr_get_field(w->import, token, &text, NULL, NULL);
    else if (CLR_TOKEN_TYPE(token) == mdtMethodDef)
        hr = clr_get_method(w->import, token, &text, NULL);
    else if (CLR_TOKEN_TYPE(token) == mdtMemberRef &&
             (hr = clr_import_get_member_ref_props(w->import, token, NULL, units, 32, &length, NULL,
                                                   NULL)) == S_OK)
        text_append_utf16(&text, units, text_utf16_length(units, 32));
    same = CLR_OK(hr) && strcmp(buffer_text(&text), name) == 0;
    buffer_free(&text);
    return same;
}

/* The token by which the state machine reaches one of its own fields; 0 = it does not. */
static mdToken find_own_field(rewriting *w, uint16_t opcode, const char *name)
{
    for (cil_at at = cil_first(&w->body); at != CIL_END; at = cil_get(&w->body, at)->next) {
        const cil_instruction *i = cil_get(&w->body, at);

        if (i->opcode == opcode && i->previous != CIL_END &&
            cil_get(&w->body, i->previous)->opcode == CIL_LDARG_0 &&
            is_named(w, i->operand.token, name))
            return i->operand.token;
    }
    return 0;
}

/* The name of the type that a called method belongs to. */
static void append_owner(rewriting *w, mdToken method, buffer *out)
{
    mdToken type = 0;
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    cil_signature signature;

    if (CLR_TOKEN_TYPE(method) != mdtMemberRef ||
        !CLR_OK(
            clr_import_get_member_ref_props(w->import, method, &type, NULL, 0, NULL, NULL, NULL)))
        return;
    if (CLR_TOKEN_TYPE(type) != mdtTypeSpec) {
        clr_append_type_path(w->import, type, out);
        return;
    }
    cil_signature_init(&signature);
    if (CLR_OK(clr_import_get_type_spec_from_token(w->import, type, &bytes, &size)) &&
        cil_signature_read_type(&signature, bytes, size, NULL) == 0 && signature.type_count > 1 &&
        signature.types[0].element == CIL_TYPE_GENERIC)
        clr_append_type_path(w->import, signature.types[1].token, out);
    cil_signature_free(&signature);
}

/* Is the method's result a task? *result gets the node of what the task will have. */
static bool returns_task(rewriting *w, uint32_t *result)
{
    static const char *const tasks[] = {
        "System.Threading.Tasks.Task", "System.Threading.Tasks.Task`1",
        "System.Threading.Tasks.ValueTask", "System.Threading.Tasks.ValueTask`1"};
    uint32_t at = cil_type_skip_modifiers(&w->signature, 0);
    bool generic = w->signature.types[at].element == CIL_TYPE_GENERIC;
    buffer name = BUFFER_EMPTY;
    bool is_task = false;

    if (generic)
        at++;
    if (w->signature.types[at].element == CIL_TYPE_CLASS ||
        w->signature.types[at].element == CIL_TYPE_VALUETYPE)
        clr_append_type_path(w->import, w->signature.types[at].token, &name);
    for (size_t n = 0; n < sizeof tasks / sizeof tasks[0]; n++)
        is_task |= strcmp(buffer_text(&name), tasks[n]) == 0;
    buffer_free(&name);
    if (is_task)
        *result = generic ? at + 1 : TRACE_NO_RESULT;
    return is_task;
}

/* What the builder of an async method is. */
typedef enum { BUILDER_NONE, BUILDER_OTHER, BUILDER_WITH_TASK } builder_kind;

static builder_kind builder_of(rewriting *w, mdToken method)
{
    static const char *const with_task[] = {
        "System.Runtime.CompilerServices.AsyncTaskMethodBuilder",
        "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1",
        "System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder",
        "System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder`1"};
    buffer name = BUFFER_EMPTY;
    builder_kind kind = BUILDER_NONE;

    append_owner(w, method, &name);
    if (strstr(buffer_text(&name), "MethodBuilder") != NULL)
        kind = BUILDER_OTHER;
    for (size_t n = 0; n < 4; n++)
        if (strcmp(buffer_text(&name), with_task[n]) == 0)
            kind = BUILDER_WITH_TASK;
    buffer_free(&name);
    return kind;
}

static void insert_call(rewriting *w, cil_at at, intptr_t function, uint32_t signature)
{
    cil_insert_number(&w->body, at, CIL_LDC_I8, (int64_t)function);
    cil_insert(&w->body, at, CIL_CONV_I);
    cil_insert_token(&w->body, at, CIL_CALLI, signature);
}

/* The type that a type parameter stands for, as the runtime's number; 0 for what is none. */
static void insert_type(rewriting *w, cil_at at, const cil_type *t)
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

/* What the builder of this call makes tasks of, when that is a type parameter. */
static void insert_result_type(rewriting *w, cil_at at)
{
    mdToken type = 0;
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    cil_signature signature;
    cil_type of = {0};

    cil_signature_init(&signature);
    if (CLR_OK(clr_import_get_member_ref_props(w->import, cil_get(&w->body, at)->operand.token,
                                               &type, NULL, 0, NULL, NULL, NULL)) &&
        CLR_TOKEN_TYPE(type) == mdtTypeSpec &&
        CLR_OK(clr_import_get_type_spec_from_token(w->import, type, &bytes, &size)) &&
        cil_signature_read_type(&signature, bytes, size, NULL) == 0 && signature.type_count > 2)
        of = signature.types[2];
    insert_type(w, at, &of);
    cil_signature_free(&signature);
}

/* The local that an instruction loads; -1 = it does something else. */
static int64_t loaded_local(const cil_instruction *i)
{
    if (i->opcode >= CIL_LDLOC_0 && i->opcode <= CIL_LDLOC_3)
        return i->opcode - CIL_LDLOC_0;
    return i->opcode == CIL_LDLOC || i->opcode == CIL_LDLOC_S ? i->operand.number : -1;
}

/* The result goes from a local to the builder: the probe gets that local's address. */
static void insert_step_result(rewriting *w, cil_at at, int64_t argument)
{
    cil_at before = cil_get(&w->body, at)->previous;
    int64_t local = before == CIL_END ? -1 : loaded_local(cil_get(&w->body, before));

    if (local < 0)
        return;
    cil_insert_number(&w->body, at, CIL_LDC_I8, argument);
    cil_insert_number(&w->body, at, CIL_LDLOCA, local);
    cil_insert(&w->body, at, CIL_CONV_U);
    cil_insert(&w->body, at, CIL_CONV_U8);
    insert_result_type(w, at);
    insert_call(w, at, (intptr_t)trace_step_result, w->module->value_signature);
}

/* Before every hand-over of a result or an exception to the builder. Returns what builder it is.
 * With `spans` the probes are those of spans. */
static builder_kind insert_completion_probes(rewriting *w, int64_t argument, bool results,
                                             const trace_spans_code *spans)
{
    builder_kind kind = BUILDER_NONE;

    for (cil_at at = cil_first(&w->body); at != CIL_END; at = cil_get(&w->body, at)->next) {
        const cil_instruction *i = cil_get(&w->body, at);
        bool failure;
        builder_kind found;

        if ((i->opcode != CIL_CALL && i->opcode != CIL_CALLVIRT) || i->offset == CIL_NEW)
            continue;
        failure = is_named(w, i->operand.token, "SetException");
        if (!failure && !is_named(w, i->operand.token, "SetResult"))
            continue;
        found = builder_of(w, i->operand.token);
        if (found == BUILDER_NONE)
            continue;
        kind = found;
        if (spans != NULL) {
            trace_spans_insert_end(&w->body, spans, at, failure);
            continue;
        }
        if (results && !failure)
            insert_step_result(w, at, argument);
        cil_insert_probe(&w->body, at, argument,
                         (uint64_t)(uintptr_t)(failure ? trace_fail_step : trace_complete_step),
                         w->module->probe_signature);
    }
    return kind;
}

/* The address of the state machine's builder; 0 when its task cannot be read. */
static void insert_builder(rewriting *w, cil_at at, mdToken builder)
{
    if (builder == 0) {
        cil_insert_number(&w->body, at, CIL_LDC_I8, 0);
        return;
    }
    cil_insert(&w->body, at, CIL_LDARG_0);
    cil_insert_token(&w->body, at, CIL_LDFLDA, builder);
    cil_insert(&w->body, at, CIL_CONV_U);
    cil_insert(&w->body, at, CIL_CONV_U8);
}

static void insert_step_probes(rewriting *w, const cil_wrap *wrap, int64_t argument, mdToken state,
                               bool results)
{
    mdToken builder = find_own_field(w, CIL_LDFLDA, "<>t__builder");

    if (insert_completion_probes(w, argument, results, NULL) != BUILDER_WITH_TASK)
        builder = 0;
    cil_insert_number(&w->body, wrap->enter, CIL_LDC_I8, argument);
    cil_insert(&w->body, wrap->enter, CIL_LDARG_0);
    cil_insert_token(&w->body, wrap->enter, CIL_LDFLD, state);
    cil_insert(&w->body, wrap->enter, CIL_CONV_I8);
    insert_builder(w, wrap->enter, builder);
    insert_call(w, wrap->enter, (intptr_t)trace_enter_step, w->module->value_signature);
    cil_insert_number(&w->body, wrap->leave, CIL_LDC_I8, argument);
    insert_builder(w, wrap->leave, builder);
    insert_call(w, wrap->leave, (intptr_t)trace_leave_step, w->module->step_signature);
}

/* The address of a variable goes to the probe; a by-ref is its address already. */
static void insert_value(rewriting *w, cil_at at, int64_t argument, const trace_capture *capture,
                         uint32_t result_local, bool only_look)
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
        insert_type(w, at, &capture->type);
    if (only_look)
        insert_call(w, at, (intptr_t)trace_look, w->module->span_signature);
    else if (by_type)
        insert_call(w, at, (intptr_t)trace_value_of_type, w->module->span_signature);
    else
        insert_call(w, at, (intptr_t)trace_value, w->module->value_signature);
}

/* Where objects' own classes decide: looks until all of them are known. */
static void insert_looks(rewriting *w, cil_at at, int64_t argument, const trace_plan *plan,
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
    insert_call(w, at, (intptr_t)trace_await_class, w->module->wait_signature);
    cil_insert_branch(&w->body, at, CIL_BRTRUE, again);
}

static void insert_values(rewriting *w, const cil_wrap *wrap, const cil_wrap_options *options,
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

static void insert_probes(rewriting *w, const cil_wrap *wrap, const cil_wrap_options *options,
                          int64_t argument, mdToken state, const trace_plan *plan,
                          const trace_request *request)
{
    uint32_t signature = w->module->probe_signature;

    if (state != 0)
        insert_step_probes(w, wrap, argument, state, request->results);
    else
        cil_insert_probe(&w->body, wrap->enter, argument, (uint64_t)(uintptr_t)trace_enter,
                         signature);
    if (plan != NULL)
        insert_values(w, wrap, options, argument, plan, *request->has_task);
    cil_insert_probe(&w->body, wrap->failed, argument, (uint64_t)(uintptr_t)trace_fail, signature);
    if (state == 0)
        cil_insert_probe(&w->body, wrap->leave, argument, (uint64_t)(uintptr_t)trace_leave,
                         signature);
}

/* Enter and leave without what they do. */
static void insert_empty_probes(rewriting *w, const cil_wrap *wrap, int64_t argument)
{
    const cil_at places[] = {wrap->enter, wrap->failed, wrap->leave};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        cil_insert_probe(&w->body, places[i], argument, (uint64_t)(uintptr_t)trace_nothing,
                         w->module->probe_signature);
}

static int insert_spans(rewriting *w, const cil_wrap *wrap, const trace_method *method,
                        const trace_request *request, uint32_t first_local, error *e)
{
    trace_spans_code code = {.module = w->module,
                             .method = method,
                             .wrap = *wrap,
                             .first_local = first_local,
                             .is_async = request->async,
                             .is_step = request->step};

    if (code.is_step)
        insert_completion_probes(w, 0, false, &code);
    return trace_spans_insert(&w->body, &code, e);
}

int trace_rewrite(const clr_info *info, const trace_module *module, mdMethodDef token,
                  const trace_method *method, const trace_request *request,
                  ICorProfilerFunctionControl *control, error *e)
{
    cil_wrap_options options = {.handler = CIL_FAULT};
    cil_check_method m = {0};
    cil_wrap wrap;
    rewriting w;
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
    if (code == 0)
        code = add_locals(&w, &options, request->spans ? TRACE_SPANS_LOCALS : 0, &first_local, e);
    if (code == 0 && request->step)
        state = find_own_field(&w, CIL_LDFLD, "<>1__state");
    if (code == 0 && request->whole)
        *request->has_task = returns_task(&w, &result);
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
    cil_checker_free(w.checker);
    cil_body_free(&w.body);
    cil_signature_free(&w.signature);
    buffer_free(&w.locals);
    buffer_free(&w.bytes);
    memory_free(w.map);
    return code;
}
