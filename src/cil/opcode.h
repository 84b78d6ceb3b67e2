/*
 * opcode: what is known of each CIL instruction without its operand: spelling, kind of operand,
 * stack effect, flow. Constant data; any thread.
 */
#ifndef CLARINET_CIL_OPCODE_H
#define CLARINET_CIL_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cil/opcodes.h"

typedef enum {
    CIL_OPERAND_NONE,
    CIL_OPERAND_INT8,
    CIL_OPERAND_INT32,
    CIL_OPERAND_INT64,
    CIL_OPERAND_REAL32,
    CIL_OPERAND_REAL64,
    CIL_OPERAND_VARIABLE8, /* an argument's or a local's number */
    CIL_OPERAND_VARIABLE16,
    CIL_OPERAND_BRANCH8,
    CIL_OPERAND_BRANCH32,
    CIL_OPERAND_SWITCH,
    CIL_OPERAND_FIELD, /* from here on metadata tokens */
    CIL_OPERAND_METHOD,
    CIL_OPERAND_TYPE,
    CIL_OPERAND_TOKEN,
    CIL_OPERAND_STRING,
    CIL_OPERAND_SIGNATURE
} cil_operand_kind;

typedef enum {
    CIL_FLOW_NEXT,
    CIL_FLOW_CALL,
    CIL_FLOW_JUMP, /* br, leave: never the next instruction */
    CIL_FLOW_FORK, /* conditional branches and switch */
    CIL_FLOW_END,  /* ret, jmp, endfinally, endfilter */
    CIL_FLOW_THROW,
    CIL_FLOW_PREFIX /* belongs to the next instruction */
} cil_flow;

typedef enum {
#define X(identifier, code, text, operand, pops, pushes, flow) identifier = code,
    CIL_OPCODE_LIST(X)
#undef X
    /* Not an instruction: a place that branches and clauses can name. Takes no bytes. */
    CIL_LABEL = 0x1FF
} cil_opcode;

enum { CIL_OPCODE_LIMIT = 0x200 };

typedef struct {
    const char *name; /* NULL: there is no such instruction */
    const char *pops; /* a letter per value, see tools/cil/opcodes.txt */
    const char *pushes;
    uint8_t operand;      /* cil_operand_kind */
    uint8_t operand_size; /* bytes; 4 for switch (its count) */
    uint8_t flow;         /* cil_flow */
    uint8_t size;         /* bytes of the code itself: 1 or 2 */
} cil_opcode_info;

extern const cil_opcode_info CIL_OPCODES[CIL_OPCODE_LIMIT];

static inline const cil_opcode_info *cil_opcode_of(unsigned opcode)
{
    return &CIL_OPCODES[opcode & (CIL_OPCODE_LIMIT - 1)];
}
static inline bool cil_opcode_is_token(unsigned opcode)
{
    return cil_opcode_of(opcode)->operand >= CIL_OPERAND_FIELD;
}
static inline bool cil_opcode_is_branch(unsigned opcode)
{
    uint8_t kind = cil_opcode_of(opcode)->operand;

    return kind == CIL_OPERAND_BRANCH8 || kind == CIL_OPERAND_BRANCH32;
}
/* The branch with a 4-byte (or 1-byte) distance that does the same; others as they are. */
unsigned cil_opcode_long(unsigned opcode);
unsigned cil_opcode_short(unsigned opcode);

#endif
