/*
 * body: a method body as a list of instructions that can be edited, with its header and exception
 * clauses. Branches, switch cases and clauses name instructions, never offsets, so they follow when
 * the list changes; offsets exist only before decoding and after encoding.
 *
 * An instruction is named by its place in the body's array (cil_at), which never changes while the
 * body lives. Place 0 is the end of the code: the list is a ring through it, and the end of a
 * region that reaches the end of the code is 0. The order of the list is the order of the code.
 *
 * One thread at a time. A body is reused for the next method with no new memory; out of memory
 * sets `failed`, which encoding reports.
 */
#ifndef CLARINET_CIL_BODY_H
#define CLARINET_CIL_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cil/opcode.h"

enum {
    CIL_CODE_LIMIT = 0x7FFFFF /* bytes of code that we take on */
};

enum { CIL_HEADER_INIT_LOCALS = 0x10, CIL_HEADER_MORE_SECTIONS = 0x08 };

typedef struct {
    cil_instruction *instructions; /* [0] is the end */
    uint32_t instruction_count, instruction_capacity;
    cil_at *cases;
    uint32_t case_count, case_capacity;
    cil_clause *clauses; /* innermost first */
    uint32_t clause_count, clause_capacity;
    uint32_t *by_offset; /* of the original code: place, 0 = no instruction starts here */
    uint32_t by_offset_capacity;

    bool tiny;             /* the header was tiny, and stays so when it can */
    bool small_clauses;    /* the section was small, and stays so when it can */
    uint16_t header_flags; /* of a fat header, without format and size */
    uint16_t max_stack;
    uint32_t local_signature; /* token or 0 */
    uint32_t code_size;       /* of the original */
    size_t size;              /* bytes of the original: header, code, sections */
    bool failed;
} cil_body;

void cil_body_init(cil_body *body);
void cil_body_free(cil_body *body);
/* An empty body (no instruction, tiny header) that keeps its memory. */
void cil_body_clear(cil_body *body);

/* Reads header, code and sections at `bytes` (at most `length`, more may follow the body).
 * ERROR_CORRUPT: the reason and the offset; the body is then empty. */
int cil_decode(cil_body *body, const void *bytes, size_t length, error *e);

static inline cil_at cil_first(const cil_body *body)
{
    return body->instructions[CIL_END].next;
}
static inline cil_at cil_last(const cil_body *body)
{
    return body->instructions[CIL_END].previous;
}
static inline cil_instruction *cil_get(const cil_body *body, cil_at at)
{
    return &body->instructions[at];
}
/* The instruction that starts at an offset of the original code; 0 = none (or the end). */
cil_at cil_at_offset(const cil_body *body, uint32_t offset);

/* Room for one more; used by decode and edit. CIL_END when there is no memory. */
cil_at cil_body_add(cil_body *body);
bool cil_body_add_case(cil_body *body, cil_at target);
cil_clause *cil_body_add_clause(cil_body *body);

#endif
