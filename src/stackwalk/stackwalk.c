/* stackwalk: see stackwalk.h. */
#include "stackwalk/stackwalk.h"

#include <string.h>

/* How far above rbp the frame record of a method replaced on stack is searched. */
#define OSR_REACH 4096

static const uint32_t CALLER_KNOWS = 1U << STACKWALK_RSP | 1U << STACKWALK_RIP;

const char *stackwalk_end_text(stackwalk_end end)
{
    static const char *const TEXTS[STACKWALK_ENDS] = {
#define X(name, text) text,
        STACKWALK_END_LIST(X)
#undef X
    };

    return end < STACKWALK_ENDS ? TEXTS[end] : "unknown";
}

stackwalk_rule stackwalk_rule_of_frame_pointer(void)
{
    stackwalk_rule rule = {
        .kind = STACKWALK_RULE_FRAME,
        .base = STACKWALK_RBP,
        .rbp_from = STACKWALK_SAVED_AT_CFA,
        .rbx_from = STACKWALK_SAVED_LOST,
        .cfa_offset = 16,
        .return_offset = -8,
        .rbp_offset = -16,
    };

    return rule;
}

stackwalk_rule stackwalk_rule_of_depth(int32_t depth)
{
    stackwalk_rule rule = {
        .kind = STACKWALK_RULE_FRAME,
        .base = STACKWALK_RSP,
        .cfa_offset = depth,
        .return_offset = -8,
    };

    return rule;
}

static bool read_slot(const peek *stack, uint64_t address, uint64_t *value)
{
    return peek_read(stack, address, value, sizeof *value);
}

/* A saved register's value in the caller, and whether it is known. */
static bool recover(const stackwalk_registers *r, unsigned number, uint8_t from, int32_t offset,
                    uint64_t cfa, const peek *stack, uint64_t *value)
{
    uint64_t at;

    switch (from) {
    case STACKWALK_SAVED_UNCHANGED:
        *value = r->value[number];
        return stackwalk_knows(r, number);
    case STACKWALK_SAVED_AT_CFA:
        at = cfa + (uint64_t)(int64_t)offset;
        if (read_slot(stack, at, value))
            return true;
        /* Compilers do not say that a register was taken back before a return or a jump out. Where
         * it lay is under the stack pointer then, and it has its value again. */
        *value = r->value[number];
        return at < r->value[STACKWALK_RSP] && stackwalk_knows(r, number);
    case STACKWALK_SAVED_AT_RBP:
        return read_slot(stack, r->value[STACKWALK_RBP] + (uint64_t)(int64_t)offset, value);
    default:
        return false;
    }
}

/* Steps to the frame whose CFA is known. */
static stackwalk_end step_to(stackwalk_registers *r, const stackwalk_rule *rule, uint64_t cfa,
                             const peek *stack)
{
    uint64_t return_address, rbp = 0, rbx = 0;
    bool has_rbp, has_rbx;

    if (cfa <= r->value[STACKWALK_RSP] || (cfa & 7) != 0)
        return STACKWALK_BROKEN;
    if (!read_slot(stack, cfa + (uint64_t)(int64_t)rule->return_offset, &return_address))
        return STACKWALK_NOT_COPIED;
    has_rbp = recover(r, STACKWALK_RBP, rule->rbp_from, rule->rbp_offset, cfa, stack, &rbp);
    has_rbx = recover(r, STACKWALK_RBX, rule->rbx_from, rule->rbx_offset, cfa, stack, &rbx);
    if (return_address == 0)
        return has_rbp && rbp == 0 ? STACKWALK_COMPLETE : STACKWALK_BROKEN;
    r->value[STACKWALK_RSP] = cfa;
    r->value[STACKWALK_RIP] = return_address;
    r->value[STACKWALK_RBP] = rbp;
    r->value[STACKWALK_RBX] = rbx;
    r->known =
        CALLER_KNOWS | (has_rbp ? 1U << STACKWALK_RBP : 0) | (has_rbx ? 1U << STACKWALK_RBX : 0);
    return STACKWALK_GOES_ON;
}

