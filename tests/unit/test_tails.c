/* Which methods come back to themselves through `tail.` calls: bodies of such calls alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "cil/compressed.h"
#include "rules/tails.h"

enum { CALL = 0x28, CALLVIRT = 0x6F, METHOD = 0x06000000, TYPE = 0x02000000, MEMBER = 0x0A000000 };
enum { SPEC = 0x2B000000, TYPE_SPEC = 0x1B000000 };

/* MemberRef n: 1 Invoke and 2 InvokeFast of another module, 3 Turn and 4 Handle of TypeSpec 1,
 * which is TypeDef 9 made generic, 5 Handle of another module. MethodSpec n is of MethodDef n. */
static uint32_t generic_method(void *context, uint32_t token)
{
    (void)context;
    return METHOD | (token & 0xFFFFFF);
}

static uint32_t member(void *context, uint32_t token, buffer *name)
{
    static const char *const NAMES[] = {"", "Invoke", "InvokeFast", "Turn", "Handle", "Handle"};
    uint32_t row = token & 0xFFFFFF;

    (void)context;
    if (token >> 24 == METHOD >> 24) {
        buffer_append_text(name, "Method");
        return TYPE | 1;
    }
    buffer_append_text(name, NAMES[row]);
    return row == 3 || row == 4 ? TYPE_SPEC | 1 : 0x01000001;
}

static bool type_spec(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    static const uint8_t SIGNATURE[] = {0x15, 0x12, 9 << 2, 0x01, 0x08};

    (void)context;
    (void)token;
    *bytes = SIGNATURE;
    *length = sizeof SIGNATURE;
    return true;
}

/* A body that ends with a tail call of the token. */
static void add(tails *t, uint32_t row, uint32_t type, const char *name, uint8_t call,
                uint32_t token)
{
    uint8_t bytes[] = {8 << 2 | 2, 0xFE, 0x14, call, 0, 0, 0, 0, 0x2A};
    tails_metadata metadata = {NULL, generic_method, member, type_spec};
    cil_body body;

    for (int i = 0; i < 4; i++)
        bytes[4 + i] = (uint8_t)(token >> (8 * i));
    cil_body_init(&body);
    assert_true(tails_may_be_in(bytes, sizeof bytes));
    assert_int_equal(cil_decode(&body, bytes, sizeof bytes, NULL), 0);
    tails_add(t, METHOD | row, TYPE | type, name, &body, &metadata);
    cil_body_free(&body);
}

static void fill(tails *t)
{
    add(t, 1, 1, "Self", CALL, METHOD | 1);
    add(t, 2, 1, "Even", CALL, METHOD | 3);
    add(t, 3, 1, "Odd", CALL, METHOD | 2);
    add(t, 4, 1, "Into", CALL, METHOD | 2);        /* leads into a circle, is not in it */
    add(t, 5, 1, "Out", CALL, METHOD | 6);         /* ends */
    add(t, 7, 9, "Turn", CALL, MEMBER | 3);        /* of a generic type, by an instance of it */
    add(t, 8, 1, "Generic", CALL, SPEC | 8);       /* a generic method */
    add(t, 10, 2, "Invoke", CALLVIRT, MEMBER | 1); /* a closure that ends with a function value */
    add(t, 11, 1, "Apply", CALL, MEMBER | 2);    /* and a function that may be in that circle … */
    add(t, 12, 3, "Invoke", CALL, METHOD | 11);  /* … with this closure */
    add(t, 13, 1, "Ends", CALLVIRT, MEMBER | 1); /* into it only */
    add(t, 14, 4, "Shop.IPart.Handle", CALLVIRT, MEMBER | 5); /* one that passes on */
}

static void test_what_comes_back(void **state)
{
    static const uint32_t SURELY[] = {1, 2, 3, 7, 8};
    static const uint32_t MAYBE[] = {10, 11, 12, 14};
    static const uint32_t NEVER[] = {4, 5, 6, 13, 99};
    tails *t = tails_new();

    (void)state;
    fill(t);
    assert_true(tails_finish(t));
    for (size_t i = 0; i < sizeof SURELY / sizeof SURELY[0]; i++) {
        assert_true(tails_come_back(t, METHOD | SURELY[i], false));
        assert_true(tails_come_back(t, METHOD | SURELY[i], true));
    }
    for (size_t i = 0; i < sizeof MAYBE / sizeof MAYBE[0]; i++) {
        assert_false(tails_come_back(t, METHOD | MAYBE[i], false));
        assert_true(tails_come_back(t, METHOD | MAYBE[i], true));
    }
    for (size_t i = 0; i < sizeof NEVER / sizeof NEVER[0]; i++)
        assert_false(tails_come_back(t, METHOD | NEVER[i], true));
    tails_free(t);
}

/* A circle of many methods with a way into it and a way out. */
static void test_a_long_circle(void **state)
{
    enum { LENGTH = 20000 };
    tails *t = tails_new();

    (void)state;
    for (uint32_t n = 1; n <= LENGTH; n++)
        add(t, n, 1, "Method", CALL, METHOD | (n == LENGTH ? 2 : n + 1));
    assert_true(tails_finish(t));
    assert_false(tails_come_back(t, METHOD | 1, true));
    assert_true(tails_come_back(t, METHOD | 2, false));
    assert_true(tails_come_back(t, METHOD | LENGTH, false));
    tails_free(t);
}

static void test_no_method_at_all(void **state)
{
    static const uint8_t PLAIN[] = {0x14, 0xFE, 0x2A, 0xFE};
    tails *t = tails_new();

    (void)state;
    assert_true(tails_finish(t));
    assert_false(tails_come_back(t, METHOD | 1, true));
    assert_false(tails_may_be_in(PLAIN, sizeof PLAIN));
    assert_false(tails_may_be_in(PLAIN, 0));
    tails_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_back),
        cmocka_unit_test(test_a_long_circle),
        cmocka_unit_test(test_no_method_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
