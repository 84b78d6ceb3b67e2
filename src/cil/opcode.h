/*
 * opcode: what is known of each CIL instruction without its operand: spelling, kind of operand,
 * stack effect, flow. Constant data; any thread.
 */
#ifndef CLARINET_CIL_OPCODE_H
#define CLARINET_CIL_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clarinet/cil_types.h"

/* Two-byte codes are 0x100 + the second byte; the last one known is FE 1E. */
enum { CIL_OPCODE_LIMIT = 0x120, CIL_OPCODE_UNASSIGNED = 0x24 };

/* Texts stand in the row itself: pointers would have to be relocated in every process. */
typedef struct {
    char name[15]; /* "": there is no such instruction */
    char pops[4];  /* a letter per value, see tools/cil/opcodes.txt */
    char pushes[3];
    uint8_t operand : 5;      /* cil_operand_kind */
    uint8_t flow : 3;         /* cil_flow */
    uint8_t operand_size : 4; /* bytes; 4 for switch (its count) */
    uint8_t size : 4;         /* bytes of the code itself: 1 or 2 */
} cil_opcode_info;

extern const cil_opcode_info CIL_OPCODES[CIL_OPCODE_LIMIT];

static inline const cil_opcode_info *cil_opcode_of(unsigned opcode)
{
    return &CIL_OPCODES[opcode < CIL_OPCODE_LIMIT ? opcode : CIL_OPCODE_UNASSIGNED];
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
