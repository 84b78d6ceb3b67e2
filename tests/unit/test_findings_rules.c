/* Unit tests of rules over events: suspensions, large objects, compilations, finalizers. Each fires
 * on rows that are just beyond its thresholds, and is silent just below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/findings.h"
#include "recording/encode.h"

enum { MS = 1000000, MOST_COLUMNS = 8, OWN = 1, FRAMEWORK = 2, OWN_ABOVE = 3, FINALIZER = 101 };

static const recording_column PAUSE_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},       {RECORDING_STACK_ID, "stack", ""},
    {RECORDING_DURATION, "weight", ""}, {RECORDING_DURATION, "suspending", ""},
    {RECORDING_U64, "reason", ""},      {RECORDING_THREAD_ID, "last_thread", ""},
};
static const recording_table PAUSES = {"pauses", "pauses", PAUSE_COLUMNS, 6};
static const recording_column ALLOCATION_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},      {RECORDING_STACK_ID, "stack", ""},
    {RECORDING_STRING_ID, "type", ""}, {RECORDING_U64, "bytes", "bytes"},
    {RECORDING_U64, "size", "bytes"},  {RECORDING_U64, "kind", ""},
};
static const recording_table ALLOCATIONS = {"allocations", "allocations", ALLOCATION_COLUMNS, 6};
static const recording_column JIT_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},      {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_STRING_ID, "name", ""}, {RECORDING_DURATION, "weight", ""},
    {RECORDING_U64, "tier", ""},
};
static const recording_table COMPILATIONS = {"compilations", "jit", JIT_COLUMNS, 5};
static const recording_column REQUEST_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},        {RECORDING_U64, "kind", ""},
    {RECORDING_STRING_ID, "name", ""},   {RECORDING_U64, "status", ""},
    {RECORDING_DURATION, "weight", ""},  {RECORDING_U64, "state", ""},
    {RECORDING_STRING_ID, "inside", ""}, {RECORDING_U64, "id", ""},
};
static const recording_table REQUESTS = {"requests", "http", REQUEST_COLUMNS, 8};
static const recording_column THREAD_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},
    {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_STACK_ID, "stack", ""},
    {RECORDING_U64, "look", ""},
};
static const recording_table THREADS = {"threads", "threads", THREAD_COLUMNS, 4};
static const recording_column LOOK_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},
    {RECORDING_U64, "look", ""},
};
static const recording_table LOOKS = {"looks", "threads", LOOK_COLUMNS, 2};

static void put_strings(buffer *b)
{
    static const char *const TEXTS[] = {
        "Shop",          "Shop.Native.Copy", "System.Private.CoreLib",
        "System.GC.Run", "System.Byte[]",    "DiscountRule",
        "GET /pay",      "http://bank:80/"};
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (uint64_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        recording_put_string(b, i + 1, TEXTS[i], strlen(TEXTS[i]));
    recording_end_chunk(b, chunk);
}

/* Stack OWN is in the program's code, FRAMEWORK in the core library's. */
static void put_code(buffer *b)
{
    static const uint8_t MVID[16] = {1};
    size_t chunk = recording_begin_chunk(b, RECORDING_MODULE, 0);

    for (uint64_t i = 0; i < 2; i++) {
        recording_module module = {i + 1, RECORDING_MODULE_MANAGED, 1 + 2 * i, 0, MVID, 16, 0, 0};

        recording_put_module(b, &module);
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    for (uint64_t i = 0; i < 2; i++) {
        recording_method method = {i + 1, i + 1, 0x06000001 + i, 2 + 2 * i, 0, 0};

        recording_put_method(b, &method);
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    recording_put_frame(b, 1, RECORDING_FRAME_MANAGED, 1, 0);
    recording_put_frame(b, 2, RECORDING_FRAME_MANAGED, 2, 0);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
    recording_put_stack(b, OWN, 0, 1);
    recording_put_stack(b, FRAMEWORK, 0, 2);
    recording_put_stack(b, OWN_ABOVE, FRAMEWORK, 1);
    recording_end_chunk(b, chunk);
}

static void begin(buffer *b, const char *attach, const recording_table *first,
                  const recording_table *second)
{
    recording_thread worker = {100, 1, 0, 0, 0, 0};
    recording_thread finalizer = {FINALIZER, 2, 0, RECORDING_THREAD_FINALIZER, 0, 0};
    size_t chunk;

    recording_put_file_header(b);
    chunk = recording_begin_chunk(b, RECORDING_INFO, 0);
    recording_put_info(b, "attach", attach);
    recording_end_chunk(b, chunk);
    put_strings(b);
    put_code(b);
    chunk = recording_begin_chunk(b, RECORDING_THREAD, 0);
    recording_put_thread(b, &worker);
    recording_put_thread(b, &finalizer);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    recording_put_table(b, 1, first);
    if (second != NULL)
        recording_put_table(b, 2, second);
    recording_end_chunk(b, chunk);
}

static void put_row(buffer *b, uint64_t id, const recording_table *table,
                    const uint64_t cells[MOST_COLUMNS])
{
    recording_rows rows;

    recording_rows_begin(&rows, b, 0, id, table);
    for (size_t i = 0; i < table->column_count; i++)
        recording_rows_put(&rows, cells[i]);
    assert_true(recording_rows_end(&rows));
}

/* Ends the recording after two seconds; the only finding, or NULL. `statement` and `place` are
 * looked for in it. */
static void judge(buffer *b, const char *id, const char *statement, const char *place)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_END, 0);
    recording_file *file = NULL;
    findings found;
    model m;

    recording_put_end(b, "duration", UINT64_C(2000) * MS);
    recording_end_chunk(b, chunk);
    assert_int_equal(recording_file_open_bytes(b->data, b->length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, &m, NULL), 0);
    recording_file_close(file);
    buffer_free(b);
    assert_int_equal(findings_look(&m, NULL, &found, NULL), 0);
    assert_int_equal(found.count, id == NULL ? 0 : 1);
    if (id != NULL) {
        assert_string_equal(found.items[0].id, id);
        assert_non_null(strstr(found.items[0].statement, statement));
        assert_string_equal(found.items[0].place, place);
        assert_true(found.items[0].evidence_count > 0);
    }
    findings_free(&found);
    model_free(&m);
}

