/* Method bodies: decode, edit, encode, wrap. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cil/edit.h"
#include "cil/encode.h"
#include "cil/wrap.h"

static void round_trip(const uint8_t *bytes, size_t length)
{
    cil_body body;
    buffer out = BUFFER_EMPTY;
    error e = {0};

    cil_body_init(&body);
    if (cil_decode(&body, bytes, length, &e) != 0)
        fail_msg("decode: %s", e.message);
    assert_int_equal(length, body.size);
    assert_int_equal(0, cil_encode(&body, 0, &out, &e));
    assert_int_equal(length, out.length);
    assert_memory_equal(bytes, out.data, length);
    buffer_free(&out);
    cil_body_free(&body);
}

static int decode_code(const uint8_t *bytes, size_t length, error *e)
{
    cil_body body;
    int code;

    cil_body_init(&body);
    code = cil_decode(&body, bytes, length, e);
    cil_body_free(&body);
    return code;
}

static void gives_the_same_bytes(void **state)
{
    static const uint8_t tiny[] = {0x0A, 0x02, 0x2A};
    static const uint8_t fat[] = {0x13, 0x30, 0x01, 0, 2, 0, 0, 0, 5, 0, 0, 0x11, 0x17, 0x2A};
    /* switch with two cases, one long branch that could be short */
    static const uint8_t branches[] = {0x6A, 0x02, 0x45, 2,    0, 0, 0, 7, 0,    0, 0, 2, 0,   0,
                                       0,    0x2B, 0x05, 0x38, 0, 0, 0, 0, 0x2A, 0, 0, 0, 0x2A};
    static const uint8_t small[] = {
        0x0B, 0x30, 1,    0,    8,    0,    0,    0,    0, 0, 0, 0, /* flags: more */
        0x00, 0xDE, 0x03, 0x26, 0xDE, 0x00, 0x2A, 0x2A,             /* code */
        0x01, 0x10, 0,    0,    0,    0,    0,    0,    3, 3, 0, 3, 9, 0, 0, 1};
    static const uint8_t large[] = {0x1B, 0x30, 1,    0,    7,    0, 0, 0, 0, 0, 0, 0, 0x00, 0xDE,
                                    0x01, 0xDC, 0x2A, 0x2A, 0x2A, 0, /* padding */
                                    0x41, 0x1C, 0,    0,    2,    0, 0, 0, 0, 0, 0, 0, 3,    0,
                                    0,    0,    3,    0,    0,    0, 1, 0, 0, 0, 0, 0, 0,    0};

    (void)state;
    round_trip(tiny, sizeof tiny);
    round_trip(fat, sizeof fat);
    round_trip(branches, sizeof branches);
    round_trip(small, sizeof small);
    round_trip(large, sizeof large);
}

/* Each opcode with its operand, and each number that is none. */
static void knows_every_opcode(void **state)
{
    unsigned known = 0;

    (void)state;
    for (unsigned opcode = 0; opcode < 0x200; opcode++) {
        const cil_opcode_info *info = cil_opcode_of(opcode);
        uint8_t bytes[32] = {0};
        size_t length = 1;
        error e = {0};

        if (opcode == 0xFE || opcode == CIL_LABEL)
            continue;
        if (opcode > 0xFF)
            bytes[length++] = 0xFE;
        bytes[length++] = (uint8_t)opcode;
        length += info->operand_size;
        bytes[length++] = 0x2A; /* what a branch over nothing goes to */
        bytes[0] = (uint8_t)((length - 1) << 2 | 2);
        if (info->name[0] == '\0') {
            assert_int_equal(ERROR_CORRUPT, decode_code(bytes, length, &e));
            assert_non_null(strstr(e.message, "there is no instruction"));
            continue;
        }
        known++;
        round_trip(bytes, length);
    }
    assert_int_equal(219, known);
    assert_int_equal(CIL_BLT_UN, cil_opcode_long(CIL_BLT_UN_S));
    assert_int_equal(CIL_LEAVE_S, cil_opcode_short(CIL_LEAVE));
    assert_int_equal(CIL_ADD, cil_opcode_short(CIL_ADD));
}

