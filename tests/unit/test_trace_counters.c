/* Unit tests of what the probes do: every call is counted, however deep, however many methods,
 * from several threads; what is given up without memory is told exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "profilers/trace_clock.h"
#include "profilers/trace_deep.h"
#include "profilers/trace_exceptions.h"
#include "profilers/trace_memory.h"

enum { METHODS = 40000 };

/* A thread keeps its part for good, so all tests share the counters, a session each. */
static trace_counters counters;
static trace_method methods[METHODS];

typedef struct {
    uint64_t calls, failures, kept, running, blocks, total, self;
    uint64_t calls_of_first;
} totals;

static void add_block(void *context, const trace_block *b)
{
    uint64_t buckets[TRACE_BUCKETS] = {0};
    totals *t = context;

    t->blocks++;
    t->calls += b->calls;
    t->failures += b->failures;
    t->total += b->total;
    t->self += b->self;
    if (b->method == 0)
        t->calls_of_first += b->calls;
    trace_counters_times(&counters, b, buckets);
    for (unsigned k = 0; k < TRACE_BUCKETS; k++)
        t->kept += buckets[k];
    if (b->calls != 0 && b->inverted_minimum != 0)
        assert_true(~b->inverted_minimum <= b->maximum);
}

static void add_running(void *context, uint32_t method, uint32_t count)
{
    totals *t = context;

    assert_true(method < METHODS);
    t->running += count;
}

static totals add_all(void)
{
    totals t = {0};

    trace_counters_each(&counters, &t, add_block, add_running);
    return t;
}

static int begin(void **state)
{
    (void)state;
    if (!trace_memory_open(&counters))
        return -1;
    for (uint32_t n = 0; n < METHODS; n++)
        methods[n] = (trace_method){.counters = &counters, .index = n};
    trace_memory_sweep(&counters, true);
    trace_counters_start(&counters);
    return 0;
}

static int end(void **state)
{
    (void)state;
    trace_counters_stop(&counters);
    return 0;
}

static void calls_and_failures_are_counted(void **state)
{
    totals t;

    (void)state;
    for (int n = 0; n < 1000; n++) {
        trace_enter(&methods[1]);
        trace_enter(&methods[0]);
        if (n % 10 == 0)
            trace_fail(&methods[0]);
        else
            trace_leave(&methods[0]);
        trace_leave(&methods[1]);
    }
    t = add_all();
    assert_int_equal(t.calls, 2000);
    assert_int_equal(t.failures, 100);
    assert_int_equal(t.calls_of_first, 1000);
    assert_int_equal(t.kept, 2000);
    assert_int_equal(t.running, 0);
    assert_int_equal(t.blocks, 2);
    assert_true(t.self <= t.total);
}

static void go_down(uint32_t depth)
{
    for (uint32_t n = 0; n < depth; n++)
        trace_enter(&methods[n % 3]);
}

static void come_up(uint32_t depth)
{
    for (uint32_t n = depth; n > 0; n--)
        trace_leave(&methods[(n - 1) % 3]);
}

static void deep_recursion_is_complete(void **state)
{
    static const uint32_t depths[] = {511, 512, 513, 1023, 1024, 1025, 5000, 100000};
    uint64_t calls = 0;
    totals t;

    (void)state;
    for (size_t n = 0; n < sizeof depths / sizeof depths[0]; n++) {
        go_down(depths[n]);
        t = add_all();
        assert_int_equal(t.running, depths[n]);
        come_up(depths[n]);
        calls += depths[n];
    }
    t = add_all();
    assert_int_equal(t.calls, calls);
    assert_int_equal(t.kept, calls);
    assert_int_equal(t.running, 0);
    assert_int_equal(atomic_load(&counters.lost_depth), 0);
}

static void too_deep_is_counted_without_times(void **state)
{
    uint32_t depth = 1000000;
    totals t;

    (void)state;
    for (int round = 0; round < 2; round++) {
        go_down(depth);
        come_up(depth);
    }
    t = add_all();
    assert_int_equal(t.calls, 2 * depth);
    assert_true(atomic_load(&counters.lost_depth) > 0);
    assert_int_equal(t.kept + atomic_load(&counters.lost_depth), 2 * depth);
    /* and then it goes on as if nothing had been */
    go_down(10);
    come_up(10);
    assert_int_equal(add_all().kept, t.kept + 10);
}