static void put_pauses(buffer *b, uint64_t count, uint64_t suspending, uint64_t reason,
                       uint64_t stack)
{
    begin(b, "attach", &PAUSES, NULL);
    for (uint64_t i = 0; i < count; i++)
        put_row(b, 1, &PAUSES,
                (uint64_t[MOST_COLUMNS]){i * 100 * MS, stack, suspending + MS, suspending, reason,
                                         100});
}

static void a_thread_that_stops_late_is_told(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_pauses(&b, 3, 80 * MS, 1, OWN);
    judge(&b, "slow-suspension", "3 times in 2.0 s all threads waited", "Shop.Native.Copy");
    put_pauses(&b, 2, 80 * MS, 1, OWN); /* too seldom */
    judge(&b, NULL, NULL, NULL);
    put_pauses(&b, 9, 19 * MS, 1, OWN); /* quick enough */
    judge(&b, NULL, NULL, NULL);
    put_pauses(&b, 9, 80 * MS, 9, OWN); /* our own looks */
    judge(&b, "slow-suspension", "9 times in 2.0 s all threads waited", "Shop.Native.Copy");
    put_pauses(&b, 9, 80 * MS, 1, FRAMEWORK); /* nobody of the program */
    judge(&b, NULL, NULL, NULL);
}

static void put_large(buffer *b, uint64_t count, uint64_t size, uint64_t kind)
{
    begin(b, "attach", &ALLOCATIONS, NULL);
    for (uint64_t i = 0; i < count; i++)
        put_row(b, 1, &ALLOCATIONS, (uint64_t[MOST_COLUMNS]){i * MS, OWN, 5, size, size, kind});
}

static void large_objects_are_counted(void **state)
{
    enum { SAMPLED = 0, LARGE = 2, MB = 1000000 };
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_large(&b, 60, MB, LARGE);
    judge(&b, "large-object-churn", "30 MB of large objects are allocated a second (30 objects)",
          "Shop.Native.Copy");
    put_large(&b, 38, MB, LARGE); /* 19 MB a second */
    judge(&b, NULL, NULL, NULL);
    put_large(&b, 8, 100 * MB, LARGE); /* few, if very large */
    judge(&b, NULL, NULL, NULL);
    put_large(&b, 60, MB, SAMPLED); /* small ones */
    judge(&b, NULL, NULL, NULL);
}

/* `method` 0: made at run time. `from` and `to` in milliseconds. */
static void put_compilations(buffer *b, const char *attach, uint64_t method, uint64_t from,
                             uint64_t to)
{
    begin(b, attach, &COMPILATIONS, NULL);
    for (uint64_t at = from; at < to; at += 20)
        put_row(b, 1, &COMPILATIONS,
                (uint64_t[MOST_COLUMNS]){at * MS, method, method == 0 ? 6 : 0, MS / 2, 2});
}

