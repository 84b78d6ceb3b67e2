/* Unit tests of the findings: each rule on tables whose answer is known, thresholds, baselines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/findings.h"
#include "recording/encode.h"
#include "recording/tables.h"
#include "report/checkup.h"
#include "support/recordings.h"

enum { MS = 1000000 };

enum { TABLES_THREADS(TABLES_CELL) COLUMNS };
static const recording_column THREAD_COLUMNS[COLUMNS] = {TABLES_THREADS(TABLES_COLUMN)};
static const recording_table THREADS = {"threads", "threads", THREAD_COLUMNS, COLUMNS};
enum { TABLES_LOOKS(TABLES_CELL) LOOK_CELLS };
static const recording_column LOOK_COLUMNS[LOOK_CELLS] = {TABLES_LOOKS(TABLES_COLUMN)};
static const recording_table LOOKS = {"looks", "threads", LOOK_COLUMNS, LOOK_CELLS};
static const recording_column GC_COLUMNS[] = {
    {RECORDING_TIME, "time", ""}, {RECORDING_U64, "generation", ""}, {RECORDING_U64, "reason", ""},
    {RECORDING_U64, "kind", ""},  {RECORDING_DURATION, "pause", ""},
};
static const recording_table COLLECTIONS = {"collections", "gc", GC_COLUMNS, 5};

static const recording_column LEAK_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},          {RECORDING_U64, "generation", ""},
    {RECORDING_U64, "collected_size", ""}, {RECORDING_U64, "free", ""},
    {RECORDING_U64, "gen2", ""},           {RECORDING_U64, "loh", ""},
};
static const recording_table LEAK = {"collections", "gc", LEAK_COLUMNS, 6};

static void begin(buffer *b, const recording_table *const *tables, size_t count)
{
    size_t chunk;

    recording_put_file_header(b);
    chunk = recording_begin_chunk(b, RECORDING_STRING, 0);
    recording_put_string(b, 1, "Shop.Account", 12);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_THREAD, 0);
    for (uint64_t i = 0; i < 5; i++) {
        recording_thread thread = {100 + i, 1 + i, 0, 0, 0, 0};

        recording_put_thread(b, &thread);
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    for (size_t i = 0; i < count; i++)
        recording_put_table(b, i + 1, tables[i]);
    recording_end_chunk(b, chunk);
}

/* owners: who holds what thread 100 + i waits for, 0 = it does not wait. */
static void put_look(buffer *b, uint64_t look, const uint64_t owners[5])
{
    recording_rows rows;

    recording_rows_begin(&rows, b, 0, 1, &THREADS);
    for (uint64_t i = 0; i < 5; i++) {
        const uint64_t cells[COLUMNS] = {
            [TIME] = look * 100 * MS,     [THREAD] = 100 + i,    [MANAGED_ID] = 1 + i,
            [WAITS_FOR] = owners[i] != 0, [OBJECT] = 0x1000 + i, [OBJECT_TYPE] = 1,
            [OWNER] = owners[i],          [LOOK] = look,
        };

        for (size_t k = 0; k < COLUMNS; k++)
            recording_rows_put(&rows, cells[k]);
    }
    assert_true(recording_rows_end(&rows));
    recording_rows_begin(&rows, b, 0, 2, &LOOKS);
    recording_rows_put(&rows, look * 100 * MS);
    recording_rows_put(&rows, look);
    recording_rows_put(&rows, 1000);
    recording_rows_put(&rows, 5);
    assert_true(recording_rows_end(&rows));
}

/* Ends the recording at `seconds`, loads it and looks. */
static void judge(buffer *b, uint64_t seconds, model *m, findings *found)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_END, 0);
    recording_file *file = NULL;

    recording_put_end(b, "duration", seconds * 1000 * MS);
    recording_end_chunk(b, chunk);
    assert_int_equal(recording_file_open_bytes(b->data, b->length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, m, NULL), 0);
    recording_file_close(file);
    buffer_free(b);
    assert_int_equal(findings_look(m, NULL, found, NULL), 0);
}