static void refuses_broken_bodies(void **state)
{
    static const struct {
        uint8_t bytes[32];
        size_t length;
        const char *reason;
    } cases[] = {
        {{0}, 0, "neither tiny nor fat"},
        {{0x00}, 1, "neither tiny nor fat"},
        {{0x02}, 1, "0 bytes of code"},
        {{0x0A, 0x2A}, 2, "cut off"},
        {{0x06, 0x20}, 2, "ends inside"},
        {{0x06, 0xFE}, 2, "ends inside"},
        {{0x06, 0x24}, 2, "no instruction 24"},
        {{0x0A, 0xFE, 0x08}, 3, "no instruction FE 08"},
        {{0x0A, 0x2B, 0x00}, 3, "no instruction starts"},
        {{0x0A, 0x2B, 0xFF}, 3, "no instruction starts"},
        {{0x0A, 0x2B, 0x80}, 3, "no instruction starts"},
        {{0x16, 0x45, 0xFF, 0xFF, 0xFF, 0xFF}, 6, "ends inside"},
        {{0x03, 0x30, 1, 0, 1, 0, 0}, 7, "cut off"},
        {{0x03, 0x40, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x2A}, 13, "says it has 16 bytes"},
        {{0x0B, 0x30, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x2A}, 13, "section is cut off"},
        {{0x0B, 0x30, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x2A, 0, 0, 0, 0x02, 0x10, 0, 0},
         20,
         "unknown kind"},
        {{0x0B, 0x30, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x2A, 0, 0, 0, 0x01, 0x10, 0, 0},
         20,
         "clauses are cut off"},
    };

    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        error e = {0};

        assert_true(decode_code(cases[n].bytes, cases[n].length, &e) < 0);
        if (strstr(e.message, cases[n].reason) == NULL)
            fail_msg("case %zu: '%s' instead of '%s'", n, e.message, cases[n].reason);
    }
}

/* A forward and a backward short branch over n nops: the last that reaches and the first that
 * does not. */
static void grows_branches_that_must(void **state)
{
    static const struct {
        unsigned nops;
        bool backward, grows;
    } cases[] = {{127, false, false}, {128, false, true}, {126, true, false}, {127, true, true}};

    (void)state;
    for (size_t n = 0; n < 4; n++) {
        cil_body body;
        buffer out = BUFFER_EMPTY;
        cil_at branch, end;
        error e;

        cil_body_init(&body);
        end = cil_insert(&body, CIL_END, CIL_RET);
        branch = cil_insert_branch(&body, end, CIL_BR_S, end);
        for (unsigned k = 0; k < cases[n].nops; k++)
            cil_insert(&body, cases[n].backward ? branch : end, CIL_NOP);
        if (cases[n].backward)
            cil_get(&body, branch)->operand.target = cil_first(&body);
        assert_int_equal(0, cil_encode(&body, 0, &out, &e));
        assert_int_equal(cases[n].grows ? CIL_BR : CIL_BR_S, cil_get(&body, branch)->opcode);
        round_trip(out.data, out.length);
        /* Asked for the shortest, a long one that need not be becomes short. */
        cil_get(&body, branch)->opcode = CIL_BR;
        buffer_clear(&out);
        assert_int_equal(0, cil_encode(&body, CIL_ENCODE_SHORTEST, &out, &e));
        assert_int_equal(cases[n].grows ? CIL_BR : CIL_BR_S, cil_get(&body, branch)->opcode);
        buffer_free(&out);
        cil_body_free(&body);
    }
}

static void shortens_variables_and_constants(void **state)
{
    static const struct {
        unsigned opcode;
        int64_t number;
        unsigned expected;
    } cases[] = {
        {CIL_LDC_I4, -1, CIL_LDC_I4_M1}, {CIL_LDC_I4, 8, CIL_LDC_I4_8},
        {CIL_LDC_I4, 9, CIL_LDC_I4_S},   {CIL_LDC_I4, -128, CIL_LDC_I4_S},
        {CIL_LDC_I4, 128, CIL_LDC_I4},   {CIL_LDLOC, 3, CIL_LDLOC_3},
        {CIL_LDLOC, 255, CIL_LDLOC_S},   {CIL_LDLOC, 256, CIL_LDLOC},
        {CIL_STARG, 0, CIL_STARG_S},     {CIL_LDARGA, 300, CIL_LDARGA},
        {CIL_LDARG_S, 1, CIL_LDARG_1},
    };

    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        cil_body body;
        buffer out = BUFFER_EMPTY;
        cil_at at;

        cil_body_init(&body);
        at = cil_insert_number(&body, CIL_END, cases[n].opcode, cases[n].number);
        assert_int_equal(0, cil_encode(&body, CIL_ENCODE_SHORTEST, &out, NULL));
        assert_int_equal(cases[n].expected, cil_get(&body, at)->opcode);
        buffer_free(&out);
        cil_body_free(&body);
    }
}