/* Returns how many calls were timed before recursion had to go on in old code. */
static void *recurse(void *unused)
{
    uintptr_t timed = 0;

    (void)unused;
    while (trace_enter_deep(&methods[0]) == 0)
        timed++;
    assert_int_equal(trace_enter_deep(&methods[0]), 1); /* and stays there */
    for (uintptr_t n = 0; n < timed; n++)
        trace_leave(&methods[0]);
    return (void *)timed;
}

static void recursion_goes_on_in_old_code_before_the_stack_is_full(void **state)
{
    const size_t sizes[] = {256 << 10, 1 << 20, 64 << 20};
    uint64_t all = 0;

    (void)state;
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        pthread_attr_t attributes;
        pthread_t thread;
        void *timed = NULL;

        pthread_attr_init(&attributes);
        assert_int_equal(pthread_attr_setstacksize(&attributes, sizes[n]), 0);
        assert_int_equal(pthread_create(&thread, &attributes, recurse, NULL), 0);
        pthread_join(thread, &timed);
        pthread_attr_destroy(&attributes);
        assert_in_range((uintptr_t)timed, 100, sizes[n] / 1024);
        all += (uintptr_t)timed;
    }
    assert_int_equal(atomic_load(&counters.lost_depth), 2 * 3);
    assert_int_equal(add_all().calls, all + 2 * 3);
    trace_counters_stop(&counters);
    assert_int_equal(trace_enter_deep(&methods[0]), 1); /* nobody counts: old code is quicker */
}

static void call_each(uint32_t first, uint32_t count, int times)
{
    for (int round = 0; round < times; round++) {
        for (uint32_t n = first; n < first + count; n++) {
            trace_enter(&methods[n]);
            trace_leave(&methods[n]);
        }
    }
}

static void more_methods_than_memory_are_counted(void **state)
{
    totals t;

    (void)state;
    call_each(0, METHODS, 5);
    t = add_all();
    assert_int_equal(t.blocks, METHODS);
    assert_int_equal(t.calls, 5 * METHODS);
    assert_int_equal(t.kept, 5 * TRACE_BLOCKS); /* the others count in the shared blocks */
    assert_true(t.total > 0);
}

static void more_busy_methods_than_histograms(void **state)
{
    uint32_t busy = TRACE_HISTOGRAMS + 100;
    totals t;

    (void)state;
    call_each(0, busy, TRACE_FEW);
    assert_int_equal(add_all().kept, busy * TRACE_FEW);
    call_each(0, busy, 12);
    t = add_all();
    assert_int_equal(t.calls, busy * (TRACE_FEW + 12));
    assert_int_equal(t.calls - t.kept, 100 * 12);
}

static void *count_in_thread(void *unused)
{
    (void)unused;
    call_each(0, METHODS, 3);
    go_down(3000);
    come_up(3000);
    return NULL;
}

static void threads_count_together(void **state)
{
    pthread_t threads[4];
    totals t;

    (void)state;
    for (int n = 0; n < 4; n++)
        assert_int_equal(pthread_create(&threads[n], NULL, count_in_thread, NULL), 0);
    for (int n = 0; n < 4; n++)
        pthread_join(threads[n], NULL);
    t = add_all();
    assert_int_equal(t.calls, 4 * (3 * METHODS + 3000));
    assert_int_equal(t.running, 0);
}

static void a_new_session_begins_at_zero(void **state)
{
    (void)state;
    go_down(700); /* still running when the session ends */
    atomic_store(&counters.lost_rate, 5);
    trace_counters_stop(&counters);
    trace_memory_sweep(&counters, true);
    trace_counters_start(&counters);
    assert_int_equal(atomic_load(&counters.lost_rate), 0);
    assert_int_equal(add_all().calls, 0);
    come_up(700);
    assert_int_equal(add_all().calls, 0);
    call_each(0, 2, 3);
    assert_int_equal(add_all().calls, 6);
}

static void a_stopped_session_does_not_count(void **state)
{
    (void)state;
    trace_counters_stop(&counters);
    call_each(0, 10, 10);
    assert_int_equal(add_all().calls, 0);
}

static void the_clock_is_the_counter_only_where_it_is_steady(void **state)
{
    (void)state;
#if defined(__x86_64__)
    assert_true(trace_clock_is_steady(true, "tsc hpet acpi_pm"));
    assert_true(trace_clock_is_steady(true, NULL));
    assert_false(trace_clock_is_steady(true, "kvm-clock acpi_pm"));
#endif
    assert_false(trace_clock_is_steady(false, "tsc hpet acpi_pm"));
    assert_false(trace_clock_is_steady(false, NULL));
}

