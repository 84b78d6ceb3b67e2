/*
 * trace_rewrite_deep: recursion near the end of the stack.
 *
 * A rewritten method takes more of the stack than the one the program had: arguments are kept
 * across the enter probe, and its first code is not optimised yet. Recursion that just fitted would
 * not fit any more. So a method that calls itself gets a second way: when the thread is in
 * more traced calls than its stack bears (trace_memory_timed_calls), the enter probe counts the
 * call and says so, and the method goes on in its old native code by a tail call, which takes
 * nothing of the stack. Where the old code has inlined itself, only every second call is seen then.
 *
 * The old code must be code for a call from the start. The runtime lists code that continues a
 * running loop among the others, so methods with loops have no second way; nor have generic ones,
 * whose code is not one, nor synchronized ones and those with stackalloc, which may not end in a
 * tail call: there it would be one more frame.
 */
#include "profilers/trace_rewrite_private.h"

#include <string.h>

enum { MOST_CODES = 16 };

static bool jumps_back(const cil_body *body, const cil_instruction *i)
{
    if (i->opcode == CIL_SWITCH) {
        for (uint32_t n = 0; n < i->operand.cases.count; n++)
            if (cil_get(body, body->cases[i->operand.cases.first + n])->offset <= i->offset)
                return true;
        return false;
    }
    return cil_opcode_is_branch(i->opcode) && cil_get(body, i->operand.target)->offset <= i->offset;
}

/* Does the method call itself, and never jump back nor take memory of the stack? */
static bool is_plain_recursion(const cil_body *body, mdMethodDef token)
{
    bool recursive = false;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);

        if (jumps_back(body, i) || i->opcode == CIL_LOCALLOC)
            return false;
        if ((i->opcode == CIL_CALL || i->opcode == CIL_CALLVIRT) && i->operand.token == token)
            recursive = true;
    }
    return recursive;
}

uintptr_t trace_find_old_code(const trace_rewriting *w, mdMethodDef token)
{
    uintptr_t codes[MOST_CODES];
    uint32_t count = 0;
    FunctionID function = 0;

    if (!is_plain_recursion(&w->body, token) || w->signature.generic_count != 0 ||
        (w->method.impl_flags & miSynchronized) != 0 ||
        !CLR_OK(clr_info_get_function_from_token(w->info, w->module->module, token, &function)) ||
        !CLR_OK(clr_info_get_native_code_start_addresses(w->info, function, 0, MOST_CODES, &count,
                                                         codes)) ||
        count == 0 || count > MOST_CODES)
        return 0;
    return codes[count > 1]; /* the first code, then the others from the newest on */
}

/* The probe's signature with a result. */
static mdToken deep_signature(trace_rewriting *w)
{
    const uint8_t *bytes = NULL;
    uint32_t length = 0;
    buffer signature = BUFFER_EMPTY;
    mdToken token = 0;

    if (!CLR_OK(clr_import_get_sig_from_token(w->import, w->module->probe_signature, &bytes,
                                              &length)) ||
        length < 2 || bytes[length - 2] != CIL_TYPE_VOID)
        return 0;
    buffer_append(&signature, bytes, length - 2);
    buffer_append_fill(&signature, CIL_TYPE_I8, 2);
    if (!buffer_failed(&signature))
        token = clr_emitter_signature(w->module->emitter, signature.data, signature.length);
    buffer_free(&signature);
    return token;
}

bool trace_insert_deep(trace_rewriting *w, cil_at at, int64_t argument, uintptr_t old_code)
{
    mdToken enter = deep_signature(w);
    mdToken own =
        clr_emitter_signature(w->module->emitter, w->method.signature, w->method.signature_size);
    uint32_t arguments = w->signature.count + cil_signature_has_this(w->signature.convention);
    cil_at label;

    if (enter == 0 || own == 0)
        return false;
    label = cil_insert_label(&w->body, at);
    at = label;
    cil_insert_number(&w->body, at, CIL_LDC_I8, argument);
    trace_insert_call(w, at, (intptr_t)trace_enter_deep, enter);
    cil_insert_branch(&w->body, at, CIL_BRFALSE, label);
    for (uint32_t n = 0; n < arguments; n++)
        cil_insert_load_argument(&w->body, at, n);
    cil_insert_number(&w->body, at, CIL_LDC_I8, (int64_t)old_code);
    cil_insert(&w->body, at, CIL_CONV_I);
    cil_insert(&w->body, at, CIL_TAIL);
    cil_insert_token(&w->body, at, CIL_CALLI, own);
    cil_insert(&w->body, at, CIL_RET);
    return true;
}

/* A method with a tail call is never compiled without optimisation. This one is behind the end. */
void trace_insert_lean(trace_rewriting *w, mdMethodDef token)
{
    cil_insert(&w->body, CIL_END, CIL_TAIL);
    cil_insert_token(&w->body, CIL_END, CIL_CALL, token);
    cil_insert(&w->body, CIL_END, CIL_RET);
}
