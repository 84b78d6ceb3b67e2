/* Where two sequences part: analysis/comparison. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/comparison.h"
#include "base/buffer.h"

/* A letter is a key; a digit after it its detail. */
static void fill(comparison_sequence *s, const char *text)
{
    memset(s, 0, sizeof *s);
    for (const char *p = text; *p != '\0'; p++) {
        char key[2] = {*p, '\0'};
        char detail[2] = {p[1], '\0'};
        bool has_detail = p[1] >= '0' && p[1] <= '9';

        assert_true(comparison_add(s, key, has_detail ? detail : NULL));
        p += has_detail;
    }
}

static void check_order(const char *a, const char *b, bool order_matters, const char *expected)
{
    comparison_sequence first;
    comparison_sequence second;
    comparison c;
    buffer shown = BUFFER_EMPTY;

    fill(&first, a);
    fill(&second, b);
    assert_int_equal(comparison_make(&c, &first, &second, order_matters, NULL), 0);
    for (size_t i = 0; i < c.count; i++)
        buffer_format(&shown, "%s%s@%zu,%zu", i == 0 ? "" : " ",
                      comparison_kind_name(c.differences[i].kind), c.differences[i].first,
                      c.differences[i].second);
    assert_string_equal(buffer_text(&shown), expected);
    assert_int_equal(c.critical + c.acceptable, c.count);
    comparison_free(&c);
    comparison_clear(&first);
    comparison_clear(&second);
    buffer_free(&shown);
}

static void check(const char *a, const char *b, const char *expected)
{
    check_order(a, b, false, expected);
}

static void differences_are_told_by_kind_and_place(void **state)
{
    (void)state;
    check("", "", "");
    check("abc", "abc", "");
    check("abc", "ac", "missing@1,1");
    check("ac", "abc", "extra@1,1");
    check("abc", "axc", "missing@1,1 extra@2,1");
    check("abc", "", "missing@0,0 missing@1,0 missing@2,0");
    check("", "ab", "extra@0,0 extra@0,1");
    check("a1b2", "a1b3", "detail@1,1");
    check("ab", "ab1", "detail@1,1");
}

static void an_order_of_its_own_is_no_loss(void **state)
{
    (void)state;
    check("abcd", "acbd", "moved@2,1");
    check("xabcdy", "abcdxy", "moved@0,4");
    check("aab", "aba", "moved@2,1");
    check("ab", "ba", "moved@1,0");
    check_order("ab", "ba", true, "extra@0,0 missing@1,2");
}

static void the_score_counts_what_is_critical(void **state)
{
    (void)state;
    assert_true(comparison_score(0, 0) == 1);
    assert_true(comparison_score(1, 4) == 0.75);
    assert_true(comparison_score(9, 4) == 0);
    assert_true(comparison_score(1, 0) == 0);
    assert_false(comparison_is_critical(COMPARISON_MOVED));
    assert_false(comparison_is_critical(COMPARISON_DETAIL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_told_by_kind_and_place),
        cmocka_unit_test(an_order_of_its_own_is_no_loss),
        cmocka_unit_test(the_score_counts_what_is_critical),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
