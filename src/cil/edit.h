/*
 * edit: changing a body by instructions and labels. Nothing here knows offsets.
 *
 * Inserting never moves what branches and clauses name: code inserted before an instruction is
 * run by whoever falls into it, not by who jumps to it, until cil_redirect says so. Memory
 * failures set body->failed and are reported by cil_encode; places are then CIL_END.
 */
#ifndef CLARINET_CIL_EDIT_H
#define CLARINET_CIL_EDIT_H

#include "cil/body.h"

/* Inserts before `at` (CIL_END: at the end of the code) and returns the new instruction. */
cil_at cil_insert(cil_body *body, cil_at at, unsigned opcode);
cil_at cil_insert_number(cil_body *body, cil_at at, unsigned opcode, int64_t number);
cil_at cil_insert_token(cil_body *body, cil_at at, unsigned opcode, uint32_t token);
cil_at cil_insert_branch(cil_body *body, cil_at at, unsigned opcode, cil_at target);
cil_at cil_insert_switch(cil_body *body, cil_at at, const cil_at *targets, uint32_t count);
/* A place to branch to that takes no bytes. */
cil_at cil_insert_label(cil_body *body, cil_at at);
static inline cil_at cil_insert_after(cil_body *body, cil_at at, unsigned opcode)
{
    return cil_insert(body, cil_get(body, at)->next, opcode);
}

/* The shortest form by number. */
cil_at cil_insert_constant(cil_body *body, cil_at at, int32_t value);
cil_at cil_insert_load_argument(cil_body *body, cil_at at, uint32_t number);
cil_at cil_insert_load_local(cil_body *body, cil_at at, uint32_t number);
cil_at cil_insert_store_local(cil_body *body, cil_at at, uint32_t number);

/* Makes another instruction of it; whoever branches to it still does. Set the operand after. */
void cil_replace(cil_body *body, cil_at at, unsigned opcode);
/* Takes it out; branches and clauses that named it name the next one. */
void cil_remove(cil_body *body, cil_at at);
/* Branches and switch cases that go to `from` go to `to`. Clauses stay. */
void cil_redirect(cil_body *body, cil_at from, cil_at to);

/* Adds a clause at its right place: after the clauses inside of it and those of the same try,
 * before those around it. Returns its index, or UINT32_MAX without memory. */
uint32_t cil_insert_clause(cil_body *body, const cil_clause *clause);

/* Whether the code has this instruction. */
bool cil_has(const cil_body *body, unsigned opcode);

#endif
