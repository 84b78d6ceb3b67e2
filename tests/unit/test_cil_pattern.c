/* Method patterns. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cil/pattern.h"

static const char *parameters(void *context)
{
    (void)context;
    return "int,string";
}

static bool has_attribute(void *context, const char *pattern)
{
    (void)context;
    return cil_pattern_attribute(pattern, "Shop.Web.RouteAttribute");
}

static bool matches(const char *text, const char *assembly, const char *type, const char *method)
{
    cil_pattern_subject subject = {assembly, type, method, NULL, parameters, has_attribute};
    cil_patterns p;
    bool result;
    error e;

    if (cil_patterns_parse(&p, text, &e) != 0)
        fail_msg("'%s': %s", text, e.message);
    result = cil_patterns_match(&p, &subject);
    if (result)
        assert_true(cil_patterns_may_match(&p, assembly, type));
    cil_patterns_free(&p);
    return result;
}

static void means_what_it_says(void **state)
{
    (void)state;
    assert_true(matches("Shop.Orders::Place", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("Shop.Orders::Place", "Shop", "Shop.Orders", "PlaceAll"));
    assert_true(matches("Shop.Orders::Place*", "Shop", "Shop.Orders", "PlaceAll"));
    assert_true(matches("Shop.Orders.Place", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("Shop.Orders", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("Shop.Orders", "Shop", "Shop.OrdersOld", "Place"));
    assert_true(matches("*::Place", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("::Place", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("Shop.Cache::Get", "Shop", "Shop.Cache`1", "Get"));
    assert_true(matches("Shop.Cache`1::Get", "Shop", "Shop.Cache`1", "Get"));
    assert_true(matches("Shop.Cache.Entry::Get", "Shop", "Shop.Cache`1+Entry", "Get"));
    assert_true(matches("Shop.Cache+Entry::Get", "Shop", "Shop.Cache+Entry", "Get"));
    assert_true(matches("[Shop]*", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("[Shop]", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("[Other]*", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("Shop.Orders::.ctor", "Shop", "Shop.Orders", ".ctor"));
    assert_true(matches("Shop.Orders::Place(int, string)", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("Shop.Orders::Place(int,*)", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("Shop.Orders::Place((int, string))", "Shop", "Shop.Orders", "Place"));
    assert_true(
        matches("Shop.Orders::Place(System.Int32, String)", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("Shop.Orders::Place(Int32,*)", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("Shop.Orders::Place(Shop.*)", "Shop", "Shop.Orders", "Place"));
    assert_false(
        matches("Shop.Orders::Place(System.Int64, String)", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("Shop.Orders::Place(Int32)", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("[Shop.dll]*", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("[.dll]*", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("Shop.Orders::Place()", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("@Route", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("@Shop.Web.RouteAttribute", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("@Get", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("Shop.* !*::Place", "Shop", "Shop.Orders", "Place"));
    assert_false(matches("!*::Place Shop.*", "Shop", "Shop.Orders", "Place"));
    assert_true(matches("Other::* Shop.Orders::*", "Shop", "Shop.Orders", "Place"));
}

static const char *long_parameters(void *context)
{
    static char text[4096];

    (void)context;
    memset(text, 'b', sizeof text - 1);
    memset(text, 'a', 1022);
    text[1022] = ',';
    text[1023 + 1024] = ',';
    return text;
}

static void takes_names_of_any_length(void **state)
{
    cil_pattern_subject subject = {"Shop", "T", "M", NULL, long_parameters, has_attribute};
    cil_patterns p;
    error e;

    (void)state;
    assert_int_equal(cil_patterns_parse(&p, "T::M(int)", &e), 0);
    assert_false(cil_patterns_match(&p, &subject));
    cil_patterns_free(&p);
    assert_int_equal(cil_patterns_parse(&p, "T::M(aa*)", &e), 0);
    assert_true(cil_patterns_match(&p, &subject));
    cil_patterns_free(&p);
}

static const char *by_refs(void *context)
{
    (void)context;
    return "refstring,intint,List<refint>";
}

/* The CLR has no overloads by ref, out and in, so they are one; a type may begin like them. */
static void takes_generic_names_as_they_are_shown(void **state)
{
    (void)state;
    assert_true(matches("Shop.Cache+Entry::Get", "Shop", "Shop.Cache`1+Entry", "Get"));
    assert_true(matches("Shop.Cache+Entry", "Shop", "Shop.Cache`1+Entry`2", "Get"));
    assert_true(matches("Shop.Cache<T>::Get", "Shop", "Shop.Cache`1", "Get"));
    assert_true(matches("Shop.Cache<TKey, TValue>.Get<U>", "Shop", "Shop.Cache`2", "Get"));
    assert_true(matches("Shop.Cache<T>+Entry<U>::Get<V>", "Shop", "Shop.Cache`1+Entry`1", "Get"));
    assert_true(matches("Shop.Orders::Map<List<int>>", "Shop", "Shop.Orders", "Map"));
    assert_false(matches("Shop.Cache<T>::Get", "Shop", "Shop.Cache`1", "GetAll"));
    assert_false(matches("Shop.Orders::Map<", "Shop", "Shop.Orders", "MapAll"));
    /* names of the compiler and of members of interfaces have < of their own */
    assert_true(matches("Shop.<>c::<Main>b__0", "Shop", "Shop.<>c", "<Main>b__0"));
    assert_false(matches("Shop.<>c::<Main>b__0", "Shop", "Shop.c", "b__0"));
    assert_true(matches("Shop.Orders::*IEnumerable<int>.Get*", "Shop", "Shop.Orders",
                        "System.Collections.Generic.IEnumerable<int>.GetEnumerator"));
    assert_true(matches("Shop.Other, Shop.Orders Shop.Last", "Shop", "Shop.Last", "Get"));
}