static void judge_looks(const uint64_t owners[5], model *m, findings *found)
{
    static const recording_table *const TABLES[] = {&THREADS, &LOOKS};
    buffer b = BUFFER_EMPTY;

    begin(&b, TABLES, 2);
    for (uint64_t look = 1; look <= 4; look++)
        put_look(&b, look, owners);
    judge(&b, 1, m, found);
}

static void a_cycle_is_a_deadlock(void **state)
{
    /* 100 -> 101 -> 102 -> 100, and 103 -> 100 behind them; 104 does not wait. */
    const uint64_t owners[5] = {101, 102, 100, 100, 0};
    findings found;
    model m;

    (void)state;
    judge_looks(owners, &m, &found);
    assert_int_equal(found.count, 1); /* and no contention: all of it is the deadlock's */
    assert_string_equal(found.items[0].id, "deadlock");
    assert_int_equal(found.items[0].severity, FINDINGS_CRITICAL);
    assert_non_null(strstr(found.items[0].statement, "3 threads wait for each other"));
    assert_non_null(strstr(found.items[0].statement, "1 more thread waits behind them"));
    assert_non_null(strstr(found.items[0].evidence[0], "Shop.Account"));
    findings_free(&found);
    model_free(&m);
}

static void a_queue_is_contention_and_no_deadlock(void **state)
{
    const uint64_t owners[5] = {104, 104, 100, 0, 0};
    findings found;
    model m;

    (void)state;
    judge_looks(owners, &m, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].id, "lock-contention");
    assert_int_equal(found.items[0].severity, FINDINGS_WARNING);
    assert_non_null(strstr(found.items[0].statement, "on average 3.0 threads"));
    findings_free(&found);
    model_free(&m);
}

static void one_waiting_thread_is_nothing(void **state)
{
    const uint64_t owners[5] = {104, 0, 0, 0, 0};
    findings found;
    model m;

    (void)state;
    judge_looks(owners, &m, &found);
    assert_int_equal(found.count, 0);
    findings_free(&found);
    model_free(&m);
}

/* In MB: the generation, what it had after the collection, the room in that, the old generation. */
typedef struct {
    uint64_t generation, size, room, old;
} left;

/* "" when nothing is found. */
static void expect_growth(const left *each, size_t count, const char *words)
{
    static const recording_table *const TABLES[] = {&LEAK};
    buffer b = BUFFER_EMPTY;
    recording_rows rows;
    findings found;
    model m;

    begin(&b, TABLES, 1);
    recording_rows_begin(&rows, &b, 0, 1, &LEAK);
    for (size_t i = 0; i < count; i++) {
        recording_rows_put(&rows, i * 1000 * MS);
        recording_rows_put(&rows, each[i].generation);
        recording_rows_put(&rows, each[i].size * 1000000);
        recording_rows_put(&rows, each[i].room * 1000000);
        recording_rows_put(&rows, each[i].old * 1000000);
        recording_rows_put(&rows, 0);
    }
    assert_true(recording_rows_end(&rows));
    judge(&b, 10, &m, &found);
    assert_int_equal(found.count, words[0] != '\0');
    if (found.count != 0) {
        assert_string_equal(found.items[0].id, "leak-growth");
        assert_non_null(strstr(found.items[0].statement, words));
    }
    findings_free(&found);
    model_free(&m);
}

