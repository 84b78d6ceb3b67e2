/* Unit tests of groups and spreads: sums, order, quantiles, no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/groups.h"
#include "base/memory.h"

static void rows_with_one_key_are_one_group(void **state)
{
    groups_list list = {0};

    (void)state;
    assert_true(groups_add(&list, 1, 2, 3, 1, 10));
    assert_true(groups_add(&list, 1, 2, 4, 1, 50));
    assert_true(groups_add(&list, 1, 2, 3, 1, 30));
    assert_true(groups_add(&list, 1, 2, 3, 100, 5)); /* many at once: no single longest one */
    groups_sort(&list);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].key[2], 4);
    assert_int_equal(list.items[1].count, 102);
    assert_int_equal(list.items[1].sum, 45);
    assert_int_equal(list.items[1].most, 30);
    groups_sort_by_count(&list);
    assert_int_equal(list.items[0].key[2], 3);
    groups_free(&list);
    assert_int_equal(list.count, 0);
}

static void quantiles_are_values_that_occurred(void **state)
{
    groups_spread spread = {0};

    (void)state;
    assert_int_equal(groups_spread_at(&spread, 0.5), 0);
    for (uint64_t i = 100; i > 0; i--)
        assert_true(groups_spread_add(&spread, i));
    groups_spread_sort(&spread);
    assert_int_equal(spread.sum, 5050);
    assert_int_equal(groups_spread_at(&spread, 0), 1);
    assert_int_equal(groups_spread_at(&spread, 0.5), 50);
    assert_int_equal(groups_spread_at(&spread, 0.9), 90);
    assert_int_equal(groups_spread_at(&spread, 0.99), 99);
    assert_int_equal(groups_spread_at(&spread, 1), 100);
    groups_spread_free(&spread);
}

static void one_value_is_every_quantile(void **state)
{
    groups_spread spread = {0};

    (void)state;
    assert_true(groups_spread_add(&spread, 7));
    groups_spread_sort(&spread);
    assert_int_equal(groups_spread_at(&spread, 0), 7);
    assert_int_equal(groups_spread_at(&spread, 0.5), 7);
    assert_int_equal(groups_spread_at(&spread, 1), 7);
    groups_spread_free(&spread);
}

static void *refuse(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0)
        free(pointer);
    return NULL;
}

static void without_memory_adding_fails(void **state)
{
    memory_backend none = {refuse, NULL};
    groups_list list = {0};
    groups_spread spread = {0};

    (void)state;
    memory_use(&none);
    assert_false(groups_add(&list, 1, 0, 0, 1, 1));
    assert_false(groups_spread_add(&spread, 1));
    memory_use(NULL);
    assert_true(groups_add(&list, 1, 0, 0, 1, 1));
    groups_free(&list);
    groups_spread_free(&spread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_with_one_key_are_one_group),
        cmocka_unit_test(quantiles_are_values_that_occurred),
        cmocka_unit_test(one_value_is_every_quantile),
        cmocka_unit_test(without_memory_adding_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