static void takes_every_by_ref_for_one(void **state)
{
    static const char *const good[] = {
        "T::M(ref string, intint, *)",
        "T::M(out string, intint, *)",
        "T::M(in string,intint,*)",
        "T::M(ref readonly string, intint, *)",
        "T::M( out  string , intint, *)",
        "T::M(refstring,intint,*)",
        "T::M(out *, intint, List<in int>)",
        "*::M(*, intint, *)",
        "T::M(ref System.String, Shop.intint, System.Collections.Generic.List<out Int32>)",
        "T::M(out String, Outer+intint, *)",
    };
    static const char *const bad[] = {"T::M(string, intint, *)", "T::M(outer string, intint, *)",
                                      "T::M(out string, in tint, *)", "T::M(outstring,intint,*)",
                                      "T::M(System.String, intint, *)"};
    cil_pattern_subject subject = {"A", "T", "M", NULL, by_refs, NULL};
    buffer text = BUFFER_EMPTY;
    cil_patterns p;
    error e;

    (void)state;
    for (size_t n = 0; n < sizeof good / sizeof *good; n++) {
        assert_int_equal(cil_patterns_parse(&p, good[n], &e), 0);
        if (!cil_patterns_match(&p, &subject))
            fail_msg("'%s' does not match", good[n]);
        cil_patterns_free(&p);
    }
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        assert_int_equal(cil_patterns_parse(&p, bad[n], &e), 0);
        if (cil_patterns_match(&p, &subject))
            fail_msg("'%s' matches", bad[n]);
        cil_patterns_free(&p);
    }
    buffer_append_text(&text,
                       "(in S, out string, ref readonly int, (int, bool), int, ref A<B, C>)");
    cil_pattern_plain_parameters(&text);
    assert_string_equal(buffer_text(&text), "refS,refstring,refint,(int,bool),int,refA<B,C>");
    buffer_free(&text);
}

static void says_what_is_wrong(void **state)
{
    static const char *const wrong[] = {"", "  ", "!Shop.*", "[Shop", "@", "A::B(int", "::"};

    (void)state;
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        cil_patterns p;
        error e;

        if (cil_patterns_parse(&p, wrong[n], &e) != ERROR_USAGE)
            fail_msg("'%s' was taken", wrong[n]);
        assert_null(p.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_what_it_says), cmocka_unit_test(takes_names_of_any_length),
        cmocka_unit_test(takes_generic_names_as_they_are_shown),
        cmocka_unit_test(takes_every_by_ref_for_one), cmocka_unit_test(says_what_is_wrong)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