static void what_collections_leave_is_compared(void **state)
{
    const left grows[] = {{2, 20, 2, 0}, {0, 1, 0, 0}, {2, 24, 2, 0}, {2, 30, 0, 0}};
    const left falls[] = {{2, 20, 0, 0}, {2, 30, 0, 0}, {2, 29, 0, 0}, {2, 60, 0, 0}};
    const left little[] = {{2, 20, 0, 0}, {2, 21, 0, 0}, {2, 23, 0, 0}};
    const left share[] = {{2, 900, 0, 0}, {2, 910, 0, 0}, {2, 920, 0, 0}};
    const left room[] = {{2, 20, 0, 0}, {2, 30, 10, 0}, {2, 40, 20, 0}};
    const left few[] = {{2, 20, 0, 0}, {2, 40, 0, 0}};
    const left old[] = {{0, 1, 0, 10}, {1, 1, 0, 12}, {0, 1, 0, 12}, {1, 1, 0, 20},
                        {0, 1, 0, 20}, {1, 1, 0, 24}, {0, 1, 0, 25}, {1, 1, 0, 26}};
    const left taken[] = {{0, 1, 0, 10}, {1, 1, 0, 12}, {0, 1, 0, 12}, {1, 1, 0, 30},
                          {0, 1, 0, 29}, {1, 1, 0, 34}, {0, 1, 0, 35}, {1, 1, 0, 36}};

    (void)state;
    expect_growth(grows, 4, "grew by 12.0 MB in 3.0 s, from 18.0 to 30.0 MB");
    expect_growth(falls, 4, "");
    expect_growth(little, 3, "");
    expect_growth(share, 3, "");
    expect_growth(room, 3, "");
    expect_growth(few, 2, "");
    expect_growth(old, 8, "the old generation grew by 16.0 MB");
    expect_growth(taken, 8, "");
}

typedef struct {
    uint64_t generation, reason, kind, pause;
} collection;

static void judge_collections(const collection *each, size_t count, model *m, findings *found)
{
    static const recording_table *const TABLES[] = {&COLLECTIONS};
    buffer b = BUFFER_EMPTY;
    recording_rows rows;

    begin(&b, TABLES, 1);
    recording_rows_begin(&rows, &b, 0, 1, &COLLECTIONS);
    for (size_t i = 0; i < count; i++) {
        recording_rows_put(&rows, i * MS);
        recording_rows_put(&rows, each[i].generation);
        recording_rows_put(&rows, each[i].reason);
        recording_rows_put(&rows, each[i].kind);
        recording_rows_put(&rows, each[i].pause);
    }
    assert_true(recording_rows_end(&rows));
    judge(&b, 2, m, found);
}

static void pauses_are_weighed(void **state)
{
    const collection calm[] = {{0, 0, 0, 5 * MS}, {1, 0, 0, 5 * MS}, {2, 0, 1, 9 * MS}};
    const collection busy[] = {{0, 0, 0, 90 * MS}, {0, 0, 0, 90 * MS}, {1, 0, 0, 90 * MS}};
    const collection asked[] = {{2, 1, 0, MS}, {2, 1, 0, MS}, {2, 1, 0, MS}, {0, 0, 0, MS}};
    const collection longest[] = {{2, 0, 0, 190 * MS}, {2, 0, 0, 0}, {2, 0, 1, 300 * MS}};
    findings found;
    model m;

    (void)state;
    judge_collections(calm, 3, &m, &found);
    assert_int_equal(found.count, 0);
    findings_free(&found);
    model_free(&m);

    judge_collections(busy, 3, &m, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].id, "gc-pressure");
    assert_non_null(strstr(found.items[0].statement, "13.5 % of the time: 3 collections"));
    findings_free(&found);
    model_free(&m);

    judge_collections(asked, 4, &m, &found);
    assert_int_equal(found.count, 1);
    assert_non_null(strstr(found.items[0].statement, "3 asked for by the program"));
    assert_string_equal(found.items[0].place, "induced");
    findings_free(&found);
    model_free(&m);

    judge_collections(longest, 3, &m, &found);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.items[1].id, "long-pauses");
    assert_non_null(strstr(found.items[1].statement, "for 300 ms"));
    findings_free(&found);
    model_free(&m);
}

static void load_small(model *m)
{
    buffer b = BUFFER_EMPTY;
    recording_file *file = NULL;

    recordings_small(&b, 0);
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
}

