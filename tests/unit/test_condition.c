/* Unit tests of conditions on values: what they mean, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "catalogue/condition.h"

/* a = 5, u = 2^64 - 1, r = 2.5, d = 0.123, f = 0.1 as a float, s = "Ann", n = null, o = an object;
 * others are not there. */
static void value_of(void *context, size_t term, condition_value *out)
{
    static const uint8_t ANN[] = {'A', 0, 'n', 0, 'n', 0};
    const condition *c = context;
    const char *path = c->terms[term].path;

    if (strcmp(path, "a") == 0 || strcmp(path, "x.y.a") == 0)
        *out = (condition_value){.kind = CONDITION_WHOLE, .whole = 5};
    else if (strcmp(path, "u") == 0)
        *out = (condition_value){.kind = CONDITION_WHOLE, .whole = -1, .above = true};
    else if (strcmp(path, "r") == 0)
        *out = (condition_value){.kind = CONDITION_REAL, .real = 2.5};
    else if (strcmp(path, "d") == 0)
        *out = (condition_value){.kind = CONDITION_REAL, .real = 0.123};
    else if (strcmp(path, "f") == 0)
        *out = (condition_value){.kind = CONDITION_REAL, .real = (double)0.1f, .single = true};
    else if (strcmp(path, "s") == 0)
        *out = (condition_value){.kind = CONDITION_TEXT, .text = ANN, .units = 3};
    else if (strcmp(path, "n") == 0)
        out->kind = CONDITION_NULL;
    else if (strcmp(path, "o") == 0)
        out->kind = CONDITION_OBJECT;
}

static bool holds(const char *text)
{
    condition c;
    error e = {0};

    assert_int_equal(condition_parse(&c, text, &e), 0);
    return condition_holds(&c, &c, value_of);
}

static void conditions_mean_what_they_say(void **state)
{
    static const char *const yes[] = {"a > 4",
                                      "a>=5",
                                      "a <= 5",
                                      "a == 5",
                                      "a != 6",
                                      "a",
                                      "o",
                                      "o != null",
                                      "n == null",
                                      "r > 2",
                                      "r == 2.5",
                                      "r < 2.6",
                                      "s == \"Ann\"",
                                      "s == 'Ann'",
                                      "s ~ 'nn'",
                                      "s != 'ann'",
                                      "s < 'B'",
                                      "a > 4 && r > 2",
                                      "a > 9 || r",
                                      "x.y.a == 5",
                                      "u > 100",
                                      "u == 18446744073709551615",
                                      "u > 18446744073709551614",
                                      "u < 99999999999999999999999",
                                      "a < 18446744073709551615",
                                      "a > -99999999999999999999999",
                                      "d == 0.123",
                                      "d == 0.1230000",
                                      "d < 0.1230000000000000000000000000000000000000001e9",
                                      "f == 0.1",
                                      "a > -7",
                                      "r > 2.4e0",
                                      "a < 1e3",
                                      "missing || a",
                                      "a == 0x5",
                                      "a < 1_000_000",
                                      "a == 5 || a == 6 && n",
                                      "n != 'x'",
                                      "a == 1 && n || s == 'Ann' && o"};
    static const char *const no[] = {"a > 5",
                                     "a < 5",
                                     "a == 6",
                                     "n",
                                     "missing",
                                     "missing == 1",
                                     "missing != 1",
                                     "n == 'x'",
                                     "s == 'An'",
                                     "s ~ 'x'",
                                     "s == 5",
                                     "a == 'x'",
                                     "o == 5",
                                     "o == null",
                                     "a && n",
                                     "n || missing",
                                     "a > 9 && a",
                                     "u < 100",
                                     "u == 9223372036854775807",
                                     "a > 18446744073709551615",
                                     "f == 0.2",
                                     "s == 'Anna'",
                                     "r == 2",
                                     "n > 0"};

    (void)state;
    for (size_t n = 0; n < sizeof yes / sizeof yes[0]; n++)
        if (!holds(yes[n]))
            fail_msg("does not hold: %s", yes[n]);
    for (size_t n = 0; n < sizeof no / sizeof no[0]; n++)
        if (holds(no[n]))
            fail_msg("holds: %s", no[n]);
}

static void wrong_ones_are_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "> 5",
                                        "a >",
                                        "a > > 5",
                                        "a > b",
                                        "a == 'x",
                                        "a = 5",
                                        "a > 5 &&",
                                        "a and b",
                                        "a ~ 5",
                                        "5 > a",
                                        "a > 5 b",
                                        "a == 12z",
                                        "a..b",
                                        "a|b",
                                        "a == \"",
                                        "a&&a&&a&&a&&a&&a&&a&&a&&a"};

    (void)state;
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        condition c;
        error e = {0};

        if (condition_parse(&c, wrong[n], &e) != ERROR_USAGE)
            fail_msg("taken: %s", wrong[n]);
        assert_true(e.message[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_mean_what_they_say),
        cmocka_unit_test(wrong_ones_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
