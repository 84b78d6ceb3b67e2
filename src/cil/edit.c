/* edit: see edit.h. */
#include "cil/edit.h"

#include <string.h>

#include "base/memory.h"

cil_at cil_insert(cil_body *body, cil_at at, unsigned opcode)
{
    cil_at made = cil_body_add(body);
    cil_instruction *i;

    if (made == CIL_END)
        return CIL_END;
    i = cil_get(body, made);
    memset(i, 0, sizeof *i);
    i->opcode = (uint16_t)opcode;
    i->offset = CIL_NEW;
    i->next = at;
    i->previous = cil_get(body, at)->previous;
    cil_get(body, i->previous)->next = made;
    cil_get(body, at)->previous = made;
    return made;
}

cil_at cil_insert_number(cil_body *body, cil_at at, unsigned opcode, int64_t number)
{
    cil_at made = cil_insert(body, at, opcode);

    if (made != CIL_END)
        cil_get(body, made)->operand.number = number;
    return made;
}

cil_at cil_insert_token(cil_body *body, cil_at at, unsigned opcode, uint32_t token)
{
    return cil_insert_number(body, at, opcode, token);
}

cil_at cil_insert_branch(cil_body *body, cil_at at, unsigned opcode, cil_at target)
{
    cil_at made = cil_insert(body, at, opcode);

    if (made != CIL_END)
        cil_get(body, made)->operand.target = target;
    return made;
}

cil_at cil_insert_switch(cil_body *body, cil_at at, const cil_at *targets, uint32_t count)
{
    uint32_t first = body->case_count;
    cil_at made = cil_insert(body, at, CIL_SWITCH);

    for (uint32_t n = 0; n < count; n++)
        cil_body_add_case(body, targets[n]);
    if (made != CIL_END && !body->failed) {
        cil_get(body, made)->operand.cases.first = first;
        cil_get(body, made)->operand.cases.count = count;
    }
    return made;
}

cil_at cil_insert_label(cil_body *body, cil_at at)
{
    return cil_insert(body, at, CIL_LABEL);
}

cil_at cil_insert_constant(cil_body *body, cil_at at, int32_t value)
{
    if (value >= -1 && value <= 8)
        return cil_insert(body, at, (unsigned)(CIL_LDC_I4_0 + value));
    return cil_insert_number(body, at, value >= -128 && value <= 127 ? CIL_LDC_I4_S : CIL_LDC_I4,
                             value);
}

static cil_at insert_variable(cil_body *body, cil_at at, uint32_t number, unsigned first,
                              unsigned byte, unsigned word)
{
    if (number <= 3)
        return cil_insert(body, at, first + number);
    return cil_insert_number(body, at, number <= 254 ? byte : word, number);
}

cil_at cil_insert_load_argument(cil_body *body, cil_at at, uint32_t number)
{
    return insert_variable(body, at, number, CIL_LDARG_0, CIL_LDARG_S, CIL_LDARG);
}

cil_at cil_insert_load_local(cil_body *body, cil_at at, uint32_t number)
{
    return insert_variable(body, at, number, CIL_LDLOC_0, CIL_LDLOC_S, CIL_LDLOC);
}

cil_at cil_insert_store_local(cil_body *body, cil_at at, uint32_t number)
{
    return insert_variable(body, at, number, CIL_STLOC_0, CIL_STLOC_S, CIL_STLOC);
}

void cil_replace(cil_body *body, cil_at at, unsigned opcode)
{
    cil_instruction *i = cil_get(body, at);

    i->opcode = (uint16_t)opcode;
    i->operand.bits = 0;
}

static void move(cil_at *place, cil_at from, cil_at to)
{
    if (*place == from)
        *place = to;
}

void cil_redirect(cil_body *body, cil_at from, cil_at to)
{
    for (uint32_t n = 1; n < body->instruction_count; n++)
        if (cil_opcode_is_branch(body->instructions[n].opcode))
            move(&body->instructions[n].operand.target, from, to);
    for (uint32_t n = 0; n < body->case_count; n++)
        move(&body->cases[n], from, to);
}

void cil_remove(cil_body *body, cil_at at)
{
    cil_instruction *i = cil_get(body, at);
    cil_at next = i->next;

    if (at == CIL_END)
        return;
    cil_redirect(body, at, next);
    for (uint32_t n = 0; n < body->clause_count; n++) {
        cil_clause *c = &body->clauses[n];

        move(&c->try_begin, at, next);
        move(&c->try_end, at, next);
        move(&c->handler_begin, at, next);
        move(&c->handler_end, at, next);
        if (c->kind == CIL_FILTER)
            move(&c->filter_begin, at, next);
    }
    cil_get(body, i->previous)->next = next;
    cil_get(body, next)->previous = i->previous;
    cil_replace(body, at, CIL_LABEL); /* so that nothing of it counts any more */
}

/* Whether [begin, end) holds the instruction `at`. */
static bool holds(const cil_body *body, cil_at begin, cil_at end, cil_at at)
{
    for (cil_at here = begin; here != end && here != CIL_END; here = cil_get(body, here)->next)
        if (here == at)
            return true;
    return false;
}

static bool encloses(const cil_body *body, const cil_clause *outer, const cil_clause *inner)
{
    if (outer->try_begin == inner->try_begin && outer->try_end == inner->try_end)
        return false; /* of the same try: they stay in their order */
    if (holds(body, outer->try_begin, outer->try_end, inner->try_begin))
        return !holds(body, inner->try_begin, inner->try_end, outer->try_begin) ||
               holds(body, outer->try_begin, outer->try_end, inner->try_end);
    if (holds(body, outer->handler_begin, outer->handler_end, inner->try_begin))
        return true;
    return outer->kind == CIL_FILTER &&
           holds(body, outer->filter_begin, outer->handler_begin, inner->try_begin);
}

uint32_t cil_insert_clause(cil_body *body, const cil_clause *clause)
{
    uint32_t at = 0;

    while (at < body->clause_count && !encloses(body, &body->clauses[at], clause))
        at++;
    if (cil_body_add_clause(body) == NULL)
        return UINT32_MAX;
    memmove(&body->clauses[at + 1], &body->clauses[at],
            (body->clause_count - 1 - at) * sizeof *body->clauses);
    body->clauses[at] = *clause;
    return at;
}

bool cil_has(const cil_body *body, unsigned opcode)
{
    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next)
        if (cil_get(body, at)->opcode == opcode)
            return true;
    return false;
}
