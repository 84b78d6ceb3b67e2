/* Unit tests of the recording's format: chunks, records, rows, the file's writer. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>

#include "recording/decode.h"
#include "recording/encode.h"
#include "recording/writer.h"

static const recording_column COLUMNS[] = {{RECORDING_TIME, "time", "ns"},
                                           {RECORDING_THREAD_ID, "thread", ""},
                                           {RECORDING_STACK_ID, "stack", ""},
                                           {RECORDING_I64, "change", ""},
                                           {RECORDING_F64, "share", "percent"}};
static const recording_table TABLE = {"things", "test", COLUMNS, 5};

static void crc_is_that_of_zlib(void **state)
{
    uint8_t bytes[1000];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 3));
    for (size_t n = 0; n < sizeof bytes; n++) {
        assert_int_equal(recording_crc32(0, bytes, n), crc32(0, bytes, (uInt)n));
        assert_int_equal(
            recording_crc32(recording_crc32(0, bytes, n / 3), bytes + n / 3, n - n / 3),
            crc32(0, bytes, (uInt)n));
    }
}

static void chunks_are_found_again_and_broken_ones_refused(void **state)
{
    buffer b = BUFFER_EMPTY;
    recording_chunk chunk;
    size_t start = recording_begin_chunk(&b, RECORDING_STRING, 3);
    recording_string string;
    reader r;

    (void)state;
    recording_put_string(&b, 5, "a\0b", 3);
    recording_put_string(&b, 6, "", 0);
    assert_true(recording_end_chunk(&b, start));
    assert_int_equal(recording_take_chunk(b.data, b.length, &chunk), RECORDING_CHUNK_WHOLE);
    assert_int_equal(chunk.kind, RECORDING_STRING);
    assert_int_equal(chunk.process, 3);
    assert_int_equal(chunk.whole, b.length);
    r = reader_of(chunk.payload, chunk.length);
    assert_true(recording_next_string(&r, &string));
    assert_int_equal(string.id, 5);
    assert_int_equal(string.text.length, 3);
    assert_memory_equal(string.text.bytes, "a\0b", 3);
    assert_true(recording_next_string(&r, &string));
    assert_int_equal(string.text.length, 0);
    assert_false(recording_next_string(&r, &string));
    assert_false(reader_failed(&r));
    for (size_t n = 0; n < b.length; n++)
        assert_int_equal(recording_take_chunk(b.data, n, &chunk), RECORDING_CHUNK_SHORT);
    for (size_t i = 0; i < b.length * 8; i++) {
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_not_equal(recording_take_chunk(b.data, b.length, &chunk), RECORDING_CHUNK_WHOLE);
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    buffer_free(&b);
}

static void a_chunk_that_does_not_fit_is_taken_back(void **state)
{
    uint8_t memory[64];
    buffer b;
    size_t start;
    size_t before;

    (void)state;
    buffer_fix(&b, memory, sizeof memory);
    start = recording_begin_chunk(&b, RECORDING_INFO, 0);
    recording_put_info(&b, "pid", "1");
    assert_true(recording_end_chunk(&b, start));
    before = b.length;
    start = recording_begin_chunk(&b, RECORDING_INFO, 0);
    recording_put_info(&b, "command_line", "a text that is longer than what is left");
    assert_false(recording_end_chunk(&b, start));
    assert_int_equal(b.length, before);
    assert_false(buffer_failed(&b));
    start = recording_begin_chunk(&b, RECORDING_INFO, 0);
    assert_true(recording_end_chunk(&b, start));
    assert_int_equal(b.length, before);
}

static void put_row(recording_rows *rows, uint64_t time, uint64_t thread, uint64_t stack,
                    int64_t change, double share)
{
    recording_rows_put(rows, time);
    recording_rows_put(rows, thread);
    recording_rows_put(rows, stack);
    recording_rows_put(rows, (uint64_t)change);
    recording_rows_put_f64(rows, share);
}

static void rows_round_trip(void **state)
{
    static const uint8_t TYPES[] = {RECORDING_TIME, RECORDING_THREAD_ID, RECORDING_STACK_ID,
                                    RECORDING_I64, RECORDING_F64};
    buffer b = BUFFER_EMPTY;
    recording_rows rows;
    recording_chunk chunk;
    uint64_t previous[5] = {0};
    uint64_t cells[5];
    double share;
    reader r;

    (void)state;
    recording_rows_begin(&rows, &b, 0, 9, &TABLE);
    put_row(&rows, UINT64_MAX, 1, 2, INT64_MIN, 0.5);
    put_row(&rows, 5, 300, 70000, -1, -2.25);
    assert_true(recording_rows_end(&rows));
    assert_int_equal(recording_take_chunk(b.data, b.length, &chunk), RECORDING_CHUNK_WHOLE);
    r = reader_of(chunk.payload, chunk.length);
    assert_int_equal(reader_varint(&r), 9);
    assert_true(recording_next_row(&r, TYPES, 5, previous, cells));
    assert_true(cells[0] == UINT64_MAX && cells[3] == (uint64_t)INT64_MIN);
    assert_true(recording_next_row(&r, TYPES, 5, previous, cells));
    memcpy(&share, &cells[4], 8);
    assert_true(cells[0] == 5 && cells[1] == 300 && cells[2] == 70000 && share == -2.25);
    assert_false(recording_next_row(&r, TYPES, 5, previous, cells));
    assert_false(reader_failed(&r));
    b.length = 0;
    recording_rows_begin(&rows, &b, 0, 9, &TABLE);
    recording_rows_put(&rows, 1);
    assert_false(recording_rows_end(&rows));
    assert_int_equal(b.length, 0);
    buffer_free(&b);
}

/* Both ways to write rows make the same bytes; the whole row's way remembers its cells. */
static void a_whole_row_is_what_its_cells_are(void **state)
{
    static const uint64_t TIMES[] = {7, 5, UINT64_MAX, 0};
    buffer by_cell = BUFFER_EMPTY;
    buffer by_row = BUFFER_EMPTY;
    recording_rows cells;
    recording_rows whole;

    (void)state;
    recording_rows_begin(&cells, &by_cell, 0, 9, &TABLE);
    recording_rows_begin(&whole, &by_row, 0, 9, &TABLE);
    for (size_t n = 0; n < sizeof TIMES / sizeof TIMES[0]; n++) {
        double share = 0.5 * (double)n - 1;
        uint64_t row[5] = {TIMES[n], 127 + n, (uint64_t)1 << (n * 20), (uint64_t)INT64_MIN + n, 0};

        memcpy(&row[4], &share, sizeof share);
        put_row(&cells, row[0], row[1], row[2], (int64_t)row[3], share);
        recording_rows_put_row(&whole, row);
        assert_memory_equal(whole.previous, row, sizeof row);
    }
    assert_true(recording_rows_end(&cells));
    assert_true(recording_rows_end(&whole));
    assert_int_equal(cells.rows, whole.rows);
    assert_int_equal(by_cell.length, by_row.length);
    assert_memory_equal(by_cell.data, by_row.data, by_row.length);
    buffer_free(&by_cell);
    buffer_free(&by_row);
}

