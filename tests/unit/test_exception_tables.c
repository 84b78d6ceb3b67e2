/* exception_classes and exception_catch: the tables that the throwing threads share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "profilers/exception_catch.h"
#include "profilers/exception_classes.h"

static exception_classes classes;
static exception_catch catches;

static exception_class meet(uintptr_t key, bool lasting)
{
    exception_class made;

    assert_true(exception_classes_claim(&classes, key, &made));
    exception_classes_publish(&classes, &made, key, lasting);
    return made;
}

static void a_class_is_found_until_it_is_forgotten(void **state)
{
    exception_class stays, goes, found;
    uint32_t generation;
    uint64_t count;

    (void)state;
    memset(&classes, 0, sizeof classes);
    assert_false(exception_classes_find(&classes, 0x1000, &found));
    stays = meet(0x1000, true);
    goes = meet(0x2000, false);
    assert_true(exception_classes_find(&classes, 0x2000, &found));
    assert_int_equal(found.place, goes.place);
    assert_true(exception_classes_count(&classes, &goes));
    exception_classes_forget(&classes);
    assert_true(exception_classes_find(&classes, 0x1000, &found));
    assert_int_equal(found.place, stays.place);
    assert_false(exception_classes_find(&classes, 0x2000, &found));

    /* with a count it stays under its name; without one, another class may have the place */
    exception_classes_recycle(&classes, goes.place);
    assert_true(exception_classes_count(&classes, &goes));
    assert_true(exception_classes_take(&classes, goes.place, &generation, &count));
    assert_int_equal(count, 2);
    assert_int_equal(generation, goes.generation);
    exception_classes_recycle(&classes, goes.place);
    assert_false(exception_classes_count(&classes, &goes));
    found = meet(0x2000, false);
    assert_true(found.place != goes.place || found.generation != goes.generation);
}

static void a_full_table_refuses(void **state)
{
    exception_class made;
    unsigned taken = 0;

    (void)state;
    memset(&classes, 0, sizeof classes);
    for (uintptr_t key = 1; key <= 4 * EXCEPTION_CLASSES; key++)
        if (exception_classes_claim(&classes, key * 4096, &made)) {
            exception_classes_publish(&classes, &made, key * 4096, true);
            taken++;
        }
    assert_int_equal(taken, EXCEPTION_CLASSES);
    exception_classes_reset(&classes);
    assert_true(exception_classes_claim(&classes, 4096, &made));
    exception_classes_abandon(&classes, &made);
    assert_false(exception_classes_find(&classes, 4096, &made));
}

enum { THREADS = 4, THROWS = 200000 };

static atomic_bool counted_all;

static void *throw_many(void *argument)
{
    uintptr_t key = (uintptr_t)argument;

    for (int i = 0; i < THROWS;) {
        exception_class class;

        if (!exception_classes_find(&classes, key, &class)) {
            if (!exception_classes_claim(&classes, key, &class))
                continue;
            exception_classes_publish(&classes, &class, key, false);
        }
        if (exception_classes_count(&classes, &class))
            i++;
    }
    return NULL;
}

static void *unload_many(void *argument)
{
    (void)argument;
    while (!atomic_load(&counted_all))
        exception_classes_forget(&classes);
    return NULL;
}

static uint64_t take_all(void)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < EXCEPTION_CLASSES; i++) {
        uint32_t generation;
        uint64_t count;

        if (exception_classes_take(&classes, i, &generation, &count))
            total += count;
        exception_classes_recycle(&classes, i);
    }
    return total;
}

static void no_count_is_lost_while_modules_go(void **state)
{
    pthread_t threads[THREADS], unloader;
    uint64_t total = 0;

    (void)state;
    memset(&classes, 0, sizeof classes);
    atomic_store(&counted_all, false);
    assert_int_equal(pthread_create(&unloader, NULL, unload_many, NULL), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, throw_many, (void *)(0x1000 * (i % 2 + 1))), 0);
    while (total < (uint64_t)THREADS * THROWS)
        total += take_all();
    atomic_store(&counted_all, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(unloader, NULL);
    assert_int_equal(total + take_all(), (uint64_t)THREADS * THROWS);
}

