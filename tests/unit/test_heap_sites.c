/* Unit tests of growth by allocation site: two snapshots, and allocations in the same recordings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/heap_series.h"
#include "diagnostics/heap_writer.h"
#include "recording/tables.h"

enum { ORDER = 1, CACHE, ADD, MAIN, TEXTS };
enum { TABLES_ALLOCATIONS(TABLES_CELL) COLUMNS };
static const recording_column ALLOCATIONS[COLUMNS] = {TABLES_ALLOCATIONS(TABLES_COLUMN)};
static const char *const NAMES[TEXTS] = {"", "Shop.Order", "Shop.Cache", "Shop.Store.Add",
                                         "Shop.Program.Main"};

static void put_names(buffer *out)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_STRING, 0);

    for (uint64_t i = 1; i < TEXTS; i++)
        recording_put_string(out, i, NAMES[i], strlen(NAMES[i]));
    recording_end_chunk(out, chunk);
    chunk = recording_begin_chunk(out, RECORDING_FRAME, 0);
    recording_put_frame(out, 1, RECORDING_FRAME_SYNTHETIC, MAIN, 0);
    recording_put_frame(out, 2, RECORDING_FRAME_SYNTHETIC, ADD, 0);
    recording_end_chunk(out, chunk);
    chunk = recording_begin_chunk(out, RECORDING_STACK, 0);
    recording_put_stack(out, 1, 0, 1);
    recording_put_stack(out, 2, 1, 2);
    recording_end_chunk(out, chunk);
}

static void put_allocations(buffer *out, const char *name, uint64_t id, uint64_t bytes)
{
    recording_table table = {name, "allocations", ALLOCATIONS, COLUMNS};
    size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(out, id, &table);
    recording_end_chunk(out, chunk);
    recording_rows_begin(&rows, out, 0, id, &table);
    for (uint64_t type = ORDER; type <= CACHE; type++) {
        uint64_t cells[COLUMNS] = {
            [STACK] = 2, [TYPE] = type, [BYTES] = bytes, [SIZE] = 32, [KIND] = 0};

        recording_rows_put_row(&rows, cells);
    }
    recording_rows_end(&rows);
}

/* One cache and some orders; `live`: bytes of the table, 0 = there is none. */
static void add_snapshot(heap_series *series, uint64_t orders, uint64_t allocated, uint64_t live)
{
    buffer out = BUFFER_EMPTY;
    recording_file *file = NULL;
    error e = {0};
    const heap *h;
    heap_writer w;
    model m;

    recording_put_file_header(&out);
    put_names(&out);
    put_allocations(&out, "allocations", 1, allocated);
    if (live != 0)
        put_allocations(&out, "live", 2, live);
    heap_writer_init(&w);
    heap_writer_add_type(&w, ORDER, 0, 0);
    heap_writer_add_type(&w, CACHE, 0, 0);
    heap_writer_put_object(&w, &(heap_writer_object){.address = 64, .size = 32, .type = 1});
    for (uint64_t i = 0; i < orders; i++)
        heap_writer_put_object(&w, &(heap_writer_object){.address = 128 + i * 32, .size = 32});
    heap_writer_finish(&w, 3, 0, "", &out);
    heap_writer_free(&w);
    assert_int_equal(recording_file_open_bytes(out.data, out.length, &file, &e), 0);
    assert_int_equal(model_load(file, 0, &m, &e), 0);
    recording_file_close(file);
    assert_int_equal(heap_shared(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(heap_series_add(series, h, &e), 0);
    model_free(&m);
    buffer_free(&out);
}

static void sums_the_sites_of_all_recordings(void **state)
{
    heap_series s;

    (void)state;
    heap_series_init(&s);
    add_snapshot(&s, 10, 3200, 0);
    add_snapshot(&s, 30, 6400, 0);
    heap_series_sort(&s, HEAP_BY_BYTES);
    assert_true(heap_series_has_grown(&s, "Shop.Order"));
    assert_false(heap_series_has_grown(&s, "Shop.Cache"));
    assert_false(heap_series_has_grown(&s, "Shop.Nothing"));
    assert_int_equal(s.sites.count, 2);
    assert_string_equal(s.sites.items[1].type, "Shop.Order");
    assert_string_equal(s.sites.items[1].place, "Shop.Store.Add <- Shop.Program.Main");
    assert_int_equal(s.sites.items[1].bytes, 9600);
    assert_int_equal((uint64_t)s.sites.items[1].objects, 300);
    assert_false(s.sites.items[1].alive);
    heap_series_free(&s);
}

/* Where one recording knows what stayed alive, nothing else counts. */
static void what_is_alive_comes_first(void **state)
{
    heap_series s;

    (void)state;
    heap_series_init(&s);
    add_snapshot(&s, 10, 3200000, 0);
    add_snapshot(&s, 30, 6400, 640);
    heap_series_sort(&s, HEAP_BY_BYTES);
    assert_int_equal(s.sites.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(s.sites.items[i].alive);
        assert_int_equal(s.sites.items[i].bytes, 640);
    }
    heap_series_free(&s);
}

static bool any_row(const void *context, const heap_series_row *row)
{
    (void)context;
    return row != NULL;
}

/* Objects that become more, and hold more every time, are a leak however small they are; what they
 * hold comes and goes in part. */
static void small_objects_that_hold_more_leak(void **state)
{
    heap_series_row rows[] = {
        {"byte[]", {194, 300, 141}, {100000, 230000, 400000}, {100000, 230000, 400000}, 0},
        {"Shop.Session", {1, 29, 50}, {32, 928, 1600}, {4096, 120000, 300000}, 0},
        {"Shop.Store", {1, 1, 1}, {24, 24, 24}, {4096, 120000, 300000}, 0},
        {"Shop.Pulse", {10, 29, 5}, {320, 928, 160}, {4096, 120000, 300000}, 0},
        {"Shop.Small", {1, 2, 3}, {32, 64, 96}, {32, 64, 96}, 0},
        {"Shop.Order", {1, 2, 3}, {100000, 200000, 400000}, {100000, 200000, 400000}, 0},
    };
    heap_series s = {.count = 3, .types = {.items = rows, .count = 6}};
    const heap_series_row *leaks[2];

    (void)state;
    s.snapshots[2].bytes = 1000000;
    assert_int_equal(heap_series_leaks(&s, leaks, 2, any_row, NULL), 2);
    assert_string_equal(leaks[0]->name, "Shop.Order");
    assert_string_equal(leaks[1]->name, "Shop.Session");
    assert_int_equal(heap_series_weight(&s, leaks[1]), 295904);
    assert_int_equal(heap_series_leaks(&s, leaks, 1, any_row, NULL), 1);
    assert_string_equal(leaks[0]->name, "Shop.Order");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_the_sites_of_all_recordings),
        cmocka_unit_test(what_is_alive_comes_first),
        cmocka_unit_test(small_objects_that_hold_more_leak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
