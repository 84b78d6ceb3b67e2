/* Unit tests of law 5: a runtime that fails every call, or says S_OK and hands back nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/names.h"
#include "profilers/exception_object.h"
#include "recording/encode.h"

static HRESULT CLR_CALL refuse_all(void)
{
    return E_FAIL;
}

static HRESULT CLR_CALL lie(void)
{
    return S_OK;
}

typedef HRESULT(CLR_CALL *any_slot)(void);

/* A profiling interface whose every slot is `answer`. */
typedef struct {
    any_slot slots[sizeof(struct ICorProfilerInfo15_vtbl) / sizeof(any_slot)];
    ICorProfilerInfo15 object;
    clr_info info;
} false_runtime;

static clr_info *make(false_runtime *r, any_slot answer, unsigned version)
{
    for (size_t i = 0; i < sizeof r->slots / sizeof *r->slots; i++)
        r->slots[i] = answer;
    r->object.vtbl = (const struct ICorProfilerInfo15_vtbl *)(const void *)r->slots;
    r->info.com = &r->object;
    r->info.version = version;
    return &r->info;
}

static void frames_of_a_false_runtime_are_unknown(void **state)
{
    static const any_slot ANSWERS[] = {refuse_all, lie};
    static const unsigned VERSIONS[] = {3, 5, 9, 15};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 4; k++) {
            false_runtime r;
            names n;
            uintptr_t addresses[3] = {0x1000, 0x2000, 0x3000};
            uint32_t stack, frame;

            names_init(&n, make(&r, ANSWERS[i], VERSIONS[k]));
            stack = names_stack_of(&n, addresses, 3, true, true);
            assert_true(stack != 0);
            frame = names_get_stack(&n, stack)->frame;
            assert_int_equal(names_get_frame(&n, frame)->kind, RECORDING_FRAME_SYNTHETIC);
            assert_string_equal(names_get_string(&n, names_get_frame(&n, frame)->a)->text,
                                "(unknown)");
            /* a function without a name is no method, and is not asked for twice */
            assert_int_equal(names_of_function(&n, 0x4711), names_of_function(&n, 0x4711));
            assert_int_equal(names_of_function(&n, 0), 0);
            assert_int_equal(names_of_class(&n, 0), 0);
            assert_int_equal(names_known_function(&n, 0x99), 0);
            names_reset(&n);
        }
    }
}

static void messages_of_a_false_runtime_are_not_read(void **state)
{
    static const any_slot ANSWERS[] = {refuse_all, lie};
    uint64_t object[8] = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        false_runtime r;
        exception_layout layout = {0};
        clr_info *info = make(&r, ANSWERS[i], 15);

        assert_int_equal(exception_learn(info, &layout, 1), 0);
        assert_int_equal(atomic_load(&layout.known), 2); /* and it is not asked again */
        assert_int_equal(exception_learn(info, &layout, 1), 0);
        assert_int_equal(exception_message(&layout, (ObjectID)(uintptr_t)object, 16).count, 0);
        assert_int_equal(exception_inner(&layout, (ObjectID)(uintptr_t)object), 0);
    }
}

static void equal_things_have_equal_ids(void **state)
{
    false_runtime r;
    names n;
    uint32_t a, b;

    (void)state;
    names_init(&n, make(&r, refuse_all, 15));
    assert_int_equal(names_intern_text(&n, "a"), names_intern_text(&n, "a"));
    assert_int_not_equal(names_intern_text(&n, "a"), names_intern_text(&n, "b"));
    assert_int_not_equal(names_frame_managed(&n, 1, 5), names_frame_managed(&n, 1, 6));
    assert_int_not_equal(names_frame_managed(&n, 1, 5), names_frame_native(&n, 1, 5));
    assert_int_equal(names_frame_native(&n, 3, 0x123456789a),
                     names_frame_native(&n, 3, 0x123456789a));
    a = names_stack_on(&n, 0, names_frame_managed(&n, 1, 5));
    b = names_stack_on(&n, a, names_frame_managed(&n, 1, 5));
    assert_int_not_equal(a, b);
    assert_int_equal(names_stack_on(&n, b, 0), b); /* a frame that is not known is left out */
    names_reset(&n);
    assert_null(names_get_stack(&n, a));
    names_reset(&n);
}

static unsigned asked;

static HRESULT CLR_CALL count_question(void)
{
    asked++;
    return E_FAIL;
}

static void code_that_did_not_wait_is_not_asked_about(void **state)
{
    false_runtime r;
    names n;
    uint32_t frame;

    (void)state;
    names_init(&n, make(&r, count_question, 15));
    atomic_fetch_add(&n.overtaken, 1);
    asked = 0;
    assert_int_equal(names_of_function(&n, 0x4711), 0);
    assert_int_equal(names_of_module(&n, 0x4711), 0);
    assert_string_equal(names_get_string(&n, names_of_class(&n, 0x4711))->text, "(unknown)");
    frame = names_frame_at(&n, 0x1000, true, 0);
    assert_int_equal(names_get_frame(&n, frame)->kind, RECORDING_FRAME_SYNTHETIC);
    assert_int_equal(asked, 0);
    assert_int_equal(n.unasked, 4);
    n.is_lasting = true; /* what cannot go is asked about all the same */
    names_of_class(&n, 0x4712);
    assert_true(asked > 0);
    n.is_lasting = false;
    n.caught_up = atomic_load(&n.overtaken); /* and nothing of the above was kept for an answer */
    asked = 0;
    names_of_function(&n, 0x4711);
    assert_true(asked > 0);
    asked = 0;
    names_frame_at(&n, 0x1000, true, 0);
    assert_true(asked > 0);
    assert_int_equal(n.unasked, 4);
    names_reset(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_a_false_runtime_are_unknown),
        cmocka_unit_test(messages_of_a_false_runtime_are_not_read),
        cmocka_unit_test(equal_things_have_equal_ids),
        cmocka_unit_test(code_that_did_not_wait_is_not_asked_about),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
