/*
 * stackwalk: one step from a frame to its caller, on x86-64.
 *
 * A rule says where a frame's caller is: it comes from .eh_frame for native code (cfi.h) and from
 * the decoded prologue for managed code (shape.h). A step applies a rule to the registers of a
 * frame, reading stack slots through `peek`. Nothing here allocates, locks, or keeps state.
 *
 * Invariant: every step either moves the stack pointer towards the thread's start (signal frames
 * may change the stack) or ends the walk with a reason; so a walk always ends.
 */
#ifndef CLARINET_STACKWALK_STACKWALK_H
#define CLARINET_STACKWALK_STACKWALK_H

#include <stdbool.h>
#include <stdint.h>

#include "stackwalk/peek.h"

/* Registers by their DWARF numbers. */
enum {
    STACKWALK_RAX = 0,
    STACKWALK_RDX = 1,
    STACKWALK_RCX = 2,
    STACKWALK_RBX = 3,
    STACKWALK_RSI = 4,
    STACKWALK_RDI = 5,
    STACKWALK_RBP = 6,
    STACKWALK_RSP = 7,
    STACKWALK_R8 = 8,
    STACKWALK_R10 = 10,
    STACKWALK_RIP = 16,
    STACKWALK_REGISTERS = 17
};

typedef struct {
    uint64_t value[STACKWALK_REGISTERS];
    uint32_t known; /* a bit per register: callers keep only rip, rsp, rbp and rbx */
} stackwalk_registers;

typedef enum {
    STACKWALK_RULE_NONE,     /* nothing is known: the walk ends */
    STACKWALK_RULE_START,    /* the outermost frame: nobody called it */
    STACKWALK_RULE_FRAME,    /* CFA = register + offset */
    STACKWALK_RULE_INDIRECT, /* CFA = [register + offset] */
    STACKWALK_RULE_PLT,      /* a linkage table: CFA = rsp + 8, or + 16 from byte `offset` of 16 */
    STACKWALK_RULE_SIGNAL,   /* a signal frame: all registers lie in the ucontext at rsp */
    STACKWALK_RULE_OSR,      /* replaced on stack: the true frame record lies above rbp */
    STACKWALK_RULE_STUB      /* code of unknown shape: [rsp] if that is code, else by rbp */
} stackwalk_rule_kind;

typedef enum {
    STACKWALK_SAVED_UNCHANGED,
    STACKWALK_SAVED_AT_CFA, /* at CFA + offset */
    STACKWALK_SAVED_AT_RBP, /* at rbp + offset */
    STACKWALK_SAVED_LOST
} stackwalk_saved;

typedef struct {
    uint8_t kind;     /* stackwalk_rule_kind */
    uint8_t base;     /* register the CFA is counted from */
    uint8_t rbp_from; /* stackwalk_saved */
    uint8_t rbx_from;
    int32_t cfa_offset;
    int32_t return_offset; /* the return address lies at CFA + this: -8 but in odd helpers */
    int32_t rbp_offset;
    int32_t rbx_offset;
} stackwalk_rule;

/* Why a walk ended; one list makes the enum and the texts that reports show. */
#define STACKWALK_END_LIST(X)                                                                      \
    X(STACKWALK_GOES_ON, "goes on")                                                                \
    X(STACKWALK_COMPLETE, "complete")                                                              \
    X(STACKWALK_TRUNCATED, "maximum depth reached")                                                \
    X(STACKWALK_NO_RULE, "no unwind rule")                                                         \
    X(STACKWALK_UNKNOWN_CODE, "return address outside known code")                                 \
    X(STACKWALK_NOT_COPIED, "stack longer than its copy")                                          \
    X(STACKWALK_BROKEN, "broken frame chain")

typedef enum {
#define X(name, text) name,
    STACKWALK_END_LIST(X)
#undef X
        STACKWALK_ENDS
} stackwalk_end;

const char *stackwalk_end_text(stackwalk_end end);

/* Answers whether an address lies in executable memory that is known. */
typedef struct {
    bool (*is_code)(void *context, uint64_t address);
    void *context;
} stackwalk_code;

static inline bool stackwalk_knows(const stackwalk_registers *r, unsigned number)
{
    return (r->known >> number & 1) != 0;
}

/* Turns the registers of a frame into its caller's: STACKWALK_GOES_ON, or why the walk ends here
 * (the registers are then unchanged). Safe anywhere its peek and code are. */
stackwalk_end stackwalk_step(stackwalk_registers *r, const stackwalk_rule *rule, const peek *stack,
                             const stackwalk_code *code);

/* The rule of a standard frame: push rbp; mov rbp,rsp. */
stackwalk_rule stackwalk_rule_of_frame_pointer(void);
/* The rule at an instruction where the return address lies at rsp + depth - 8, rbp untouched. */
stackwalk_rule stackwalk_rule_of_depth(int32_t depth);

#endif
