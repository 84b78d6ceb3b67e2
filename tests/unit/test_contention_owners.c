/* What the owner of a lock did while others waited: which of its samples are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/contention_owners.h"

/* thread, stack, start, seen */
static contention_owner_sample SAMPLES[] = {
    {1, 11, 50, 50},     {1, 12, 150, 150}, {1, 13, 190, 400}, /* stood still */
    {2, 21, 1000, 1000}, {4, 41, 100, 100},
};
static const contention_owners OWNERS = {SAMPLES, sizeof SAMPLES / sizeof *SAMPLES, true};

static void a_stack_seen_during_the_wait_is_taken(void **state)
{
    (void)state;
    assert_int_equal(contention_owners_stack(&OWNERS, 1, 100, 200), 12);
    assert_int_equal(contention_owners_stack(&OWNERS, 1, 50, 60), 11);
    assert_int_equal(contention_owners_stack(&OWNERS, 4, 0, 1000), 41);
}

static void one_that_stands_still_covers_the_wait(void **state)
{
    (void)state;
    assert_int_equal(contention_owners_stack(&OWNERS, 1, 200, 300), 13);
    assert_int_equal(contention_owners_stack(&OWNERS, 1, 180, 300), 0); /* it began later */
}

static void before_and_after_are_not_taken(void **state)
{
    (void)state;
    assert_int_equal(contention_owners_stack(&OWNERS, 1, 60, 149), 0);
    assert_int_equal(contention_owners_stack(&OWNERS, 1, 401, 900), 0);
    /* seen when the lock was let go already and the waiter had not woken up */
    assert_int_equal(contention_owners_stack(&OWNERS, 2, 900, 1001), 0);
    assert_int_equal(contention_owners_stack(&OWNERS, 2, 900, 1200), 21);
}

static void threads_without_samples_have_none(void **state)
{
    const contention_owners none = {0};

    (void)state;
    assert_int_equal(contention_owners_stack(&OWNERS, 3, 0, 5000), 0);
    assert_int_equal(contention_owners_stack(&OWNERS, 9, 0, 5000), 0);
    assert_int_equal(contention_owners_stack(&none, 1, 0, 5000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_seen_during_the_wait_is_taken),
        cmocka_unit_test(one_that_stands_still_covers_the_wait),
        cmocka_unit_test(before_and_after_are_not_taken),
        cmocka_unit_test(threads_without_samples_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