static void compiling_without_end_is_told(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_compilations(&b, "attach", 0, 0, 2000);
    judge(&b, "jit-storm", "50 methods a second are made at run time", "DiscountRule");
    put_compilations(&b, "start", 0, 0, 2000); /* it starts */
    judge(&b, NULL, NULL, NULL);
    put_compilations(&b, "attach", 1, 0, 2000); /* its own methods, for the first time */
    judge(&b, NULL, NULL, NULL);
    put_compilations(&b, "attach", 0, 0, 1000); /* it was over in the last half */
    judge(&b, NULL, NULL, NULL);
}

/* The finalizer thread in each of ten looks; in `own` of them in the program's code. */
static void put_finalizers(buffer *b, uint64_t own)
{
    begin(b, "attach", &THREADS, &LOOKS);
    for (uint64_t i = 0; i < 10; i++) {
        put_row(b, 1, &THREADS,
                (uint64_t[MOST_COLUMNS]){i * 100 * MS, FINALIZER, i < own ? OWN : 0, i});
        put_row(b, 2, &LOOKS, (uint64_t[MOST_COLUMNS]){i * 100 * MS, i});
    }
}

static void finalizers_that_wait_are_told(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_finalizers(&b, 8);
    judge(&b, "finalizer-backlog", "in Shop.Native.Copy in 8 of 10 looks", "Shop.Native.Copy");
    put_finalizers(&b, 6);
    judge(&b, NULL, NULL, NULL);
}

/* Requests of one name, each with one that it made itself for half of its time. */
static void put_requests(buffer *b, uint64_t count, uint64_t milliseconds, uint64_t state)
{
    begin(b, "attach", &REQUESTS, NULL);
    for (uint64_t i = 0; i < count; i++) {
        put_row(b, 1, &REQUESTS,
                (uint64_t[MOST_COLUMNS]){i * MS, 0, 7, 200, milliseconds * MS, state, 0, 2 * i});
        put_row(
            b, 1, &REQUESTS,
            (uint64_t[MOST_COLUMNS]){i * MS, 1, 8, 200, milliseconds * MS / 2, 0, 7, 2 * i + 1});
    }
}

static void slow_requests_are_told(void **state)
{
    enum { DONE = 0, RUNNING = 2 };
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_requests(&b, 6, 1200, DONE);
    judge(&b, "http-slow", "GET /pay is slow: of 6 requests in 2.0 s one of 20 took 1200 ms",
          "GET /pay");
    put_requests(&b, 6, 1200, RUNNING);
    judge(&b, "http-slow", "6 requests were not answered yet, the oldest for 1.2 s: GET /pay",
          "GET /pay");
    put_requests(&b, 6, 900, DONE);
    judge(&b, NULL, NULL, NULL);
    put_requests(&b, 4, 1200, DONE); /* too few */
    judge(&b, NULL, NULL, NULL);
    put_requests(&b, 4, 1200, RUNNING);
    judge(&b, NULL, NULL, NULL);
}

static void put_mode(buffer *b, const char *mode, const char *processors, uint64_t pause)
{
    static const recording_column COLUMNS[] = {
        {RECORDING_TIME, "time", ""},
        {RECORDING_DURATION, "pause", ""},
    };
    static const recording_table COLLECTIONS = {"collections", "gc", COLUMNS, 2};
    size_t chunk;

    begin(b, "attach", &COLLECTIONS, NULL);
    chunk = recording_begin_chunk(b, RECORDING_INFO, 0);
    recording_put_info(b, "gc_mode", mode);
    recording_put_info(b, "cpus", processors);
    recording_end_chunk(b, chunk);
    put_row(b, 1, &COLLECTIONS, (uint64_t[MOST_COLUMNS]){0, pause});
}

static void the_mode_of_the_collector_is_judged(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_mode(&b, "workstation", "16", 150 * MS);
    judge(&b, "server-gc-mismatch", "collections take 7.5 % of the time", "workstation");
    put_mode(&b, "workstation", "16", 90 * MS); /* 4.5 % */
    judge(&b, NULL, NULL, NULL);
    put_mode(&b, "workstation", "4", 150 * MS);
    judge(&b, NULL, NULL, NULL);
    put_mode(&b, "server", "1", 0);
    judge(&b, "server-gc-mismatch", "the program uses server GC", "server");
    put_mode(&b, "server", "16", 150 * MS);
    judge(&b, NULL, NULL, NULL);
}

/* The first `own` collections were asked for by the program's code, on two stacks in turn, the
 * others by the core library's; the last one nobody asked for. */