/* The ucontext at rsp has the registers of the interrupted code in the kernel's order. */
static stackwalk_end step_signal(stackwalk_registers *r, const peek *stack)
{
    static const uint8_t ORDER[17] = {8,
                                      9,
                                      10,
                                      11,
                                      12,
                                      13,
                                      14,
                                      15,
                                      STACKWALK_RDI,
                                      STACKWALK_RSI,
                                      STACKWALK_RBP,
                                      STACKWALK_RBX,
                                      STACKWALK_RDX,
                                      STACKWALK_RAX,
                                      STACKWALK_RCX,
                                      STACKWALK_RSP,
                                      STACKWALK_RIP};
    uint64_t saved[17];

    /* uc_flags, uc_link and uc_stack come first: 40 bytes. */
    if (!peek_read(stack, r->value[STACKWALK_RSP] + 40, saved, sizeof saved))
        return STACKWALK_NOT_COPIED;
    for (unsigned i = 0; i < 17; i++)
        r->value[ORDER[i]] = saved[i];
    r->known = (1U << STACKWALK_REGISTERS) - 1;
    return STACKWALK_GOES_ON;
}

/*
 * A method replaced on stack stands on the frame of its first version. Its [rbp] is a copy of the
 * caller's rbp and its [rbp+8] a stale address; the true frame record above repeats the saved rbp,
 * followed by an address in code. Where it is, the method's return tells. Without one it is the
 * first such pair; dead variables of the first version may look like it.
 */
static stackwalk_end step_replaced(stackwalk_registers *r, int32_t cfa_offset, const peek *stack,
                                   const stackwalk_code *code)
{
    stackwalk_rule rule = stackwalk_rule_of_frame_pointer();
    uint64_t rbp = r->value[STACKWALK_RBP], saved, slot, next;

    if (!stackwalk_knows(r, STACKWALK_RBP))
        return STACKWALK_BROKEN;
    if (!read_slot(stack, rbp, &saved))
        return STACKWALK_NOT_COPIED;
    if (cfa_offset != 0) {
        uint64_t cfa = rbp + (uint64_t)cfa_offset;

        if (!read_slot(stack, cfa - 16, &slot) || !read_slot(stack, cfa - 8, &next))
            return STACKWALK_NOT_COPIED;
        if (slot == saved && code->is_code(code->context, next))
            return step_to(r, &rule, cfa, stack);
    }
    for (uint64_t at = rbp + 16; at < rbp + OSR_REACH; at += 8) {
        if (!read_slot(stack, at, &slot) || !read_slot(stack, at + 8, &next))
            return STACKWALK_NOT_COPIED;
        if (slot == saved && code->is_code(code->context, next))
            return step_to(r, &rule, at + 16, stack);
    }
    return STACKWALK_BROKEN;
}

static stackwalk_end step_stub(stackwalk_registers *r, const peek *stack,
                               const stackwalk_code *code)
{
    stackwalk_rule rule = stackwalk_rule_of_depth(8);
    uint64_t top;

    if (!read_slot(stack, r->value[STACKWALK_RSP], &top))
        return STACKWALK_NOT_COPIED;
    if (code->is_code(code->context, top))
        return step_to(r, &rule, r->value[STACKWALK_RSP] + 8, stack);
    if (!stackwalk_knows(r, STACKWALK_RBP))
        return STACKWALK_BROKEN;
    rule = stackwalk_rule_of_frame_pointer();
    return step_to(r, &rule, r->value[STACKWALK_RBP] + 16, stack);
}

stackwalk_end stackwalk_step(stackwalk_registers *r, const stackwalk_rule *rule, const peek *stack,
                             const stackwalk_code *code)
{
    uint64_t cfa;

    switch (rule->kind) {
    case STACKWALK_RULE_START:
        return STACKWALK_COMPLETE;
    case STACKWALK_RULE_FRAME:
    case STACKWALK_RULE_INDIRECT:
        if (!stackwalk_knows(r, rule->base))
            return STACKWALK_BROKEN;
        cfa = r->value[rule->base] + (uint64_t)(int64_t)rule->cfa_offset;
        if (rule->kind == STACKWALK_RULE_INDIRECT && !read_slot(stack, cfa, &cfa))
            return STACKWALK_NOT_COPIED;
        return step_to(r, rule, cfa, stack);
    case STACKWALK_RULE_PLT:
        cfa = r->value[STACKWALK_RSP] + 8;
        if ((r->value[STACKWALK_RIP] & 15) >= (uint64_t)rule->cfa_offset)
            cfa += 8;
        return step_to(r, rule, cfa, stack);
    case STACKWALK_RULE_SIGNAL:
        return step_signal(r, stack);
    case STACKWALK_RULE_OSR:
        return step_replaced(r, rule->cfa_offset, stack, code);
    case STACKWALK_RULE_STUB:
        return step_stub(r, stack, code);
    default:
        return STACKWALK_NO_RULE;
    }
}
