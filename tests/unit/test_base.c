/* Unit tests of the portable floor: buffer, reader, text, table, error, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/reader.h"
#include "base/table.h"
#include "base/text.h"

static void varints_round_trip_at_their_borders(void **state)
{
    static const uint64_t VALUES[] = {0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, UINT64_MAX};
    buffer b = BUFFER_EMPTY;
    reader r;

    (void)state;
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
        buffer_append_varint(&b, VALUES[i]);
        buffer_append_zigzag(&b, (int64_t)VALUES[i]);
    }
    r = reader_of(b.data, b.length);
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
        assert_true(reader_varint(&r) == VALUES[i]);
        assert_true(reader_zigzag(&r) == (int64_t)VALUES[i]);
    }
    assert_true(reader_at_end(&r));
    assert_false(reader_failed(&r));
    buffer_free(&b);
}

static void reader_refuses_overlong_varint_and_stays_failed(void **state)
{
    static const uint8_t LONG[11] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    reader r = reader_of(LONG, sizeof LONG);

    (void)state;
    assert_true(reader_varint(&r) == 0);
    assert_true(reader_failed(&r));
    assert_true(reader_u8(&r) == 0);
    assert_int_equal(reader_left(&r), 0);
}

static void reader_never_passes_its_end(void **state)
{
    static const uint8_t BYTES[4] = {1, 2, 3, 4};
    size_t length;

    (void)state;
    for (size_t n = 0; n < 8; n++) {
        reader r = reader_of(BYTES, 4);

        assert_true(reader_skip(&r, n) == (n <= 4));
    }
    reader r = reader_of(BYTES, 4);
    assert_true(reader_u32(&r) == 0x04030201);
    assert_null(reader_blob(&r, &length));
    r = reader_of(BYTES, 4);
    reader slice = reader_slice(&r, 3, 2);
    assert_true(reader_failed(&slice));
}

static void utf16_and_utf8_round_trip_and_replace_what_is_broken(void **state)
{
    static const uint16_t UNITS[] = {'a', 0xE9, 0x20AC, 0xD83D, 0xDE00, 0xD800, 'b'};
    buffer utf8 = BUFFER_EMPTY;
    buffer utf16 = BUFFER_EMPTY;

    (void)state;
    text_append_utf16(&utf8, UNITS, 7);
    assert_string_equal(buffer_text(&utf8), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD"
                                            "b");
    assert_int_equal(text_append_utf8_as_utf16(&utf16, buffer_text(&utf8), utf8.length), 7);
    assert_memory_equal(utf16.data, UNITS, 10);
    buffer_clear(&utf8);
    text_append_cleaned(&utf8, "x\xC0\x80\xED\xA0\x80", 6);
    assert_null(strstr(buffer_text(&utf8), "\xC0"));
    buffer_clear(&utf8);
    text_append_cleaned(&utf8, NULL, 0); /* nothing may have no place */
    assert_int_equal(text_append_utf8_as_utf16(&utf16, NULL, 0), 0);
    assert_int_equal(utf8.length, 0);
    buffer_free(&utf8);
    buffer_free(&utf16);
}

static void wildcards_match(void **state)
{
    (void)state;
    assert_true(text_matches("Shop.Orders", "Shop.*"));
    assert_true(text_matches("abcbc", "a*bc"));
    assert_false(text_matches("abcbd", "a*bc"));
    assert_true(text_matches("", "*"));
    assert_true(text_matches("abc", "a?c"));
    assert_false(text_matches("abc", "a?"));
}

static void numbers_are_whole_or_refused(void **state)
{
    uint64_t value = 7;

    (void)state;
    assert_true(text_to_u64("18446744073709551615", &value));
    assert_true(value == UINT64_MAX);
    assert_false(text_to_u64("18446744073709551616", &value));
    assert_false(text_to_u64("12x", &value));
    assert_false(text_to_u64("", &value));
}