static void put_induced(buffer *b, uint64_t own, uint64_t others)
{
    static const recording_column COLUMNS[] = {
        {RECORDING_TIME, "time", ""},
        {RECORDING_STACK_ID, "stack", ""},
        {RECORDING_DURATION, "pause", ""},
        {RECORDING_U64, "reason", ""},
    };
    static const recording_table COLLECTIONS = {"collections", "gc", COLUMNS, 4};
    enum { SMALL, INDUCED, COMPACTING = 10 };

    begin(b, "attach", &COLLECTIONS, NULL);
    for (uint64_t i = 0; i < own + others; i++)
        put_row(b, 1, &COLLECTIONS,
                (uint64_t[MOST_COLUMNS]){i * MS,
                                         i >= own     ? FRAMEWORK
                                         : i % 2 != 0 ? OWN
                                                      : OWN_ABOVE,
                                         MS / 10, i < own ? INDUCED : COMPACTING});
    put_row(b, 1, &COLLECTIONS, (uint64_t[MOST_COLUMNS]){(own + others) * MS, 0, MS / 10, SMALL});
}

static void who_asks_for_most_collections_is_named(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_induced(&b, 8, 5); /* more than on each of the two stacks */
    judge(&b, "gc-pressure", "13 asked for by the program, 8 of these in Shop.Native.Copy",
          "induced");
    put_induced(&b, 10, 0);
    judge(&b, "gc-pressure", "10 asked for by the program in Shop.Native.Copy", "induced");
    put_induced(&b, 1, 0);
    judge(&b, NULL, NULL, NULL);
}

static void put_settings(buffer *b, const char *environment, const char *processors)
{
    size_t chunk;

    begin(b, "attach", &COMPILATIONS, NULL);
    chunk = recording_begin_chunk(b, RECORDING_INFO, 0);
    recording_put_info(b, "environment", environment);
    recording_put_info(b, "cpu_limit", processors);
    recording_put_info(b, "memory_limit", "268435456");
    recording_end_chunk(b, chunk);
}

static void put_unoptimized(buffer *b, uint64_t method, int count)
{
    put_settings(b, "", "2");
    for (int i = 0; i < count; i++)
        put_row(b, 1, &COMPILATIONS, (uint64_t[MOST_COLUMNS]){(uint64_t)i, method, 0, 1, 1});
}

static void settings_that_do_harm_are_told(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    put_settings(&b, "DOTNET_TieredPGO=0\nDOTNET_NOLOGO=1", "2");
    judge(&b, "runtime-settings", "DOTNET_TieredPGO=0: hot methods", "TieredPGO");
    put_settings(&b, "COMPlus_TieredCompilation=0", "2");
    judge(&b, "runtime-settings", "precompiled code is never replaced", "TieredCompilation");
    put_settings(&b, "DOTNET_TieredPGO=1\nDOTNET_TieredCompilation=1", "2");
    judge(&b, NULL, NULL, NULL);
    put_settings(&b, "X_DOTNET_TieredPGO=0\nDOTNET_TieredPGO_Old=0", "2");
    judge(&b, NULL, NULL, NULL);
    put_settings(&b, "DOTNET_PROCESSOR_COUNT=4", "2");
    judge(&b, "runtime-settings", "may use 2.0 processors", "PROCESSOR_COUNT");
    put_settings(&b, "DOTNET_PROCESSOR_COUNT=3", "2");
    judge(&b, NULL, NULL, NULL);
    put_settings(&b, "DOTNET_GCHeapHardLimit=20000000", "2"); /* 512 MiB of 256 */
    judge(&b, "runtime-settings", "more than the 256 MiB of the container", "GCHeapHardLimit");
    put_settings(&b, "DOTNET_GCHeapHardLimit=8000000", "2");
    judge(&b, NULL, NULL, NULL);
    put_unoptimized(&b, OWN, 20);
    judge(&b, "runtime-settings", "20 methods of the program were compiled without", "debug");
    put_unoptimized(&b, OWN, 19);
    judge(&b, NULL, NULL, NULL);
    put_unoptimized(&b, FRAMEWORK, 40);
    judge(&b, NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_do_harm_are_told),
        cmocka_unit_test(a_thread_that_stops_late_is_told),
        cmocka_unit_test(large_objects_are_counted),
        cmocka_unit_test(compiling_without_end_is_told),
        cmocka_unit_test(finalizers_that_wait_are_told),
        cmocka_unit_test(slow_requests_are_told),
        cmocka_unit_test(the_mode_of_the_collector_is_judged),
        cmocka_unit_test(who_asks_for_most_collections_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
