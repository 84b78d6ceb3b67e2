/*
 * shape: see shape.h. The decoder knows exactly the instructions that CoreCLR's prologues and
 * epilogues consist of; the first other instruction ends the prologue.
 */
#include "stackwalk/shape.h"

#include <string.h>

/* The machine while a prologue runs. */
typedef struct {
    int32_t depth;     /* CFA - rsp */
    int32_t probe;     /* bytes that `mov rsp,r11` will take, after lea r11 */
    int32_t rbp_saved; /* CFA - place of the saved rbp; 0 = not saved */
    int32_t rbx_saved;
    int32_t frame; /* CFA - rbp once rbp is set; 0 = not yet */
    bool osr;
} prologue;

static int32_t read_i32(const uint8_t *p)
{
    int32_t value;

    memcpy(&value, p, 4);
    return value;
}

static bool has(const uint8_t *p, size_t left, const char *bytes, size_t count)
{
    return left >= count && memcmp(p, bytes, count) == 0;
}

/* One push at p: its length, 0 when it is none; *number is the register. */
static size_t decode_push(const uint8_t *p, size_t left, unsigned *number)
{
    if (left >= 1 && p[0] >= 0x50 && p[0] <= 0x57) {
        *number = p[0] - 0x50U;
        return 1;
    }
    if (left >= 2 && p[0] == 0x41 && p[1] >= 0x50 && p[1] <= 0x57) {
        *number = p[1] - 0x50U + 8;
        return 2;
    }
    return 0;
}

