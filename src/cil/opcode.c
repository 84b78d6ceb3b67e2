/* opcode: the table, made from the list in clarinet/cil_opcodes.h. See opcode.h. */
#include "cil/opcode.h"

/* Sizes by kind of operand, in the order of cil_operand_kind. */
#define OPERAND_SIZE(kind)                                                                         \
    ((kind) == CIL_OPERAND_NONE ? 0                                                                \
     : (kind) == CIL_OPERAND_INT8 || (kind) == CIL_OPERAND_VARIABLE8 ||                            \
             (kind) == CIL_OPERAND_BRANCH8                                                         \
         ? 1                                                                                       \
     : (kind) == CIL_OPERAND_VARIABLE16                            ? 2                             \
     : (kind) == CIL_OPERAND_INT64 || (kind) == CIL_OPERAND_REAL64 ? 8                             \
                                                                   : 4)

const cil_opcode_info CIL_OPCODES[CIL_OPCODE_LIMIT] = {
#define X(identifier, code, text, operand, pops, pushes, flow)                                     \
    [code] = {text, pops, pushes, operand, flow, OPERAND_SIZE(operand), (code) > 0xFF ? 2 : 1},
    CIL_OPCODE_LIST(X)
#undef X
        [CIL_LABEL] = {"label", "", "", CIL_OPERAND_NONE, CIL_FLOW_NEXT, 0, 0},
};

/* br.s … blt.un.s (2B-37) and br … blt.un (38-44) stand in the same order; leave is apart. */
unsigned cil_opcode_long(unsigned opcode)
{
    if (opcode >= CIL_BR_S && opcode <= CIL_BLT_UN_S)
        return opcode - CIL_BR_S + CIL_BR;
    return opcode == CIL_LEAVE_S ? CIL_LEAVE : opcode;
}

unsigned cil_opcode_short(unsigned opcode)
{
    if (opcode >= CIL_BR && opcode <= CIL_BLT_UN)
        return opcode - CIL_BR + CIL_BR_S;
    return opcode == CIL_LEAVE ? CIL_LEAVE_S : opcode;
}