/* if (arg) return 1; throw null — rets, and the code ends without one. */
static const uint8_t RETURN_AND_THROW[] = {0x1E, 0x02, 0x2C, 0x02, 0x17, 0x2A, 0x14, 0x7A};

static void wraps_with_one_way_out(void **state)
{
    /* ldarg.0; brfalse.s +3; ldc.i4.1; stloc.0; leave.s; ldnull; throw; nop; endfinally; nop…
     * written out by hand */
    static const uint8_t expected[] = {
        0x00,                         /* enter */
        0x02, 0x2C, 0x04, 0x17, 0x0A, /* the user's code: ret is stloc.0; leave.s */
        0xDE, 0x04, 0x14, 0x7A,       /* */
        0x00, 0xDC,                   /* fault handler */
        0x00, 0x06, 0x2A,             /* epilogue */
    };
    cil_wrap_options options = {.handler = CIL_FAULT, .has_result = true, .result_local = 0};
    cil_map_entry map[16];
    cil_body body;
    cil_wrap wrap;
    buffer out = BUFFER_EMPTY;
    error e;

    (void)state;
    cil_body_init(&body);
    assert_int_equal(0, cil_decode(&body, RETURN_AND_THROW, sizeof RETURN_AND_THROW, &e));
    assert_int_equal(0, cil_wrap_body(&body, &options, &wrap, &e));
    assert_int_equal(1, wrap.returns);
    cil_insert(&body, wrap.enter, CIL_NOP);
    cil_insert(&body, wrap.failed, CIL_NOP);
    cil_insert(&body, wrap.leave, CIL_NOP);
    body.local_signature = 0x11000001;
    assert_int_equal(0, cil_encode(&body, CIL_ENCODE_FAT, &out, &e));
    assert_int_equal(12 + sizeof expected + 1 + 28, out.length);
    assert_memory_equal(expected, out.data + 12, sizeof expected);
    assert_int_equal(0x1B, out.data[0]); /* fat, more sections, init locals from tiny */
    assert_memory_equal("\x41\x1C\0\0\4\0\0\0\1\0\0\0\x9\0\0\0\xA\0\0\0\2\0\0\0\0\0\0\0",
                        out.data + 28, 28);
    /* The map names the instructions that were there before: ldarg.0 … throw. */
    assert_int_equal(6, cil_offset_map(&body, map, 16));
    assert_int_equal(0, map[0].old_offset);
    assert_int_equal(1, map[0].new_offset);
    assert_int_equal(6, map[5].old_offset);
    assert_int_equal(9, map[5].new_offset);
    buffer_free(&out);
    cil_body_free(&body);
}

static void leaves_tail_calls_and_jmp_alone(void **state)
{
    static const uint8_t tail[] = {0x22, 0xFE, 0x14, 0x28, 1, 0, 0, 6, 0x2A};
    static const uint8_t jmp[] = {0x16, 0x27, 1, 0, 0, 6};
    cil_wrap_options options = {.handler = CIL_FAULT};
    cil_body body;
    cil_wrap wrap;
    buffer out = BUFFER_EMPTY;
    error e;

    (void)state;
    cil_body_init(&body);
    assert_int_equal(0, cil_decode(&body, tail, sizeof tail, &e));
    assert_int_equal(ERROR_UNSUPPORTED, cil_wrap_body(&body, &options, &wrap, &e));
    assert_non_null(strstr(e.message, "tail."));
    assert_int_equal(0, cil_encode(&body, 0, &out, &e)); /* untouched */
    assert_memory_equal(tail, out.data, sizeof tail);
    options.drop_tail_calls = true;
    assert_int_equal(0, cil_wrap_body(&body, &options, &wrap, &e));
    assert_int_equal(1, wrap.tail_calls);
    assert_false(cil_has(&body, CIL_TAIL));
    assert_int_equal(0, cil_decode(&body, jmp, sizeof jmp, &e));
    assert_int_equal(ERROR_UNSUPPORTED, cil_wrap_body(&body, &options, &wrap, &e));
    buffer_free(&out);
    cil_body_free(&body);
}

