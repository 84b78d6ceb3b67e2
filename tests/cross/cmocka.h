/*
 * cmocka.h for targets that have no cmocka: the few names our portable unit tests use, with the
 * same meaning and the same output, so that the same sources run everywhere. A failed assertion
 * ends its test function, the others still run.
 */
#ifndef CLARINET_CROSS_CMOCKA_H
#define CLARINET_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
};

#define cmocka_unit_test(function)                                                                 \
    {                                                                                              \
#function, function                                                                        \
    }

#define test_malloc(size)           malloc(size)
#define test_realloc(pointer, size) realloc(pointer, size)
#define test_free(pointer)          free(pointer)

static jmp_buf cmocka_failed;

#define fail_msg(...)                                                                              \
    (printf("[  ERROR   ] --- "), printf(__VA_ARGS__),                                             \
     printf("\n[   LINE   ] --- %s:%d\n", __FILE__, __LINE__), longjmp(cmocka_failed, 1))
#define fail()             fail_msg("failed")
#define print_message(...) printf(__VA_ARGS__)

#define assert_true(x)     ((x) ? (void)0 : fail_msg("not true: %s", #x))
#define assert_false(x)    ((x) ? fail_msg("true: %s", #x) : (void)0)
#define assert_null(x)     ((x) == NULL ? (void)0 : fail_msg("not null: %s", #x))
#define assert_non_null(x) ((x) != NULL ? (void)0 : fail_msg("null: %s", #x))
#define assert_ptr_equal(a, b)                                                                     \
    ((const void *)(a) == (const void *)(b) ? (void)0 : fail_msg("%s != %s", #a, #b))
#define assert_int_equal(a, b)                                                                     \
    cmocka_compare((uint64_t)(a), (uint64_t)(b), 1, #a, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                                 \
    cmocka_compare((uint64_t)(a), (uint64_t)(b), 0, #a, __FILE__, __LINE__)
#define assert_string_equal(a, b)                                                                  \
    (strcmp(a, b) == 0 ? (void)0 : fail_msg("\"%s\" != \"%s\"", (a), (b)))
#define assert_memory_equal(a, b, size)                                                            \
    (memcmp(a, b, size) == 0 ? (void)0 : fail_msg("memory differs: %s", #a))

static inline void cmocka_compare(uint64_t a, uint64_t b, int equal, const char *text,
                                  const char *file, int line)
{
    if ((a == b) == equal)
        return;
    printf("[  ERROR   ] --- %s: 0x%08x%08x %s 0x%08x%08x\n[   LINE   ] --- %s:%d\n", text,
           (unsigned)(a >> 32), (unsigned)a, equal ? "!=" : "==", (unsigned)(b >> 32), (unsigned)b,
           file, line);
    longjmp(cmocka_failed, 1);
}

static inline int cmocka_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **))
{
    void *state = NULL;
    volatile int failed = 0;

    if (setjmp(cmocka_failed) != 0 || (setup != NULL && setup(&state) != 0))
        return 1;
    for (volatile size_t i = 0; i < count; i++) {
        if (setjmp(cmocka_failed) == 0) {
            tests[i].test(&state);
            printf("[       OK ] %s\n", tests[i].name);
        } else {
            printf("[  FAILED  ] %s\n", tests[i].name);
            failed++;
        }
    }
    return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cmocka_run(tests, sizeof(tests) / sizeof *(tests), setup)

#endif