/* Moves the state over one prologue instruction; its length, 0 when the prologue is over. */
static size_t decode_prologue(const uint8_t *p, size_t left, prologue *s)
{
    unsigned number;
    size_t length = decode_push(p, left, &number);

    if (s->frame != 0)
        return 0;
    if (length != 0) {
        s->depth += 8;
        if (number == 5 && s->rbp_saved == 0) /* encodings: 5 = rbp, 3 = rbx */
            s->rbp_saved = s->depth;
        if (number == 3 && s->rbx_saved == 0)
            s->rbx_saved = s->depth;
        return length;
    }
    if (has(p, left, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
        return 4;
    if (has(p, left, "\xc5\xf8\x77", 3)) /* vzeroupper */
        return 3;
    if (has(p, left, "\x48\x83\xec", 3) && left >= 4) { /* sub rsp,imm8 */
        s->depth += (int8_t)p[3];
        return 4;
    }
    if (has(p, left, "\x48\x81\xec", 3) && left >= 7) { /* sub rsp,imm32 */
        s->depth += read_i32(p + 3) & 0xfffffff;
        return 7;
    }
    /* A replacement keeps registers in the old frame: mov [rsp+imm],register. */
    if (s->osr && left >= 8 && (p[0] & 0xfb) == 0x48 && p[1] == 0x89 && p[3] == 0x24) {
        if ((p[2] & 0xc7) == 0x44)
            return 5;
        if ((p[2] & 0xc7) == 0x84)
            return 8;
    }
    if (has(p, left, "\x48\x8d\x6c\x24", 4) && left >= 5) { /* lea rbp,[rsp+imm8] */
        s->frame = s->depth - (int8_t)p[4];
        return 5;
    }
    if (has(p, left, "\x48\x8d\xac\x24", 4) && left >= 8) { /* lea rbp,[rsp+imm32] */
        s->frame = s->depth - (read_i32(p + 4) & 0xfffffff);
        return 8;
    }
    if (has(p, left, "\x48\x8b\xec", 3) || has(p, left, "\x48\x89\xe5", 3)) { /* mov rbp,rsp */
        s->frame = s->depth;
        return 3;
    }
    /* The probe of a frame of pages: lea r11,[rsp-n]; call helper; mov rsp,r11. */
    if (has(p, left, "\x4c\x8d\x9c\x24", 4) && left >= 8) {
        s->probe = -read_i32(p + 4) & 0xfffffff;
        return 8;
    }
    if (s->probe != 0 && left >= 5 && p[0] == 0xe8)
        return 5;
    if (s->probe != 0 && left >= 6 && p[0] == 0xff && p[1] == 0x15)
        return 6;
    if (s->probe != 0 && (has(p, left, "\x49\x8b\xe3", 3) || has(p, left, "\x4c\x89\xdc", 3))) {
        s->depth += s->probe;
        s->probe = 0;
        return 3;
    }
    if (has(p, left, "\x85\x84\x24", 3) && left >= 7) /* test [rsp+n],eax: a one-page probe */
        return 7;
    return 0;
}

/* The entry of a method replaced on stack copies the caller's rbp out of the old frame. */
static size_t decode_osr_entry(const uint8_t *p, size_t left)
{
    if (left >= 5 && has(p, left, "\x48\x8b\x45", 3) && p[4] == 0x50)
        return 5;
    if (left >= 8 && has(p, left, "\x48\x8b\x85", 3) && p[7] == 0x50)
        return 8;
    return 0;
}

static stackwalk_rule rule_of_state(const prologue *s)
{
    stackwalk_rule rule = stackwalk_rule_of_depth(s->depth);

    if (s->frame != 0) {
        rule.base = STACKWALK_RBP;
        rule.cfa_offset = s->frame;
    }
    if (s->rbp_saved != 0) {
        rule.rbp_from = STACKWALK_SAVED_AT_CFA;
        rule.rbp_offset = -s->rbp_saved;
    }
    if (s->rbx_saved != 0) {
        rule.rbx_from = STACKWALK_SAVED_AT_CFA;
        rule.rbx_offset = -s->rbx_saved;
    }
    return rule;
}

/* Runs the prologue up to `stop`; returns where it ended. */
static size_t run_prologue(const uint8_t *code, size_t length, size_t stop, prologue *s)
{
    size_t at = decode_osr_entry(code, length);

    memset(s, 0, sizeof *s);
    s->depth = 8;
    if (at != 0) {
        s->osr = true;
        s->depth += 8;
    }
    while (at < stop) {
        prologue next = *s;
        size_t step = decode_prologue(code + at, length - at, &next);

        if (step == 0 || at + step > stop)
            break;
        *s = next;
        at += step;
    }
    return at;
}

shape shape_of(const uint8_t *code, size_t length)
{
    prologue state;
    shape s;

    memset(&s, 0, sizeof s);
    s.prologue = (uint32_t)run_prologue(code, length, length, &state);
    s.depth = state.depth;
    s.lift = state.frame != 0 ? state.depth - state.frame : -1;
    s.body = rule_of_state(&state);
    if (state.osr) {
        s.kind = SHAPE_OSR;
        memset(&s.body, 0, sizeof s.body);
        s.body.kind = STACKWALK_RULE_OSR;
    } else if (state.frame != 0) {
        s.kind = SHAPE_FRAMED;
    } else if (state.rbp_saved == 16) {
        /* rbp is saved first only by methods that go on to keep it. */
        s.kind = SHAPE_FRAMED;
        s.body = stackwalk_rule_of_frame_pointer();
    } else {
        s.kind = SHAPE_FRAMELESS;
    }
    return s;
}

/* The `add rsp,n` of a return, with its pops up to that of rbp: how far above rsp rbp was saved;
 * 0 = there is none. */
static int32_t decode_return(const uint8_t *p, size_t left)
{
    int32_t up;
    size_t at;
    bool rbp = false;

    if (has(p, left, "\x48\x83\xc4", 3) && left >= 4) {
        up = (int32_t)(int8_t)p[3];
        at = 4;
    } else if (has(p, left, "\x48\x81\xc4", 3) && left >= 7) {
        up = read_i32(p + 3) & 0xffffff;
        at = 7;
    } else {
        return 0;
    }
    for (; !rbp && at < left; up += 8) {
        bool extended = p[at] == 0x41;

        at += extended;
        if (at >= left || p[at] < 0x58 || p[at] > 0x5f)
            return 0;
        rbp = !extended && p[at] == 0x5d;
        at++;
    }
    return rbp && at < left && (p[at] == 0xc3 || p[at] == 0xe9 || p[at] == 0xff || p[at] == 0x48)
               ? up - 8
               : 0;
}

bool shape_find_return(shape *s, const uint8_t *code, size_t length)
{
    if (s->kind != SHAPE_OSR || s->lift < 0)
        return true;
    for (size_t at = 0; at < length; at++) {
        int32_t up = decode_return(code + at, length - at) - s->lift;

        /* Returns of a finally's own code take less. */
        if (up > 16 && (up & 7) == 0) {
            s->body.cfa_offset = up + 16;
            return true;
        }
    }
    return false;
}

stackwalk_rule shape_rule_in_prologue(const uint8_t *code, size_t length, size_t offset)
{
    prologue state;

    /* Until an on-stack replacement sets rbp, rbp is the old frame's: a plain frame record. */
    if (decode_osr_entry(code, length) != 0)
        return stackwalk_rule_of_frame_pointer();
    run_prologue(code, length, offset, &state);
    return rule_of_state(&state);
}

/* Whether the jump at p leaves the method: a tail call. */
static bool is_tail_jump(const uint8_t *p, size_t left, size_t before, uint64_t size_before,
                         uint64_t size_left)
{
    int64_t target;

    if (left >= 2 && p[0] == 0xeb)
        target = 2 + (int8_t)p[1];
    else if (left >= 5 && p[0] == 0xe9)
        target = 5 + (int64_t)read_i32(p + 1);
    else if (left >= 2 && ((p[0] == 0xff && (p[1] == 0x25 || p[1] >> 3 == 0x1c)) ||
                           (p[0] == 0x48 && p[1] == 0xff)))
        /* Indirect: a switch in the body, or a tail call right behind a pop or `add rsp`. */
        return (before >= 1 && p[-1] >= 0x58 && p[-1] <= 0x5f) ||
               (before >= 4 && has(p - 4, 4, "\x48\x83\xc4", 3));
    else
        return false;
    return target < -(int64_t)size_before || target >= (int64_t)size_left;
}

static bool is_return(const uint8_t *p, size_t left)
{
    return (left >= 1 && (p[0] == 0xc3 || p[0] == 0xc2)) ||
           (left >= 2 && p[0] == 0xf3 && p[1] == 0xc3);
}

stackwalk_rule shape_rule_of_leaf(const shape *s, const uint8_t *tail, size_t before, size_t length,
                                  uint64_t size_before, uint64_t size_left)
{
    size_t at = before;
    int32_t popped = 0;
    stackwalk_rule rule;

    if (before >= length)
        return s->body;
    if (is_return(tail + at, length - at) ||
        is_tail_jump(tail + at, length - at, before, size_before, size_left))
        return stackwalk_rule_of_depth(8);
    /* With rbp still in place the body's rule holds up to the very return. */
    if (s->kind != SHAPE_FRAMELESS)
        return s->body;
    while (at < length) {
        const uint8_t *p = tail + at;
        size_t left = length - at;

        if (has(p, left, "\xc5\xf8\x77", 3)) {
            at += 3;
        } else if (has(p, left, "\x48\x83\xc4", 3) && left >= 4) { /* add rsp,imm8 */
            popped += (int8_t)p[3];
            at += 4;
        } else if (has(p, left, "\x48\x81\xc4", 3) && left >= 7) { /* add rsp,imm32 */
            popped += read_i32(p + 3) & 0xfffffff;
            at += 7;
        } else if (p[0] >= 0x58 && p[0] <= 0x5f) {
            popped += 8;
            at += 1;
        } else if (left >= 2 && p[0] == 0x41 && p[1] >= 0x58 && p[1] <= 0x5f) {
            popped += 8;
            at += 2;
        } else {
            break;
        }
    }
    if (at == before || at >= length ||
        !(is_return(tail + at, length - at) ||
          is_tail_jump(tail + at, length - at, at, size_before + (at - before),
                       size_left - (at - before))))
        return s->body;
    rule = s->body;
    rule.cfa_offset = popped + 8;
    /* A saved register above the stack pointer is still in its slot; one below was popped. */
    if (rule.rbp_from == STACKWALK_SAVED_AT_CFA && -rule.rbp_offset > rule.cfa_offset)
        rule.rbp_from = STACKWALK_SAVED_UNCHANGED;
    if (rule.rbx_from == STACKWALK_SAVED_AT_CFA && -rule.rbx_offset > rule.cfa_offset)
        rule.rbx_from = STACKWALK_SAVED_UNCHANGED;
    return rule;
}
