/* Unit tests of the blocks that a snapshot goes through: order, waiting on either side, the end,
 * that a reader which keeps up leaves most of them untouched; and how numbers are written. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/heap_stream.h"

enum { SIZE = 64, SENT = 5000 };

static void put(heap_blocks *b, uint32_t number, int batch)
{
    unsigned block;

    while (!heap_blocks_take(b, &block)) {
    }
    memcpy(heap_blocks_at(b, block), &number, sizeof number);
    heap_blocks_hand_over(b, block, batch);
}

static void *write_all(void *context)
{
    for (uint32_t i = 0; i < SENT; i++)
        put(context, i, 8);
    heap_blocks_drain(context);
    heap_blocks_finish(context);
    return NULL;
}

static void all_come_in_order_and_end(void **state)
{
    pthread_t writer;
    heap_blocks b;
    unsigned block;
    uint32_t expected = 0;

    (void)state;
    assert_true(heap_blocks_open(&b, HEAP_BLOCKS, SIZE));
    assert_int_equal(pthread_create(&writer, NULL, write_all, &b), 0);
    while (!heap_blocks_is_over(&b)) {
        uint32_t number;

        if (!heap_blocks_next(&b, &block))
            continue;
        memcpy(&number, heap_blocks_at(&b, block), sizeof number);
        assert_int_equal(number, expected);
        expected++;
        heap_blocks_release(&b);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(expected, SENT);
    heap_blocks_close(&b);
}

static void the_lowest_free_block_is_taken(void **state)
{
    heap_blocks b;
    unsigned block;

    (void)state;
    assert_true(heap_blocks_open(&b, HEAP_BLOCKS, SIZE));
    for (uint32_t i = 0; i < 200; i++) {
        put(&b, i, 1);
        put(&b, i, 1);
        for (unsigned expected = 0; expected < 2; expected++) {
            assert_true(heap_blocks_next(&b, &block));
            assert_int_equal(block, expected);
            heap_blocks_release(&b);
        }
    }
    heap_blocks_close(&b);
}

static void none_is_taken_twice(void **state)
{
    heap_blocks b;
    unsigned block;

    (void)state;
    assert_true(heap_blocks_open(&b, HEAP_BLOCKS, SIZE));
    for (unsigned i = 0; i < HEAP_BLOCKS; i++) {
        assert_true(heap_blocks_take(&b, &block));
        assert_int_equal(block, i);
        heap_blocks_hand_over(&b, block, 1);
    }
    assert_false(heap_blocks_take(&b, &block));
    assert_true(heap_blocks_next(&b, &block));
    heap_blocks_release(&b);
    assert_true(heap_blocks_take(&b, &block));
    assert_int_equal(block, 0);
    heap_blocks_close(&b);
}

static void wide_numbers_are_written_as_others(void **state)
{
    uint8_t wide[16], plain[16];

    (void)state;
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t around = 0; around < 3; around++) {
            uint64_t value = (UINT64_C(1) << bit) + around - 1;
            size_t length = (size_t)(heap_stream_put_varint(plain, value) - plain);

            assert_int_equal(heap_stream_put_wide(wide, value) - wide, length);
            assert_memory_equal(wide, plain, length);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_come_in_order_and_end),
        cmocka_unit_test(the_lowest_free_block_is_taken),
        cmocka_unit_test(none_is_taken_twice),
        cmocka_unit_test(wide_numbers_are_written_as_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
