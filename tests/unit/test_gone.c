/* Unit tests of gone: nobody asks about what has gone, and nothing goes while it is asked about. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/gone.h"
#include "base/os.h"

/* Three methods of 32 bytes; their ids are 1, 2 and 3. */
static const uint8_t CODE[3][32] = {{0x55}, {0x55}, {0x55}};

static HRESULT CLR_CALL code_info(ICorProfilerInfo15 *self, FunctionID function, ReJITID rejit,
                                  uint32_t capacity, uint32_t *count, COR_PRF_CODE_INFO *regions)
{
    (void)self;
    (void)rejit;
    if (function < 1 || function > 3 || capacity < 1)
        return E_FAIL;
    *count = 1;
    regions[0] = (COR_PRF_CODE_INFO){(uintptr_t)CODE[function - 1], sizeof *CODE};
    return S_OK;
}

static HRESULT CLR_CALL refuse(void)
{
    return E_FAIL;
}

static clr_info *runtime(void)
{
    static struct ICorProfilerInfo15_vtbl table;
    static ICorProfilerInfo15 object = {&table};
    static clr_info info;
    HRESULT(CLR_CALL * no)(void) = refuse;

    for (size_t i = 0; i < sizeof table / sizeof no; i++)
        memcpy((char *)&table + i * sizeof no, (const void *)&no, sizeof no);
    table.GetCodeInfo3 = code_info;
    info.com = &object;
    info.version = 15;
    return &info;
}

static uintptr_t inside(unsigned method)
{
    return (uintptr_t)CODE[method - 1] + 5;
}

static void code_that_went_is_not_asked_about(void **state)
{
    ring records = {.data = NULL};
    gone_method was;

    (void)state;
    atomic_store(&records.head, 100);
    atomic_store(&records.tail, 50);
    gone_watch(GONE_FROM_SAMPLES, &records);
    gone_from(GONE_FROM_SAMPLES);
    assert_true(gone_ask_code(inside(1)));
    gone_answered();
    gone_code_goes(runtime(), 1);
    assert_false(gone_ask_code(inside(1)));
    assert_false(gone_ask_function(1));
    assert_true(gone_code_was(inside(1), &was));
    assert_int_equal(was.start, (uintptr_t)CODE[0]);
    assert_int_equal(was.size, sizeof *CODE);
    assert_true(gone_ask_code(inside(2)));
    gone_answered();
    assert_true(gone_ask_function(2));
    gone_answered();
    /* What was taken later lies in other code. */
    atomic_store(&records.tail, 100);
    assert_true(gone_ask_code(inside(1)));
    gone_answered();
    assert_true(gone_is_near(inside(1)));
    assert_false(gone_is_near(inside(1) + (1u << 30)));
    /* Of two that were at a place, the first one that went since. */
    atomic_store(&records.head, 200);
    gone_code_goes(runtime(), 2);
    assert_false(gone_ask_code(inside(2)));
    assert_true(gone_code_was(inside(2), &was));
    assert_int_equal(was.start, (uintptr_t)CODE[1]);
    assert_true(gone_function_was(2, &was));
    assert_false(gone_function_was(1, &was));
    for (unsigned seen = 0, k = 1; k <= 3; k++)
        assert_int_equal(gone_next(&seen), k == 3 ? 0 : k);
    /* Never compiled: nothing to remember. */
    gone_code_goes(runtime(), 7);
    assert_true(gone_ask_function(7));
    gone_answered();
    /* What is found now lies in other code at the place of what went before, the newest too. */
    gone_from(GONE_FROM_NOW);
    gone_watch(GONE_FROM_SAMPLES, NULL);
    assert_true(gone_ask_code(inside(2)));
    gone_answered();
    assert_true(gone_ask_function(2));
    gone_answered();
    gone_code_goes(runtime(), 2);
    gone_code_goes(runtime(), 3);
    assert_false(gone_ask_code(inside(2)));
    assert_false(gone_ask_function(3));
    assert_true(gone_ask_code(inside(1)));
    gone_answered();
}

static void places_where_code_went_are_counted(void **state)
{
    unsigned before;

    (void)state;
    gone_code_goes(runtime(), 1);
    before = gone_blocks();
    assert_int_not_equal(before, 0);
    gone_code_goes(runtime(), 2); /* beside it */
    assert_int_equal(gone_blocks(), before);
}

static void threads_that_went_are_not_asked_about(void **state)
{
    (void)state;
    assert_true(gone_ask_thread(0x1000));
    gone_answered();
    gone_thread_goes(0x1000);
    assert_false(gone_ask_thread(0x1000));
    gone_thread_comes(0x1000);
    assert_true(gone_ask_thread(0x1000));
    gone_answered();
    /* It came again while nobody told of threads. */
    gone_thread_goes(0x1000);
    gone_listen();
    assert_true(gone_ask_thread(0x1000));
    gone_answered();
}

static void questions_have_an_end(void **state)
{
    unsigned asked = 0;

    (void)state;
    while (gone_ask_thread(0x2000) && asked < 100)
        asked++;
    assert_int_equal(asked, 4);
    while (asked-- > 0)
        gone_answered();
}

static atomic_bool has_gone;

static void *go(void *method)
{
    gone_code_goes(runtime(), (uintptr_t)method);
    atomic_store(&has_gone, true);
    return NULL;
}

static void nothing_goes_while_it_is_asked_about(void **state)
{
    pthread_t other;

    (void)state;
    runtime();
    for (uintptr_t method = 1; method <= 2; method++) {
        gone_from(GONE_FROM_NOW);
        assert_true(gone_ask_code(inside(1)));
        atomic_store(&has_gone, false);
        assert_int_equal(pthread_create(&other, NULL, go, (void *)method), 0);
        /* another method does not wait: this ends only because it goes */
        while (method == 2 && !atomic_load(&has_gone))
            os_sleep_ms(1);
        /* far from the second that it waits at most, also where sleeps are long */
        for (uint64_t end = os_monotonic_ns() + 50000000; method == 1 && os_monotonic_ns() < end;) {
            assert_false(atomic_load(&has_gone));
            os_sleep_ms(1);
        }
        gone_answered();
        pthread_join(other, NULL);
        assert_true(atomic_load(&has_gone));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_that_went_is_not_asked_about),
        cmocka_unit_test(places_where_code_went_are_counted),
        cmocka_unit_test(threads_that_went_are_not_asked_about),
        cmocka_unit_test(questions_have_an_end),
        cmocka_unit_test(nothing_goes_while_it_is_asked_about),
    };

    return cmocka_run_group_tests_name("gone", tests, NULL, NULL);
}