static void the_latest_exception_is_caught_first(void **state)
{
    catch_thread *t;

    (void)state;
    memset(&catches, 0, sizeof catches);
    assert_null(catch_find(&catches, 77));
    t = catch_find_or_make(&catches, 77, 1);
    assert_ptr_equal(catch_find(&catches, 77), t);
    catch_push(&catches, t, 1, 0x10, 0);
    catch_push(&catches, t, 0, 0, 0); /* only counted */
    assert_int_equal(catch_pop(&catches, t), 0);
    assert_int_equal(catch_pop(&catches, t), 1);
    assert_int_equal(catch_pop(&catches, t), 0);
    assert_null(catch_top(t));
}

static void what_a_filter_throws_goes_with_it(void **state)
{
    catch_thread *t;

    (void)state;
    memset(&catches, 0, sizeof catches);
    t = catch_find_or_make(&catches, 77, 1);
    catch_push(&catches, t, 1, 0, 0);
    catch_push_mark(&catches, t);
    assert_null(catch_top(t));
    assert_int_equal(catch_pop(&catches, t), 0); /* nothing of the filter's: the mark stays */
    catch_push(&catches, t, 2, 0, 0);
    catch_pop_mark(&catches, t);
    assert_int_equal(catch_pop(&catches, t), 1);
}

static void a_told_one_goes_with_the_next_event(void **state)
{
    catch_thread *t;

    (void)state;
    memset(&catches, 0, sizeof catches);
    t = catch_find_or_make(&catches, 77, 1);
    catch_push(&catches, t, 1, 0, 0);
    assert_int_equal(atomic_load(&catches.busy), 1);
    catch_drop_ended(&catches, t);
    assert_int_equal(atomic_load(&catch_top(t)->number), 1);
    assert_false(catch_is_in_filter(t));
    catch_push_mark(&catches, t);
    catch_push(&catches, t, 2, 0, 0);
    assert_true(catch_is_in_filter(t));
    atomic_store(&catch_top(t)->ended, true);
    catch_drop_ended(&catches, t);
    assert_null(catch_top(t));
    catch_drop_ended(&catches, t); /* a mark stays */
    catch_pop_mark(&catches, t);
    assert_int_equal(catch_pop(&catches, t), 1);
    assert_int_equal(atomic_load(&catches.busy), 0);
}

static void deep_nesting_forgets_the_oldest(void **state)
{
    catch_thread *t;

    (void)state;
    memset(&catches, 0, sizeof catches);
    t = catch_find_or_make(&catches, 77, 1);
    for (uint64_t i = 1; i <= CATCH_DEPTH + 2; i++)
        catch_push(&catches, t, i, 0, 0);
    for (uint64_t i = CATCH_DEPTH + 2; i > 2; i--)
        assert_int_equal(catch_pop(&catches, t), i);
    assert_int_equal(catch_pop(&catches, t), 0);
    assert_int_equal(catch_pop(&catches, t), 0);
    assert_int_equal(catch_pop(&catches, t), 0);
}

static void threads_beyond_the_table_take_the_oldest_place(void **state)
{
    (void)state;
    memset(&catches, 0, sizeof catches);
    for (uintptr_t i = 1; i <= 4 * CATCH_THREADS; i++) {
        catch_thread *t = catch_find_or_make(&catches, i * 4096, (unsigned)i);

        assert_non_null(t);
        assert_null(catch_top(t));
        catch_push(&catches, t, i, 0, 0);
        assert_ptr_equal(catch_find(&catches, i * 4096), t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_is_found_until_it_is_forgotten),
        cmocka_unit_test(a_full_table_refuses),
        cmocka_unit_test(no_count_is_lost_while_modules_go),
        cmocka_unit_test(the_latest_exception_is_caught_first),
        cmocka_unit_test(what_a_filter_throws_goes_with_it),
        cmocka_unit_test(a_told_one_goes_with_the_next_event),
        cmocka_unit_test(deep_nesting_forgets_the_oldest),
        cmocka_unit_test(threads_beyond_the_table_take_the_oldest_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