static void thresholds_and_baselines_decide(void **state)
{
    findings_limits limits;
    findings found, again;
    model m;

    (void)state;
    load_small(&m);
    findings_limits_init(&limits);
    limits.values[THRESHOLD_STORM_RATE] = 1;
    assert_int_equal(findings_look(&m, &limits, &found, NULL), 0);
    assert_int_equal(findings_look(&m, &limits, &again, NULL), 0);
    assert_true(findings_count(&found, FINDINGS_INFO) >= 1);
    findings_subtract(&again, &found);
    assert_int_equal(again.count, 0);
    findings_free(&again);
    limits.values[THRESHOLD_STORM_RATE] = 1e9;
    assert_int_equal(findings_look(&m, &limits, &again, NULL), 0);
    assert_int_equal(again.count, found.count - 1);
    findings_free(&again);
    findings_free(&found);
    model_free(&m);
}

static int read_limits(const char *text, findings_limits *limits, error *e)
{
    char path[] = "/tmp/clarinet-limits-XXXXXX";
    int descriptor = mkstemp(path);
    int code;

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
    findings_limits_init(limits);
    code = findings_limits_read(limits, path, e);
    unlink(path);
    return code;
}

static void a_file_changes_thresholds(void **state)
{
    findings_limits limits;
    error e;

    (void)state;
    error_clear(&e);
    assert_int_equal(read_limits("# x\n\n long-pauses.ms=7.5 \r\n", &limits, &e), 0);
    assert_true(limits.values[THRESHOLD_PAUSE_LONG] == 7.5);
    assert_true(limits.values[THRESHOLD_STORM_RATE] == 50);
    assert_int_equal(read_limits("long-pauses.ms 7\n", &limits, &e), ERROR_USAGE);
    assert_int_equal(read_limits("long-pauses.ms = -1\n", &limits, &e), ERROR_USAGE);
    assert_int_equal(read_limits("long-pauses.ms = nan\n", &limits, &e), ERROR_USAGE);
    assert_int_equal(read_limits("no-such = 1\n", &limits, &e), ERROR_USAGE);
    assert_non_null(strstr(e.message, "line 1: there is no threshold 'no-such'"));
    assert_int_equal(findings_limits_read(&limits, "/nonexistent/file", &e), ERROR_IO);
}

/* Names of the target must not steer a terminal, nor end a code span. */
static void text_is_harmless(void **state)
{
    char statement[] = "in a\033[2Jb\xc2\x9b"
                       "1m`<x>";
    char empty[] = "";
    finding item = {.id = "deadlock",
                    .severity = FINDINGS_WARNING,
                    .title = "T",
                    .statement = statement,
                    .advice = empty,
                    .doc = "d",
                    .place = empty};
    findings list = {.items = &item, .count = 1};
    checkup c = {.list = &list};
    sink out;
    model m;

    (void)state;
    load_small(&m);
    c.m = &m;
    sink_init(&out, -1);
    assert_int_equal(checkup_write_text(&c, &out, NULL), 0);
    assert_non_null(strstr(buffer_text(&out.pending), "1 problem found in Shop.Api, pid 4711"));
    assert_non_null(strstr(buffer_text(&out.pending), "in a?[2Jb?1m`<x>"));
    assert_null(strchr(buffer_text(&out.pending), '\033'));
    sink_free(&out);
    sink_init(&out, -1);
    assert_int_equal(checkup_write_markdown(&c, &out, NULL), 0);
    assert_null(strstr(buffer_text(&out.pending), "<x>"));
    sink_free(&out);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cycle_is_a_deadlock),
        cmocka_unit_test(a_queue_is_contention_and_no_deadlock),
        cmocka_unit_test(one_waiting_thread_is_nothing),
        cmocka_unit_test(pauses_are_weighed),
        cmocka_unit_test(what_collections_leave_is_compared),
        cmocka_unit_test(thresholds_and_baselines_decide),
        cmocka_unit_test(a_file_changes_thresholds),
        cmocka_unit_test(text_is_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
