/* Unit tests of zombies over looks that are made here: leaks, idle threads, and all that is
 * neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/zombies.h"
#include "recording/encode.h"
#include "recording/tables.h"
#include "recording/writer.h"

enum { LOOKS = 8, MS = 1000000, JOB = 1, WORKER = 2, TIMER = 3, LOGGER = 4, INPUT = 5 };

enum { TABLES_THREADS(TABLES_CELL) COLUMNS };
static const recording_column THREAD_COLUMNS[COLUMNS] = {TABLES_THREADS(TABLES_COLUMN)};
static const recording_table THREADS = {"threads", "threads", THREAD_COLUMNS, COLUMNS};
static const recording_column LOOK_COLUMNS[] = {{RECORDING_TIME, "time", ""},
                                                {RECORDING_U64, "look", ""}};
enum { TABLES_STARTS(TABLES_CELL) STARTS_COLUMNS };
static const recording_column START_COLUMNS[] = {TABLES_STARTS(TABLES_COLUMN)};
static const recording_table STARTS = {"starts", "threads", START_COLUMNS, STARTS_COLUMNS};
static const recording_table LOOKS_TABLE = {"looks", "threads", LOOK_COLUMNS, 2};

typedef struct {
    buffer bytes;
    recording_rows rows;
    model m;
    threads_view view;
    zombies found;
} fixture;

/* Each stack: the wait, then what began the thread. */
static const char *const METHODS[] = {
    "System.Threading.ManualResetEventSlim.Wait",
    "Shop.Jobs.Run",
    "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart",
    "System.Threading.TimerQueue.TimerThread",
    "Microsoft.Extensions.Logging.Console.ConsoleLoggerProcessor.ProcessLogQueue",
    "Interop.Sys.Read",
};

static void put_code(buffer *b)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (uint64_t i = 0; i < 6; i++)
        recording_put_string(b, i + 1, METHODS[i], strlen(METHODS[i]));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    for (uint64_t i = 0; i < 6; i++)
        recording_put_method(b, &(recording_method){.id = i + 1, .name = i + 1});
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    for (uint64_t i = 0; i < 6; i++)
        recording_put_frame(b, i + 1, RECORDING_FRAME_MANAGED, i + 1, 0);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
    for (uint64_t i = JOB; i <= LOGGER; i++) { /* 1 to 4: the beginning; 11 to 14: the wait */
        recording_put_stack(b, i, 0, i + 1);
        recording_put_stack(b, 10 + i, i, 1);
    }
    recording_put_stack(b, 10 + INPUT, JOB, 6); /* the program's own, reads */
    recording_end_chunk(b, chunk);
}

static void begin(fixture *f)
{
    size_t chunk;

    memset(f, 0, sizeof *f);
    chunk = recording_begin_chunk(&f->bytes, RECORDING_INFO, 0);
    recording_put_info(&f->bytes, "pid", "1");
    recording_end_chunk(&f->bytes, chunk);
    put_code(&f->bytes);
    chunk = recording_begin_chunk(&f->bytes, RECORDING_TABLE, 0);
    recording_put_table(&f->bytes, 1, &THREADS);
    recording_put_table(&f->bytes, 2, &LOOKS_TABLE);
    recording_put_table(&f->bytes, 3, &STARTS);
    recording_end_chunk(&f->bytes, chunk);
    recording_rows_begin(&f->rows, &f->bytes, 0, 2, &LOOKS_TABLE);
    for (uint64_t look = 1; look <= LOOKS; look++)
        recording_rows_put_row(&f->rows, (uint64_t[]){look * 500 * MS, look});
    recording_rows_end(&f->rows);
    recording_rows_begin(&f->rows, &f->bytes, 0, 1, &THREADS);
}

static void put_thread(fixture *f, uint64_t look, uint64_t os_id, uint64_t stack, uint64_t cpu)
{
    uint64_t cells[COLUMNS] = {
        [TIME] = look * 500 * MS,  [THREAD] = os_id, [MANAGED_ID] = os_id,
        [STACK] = stack,           [CPU] = cpu,      [LOOK] = look,
        [NATIVE] = 0x1000 + os_id,
    };

    recording_rows_put_row(&f->rows, cells);
}

static void find(fixture *f)
{
    char path[] = "/tmp/clarinet-zombies-XXXXXX";
    recording_writer *writer = NULL;
    error e;

    error_clear(&e);
    recording_rows_end(&f->rows);
    close(mkstemp(path));
    assert_int_equal(recording_writer_create(path, &writer, &e), 0);
    assert_int_equal(recording_writer_append(writer, &f->bytes, &e), 0);
    assert_int_equal(recording_writer_close(writer, &e), 0);
    assert_int_equal(model_load_path(path, 0, &f->m, &e), 0);
    unlink(path);
    assert_int_equal(threads_make(&f->m, &f->m.processes[0], &f->view, &e), 0);
    assert_int_equal(zombies_find(&f->view, NULL, &f->found, &e), 0);
}

static void end(fixture *f)
{
    zombies_free(&f->found);
    threads_free(&f->view);
    model_free(&f->m);
    buffer_free(&f->bytes);
}

