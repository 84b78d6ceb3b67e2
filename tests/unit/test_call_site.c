/* Unit tests of call_site: which call of a body a frame stands at. The real runtime's maps are
 * tested by the lines of tests/e2e. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/call_site.h"

enum { OURS = 0x06000001, OTHER = 0x06000002 };

/* Statements of 6 bytes: a call (or none: five nop), and a nop. */
enum { STATEMENT = 6 };

static bool is_ours(void *context, uint32_t token)
{
    ++*(int *)context;
    return token == OURS;
}

/* Each letter of `statements` is one: o = calls ours, x = calls another, i = calli, - = no call. */
static void write_body(cil_body *body, const char *statements)
{
    uint8_t bytes[64];
    size_t size = 1;

    for (; *statements != 0; statements++) {
        uint8_t opcode = *statements == 'i' ? CIL_CALLI : CIL_CALL;

        if (*statements == '-') {
            for (int i = 0; i < STATEMENT; i++)
                bytes[size++] = 0;
            continue;
        }
        bytes[size++] = opcode;
        bytes[size++] = *statements == 'o' ? 1 : 2;
        bytes[size++] = 0;
        bytes[size++] = 0;
        bytes[size++] = *statements == 'i' ? 0x11 : 0x06;
        bytes[size++] = 0;
    }
    bytes[size++] = 0x2a;
    bytes[0] = (uint8_t)((size - 1) << 2 | 2);
    assert_int_equal(cil_decode(body, bytes, size, NULL), 0);
}

/* Which statement is chosen when the map names those from `first` to before `end`. */
static uint32_t chosen(const char *statements, uint32_t first, uint32_t end, bool is_exact)
{
    compiled_place place = {first * STATEMENT + 1, end * STATEMENT, is_exact};
    cil_body body;
    uint32_t offset;
    int asked = 0;

    cil_body_init(&body);
    write_body(&body, statements);
    offset = call_site_choose(&body, &place, is_ours, &asked);
    cil_body_free(&body);
    assert_true(offset % STATEMENT == 1);
    return offset / STATEMENT;
}

static void the_call_in_the_named_place_is_the_one(void **state)
{
    (void)state;
    assert_int_equal(chosen("oxo", 0, 1, true), 0);
    assert_int_equal(chosen("oxo", 2, 3, true), 2);
    /* the map lost the statement of the call: it lies before the next one that it names */
    assert_int_equal(chosen("o-oo", 1, 4, true), 2);
    assert_int_equal(chosen("o-oo", 1, UINT32_MAX / STATEMENT, true), 2);
}

static void a_call_that_may_have_been_inlined_keeps_the_place(void **state)
{
    (void)state;
    assert_int_equal(chosen("oxo", 1, 2, true), 1);
    assert_int_equal(chosen("oio", 1, 2, true), 1);
    assert_int_equal(chosen("xo", 0, 2, true), 0);
    /* but not where the map says nothing */
    assert_int_equal(chosen("oxo", 1, 2, false), 2);
}

static void a_place_without_a_call_cannot_be_right(void **state)
{
    (void)state;
    assert_int_equal(chosen("o-xoo", 1, 2, true), 3);
    assert_int_equal(chosen("oo-x", 2, 3, true), 1);
    assert_int_equal(chosen("x-x", 1, 2, true), 1); /* no call fits: the map is all there is */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_call_in_the_named_place_is_the_one),
        cmocka_unit_test(a_call_that_may_have_been_inlined_keeps_the_place),
        cmocka_unit_test(a_place_without_a_call_cannot_be_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
