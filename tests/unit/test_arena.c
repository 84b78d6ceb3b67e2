/* Unit tests of the agent's memory: sizes, reuse, the cap, threads, names under failing memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "agent/arena.h"
#include "agent/names.h"
#include "base/error.h"

static void every_size_is_usable_and_kept_when_resized(void **state)
{
    arena a;

    (void)state;
    arena_init(&a, 8 << 20);
    for (size_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
        uint8_t *p = arena_resize(&a, NULL, size);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 0x5a, size);
        p = arena_resize(&a, p, size * 2);
        assert_non_null(p);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0x5a);
        arena_resize(&a, p, 0);
    }
    arena_destroy(&a);
    assert_int_equal(arena_used(&a), 0);
}

static void freed_memory_is_used_again(void **state)
{
    arena a;
    size_t after_one;

    (void)state;
    arena_init(&a, 4 << 20);
    for (int kind = 0; kind < 2; kind++) {
        size_t size = kind == 0 ? 700 : 300000;

        arena_resize(&a, arena_resize(&a, NULL, size), 0);
        after_one = arena_used(&a);
        for (int i = 0; i < 10000; i++) {
            void *p = arena_resize(&a, NULL, size);

            assert_non_null(p);
            arena_resize(&a, p, 0);
        }
        assert_int_equal(arena_used(&a), after_one);
    }
    arena_destroy(&a);
}

static void the_cap_is_never_passed(void **state)
{
    enum { CAP = 1 << 20 };
    arena a;
    size_t count = 0;
    void *p;

    (void)state;
    arena_init(&a, CAP);
    while ((p = arena_resize(&a, NULL, 1000)) != NULL) {
        memset(p, 1, 1000);
        count++;
        assert_true(arena_used(&a) <= CAP);
    }
    assert_true(count > CAP / 2048);
    assert_true(atomic_load(&a.refused) != 0);
    assert_null(arena_resize(&a, NULL, CAP * 2));
    assert_null(arena_resize(&a, NULL, SIZE_MAX - 100));
    assert_int_equal(arena_charge(&a, 1 << 20), ERROR_LIMIT);
    arena_destroy(&a);
    assert_int_equal(arena_charge(&a, 1 << 19), 0);
    assert_int_equal(arena_used(&a), 1 << 19);
    assert_int_equal(arena_charge(&a, -(1 << 19)), 0);
    assert_int_equal(arena_used(&a), 0);
}

static void lent_memory_outlives_the_mappings(void **state)
{
    static _Alignas(16) uint8_t lent[4096];
    arena a;
    uint8_t *p;

    (void)state;
    arena_init(&a, 1 << 20);
    arena_lend(&a, lent, sizeof lent);
    p = arena_resize(&a, NULL, 100);
    assert_true(p > lent && p < lent + sizeof lent);
    assert_int_equal(arena_used(&a), 0);
    assert_non_null(arena_resize(&a, NULL, 100000));
    arena_destroy(&a);
    memset(p, 7, 100);      /* still there: the runtime releases its objects after us */
    arena_resize(&a, p, 0); /* and may be freed */
}

static void *churn(void *argument)
{
    arena *a = argument;
    uint8_t *kept[64] = {0};
    uint32_t random = (uint32_t)(uintptr_t)&random;

    for (int i = 0; i < 50000; i++) {
        size_t at = (random = random * 1664525 + 1013904223) >> 26;
        size_t size = 1 + (random >> 8) % 3000;

        if (kept[at] != NULL && kept[at][0] != (uint8_t)at)
            return argument; /* somebody wrote into it */
        kept[at] = arena_resize(a, kept[at], size);
        if (kept[at] == NULL)
            return argument;
        kept[at][0] = (uint8_t)at;
        kept[at][size - 1] = size == 1 ? (uint8_t)at : 0xff;
    }
    for (size_t i = 0; i < 64; i++)
        if (kept[i] != NULL)
            arena_resize(a, kept[i], 0);
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    arena a;
    pthread_t threads[4];

    (void)state;
    arena_init(&a, 32 << 20);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &a), 0);
    for (int i = 0; i < 4; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_null(result);
    }
    arena_destroy(&a);
}

/* Names with a memory that is used up at every possible moment: ids are right or 0, never wrong. */
static void names_survive_a_full_memory(void **state)
{
    (void)state;
    for (size_t cap = 64 << 10; cap < 1200 << 10; cap += 64 << 10) {
        arena a;
        memory_backend backend = {arena_resize, &a};
        names n;
        uint32_t last = 0;

        arena_init(&a, cap);
        memory_use(&backend);
        names_init(&n, NULL);
        for (unsigned i = 0; i < 3000; i++) {
            char text[32];
            uint32_t id, again, frame, stack;

            snprintf(text, sizeof text, "Namespace.Type.Method%u", i);
            id = names_intern_text(&n, text);
            again = names_intern_text(&n, text);
            assert_true(id == again || id == 0 || again == 0);
            if (id != 0)
                assert_string_equal(names_get_string(&n, id)->text, text);
            frame = names_frame_synthetic(&n, text);
            stack = names_stack_on(&n, last, frame);
            if (stack != 0 && stack != last) {
                assert_int_equal(names_get_stack(&n, stack)->frame, frame);
                assert_int_equal(names_get_stack(&n, stack)->parent, last);
            }
            if (i % 16 == 15)
                last = 0;
            else if (stack != 0)
                last = stack;
        }
        assert_true(arena_used(&a) <= cap);
        names_reset(&n);
        memory_use(NULL);
        arena_destroy(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_usable_and_kept_when_resized),
        cmocka_unit_test(freed_memory_is_used_again),
        cmocka_unit_test(the_cap_is_never_passed),
        cmocka_unit_test(lent_memory_outlives_the_mappings),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(names_survive_a_full_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
