/* heap_guard: whether a background collection is under way, from the events of collections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/heap_quick.h"
#include "base/buffer.h"

enum { BLOCKING, BACKGROUND, WITHIN };

static void event(heap_guard *g, uint32_t id, uint64_t keywords, const uint32_t *words,
                  size_t count)
{
    buffer metadata = BUFFER_EMPTY, data = BUFFER_EMPTY;

    buffer_append_u32(&metadata, id);
    buffer_append_u16(&metadata, 0); /* no name */
    buffer_append_u64(&metadata, keywords);
    for (size_t i = 0; i < count; i++)
        buffer_append_u32(&data, words[i]);
    heap_guard_take(g, id, metadata.data, (uint32_t)metadata.length, data.data,
                    (uint32_t)data.length);
    buffer_free(&metadata);
    buffer_free(&data);
}

static void start(heap_guard *g, uint32_t count, uint32_t kind)
{
    uint32_t words[] = {count, 2, 0, kind};

    event(g, 1, 1, words, 4);
}

static void end(heap_guard *g, uint32_t count)
{
    uint32_t words[] = {count, 2};

    event(g, 2, 1, words, 2);
}

static void assert_state(heap_guard *g, heap_guard_state state)
{
    assert_int_equal(atomic_load(&g->state), state);
}

static void follows_a_background_collection(void **state)
{
    heap_guard g = {0};

    (void)state;
    start(&g, 4, BLOCKING);
    assert_state(&g, HEAP_GUARD_REST);
    end(&g, 4);
    start(&g, 5, BACKGROUND);
    assert_state(&g, HEAP_GUARD_BACKGROUND);
    start(&g, 6, WITHIN);
    end(&g, 6);
    assert_state(&g, HEAP_GUARD_BACKGROUND);
    end(&g, 5);
    assert_state(&g, HEAP_GUARD_REST);
    start(&g, 7, BLOCKING);
    end(&g, 7);
    assert_state(&g, HEAP_GUARD_REST);
}

/* One that began before the first event: its end has a lower number than what began within it. */
static void learns_of_one_that_was_there(void **state)
{
    heap_guard g = {0};

    (void)state;
    end(&g, 8); /* could have been either */
    assert_state(&g, HEAP_GUARD_UNKNOWN);
    start(&g, 9, WITHIN);
    assert_state(&g, HEAP_GUARD_WITHIN);
    end(&g, 9);
    assert_state(&g, HEAP_GUARD_WITHIN);
    start(&g, 10, WITHIN);
    end(&g, 10);
    assert_state(&g, HEAP_GUARD_WITHIN);
    end(&g, 7);
    assert_state(&g, HEAP_GUARD_REST);
    heap_guard_reset(&g);
    assert_state(&g, HEAP_GUARD_UNKNOWN);
}

static void passes_over_other_events(void **state)
{
    heap_guard g = {0};
    uint32_t words[] = {1, 2, 0, BLOCKING};

    (void)state;
    event(&g, 1, 0x4000, words, 4); /* another keyword */
    assert_state(&g, HEAP_GUARD_UNKNOWN);
    event(&g, 3, 1, words, 4); /* another event */
    assert_state(&g, HEAP_GUARD_UNKNOWN);
    event(&g, 1, 1, words, 3); /* cut */
    assert_state(&g, HEAP_GUARD_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_a_background_collection),
        cmocka_unit_test(learns_of_one_that_was_there),
        cmocka_unit_test(passes_over_other_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
