/*
 * trace_rewrite_steps: probes in the steps of async methods. A step is the MoveNext of the state
 * machine that the compiler made: its state tells where the call stands, its builder has the task.
 */
#include <string.h>

#include "base/text.h"
#include "clarinet/names.h"
#include "profilers/trace_async.h"
#include "profilers/trace_capture.h"
#include "profilers/trace_rewrite_private.h"

/* Is the field or method of this token called so? */
static bool is_named(trace_rewriting *w, mdToken token, const char *name)
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
static mdToken find_own_field(trace_rewriting *w, uint16_t opcode, const char *name)
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

mdToken trace_find_state(trace_rewriting *w)
{
    return find_own_field(w, CIL_LDFLD, "<>1__state");
}

/* The name of the type that a called method belongs to. */
static void append_owner(trace_rewriting *w, mdToken method, buffer *out)
{
    mdToken type = 0;
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    cil_signature signature;
    clr_method own;

    if (CLR_TOKEN_TYPE(method) == mdtMethodDef &&
        CLR_OK(clr_get_method(w->import, method, NULL, &own)))
        clr_append_type_path(w->import, own.type, out);
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

static trace_builder builder_of(trace_rewriting *w, mdToken method)
{
    static const char system[] = "System.Runtime.CompilerServices.Async";
    static const char kinds[][24] = {"VoidMethodBuilder", "TaskMethodBuilder",
                                     "ValueTaskMethodBuilder"};
    buffer name = BUFFER_EMPTY;
    trace_builder kind = TRACE_BUILDER_NONE;
    const char *rest;

    append_owner(w, method, &name);
    rest = buffer_text(&name);
    if (strstr(rest, "MethodBuilder") != NULL)
        kind = TRACE_BUILDER_OTHER;
    if (text_starts_with(rest, system)) {
        rest += sizeof system - 1;
        for (size_t n = 0; n < 3; n++)
            if (strcspn(rest, "`") == strlen(kinds[n]) && text_starts_with(rest, kinds[n]))
                kind = n == 0 ? TRACE_BUILDER_VOID : TRACE_BUILDER_WITH_TASK;
    }
    buffer_free(&name);
    return kind;
}

bool trace_makes_task(trace_rewriting *w, uint32_t *result)
{
    uint32_t at = cil_type_skip_modifiers(&w->signature, 0);
    trace_builder kind = TRACE_BUILDER_NONE;

    for (cil_at i = cil_first(&w->body); i != CIL_END && kind == TRACE_BUILDER_NONE;
         i = cil_get(&w->body, i)->next)
        if (cil_get(&w->body, i)->opcode == CIL_CALL)
            kind = builder_of(w, cil_get(&w->body, i)->operand.token);
    if (kind == TRACE_BUILDER_WITH_TASK)
        *result = w->signature.types[at].element == CIL_TYPE_GENERIC ? at + 2 : TRACE_NO_RESULT;
    return kind >= TRACE_BUILDER_WITH_TASK;
}

/* What the builder of this call makes tasks of, when that is a type parameter. */
static void insert_result_type(trace_rewriting *w, cil_at at)
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
    trace_insert_type(w, at, &of);
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
static void insert_step_result(trace_rewriting *w, cil_at at, int64_t argument)
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
    trace_insert_call(w, at, (intptr_t)trace_step_result, w->module->value_signature);
}

trace_builder trace_insert_completions(trace_rewriting *w, int64_t argument, bool results,
                                       const trace_spans_code *spans)
{
    trace_builder kind = TRACE_BUILDER_NONE;

    for (cil_at at = cil_first(&w->body); at != CIL_END; at = cil_get(&w->body, at)->next) {
        const cil_instruction *i = cil_get(&w->body, at);
        bool failure;
        trace_builder found;

        if ((i->opcode != CIL_CALL && i->opcode != CIL_CALLVIRT) || i->offset == CIL_NEW)
            continue;
        failure = is_named(w, i->operand.token, "SetException");
        if (!failure && !is_named(w, i->operand.token, "SetResult"))
            continue;
        found = builder_of(w, i->operand.token);
        if (found == TRACE_BUILDER_NONE)
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

/* The address of the state machine's builder (plus 1: of one that has the builder inside); 0 when
 * its task cannot be read. */
static void insert_builder(trace_rewriting *w, cil_at at, mdToken builder, trace_builder kind)
{
    if (builder == 0 || kind < TRACE_BUILDER_WITH_TASK) {
        cil_insert_number(&w->body, at, CIL_LDC_I8, 0);
        return;
    }
    cil_insert(&w->body, at, CIL_LDARG_0);
    cil_insert_token(&w->body, at, CIL_LDFLDA, builder);
    cil_insert(&w->body, at, CIL_CONV_U);
    cil_insert(&w->body, at, CIL_CONV_U8);
    if (kind == TRACE_BUILDER_VOID) {
        cil_insert_number(&w->body, at, CIL_LDC_I8, TRACE_BUILDER_INSIDE);
        cil_insert(&w->body, at, CIL_ADD);
    }
}

void trace_insert_step(trace_rewriting *w, const cil_wrap *wrap, int64_t argument, mdToken state,
                       bool results)
{
    mdToken builder = find_own_field(w, CIL_LDFLDA, "<>t__builder");
    trace_builder kind = trace_insert_completions(w, argument, results, NULL);

    cil_insert_number(&w->body, wrap->enter, CIL_LDC_I8, argument);
    if (state == 0) { /* it awaits nothing: each of its steps is a first one */
        cil_insert_number(&w->body, wrap->enter, CIL_LDC_I8, TRACE_STATE_NEW);
    } else {
        cil_insert(&w->body, wrap->enter, CIL_LDARG_0);
        cil_insert_token(&w->body, wrap->enter, CIL_LDFLD, state);
        cil_insert(&w->body, wrap->enter, CIL_CONV_I8);
    }
    insert_builder(w, wrap->enter, builder, kind);
    trace_insert_call(w, wrap->enter, (intptr_t)trace_enter_step, w->module->value_signature);
    cil_insert_number(&w->body, wrap->leave, CIL_LDC_I8, argument);
    insert_builder(w, wrap->leave, builder, kind);
    trace_insert_call(w, wrap->leave, (intptr_t)trace_leave_step, w->module->step_signature);
}