static void put_long_text(buffer *b)
{
    size_t start = recording_begin_chunk(b, RECORDING_STRING, 0);
    char text[4000];

    memset(text, 'x', sizeof text);
    recording_put_string(b, 1, text, sizeof text);
    assert_true(recording_end_chunk(b, start));
}

/* A file without a name is gone afterwards: nothing is said to be in it. */
static void a_temporary_file_that_cannot_grow_is_reported(void **state)
{
    recording_writer *writer = NULL;
    struct rlimit before, limit;
    FILE *file = tmpfile();
    char path[64];
    error e = {0};
    int code;

    (void)state;
    assert_non_null(file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 1;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    code = recording_writer_create(path, &writer, &e);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(code, ERROR_IO);
    assert_null(writer);
    assert_non_null(strstr(e.message, "a temporary file in /"));
    assert_non_null(strstr(e.advice, "ulimit -f"));
    assert_non_null(strstr(e.advice, "nothing is kept"));
    fclose(file);
}

static void a_full_disk_is_reported(void **state)
{
    recording_writer *writer = NULL;
    buffer b = BUFFER_EMPTY;
    error e = {0};
    int code;

    (void)state;
    code = recording_writer_create("/dev/full", &writer, &e);
    assert_int_equal(code, ERROR_IO);
    assert_null(writer);
    assert_non_null(strstr(e.message, "No space left"));
    assert_non_null(strstr(e.advice, "free some space"));
    assert_int_equal(recording_writer_create("/nowhere/at/all", &writer, &e), ERROR_IO);
    assert_non_null(strstr(e.message, "/nowhere/at/all"));
    buffer_free(&b);
}

static void an_abandoned_recording_leaves_an_earlier_one(void **state)
{
    char path[] = "/tmp/clarinet-test-XXXXXX";
    recording_writer *writer = NULL;
    buffer b = BUFFER_EMPTY;
    char bytes[8];
    int descriptor = mkstemp(path);

    (void)state;
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, "precious", 8), 8);
    assert_int_equal(recording_writer_create(path, &writer, NULL), 0);
    put_long_text(&b);
    assert_int_equal(recording_writer_append(writer, &b, NULL), 0);
    recording_writer_abandon(writer);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(pread(descriptor, bytes, sizeof bytes, 0), 8);
    assert_memory_equal(bytes, "precious", 8);

    assert_int_equal(recording_writer_create(path, &writer, NULL), 0);
    assert_int_equal(recording_writer_close(writer, NULL), 0);
    assert_int_equal(pread(descriptor, bytes, sizeof bytes, 0), 8);
    assert_memory_equal(bytes, "CLARINET", 8);
    assert_int_equal(lseek(descriptor, 0, SEEK_END), 16);
    close(descriptor);
    unlink(path);

    assert_int_equal(recording_writer_create(path, &writer, NULL), 0);
    recording_writer_abandon(writer);
    assert_int_equal(access(path, F_OK), -1);
    buffer_free(&b);
}

