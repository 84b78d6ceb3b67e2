/* Unit tests of the groups of requests: which route one belongs to whose own is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/requests.h"
#include "recording/encode.h"
#include "recording/file.h"
#include "recording/tables.h"

enum { DONE = 0, RUNNING = 2, MANY = 5000 };
enum { TABLES_REQUESTS(TABLES_CELL) COLUMNS };

static const recording_column REQUEST_COLUMNS[] = {TABLES_REQUESTS(TABLES_COLUMN)};
static const recording_table TABLE = {"requests", "http", REQUEST_COLUMNS, COLUMNS};

/* Served, in this order; status 0 = it is not over. */
static const struct {
    const char *name;
    unsigned status;
} SERVED[] = {
    {"GET /bad/bob", 500}, /* before its route is known */
    {"GET /bad/{name}", 200}, {"GET /bad/bill", 503},
    {"GET /bad/a/b", 500}, /* another route's, of which none was answered */
    {"POST /bad/bob", 500},   {"GET /users/{name}", 200},
    {"GET /users/me", 200},   {"GET /users/{name}/lines/{line}", 200},
    {"GET /{path}", 200},     {"GET /files/{name}.{kind}", 200},
    {"GET /users/x", 404},    {"GET /users/bob", 0},
    {"GET /users/me", 0},     {"GET /USERS/bob/lines/{id}", 0},
    {"GET /files/a.txt", 0},  {"GET /nowhere", 0},
};

static void load(model *m)
{
    recording_file *file = NULL;
    recording_rows rows;
    buffer b = BUFFER_EMPTY;
    size_t chunk;

    recording_put_file_header(&b);
    chunk = recording_begin_chunk(&b, RECORDING_STRING, 0);
    for (size_t i = 0; i < sizeof SERVED / sizeof *SERVED; i++)
        recording_put_string(&b, i + 1, SERVED[i].name, strlen(SERVED[i].name));
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &TABLE);
    recording_end_chunk(&b, chunk);
    recording_rows_begin(&rows, &b, 0, 1, &TABLE);
    for (size_t i = 0; i < sizeof SERVED / sizeof *SERVED; i++) {
        uint64_t cells[COLUMNS] = {[NAME] = i + 1,
                                   [STATUS] = SERVED[i].status,
                                   [WEIGHT] = 1000 - i,
                                   [STATE] = SERVED[i].status == 0 ? RUNNING : DONE,
                                   [ID] = i + 1};

        recording_rows_put_row(&rows, cells);
    }
    assert_true(recording_rows_end(&rows));
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
}

static const requests_group *group_of(const requests *x, const char *name)
{
    const requests_list *names = &x->sides[REQUESTS_SERVED].names;

    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i].name, name) == 0)
            return &names->items[i];
    return NULL;
}

static void routes_are_found_by_path(void **state)
{
    static const char *const OPEN[] = {"GET /users/{name}", "GET /users/me",
                                       "GET /users/{name}/lines/{line}", "GET /files/{name}.{kind}",
                                       "GET /nowhere"};
    const requests_group *group;
    requests x;
    model m;

    (void)state;
    load(&m);
    assert_int_equal(requests_summarise(&m, &m.processes[0],
                                        model_find_table(&m, &m.processes[0], "requests", "http"),
                                        &x, NULL),
                     0);
    group = group_of(&x, "GET /bad/{name}");
    assert_non_null(group);
    assert_int_equal(group->lengths.count, 3);
    assert_int_equal(group->failures, 2);
    assert_non_null(group_of(&x, "GET /bad/a/b"));
    assert_null(group_of(&x, "GET /bad/bob"));
    assert_non_null(group_of(&x, "POST /bad/bob")); /* another method */
    assert_non_null(group_of(&x, "GET /users/x"));  /* nothing failed: it had no route */
    assert_int_equal(x.open_count, sizeof OPEN / sizeof *OPEN);
    for (size_t i = 0; i < x.open_count; i++)
        assert_string_equal(x.open[i].name, OPEN[i]);
    requests_free(&x);
    model_free(&m);
}

/* More routes than are held against paths, and failed requests of as many paths: each is counted,
 * those of the first routes with them. */
static void many_paths_have_each_their_own_name(void **state)
{
    recording_file *file = NULL;
    recording_rows rows;
    buffer b = BUFFER_EMPTY;
    char name[64];
    size_t chunk;
    requests x;
    model m;

    (void)state;
    recording_put_file_header(&b);
    chunk = recording_begin_chunk(&b, RECORDING_STRING, 0);
    for (uint64_t i = 1; i <= 2 * MANY; i++) {
        snprintf(name, sizeof name, i <= MANY ? "GET /r%llu/{name}" : "GET /r%llu/bob",
                 (unsigned long long)(i <= MANY ? i : i - MANY));
        recording_put_string(&b, i, name, strlen(name));
    }
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &TABLE);
    recording_end_chunk(&b, chunk);
    recording_rows_begin(&rows, &b, 0, 1, &TABLE);
    for (uint64_t i = 1; i <= 2 * MANY; i++) {
        uint64_t cells[COLUMNS] = {[NAME] = i, [STATUS] = i <= MANY ? 200 : 500, [ID] = i};

        recording_rows_put_row(&rows, cells);
    }
    assert_true(recording_rows_end(&rows));
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, &m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
    assert_int_equal(requests_summarise(&m, &m.processes[0],
                                        model_find_table(&m, &m.processes[0], "requests", "http"),
                                        &x, NULL),
                     0);
    assert_int_equal(x.sides[REQUESTS_SERVED].all.lengths.count, 2 * MANY);
    assert_int_equal(x.sides[REQUESTS_SERVED].all.failures, MANY);
    assert_int_equal(group_of(&x, "GET /r1/{name}")->failures, 1);
    assert_int_equal(group_of(&x, "GET /r2000/{name}")->failures, 1);
    assert_null(group_of(&x, "GET /r2000/bob"));
    assert_int_equal(group_of(&x, "GET /r5000/bob")->failures, 1);
    requests_free(&x);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_found_by_path),
        cmocka_unit_test(many_paths_have_each_their_own_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