static void test_threads_that_only_come_leak(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    for (uint64_t look = 1; look <= LOOKS; look++)
        for (uint64_t id = 100; id < 102 + look; id++)
            put_thread(&f, look, id, 10 + JOB, 5);
    find(&f);
    assert_int_equal(f.found.count, 1);
    assert_int_equal(f.found.groups[0].kind, ZOMBIES_LEAKING);
    assert_int_equal(f.found.groups[0].count, 10);
    assert_int_equal(f.found.groups[0].before, 3);
    assert_int_equal(f.found.looks, LOOKS);
    assert_int_equal(f.found.observed_ns, (uint64_t)(LOOKS - 1) * 500 * MS);
    end(&f);
}

static void put_start(fixture *f, uint64_t ms, uint64_t os_id, uint64_t stack)
{
    recording_rows_put_row(&f->rows, (uint64_t[]){ms * MS, 1, stack, 0x1000 + os_id});
}

/* By the lines of the program; an address that is used again is the later thread's, unless that
 * came after the last look. */
static void test_a_leak_says_who_started_its_threads(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    for (uint64_t look = 1; look <= LOOKS; look++)
        for (uint64_t id = 100; id < 102 + look; id++)
            put_thread(&f, look, id, 10 + JOB, 5);
    recording_rows_end(&f.rows);
    recording_rows_begin(&f.rows, &f.bytes, 0, 3, &STARTS);
    put_start(&f, 600, 105, TIMER);
    put_start(&f, 700, 104, JOB);
    put_start(&f, 800, 105, 10 + JOB); /* one more frame, of the framework */
    put_start(&f, 900, 106, 10 + LOGGER);
    put_start(&f, LOOKS * 500 + 1, 104, TIMER);
    put_start(&f, 950, 777, TIMER); /* not one of them */
    find(&f);
    assert_int_equal(f.found.count, 1);
    assert_int_equal(f.found.groups[0].count, 10);
    assert_int_equal(f.found.groups[0].starter_count, 2);
    assert_int_equal(f.found.groups[0].starters[0].count, 2);
    assert_int_equal(f.found.groups[0].starters[1].count, 1);
    assert_string_equal(
        model_text(
            &f.m,
            f.view.process
                ->functions[f.view.process->frames[f.found.groups[0].starters[0].frame].function]
                .name),
        "Shop.Jobs.Run");
    end(&f);
}

/* Workers that were there at the end and not at first; neither leaking nor idle. */
static void test_workers_that_the_pool_added_are_counted(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    for (uint64_t look = 1; look <= LOOKS; look++)
        for (uint64_t id = 100; id < 102 + look; id++)
            put_thread(&f, look, id, 10 + WORKER, 5);
    find(&f);
    assert_int_equal(f.found.count, 0);
    assert_int_equal(f.found.workers_added, LOOKS - 1);
    assert_float_equal(zombies_workers_a_second(&f.found), 2, 0.001);
    end(&f);
}

static void test_threads_that_come_and_go_do_not(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    for (uint64_t look = 1; look <= LOOKS; look++) {
        for (uint64_t id = 100; id < 102 + look; id++) /* more and more, each look others */
            put_thread(&f, look, id + 100 * look, 10 + JOB, 5 * look);
        put_thread(&f, look, 50, 10 + TIMER, 0);
    }
    find(&f);
    assert_int_equal(f.found.count, 0);
    end(&f);
}

static void test_a_crew_that_has_begun_does_not_leak(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    for (uint64_t look = 1; look <= LOOKS; look++)
        for (uint64_t id = 100; id < 100 + (look > 3 ? 20 : 4 * look); id++)
            put_thread(&f, look, id, 10 + JOB, look * MS);
    find(&f);
    assert_int_equal(f.found.count, 0);
    end(&f);
}

static void test_who_did_nothing_is_idle_and_who_waits_for_work_is_not(void **state)
{
    fixture f;

    (void)state;
    begin(&f);
    for (uint64_t look = 1; look <= LOOKS; look++) {
        put_thread(&f, look, 10, 10 + JOB, 700);                        /* nothing */
        put_thread(&f, look, 11, 10 + JOB, look == 1 ? 700 : 9000);     /* signalled once, early */
        put_thread(&f, look, 12, 10 + JOB, 700 + look);                 /* woke */
        put_thread(&f, look, 13, look == 4 ? JOB : 10 + JOB, 700);      /* moved */
        put_thread(&f, look, 14, 10 + WORKER, 700);                     /* the pool */
        put_thread(&f, look, 15, 10 + TIMER, 700);                      /* the framework */
        put_thread(&f, look, 16, 10 + LOGGER, 700);                     /* the framework */
        put_thread(&f, look, 17, 10 + INPUT, 700);                      /* waits for input */
        put_thread(&f, look, 1, 10 + JOB, 700);                         /* main: the pid */
        put_thread(&f, look, 18, look == 1 ? JOB : 10 + JOB, look > 4); /* began to wait late */
    }
    find(&f);
    assert_int_equal(f.found.count, 1);
    assert_int_equal(f.found.groups[0].kind, ZOMBIES_IDLE);
    assert_int_equal(f.found.groups[0].state, THREADS_EVENT);
    assert_int_equal(f.found.groups[0].count, 2);
    assert_int_equal(f.found.groups[0].os_ids[0], 10);
    assert_int_equal(f.found.groups[0].os_ids[1], 11);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_that_only_come_leak),
        cmocka_unit_test(test_a_leak_says_who_started_its_threads),
        cmocka_unit_test(test_workers_that_the_pool_added_are_counted),
        cmocka_unit_test(test_threads_that_come_and_go_do_not),
        cmocka_unit_test(test_a_crew_that_has_begun_does_not_leak),
        cmocka_unit_test(test_who_did_nothing_is_idle_and_who_waits_for_work_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