static void the_writer_packs_and_restamps(void **state)
{
    char path[] = "/tmp/clarinet-test-XXXXXX";
    recording_writer *writer = NULL;
    buffer b = BUFFER_EMPTY;
    recording_chunk chunk;
    uint8_t bytes[8192];
    ssize_t n;
    int descriptor = mkstemp(path);

    (void)state;
    assert_true(descriptor >= 0);
    assert_int_equal(recording_writer_create(path, &writer, NULL), 0);
    put_long_text(&b);
    assert_int_equal(recording_writer_append(writer, &b, NULL), 0);
    assert_int_equal(recording_take_chunk(b.data, b.length, &chunk), RECORDING_CHUNK_WHOLE);
    recording_writer_pack(writer, false);
    assert_int_equal(recording_writer_append_received(writer, &chunk, 7, NULL), 0);
    assert_int_equal(recording_writer_close(writer, NULL), 0);
    n = read(descriptor, bytes, sizeof bytes);
    assert_true(n > 4016 && n < 4200);
    assert_memory_equal(bytes, "CLARINET\1\0\0\0\0\0\0\0", 16);
    assert_int_equal(recording_take_chunk(bytes + 16, (size_t)n - 16, &chunk), 0);
    assert_int_equal(chunk.flags, RECORDING_PACKED);
    assert_true(chunk.length < 200);
    assert_int_equal(
        recording_take_chunk(bytes + 16 + chunk.whole, (size_t)n - 16 - chunk.whole, &chunk), 0);
    assert_int_equal(chunk.process, 7);
    assert_int_equal(chunk.flags, 0);
    close(descriptor);
    unlink(path);
    buffer_free(&b);
}

static void put_heap_chunk(recording_writer *writer, uint8_t section)
{
    buffer b = BUFFER_EMPTY;
    size_t start = recording_begin_chunk(&b, RECORDING_HEAP, 0);

    buffer_append_u8(&b, section);
    buffer_append_fill(&b, section, 600);
    assert_true(recording_end_chunk(&b, start));
    assert_int_equal(recording_writer_append(writer, &b, NULL), 0);
    buffer_free(&b);
}

static void expect_kinds(int descriptor, const uint16_t *kinds, size_t count)
{
    uint8_t bytes[8192];
    ssize_t n = pread(descriptor, bytes, sizeof bytes, 0);
    size_t at = 16;

    for (size_t i = 0; i < count; i++) {
        recording_chunk chunk;

        assert_int_equal(recording_take_chunk(bytes + at, (size_t)n - at, &chunk),
                         RECORDING_CHUNK_WHOLE);
        assert_int_equal(chunk.kind, kinds[i]);
        assert_int_equal(chunk.flags, RECORDING_PACKED);
        at += chunk.whole;
    }
    assert_int_equal(at, n);
}

/* While a snapshot comes nothing is packed; at its end, or the file's, all is there in order. */
static void a_snapshot_is_held_until_its_end(void **state)
{
    static const uint16_t KINDS[] = {RECORDING_HEAP, RECORDING_HEAP, RECORDING_STRING,
                                     RECORDING_HEAP, RECORDING_HEAP, RECORDING_HEAP};
    char path[] = "/tmp/clarinet-test-XXXXXX";
    recording_writer *writer = NULL;
    buffer b = BUFFER_EMPTY;
    int descriptor = mkstemp(path);

    (void)state;
    assert_true(descriptor >= 0);
    assert_int_equal(recording_writer_create(path, &writer, NULL), 0);
    put_heap_chunk(writer, RECORDING_HEAP_OBJECTS);
    put_heap_chunk(writer, RECORDING_HEAP_OBJECTS);
    put_long_text(&b);
    assert_int_equal(recording_writer_append(writer, &b, NULL), 0);
    assert_int_equal(recording_writer_flush(writer, NULL), 0);
    expect_kinds(descriptor, KINDS, 1);
    put_heap_chunk(writer, RECORDING_HEAP_END);
    assert_int_equal(recording_writer_flush(writer, NULL), 0);
    expect_kinds(descriptor, KINDS, 4);
    put_heap_chunk(writer, RECORDING_HEAP_OBJECTS);
    put_heap_chunk(writer, RECORDING_HEAP_OBJECTS);
    assert_int_equal(recording_writer_close(writer, NULL), 0);
    expect_kinds(descriptor, KINDS, 6);
    close(descriptor);
    unlink(path);
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_is_that_of_zlib),
        cmocka_unit_test(chunks_are_found_again_and_broken_ones_refused),
        cmocka_unit_test(a_chunk_that_does_not_fit_is_taken_back),
        cmocka_unit_test(rows_round_trip),
        cmocka_unit_test(a_whole_row_is_what_its_cells_are),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(a_temporary_file_that_cannot_grow_is_reported),
        cmocka_unit_test(an_abandoned_recording_leaves_an_earlier_one),
        cmocka_unit_test(the_writer_packs_and_restamps),
        cmocka_unit_test(a_snapshot_is_held_until_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