static void joins_returns(void **state)
{
    static const uint8_t three[] = {0x2E, 0x02, 0x2C, 0x02, 0x17, 0x2A,
                                    0x02, 0x2D, 0x02, 0x18, 0x2A, 0x19};
    cil_body body;
    uint8_t bytes[sizeof three + 1];
    cil_at join;

    (void)state;
    memcpy(bytes, three, sizeof three);
    bytes[0] = (uint8_t)(sizeof three << 2 | 2);
    bytes[sizeof three] = 0x2A;
    cil_body_init(&body);
    assert_int_equal(0, cil_decode(&body, bytes, sizeof bytes, NULL));
    join = cil_join_returns(&body);
    assert_int_equal(CIL_NOP, cil_get(&body, join)->opcode);
    assert_int_equal(join, cil_get(&body, cil_at_offset(&body, 4))->operand.target);
    assert_false(cil_has(&body, CIL_RET));
    /* No ret at the end: a nop is added. */
    assert_int_equal(0, cil_decode(&body, RETURN_AND_THROW, sizeof RETURN_AND_THROW, NULL));
    join = cil_join_returns(&body);
    assert_int_equal(join, cil_last(&body));
    assert_int_equal(CIL_NEW, cil_get(&body, join)->offset);
    cil_body_free(&body);
}

/* Removing moves what named the instruction; clauses are placed inside out. */
static void edits_move_labels_and_order_clauses(void **state)
{
    cil_body body;
    cil_at code[8];
    cil_clause outer = {.kind = CIL_FINALLY};
    cil_clause inner = {.kind = CIL_CATCH};
    cil_clause beside = {.kind = CIL_CATCH};

    (void)state;
    cil_body_init(&body);
    for (unsigned n = 0; n < 8; n++)
        code[n] = cil_insert(&body, CIL_END, CIL_NOP);
    outer.try_begin = code[0], outer.try_end = outer.handler_begin = code[5];
    outer.handler_end = code[6];
    inner.try_begin = code[1], inner.try_end = inner.handler_begin = code[2];
    inner.handler_end = code[3];
    beside = inner;
    beside.handler_begin = code[3], beside.handler_end = code[4];
    assert_int_equal(0, cil_insert_clause(&body, &outer));
    assert_int_equal(0, cil_insert_clause(&body, &inner));
    assert_int_equal(1, cil_insert_clause(&body, &beside));
    assert_int_equal(CIL_FINALLY, body.clauses[2].kind);
    cil_insert_branch(&body, CIL_END, CIL_BR_S, code[5]);
    cil_remove(&body, code[5]);
    assert_int_equal(code[6], cil_get(&body, cil_last(&body))->operand.target);
    assert_int_equal(code[6], body.clauses[2].handler_begin);
    cil_body_free(&body);
}

/* Memory that runs out at the n-th allocation gives an error, never a crash or a leak. */
static int allocations_left;
static void *failing_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(pointer, size) : NULL;
}

static void survives_missing_memory(void **state)
{
    static const memory_backend failing = {failing_resize, NULL};
    int result = -1;

    (void)state;
    for (int n = 0; n < 40 && result != 0; n++) {
        cil_wrap_options options = {.handler = CIL_FAULT, .has_result = true};
        cil_body body;
        cil_wrap wrap;
        buffer out = BUFFER_EMPTY;

        allocations_left = n;
        memory_use(&failing);
        cil_body_init(&body);
        result = cil_decode(&body, RETURN_AND_THROW, sizeof RETURN_AND_THROW, NULL);
        if (result == 0)
            result = cil_wrap_body(&body, &options, &wrap, NULL);
        if (result == 0)
            result = cil_encode(&body, 0, &out, NULL);
        buffer_free(&out);
        cil_body_free(&body);
        memory_use(NULL);
    }
    assert_int_equal(0, result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_same_bytes),
        cmocka_unit_test(knows_every_opcode),
        cmocka_unit_test(refuses_broken_bodies),
        cmocka_unit_test(grows_branches_that_must),
        cmocka_unit_test(shortens_variables_and_constants),
        cmocka_unit_test(wraps_with_one_way_out),
        cmocka_unit_test(leaves_tail_calls_and_jmp_alone),
        cmocka_unit_test(joins_returns),
        cmocka_unit_test(edits_move_labels_and_order_clauses),
        cmocka_unit_test(survives_missing_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