static void tables_keep_what_was_put(void **state)
{
    table_u64 numbers;
    table_text texts;
    uint64_t value;
    char key[32];

    (void)state;
    table_u64_init(&numbers);
    table_text_init(&texts);
    for (uint64_t i = 0; i < 5000; i++) {
        int n = snprintf(key, sizeof key, "key %u", (unsigned)i);

        assert_true(table_u64_put(&numbers, i * 4096, i));
        assert_true(table_text_put(&texts, key, (size_t)n, i));
    }
    for (uint64_t i = 0; i < 5000; i++) {
        int n = snprintf(key, sizeof key, "key %u", (unsigned)i);

        assert_true(table_u64_get(&numbers, i * 4096, &value) && value == i);
        assert_true(table_text_get(&texts, key, (size_t)n, &value) && value == i);
    }
    assert_false(table_u64_get(&numbers, 1, &value));
    assert_false(table_text_get(&texts, "key", 3, &value));
    table_u64_free(&numbers);
    table_text_free(&texts);
}

typedef struct {
    long left;
    long live;
} failing;

static void *failing_resize(void *context, void *pointer, size_t size)
{
    failing *f = context;

    if (size == 0) {
        f->live--;
        test_free(pointer);
        return NULL;
    }
    if (f->left-- <= 0)
        return NULL;
    if (pointer == NULL)
        f->live++;
    return test_realloc(pointer, size);
}

static void each_failed_allocation_is_survived(void **state)
{
    failing f;
    memory_backend backend = {failing_resize, &f};

    (void)state;
    for (long n = 0; n < 40; n++) {
        buffer b = BUFFER_EMPTY;
        table_text t;

        f.left = n;
        f.live = 0;
        memory_use(&backend);
        table_text_init(&t);
        for (int i = 0; i < 20; i++) {
            char key[2] = {(char)('a' + i), 0};

            buffer_format(&b, "%d some text that grows", i);
            table_text_put(&t, key, 1, 1);
        }
        assert_true(strlen(buffer_text(&b)) == b.length);
        buffer_free(&b);
        table_text_free(&t);
        memory_use(NULL);
        assert_int_equal(f.live, 0);
    }
}

static void *dirty_resize(void *context, void *pointer, size_t size)
{
    void *memory = size == 0 ? NULL : realloc(pointer, size);

    (void)context;
    if (pointer == NULL && memory != NULL)
        memset(memory, 'x', size);
    if (size == 0)
        free(pointer);
    return memory;
}

static void room_alone_is_an_empty_text(void **state)
{
    memory_backend backend = {dirty_resize, NULL};
    buffer b = BUFFER_EMPTY;

    (void)state;
    memory_use(&backend);
    assert_true(buffer_reserve(&b, 65536));
    assert_string_equal(buffer_text(&b), "");
    memory_free(b.data);
    memory_use(NULL);
}

static void errors_carry_message_and_advice(void **state)
{
    error e;

    (void)state;
    assert_int_equal(error_set(&e, ERROR_IO, "cannot read %s", "x"), ERROR_IO);
    error_prefix(&e, "recording");
    assert_int_equal(error_advise(&e, "try %d", 2), ERROR_IO);
    assert_string_equal(e.message, "recording: cannot read x");
    assert_string_equal(e.advice, "try 2");
    assert_int_equal(error_set(NULL, ERROR_GONE, "x"), ERROR_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_round_trip_at_their_borders),
        cmocka_unit_test(reader_refuses_overlong_varint_and_stays_failed),
        cmocka_unit_test(reader_never_passes_its_end),
        cmocka_unit_test(utf16_and_utf8_round_trip_and_replace_what_is_broken),
        cmocka_unit_test(wildcards_match),
        cmocka_unit_test(numbers_are_whole_or_refused),
        cmocka_unit_test(tables_keep_what_was_put),
        cmocka_unit_test(each_failed_allocation_is_survived),
        cmocka_unit_test(room_alone_is_an_empty_text),
        cmocka_unit_test(errors_carry_message_and_advice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
