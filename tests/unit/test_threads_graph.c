/* The cycles of a wait graph: certain ones, suspected ones, and none where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/threads.h"
#include "base/memory.h"

enum { THREADS = 8 };

static void open_view(threads_view *v)
{
    memset(v, 0, sizeof *v);
    v->entries = memory_allocate_array(THREADS, sizeof *v->entries);
    v->count = THREADS;
    assert_non_null(v->entries);
    for (size_t i = 0; i < THREADS; i++)
        v->entries[i].os_id = 100 + i;
}

static void find(threads_view *v)
{
    error e;

    error_clear(&e);
    assert_int_equal(threads_find_cycles(v, &e), 0);
}

static void test_a_chain_is_no_cycle(void **state)
{
    threads_view v;

    (void)state;
    open_view(&v);
    for (size_t i = 0; i + 1 < THREADS; i++)
        assert_true(threads_add_edge(&v, i, i + 1, false));
    assert_true(threads_add_edge(&v, 0, THREADS - 1, false)); /* two ways to one end */
    find(&v);
    assert_int_equal(v.cycle_count, 0);
    threads_free(&v);
}

static void test_cycles_are_told_apart(void **state)
{
    threads_view v;

    (void)state;
    open_view(&v);
    assert_true(threads_add_edge(&v, 0, 1, false));
    assert_true(threads_add_edge(&v, 1, 2, false));
    assert_true(threads_add_edge(&v, 2, 0, false));
    assert_true(threads_add_edge(&v, 3, 0, false)); /* behind it */
    assert_true(threads_add_edge(&v, 4, 5, false));
    assert_true(threads_add_edge(&v, 5, 4, true)); /* inferred */
    find(&v);
    assert_int_equal(v.cycle_count, 2);
    assert_int_equal(threads_cycles(&v, false), 1);
    assert_int_equal(threads_cycles(&v, true), 1);
    assert_false(v.cycles[0].suspected);
    assert_int_equal(v.cycles[0].count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(v.cycles[0].members[i], i);
    assert_true(v.cycles[1].suspected);
    assert_int_equal(v.cycles[1].count, 2);
    threads_free(&v);
}

/* A writer waits for every reader: one of them that waits for the writer is enough. */
static void test_one_of_many_owners_closes_a_cycle(void **state)
{
    threads_view v;

    (void)state;
    open_view(&v);
    for (size_t i = 1; i < THREADS; i++)
        assert_true(threads_add_edge(&v, 0, i, false));
    assert_true(threads_add_edge(&v, 6, 0, false));
    find(&v);
    assert_int_equal(v.cycle_count, 1);
    assert_int_equal(v.cycles[0].count, 2);
    assert_int_equal(v.cycles[0].members[0], 0);
    assert_int_equal(v.cycles[0].members[1], 6);
    threads_free(&v);
}

/* A static constructor is waited for without end; of the others nothing is known here. */
static void test_a_cycle_is_endless_when_all_its_waits_are(void **state)
{
    threads_view v;

    (void)state;
    open_view(&v);
    for (size_t i = 0; i < 3; i++)
        v.entries[i].state = THREADS_CLASS;
    v.entries[3].state = THREADS_TASK;
    assert_true(threads_add_edge(&v, 0, 1, false));
    assert_true(threads_add_edge(&v, 1, 0, false));
    assert_true(threads_add_edge(&v, 2, 3, false));
    assert_true(threads_add_edge(&v, 3, 2, false));
    find(&v);
    assert_int_equal(v.cycle_count, 2);
    assert_true(v.cycles[0].endless && !v.cycles[0].limited && !v.cycles[0].suspected);
    assert_false(v.cycles[1].endless || v.cycles[1].limited || v.cycles[1].suspected);
    threads_free(&v);
}

/* One wait that gives up is enough. */
static void test_a_time_limit_makes_a_cycle_suspected(void **state)
{
    threads_view v;

    (void)state;
    open_view(&v);
    assert_true(threads_add_edge(&v, 0, 1, false));
    assert_true(threads_add_edge(&v, 1, 0, false));
    v.edges[0].limit = THREADS_ENDLESS;
    v.edges[1].limit = THREADS_LIMITED;
    find(&v);
    assert_int_equal(v.cycle_count, 1);
    assert_true(v.cycles[0].suspected && v.cycles[0].limited && !v.cycles[0].endless);
    threads_free(&v);
}

/* Entries 0 to 4 wait for a monitor. */
static void queue_up(threads_view *v, uint64_t owner)
{
    for (size_t i = 0; i < 5; i++) {
        v->entries[i].state = THREADS_MONITOR;
        v->entries[i].object = 0x1000;
        v->entries[i].owner = owner;
    }
}

static void test_queues_are_convoys_or_abandoned(void **state)
{
    threads_queues queues;
    threads_view v;

    (void)state;
    open_view(&v);
    queue_up(&v, 106);
    threads_find_queues(&v, &queues);
    assert_int_equal(queues.count, 1);
    assert_false(queues.items[0].is_abandoned);
    assert_int_equal(queues.items[0].waiters, 5);
    assert_true(threads_add_edge(&v, 6, 7, false)); /* the owner waits itself */
    threads_find_queues(&v, &queues);
    assert_int_equal(queues.count, 0);
    queue_up(&v, 999); /* no such thread */
    threads_find_queues(&v, &queues);
    assert_int_equal(queues.count, 1);
    assert_true(queues.items[0].is_abandoned);
    threads_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_is_no_cycle),
        cmocka_unit_test(test_a_cycle_is_endless_when_all_its_waits_are),
        cmocka_unit_test(test_a_time_limit_makes_a_cycle_suspected),
        cmocka_unit_test(test_queues_are_convoys_or_abandoned),
        cmocka_unit_test(test_cycles_are_told_apart),
        cmocka_unit_test(test_one_of_many_owners_closes_a_cycle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