static void both_clocks_give_times(void **state)
{
    bool counter = counters.counter;

    (void)state;
    for (int n = 0; n < 2; n++) {
        double tick_ns;

        counters.counter = n == 1 && counter;
        trace_counters_start(&counters);
        tick_ns = trace_measure_tick_ns(&counters);
        assert_true(tick_ns > 0.01 && tick_ns < 1000);
        trace_enter(&methods[0]);
        tick_ns = trace_measure_tick_ns(&counters); /* takes 2 ms */
        trace_leave(&methods[0]);
        assert_true((double)add_all().total * tick_ns > 1e6);
    }
    counters.counter = counter;
}

static uint32_t wakes;

/* The agent's own thread, here at once. */
static void take_probes_out(void *context)
{
    (void)context;
    wakes++;
    for (uint32_t n = 0; n < 8; n++)
        if (atomic_load(&methods[n].deep) == TRACE_DEEP_ASKED)
            atomic_store(&methods[n].deep, TRACE_DEEP_DONE);
}

/* Methods 0 and 1 call each other; 2 is called by each, but is no part of the recursion. */
static void deep_recursion_asks_for_its_probes_to_go(void **state)
{
    uint32_t depth = 0;

    (void)state;
    wakes = 0;
    counters.wake = take_probes_out;
    while (wakes < 1 && depth < 1 << 18) {
        trace_enter(&methods[2]);
        trace_leave(&methods[2]);
        trace_enter(&methods[depth++ % 2]);
        if (depth <= TRACE_DEPTH)
            assert_int_equal(wakes, 0);
    }
    assert_int_equal(wakes, 1); /* for both at once */
    assert_int_equal(atomic_load(&methods[0].deep), TRACE_DEEP_DONE);
    assert_int_equal(atomic_load(&methods[1].deep), TRACE_DEEP_DONE);
    assert_int_equal(atomic_load(&methods[2].deep), TRACE_DEEP_NOT);
    assert_int_equal(add_all().running, depth);
    while (depth > 0)
        trace_leave(&methods[--depth % 2]);
    assert_int_equal(add_all().running, 0);
    counters.wake = NULL;
}

static int give_back(void **state)
{
    (void)state;
    trace_memory_close(&counters);
    return 0;
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static uint32_t next_name(void *context, uintptr_t class_id, bool alone, bool *leaves)
{
    (void)class_id;
    (void)alone;
    *leaves = true;
    return ++*(uint32_t *)context;
}

static void note_failure(void *context, uint32_t method, uint32_t name, uint64_t count)
{
    uint64_t *counts = context;

    assert_int_equal(method, 5);
    assert_in_range(name, 1, 2);
    counts[name] += count;
}

/* An assembly that is unloaded leaves room for another one's classes. */
static void test_type_at_the_address_of_one_that_went(void **state)
{
    trace_exceptions *x = calloc(1, sizeof *x);
    trace_counters c = {.exceptions = x};
    trace_method m = {.counters = &c, .index = 5};
    uint64_t counts[3] = {0};
    uint32_t names = 0;

    (void)state;
    assert_non_null(x);
    trace_exceptions_count_class(&c, &m, 0x7f0000001000);
    trace_exceptions_count_class(&c, &m, 0x7f0000001000);
    trace_exceptions_name(x, &names, next_name);
    trace_exceptions_forget(x);
    trace_exceptions_count_class(&c, &m, 0x7f0000001000);
    trace_exceptions_name(x, &names, next_name);
    trace_exceptions_name(x, &names, next_name);
    trace_exceptions_each(x, counts, note_failure);
    assert_int_equal(counts[1], 2);
    assert_int_equal(counts[2], 1);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(calls_and_failures_are_counted),
        ONE(deep_recursion_is_complete),
        ONE(too_deep_is_counted_without_times),
        ONE(recursion_goes_on_in_old_code_before_the_stack_is_full),
        ONE(deep_recursion_asks_for_its_probes_to_go),
        ONE(more_methods_than_memory_are_counted),
        ONE(more_busy_methods_than_histograms),
        ONE(threads_count_together),
        ONE(a_new_session_begins_at_zero),
        ONE(a_stopped_session_does_not_count),
        ONE(both_clocks_give_times),
        cmocka_unit_test(test_type_at_the_address_of_one_that_went),
        cmocka_unit_test(the_clock_is_the_counter_only_where_it_is_steady),
    };

    return cmocka_run_group_tests(tests, NULL, give_back);
}
