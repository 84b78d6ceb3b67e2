/* wrap: see wrap.h. */
#include "cil/wrap.h"

#include <string.h>

#include "cil/edit.h"

/* Regions that reached the end of the code must end where the user code ends from now on. */
static cil_at fence_off_end(cil_body *body)
{
    cil_at label = cil_insert_label(body, CIL_END);

    for (uint32_t n = 0; n < body->clause_count; n++) {
        cil_clause *c = &body->clauses[n];

        if (c->try_end == CIL_END)
            c->try_end = label;
        if (c->handler_end == CIL_END)
            c->handler_end = label;
    }
    return label;
}

uint32_t cil_drop_tail_calls(cil_body *body)
{
    uint32_t count = 0;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        if (cil_get(body, at)->opcode != CIL_TAIL)
            continue;
        cil_replace(body, at, CIL_NOP);
        cil_insert_after(body, at, CIL_NOP);
        count++;
    }
    return count;
}

/* Every ret becomes: store the result, leave to the epilogue. */
static uint32_t leave_at_returns(cil_body *body, const cil_wrap_options *options, cil_at epilogue)
{
    uint32_t count = 0;

    for (cil_at at = cil_first(body); at != epilogue; at = cil_get(body, at)->next) {
        cil_at leave = at;

        if (cil_get(body, at)->opcode != CIL_RET)
            continue;
        count++;
        if (options->has_result) {
            uint32_t local = options->result_local;

            if (local <= 3) {
                cil_replace(body, at, CIL_STLOC_0 + local);
            } else {
                cil_replace(body, at, local <= 254 ? CIL_STLOC_S : CIL_STLOC);
                cil_get(body, at)->operand.number = local;
            }
            leave = cil_insert_after(body, at, CIL_LEAVE_S);
        } else {
            cil_replace(body, at, CIL_LEAVE_S);
        }
        if (body->failed)
            break;
        cil_get(body, leave)->operand.target = epilogue;
        at = leave;
    }
    return count;
}

int cil_wrap_body(cil_body *body, const cil_wrap_options *options, cil_wrap *wrap, error *e)
{
    cil_clause clause;
    cil_at handler;

    memset(wrap, 0, sizeof *wrap);
    if (cil_has(body, CIL_JMP))
        return error_set(e, ERROR_UNSUPPORTED, "the method has `jmp`");
    if (!options->drop_tail_calls && cil_has(body, CIL_TAIL))
        return error_set(e, ERROR_UNSUPPORTED, "the method has `tail.` calls");
    wrap->tail_calls = cil_drop_tail_calls(body);
    wrap->enter = cil_first(body);
    handler = fence_off_end(body);
    wrap->leave = cil_insert_label(body, CIL_END);
    wrap->failed =
        cil_insert(body, wrap->leave, options->handler == CIL_CATCH ? CIL_RETHROW : CIL_ENDFINALLY);
    wrap->returns = leave_at_returns(body, options, wrap->leave);
    if (options->has_result)
        cil_insert_load_local(body, CIL_END, options->result_local);
    cil_insert(body, CIL_END, CIL_RET);

    memset(&clause, 0, sizeof clause);
    clause.kind = options->handler;
    clause.token = options->handler == CIL_CATCH ? options->catch_token : 0;
    clause.try_begin = wrap->enter;
    clause.try_end = clause.handler_begin = handler;
    clause.handler_end = wrap->leave;
    if (cil_body_add_clause(body) == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for a method body");
    wrap->clause = body->clause_count - 1;
    body->clauses[wrap->clause] = clause;
    /* Code goes in front of wrap->leave, but the epilogue's label must stay before it. */
    wrap->leave = cil_get(body, wrap->leave)->next;
    return body->failed ? error_set(e, ERROR_MEMORY, "no memory for a method body") : 0;
}

cil_at cil_join_returns(cil_body *body)
{
    cil_at last = cil_last(body);
    cil_at join;
    uint32_t count = 0;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next)
        count += cil_get(body, at)->opcode == CIL_RET;
    if (count == 0)
        return CIL_END;
    fence_off_end(body);
    if (cil_get(body, last)->opcode == CIL_RET) {
        cil_replace(body, last, CIL_NOP);
        join = last;
    } else {
        join = cil_insert(body, CIL_END, CIL_NOP);
    }
    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        if (cil_get(body, at)->opcode != CIL_RET)
            continue;
        cil_replace(body, at, CIL_BR_S);
        cil_get(body, at)->operand.target = join;
    }
    return join;
}

void cil_insert_probe(cil_body *body, cil_at at, int64_t argument, uint64_t address,
                      uint32_t signature)
{
    if (argument >= INT32_MIN && argument <= INT32_MAX) {
        cil_insert_constant(body, at, (int32_t)argument);
        cil_insert(body, at, CIL_CONV_I8);
    } else {
        cil_insert_number(body, at, CIL_LDC_I8, argument);
    }
    cil_insert_number(body, at, CIL_LDC_I8, (int64_t)address);
    cil_insert(body, at, CIL_CONV_I);
    cil_insert_token(body, at, CIL_CALLI, signature);
}
