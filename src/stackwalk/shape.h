/*
 * shape: unwind rules of managed code, from its bytes.
 *
 * CoreCLR's code has no .eh_frame on Linux. Most methods keep rbp, but many small ones do not, and
 * methods replaced on stack stand on their first version's frame. The prologue tells which: pushes,
 * `sub rsp`, `lea rbp,[rsp+n]`, vzeroupper, the probe of a big frame. For the leaf, the exact state
 * at the instruction counts: inside the prologue, in the body, or at the end of the epilogue.
 *
 * Pure functions over bytes the caller has read; safe anywhere.
 */
#ifndef CLARINET_STACKWALK_SHAPE_H
#define CLARINET_STACKWALK_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackwalk/stackwalk.h"

typedef enum {
    SHAPE_FRAMED,    /* keeps rbp */
    SHAPE_FRAMELESS, /* the CFA is a fixed distance from rsp */
    SHAPE_OSR        /* replaced on stack */
} shape_kind;

typedef struct {
    shape_kind kind;
    uint32_t prologue;   /* bytes */
    int32_t depth;       /* CFA - rsp after the prologue (before any localloc) */
    int32_t lift;        /* rbp - rsp after the prologue of a framed or replaced method */
    stackwalk_rule body; /* the rule between prologue and epilogue */
} shape;

enum { SHAPE_PROLOGUE_BYTES = 96, SHAPE_TAIL_BYTES = 32, SHAPE_RETURN_BYTES = 24 };

/* Decodes the prologue in the first bytes of a method (SHAPE_PROLOGUE_BYTES are enough). */
shape shape_of(const uint8_t *code, size_t length);

/*
 * A method replaced on stack: looks for its return in a piece of its code, and puts the distance
 * from rbp to the CFA of its first version's frame into the body's rule. false: go on with the next
 * piece, which begins SHAPE_RETURN_BYTES before this one's end.
 */
bool shape_find_return(shape *s, const uint8_t *code, size_t length);

/* The rule at `offset` bytes from the method's start while its prologue runs: `code` as above. */
stackwalk_rule shape_rule_in_prologue(const uint8_t *code, size_t length, size_t offset);

/*
 * The rule for a leaf behind the prologue. `tail` holds `before` bytes in front of the instruction
 * and then the instruction itself; `size_left` = bytes from the instruction to the method's end
 * and `size_before` = bytes from its start, to tell a tail call's jump from a loop's.
 */
stackwalk_rule shape_rule_of_leaf(const shape *s, const uint8_t *tail, size_t before, size_t length,
                                  uint64_t size_before, uint64_t size_left);

#endif
