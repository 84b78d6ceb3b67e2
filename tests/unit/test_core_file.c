/* Unit tests of core dumps: one of two threads with one library, one dll and three pieces of memory
 * (the seed of the fuzz target), whole and cut off at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "diagnostics/core_file.h"

enum { MOST = 1 << 16 };

static size_t load(uint8_t *bytes)
{
    FILE *file = fopen(TEST_SOURCE_DIR "/tests/fuzz/corpus/core/two-threads", "rb");
    size_t length;

    assert_non_null(file);
    length = fread(bytes, 1, MOST, file);
    fclose(file);
    assert_true(length > 0 && length < MOST);
    return length;
}

static void test_threads_memory_and_files(void **state)
{
    static uint8_t bytes[MOST];
    size_t length = load(bytes);
    uint8_t memory[32];
    buffer map = BUFFER_EMPTY;
    core_file c;
    error e;

    (void)state;
    error_clear(&e);
    assert_int_equal(core_file_parse(&c, bytes, length, &e), 0);
    assert_int_equal(c.process_id, 41);
    assert_string_equal(c.name, "dotnet");
    assert_string_equal(c.command_line, "dotnet shop.dll");
    assert_int_equal(c.thread_count, 2);
    assert_int_equal(c.threads[1].id, 42);
    assert_int_equal(c.threads[1].cpu_ns, 1750000000);
    assert_int_equal(c.threads[1].registers[CORE_RIP], 0x401020);
    assert_int_equal(c.threads[1].registers[CORE_RSP], 0x7800);
    assert_int_equal(c.threads[1].registers[CORE_CALL], 202);
    assert_false(c.is_cut);
    /* over the border of two segments, and up to what was left out */
    assert_int_equal(core_file_read(&c, 0x400ff8, memory, 32), 8 + 0x10);
    assert_int_equal(memory[7], 0x10);
    assert_int_equal(memory[8], 0x11);
    assert_int_equal(core_file_read(&c, 0x402000, memory, 32), 0);
    assert_int_equal(core_file_read(&c, 0x10, memory, 32), 0);
    assert_string_equal(core_file_mapping(&c, 0x402fff)->path, "/usr/lib/libshop.so");
    assert_null(core_file_mapping(&c, 0x403000));
    core_file_append_map(&c, &map);
    assert_string_equal(buffer_text(&map), "7000-8000 rw-p 0 00:00 0 \n"
                                           "400000-403000 r-xp 0 00:00 1 /usr/lib/libshop.so\n"
                                           "500000-501000 r-xp 2000 00:00 1 /usr/lib/shop.dll\n");
    buffer_free(&map);
    core_file_free(&c);
}

static void test_a_dump_cut_off_anywhere_is_read_as_far_as_it_goes(void **state)
{
    static uint8_t bytes[MOST];
    size_t length = load(bytes), parsed = 0, cut = 0, told = 0;

    (void)state;
    for (size_t kept = 0; kept < length; kept++) {
        uint8_t *copy = malloc(kept + 1); /* of its own, so that reading too far is seen */
        core_file c;
        error e;

        error_clear(&e);
        assert_non_null(copy);
        memcpy(copy, bytes, kept);
        if (core_file_parse(&c, copy, kept, &e) == 0) {
            uint8_t memory[64];

            parsed++;
            cut += c.is_cut;
            assert_true(core_file_read(&c, 0x7000, memory, 64) <= 64);
            core_file_free(&c);
        } else if (strstr(e.message, "cut off before its threads") != NULL) {
            told++;
        }
        free(copy);
    }
    assert_true(parsed > 0 && parsed == cut);
    assert_true(told > 0);
}

static void test_other_files_are_refused(void **state)
{
    uint8_t bytes[64] = {0x7f, 'E', 'L', 'F', 2, 1};
    core_file c;
    error e;

    (void)state;
    error_clear(&e);
    assert_int_equal(core_file_parse(&c, bytes, 64, &e), ERROR_CORRUPT);
    assert_int_equal(core_file_parse(&c, bytes, 0, &e), ERROR_CORRUPT);
    bytes[16] = 4; /* a core dump, of another machine */
    assert_int_equal(core_file_parse(&c, bytes, 64, &e), ERROR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_memory_and_files),
        cmocka_unit_test(test_a_dump_cut_off_anywhere_is_read_as_far_as_it_goes),
        cmocka_unit_test(test_other_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
