/* The source method of an async method's box, by the name of its class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/async_name.h"

static void check(const char *state, const char *expected)
{
    char type[1024] = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<int>."
                      "AsyncStateMachineBox<";
    char name[320];

    strcat(strcat(type, state), ">");
    async_name(type, name, sizeof name);
    assert_string_equal(name, expected);
}

static void test_methods_lambdas_and_local_functions(void **unused)
{
    (void)unused;
    check("Shop.Orders.<PlaceAsync>d__3", "Shop.Orders.PlaceAsync");
    check("Shop.Cache<int>.<Load>d__1<System.Collections.Generic.List<string>>", "Shop.Cache.Load");
    check("Shop.Orders.<>c.<<Place>b__7_8>d", "Shop.Orders.Place.lambda");
    check("Shop.Cache<int>.<>c__DisplayClass1_0<int>.<<Place>b__0>d", "Shop.Cache.Place.lambda");
    check("Shop.Orders.<<Place>g__Count|1_2>d", "Shop.Orders.Place.Count");
    check("Shop.Orders.<<Place>g__Count|1_3>d<int>", "Shop.Orders.Place.Count");
    check("<Main>d__0", "Main");
    check("Shop.Orders", "");
}

static void test_other_classes_have_none(void **unused)
{
    char name[8] = "x";

    (void)unused;
    async_name("System.Threading.Tasks.Task.DelayPromise", name, sizeof name);
    assert_string_equal(name, "");
    async_name("AsyncStateMachineBox<", name, sizeof name);
    assert_string_equal(name, "");
    async_name("AsyncStateMachineBox<.<.>d__", name, sizeof name);
    async_name("", name, sizeof name);
    assert_string_equal(name, "");
}

static void test_a_long_name_is_cut_between_two_characters(void **unused)
{
    char name[8];

    (void)unused;
    async_name("AsyncStateMachineBox<A.<\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc>d__1>", name, sizeof name);
    assert_string_equal(name, "A.\xc3\xbc\xc3\xbc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_lambdas_and_local_functions),
        cmocka_unit_test(test_other_classes_have_none),
        cmocka_unit_test(test_a_long_name_is_cut_between_two_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
