/* Unit tests of reading: the file, the model, call trees, profiles; with damaged input. */
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

#include "analysis/calltree.h"
#include "analysis/model.h"
#include "analysis/profile.h"
#include "analysis/trace.h"
#include "base/memory.h"
#include "recording/writer.h"
#include "support/recordings.h"

static int load_bytes(const void *bytes, size_t length, model *m, error *e)
{
    recording_file *file = NULL;
    int code = recording_file_open_bytes(bytes, length, &file, e);

    if (code == 0)
        code = model_load(file, 64 << 20, m, e);
    recording_file_close(file);
    return code;
}

static void load_small(model *m)
{
    buffer b = BUFFER_EMPTY;
    error e = {0};

    recordings_small(&b, 0);
    if (load_bytes(b.data, b.length, m, &e) != 0)
        fail_msg("%s", e.message);
    buffer_free(&b);
}

static void the_model_holds_what_was_recorded(void **state)
{
    model m;
    const model_process *p;
    const model_table *exceptions;

    (void)state;
    load_small(&m);
    assert_int_equal(m.process_count, 2);
    assert_string_equal(m.cut, "");
    assert_int_equal(m.damaged_chunks, 0);
    assert_int_equal(m.unknown_chunks, 1);
    assert_int_equal(m.unknown_references, 0);
    assert_string_equal(model_info_value(&m, NULL, "command"), "clarinet record -p cpu 4711");
    p = &m.processes[0];
    assert_int_equal(p->pid, 4711);
    assert_string_equal(model_text(&m, p->name), "Shop.Api");
    assert_int_equal(p->duration_ns, 100000000);
    assert_string_equal(model_text(&m, p->end_reason), "duration");
    assert_int_equal(p->thread_count, 4);
    assert_int_equal(p->stack_count, 10);
    assert_int_equal(p->loss_count, 2);
    assert_int_equal(p->losses[0].total, 3);
    assert_int_equal(p->profiler_count, 2);
    assert_int_equal(p->profilers[0].state, RECORDING_STOPPED);
    assert_int_equal(p->profilers[0].parameter_count, 2);
    assert_string_equal(model_text(&m, p->profilers[1].note), "the runtime is too old");
    assert_int_equal(p->cost.handler_calls, 10);
    exceptions = model_find_table(&m, p, "exceptions", NULL);
    assert_non_null(exceptions);
    assert_int_equal(exceptions->rows, 3);
    assert_string_equal(model_text(&m, model_find_column(&m, exceptions, "message")->u32[2]),
                        "\xEF\xBF\xBD\xEF\xBF\xBD broken \x01");
    assert_null(model_find_table(&m, p, "samples", "heap"));
    model_free(&m);
}

static const char *function_name(const model *m, const model_process *p, uint32_t function)
{
    return model_text(m, p->functions[function].name);
}

static const calltree_rank *rank_of(const model *m, const model_process *p,
                                    const calltree_rank *ranks, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(function_name(m, p, ranks[i].key), name) == 0)
            return &ranks[i];
    return NULL;
}

static void methods_are_ranked_and_recursion_counts_once(void **state)
{
    model m;
    profile cpu;
    calltree tree;
    calltree_rank *ranks;
    size_t count;
    uint64_t weights[10] = {0};
    profile_total total;
    const model_process *p;

    (void)state;
    load_small(&m);
    p = &m.processes[0];
    assert_true(profile_find(&m, p, NULL, &cpu));
    assert_string_equal(model_text(&m, cpu.table->profiler), "cpu");
    assert_string_equal(cpu.unit, "ns");
    total = profile_sum(&cpu, &PROFILE_ALL, weights, NULL);
    assert_int_equal(total.weight, 100000000);
    assert_int_equal(total.samples, 10);
    assert_int_equal(calltree_build(p, CALLTREE_FUNCTIONS, &tree, NULL), 0);
    calltree_weigh(&tree, p, weights);
    assert_int_equal(tree.total[0], 100000000);
    assert_int_equal(calltree_rank_keys(&tree, &ranks, &count, NULL), 0);
    assert_int_equal(count, 6);
    assert_string_equal(function_name(&m, p, ranks[0].key), "Shop.Orders.Price<System.Decimal>");
    assert_int_equal(ranks[0].self, 40000000);
    assert_int_equal(rank_of(&m, p, ranks, count, "Shop.Orders.Place")->self, 30000000);
    assert_int_equal(rank_of(&m, p, ranks, count, "Shop.Orders.Place")->total, 80000000);
    assert_int_equal(rank_of(&m, p, ranks, count, "Shop.Program.Main")->total, 100000000);
    assert_int_equal(rank_of(&m, p, ranks, count, "Shop.Program.Main")->self, 0);
    assert_int_equal(rank_of(&m, p, ranks, count, "WKS::gc_heap::mark")->self, 10000000);
    assert_int_equal(rank_of(&m, p, ranks, count, "[libcoreclr.so]")->total, 10000000);
    assert_int_equal(tree.count, 8); /* the root, and the run of nameless frames is one */
    calltree_sort_by_total(ranks, count);
    assert_string_equal(function_name(&m, p, ranks[0].key), "Shop.Program.Main");
    memory_free(ranks);
    calltree_free(&tree);
    model_free(&m);
}

static void callers_callees_and_hot_paths(void **state)
{
    model m;
    profile cpu;
    calltree tree;
    calltree_rank *ranks;
    uint32_t *nodes;
    size_t count;
    uint64_t weights[10] = {0};
    const model_process *p;
    uint32_t place;

    (void)state;
    load_small(&m);
    p = &m.processes[0];
    assert_true(profile_find(&m, p, "cpu", &cpu));
    profile_sum(&cpu, &PROFILE_ALL, weights, NULL);
    assert_int_equal(calltree_build(p, CALLTREE_FUNCTIONS, &tree, NULL), 0);
    calltree_weigh(&tree, p, weights);
    place = p->frames[2].function;
    assert_int_equal(calltree_callers(&tree, place, &ranks, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_string_equal(function_name(&m, p, ranks[0].key), "Shop.Program.Main");
    assert_int_equal(ranks[0].total, 80000000);
    memory_free(ranks);
    assert_int_equal(calltree_callees(&tree, place, &ranks, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_int_equal(rank_of(&m, p, ranks, count, "Shop.Orders.Place")->total, 10000000);
    memory_free(ranks);
    assert_int_equal(calltree_hottest(&tree, 2, &nodes, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(tree.self[nodes[0]], 40000000);
    assert_int_equal(tree.self[nodes[1]], 20000000);
    memory_free(nodes);
    calltree_free(&tree);
    model_free(&m);
}

static void selections_by_thread_time_and_state(void **state)
{
    model m;
    profile cpu;
    profile wall;
    profile_selection selection = PROFILE_ALL;
    static const uint8_t threads[] = {0, 0, 1, 0}; /* 101 */
    uint64_t states[PROFILE_STATES];
    const model_process *p;

    (void)state;
    load_small(&m);
    p = &m.processes[0];
    assert_true(profile_find(&m, p, "cpu", &cpu));
    assert_true(profile_find(&m, p, "wall", &wall));
    assert_false(profile_find(&m, p, "nothing", &wall));
    assert_true(profile_find(&m, p, "wall", &wall));
    selection.threads = threads;
    assert_int_equal(profile_sum(&cpu, &selection, NULL, NULL).samples, 2);
    selection.from = 30000000;
    assert_int_equal(profile_sum(&cpu, &selection, NULL, NULL).samples, 1);
    selection = PROFILE_ALL;
    selection.to = 15000000;
    assert_int_equal(profile_sum(&cpu, &selection, NULL, NULL).samples, 1);
    selection = PROFILE_ALL;
    selection.state = RECORDING_STATE_LOCK;
    assert_int_equal(profile_sum(&wall, &selection, NULL, NULL).weight, 40000000);
    profile_sum_states(&wall, &PROFILE_ALL, states);
    assert_int_equal(states[RECORDING_STATE_SLEEP], 50000000);
    assert_int_equal(states[RECORDING_STATE_RUNNING], 10000000);
    model_free(&m);
}

/* Bytes of whole chunks when only the first n bytes are there. */
static size_t whole_part(const buffer *b, size_t n)
{
    size_t offset = RECORDING_HEADER_SIZE;
    recording_chunk chunk;

    while (recording_take_chunk(b->data + offset, n - offset, &chunk) == RECORDING_CHUNK_WHOLE)
        offset += chunk.whole;
    return offset;
}

static void a_recording_cut_anywhere_is_read_up_to_its_last_whole_chunk(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    recordings_small(&b, 0);
    for (size_t n = 0; n <= b.length; n++) {
        uint8_t *copy = malloc(n + 1); /* exact, so that a sanitizer sees a read past the end */
        error e = {0};
        model m;
        int code;

        memcpy(copy, b.data, n);
        code = load_bytes(copy, n, &m, &e);
        if (n < RECORDING_HEADER_SIZE) {
            assert_int_equal(code, ERROR_CORRUPT);
            assert_true(e.advice[0] != '\0');
        } else {
            assert_int_equal(code, 0);
            assert_int_equal(m.file_size, whole_part(&b, n));
            assert_true((m.cut[0] == '\0') == (n == b.length));
            model_free(&m);
        }
        free(copy);
    }
    buffer_free(&b);
}

static void a_flipped_byte_ends_the_recording_there(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    recordings_small(&b, 0);
    for (size_t i = 0; i < b.length; i++) {
        error e = {0};
        model m;
        int code;

        b.data[i] ^= 0x55;
        code = load_bytes(b.data, b.length, &m, &e);
        if (i < 12) {
            assert_int_equal(code, i < 8 ? ERROR_CORRUPT : ERROR_UNSUPPORTED);
        } else {
            assert_int_equal(code, 0);
            if (i >= RECORDING_HEADER_SIZE) {
                assert_true(m.file_size <= i);
                assert_true(m.cut[0] != '\0');
            }
            model_free(&m);
        }
        b.data[i] ^= 0x55;
    }
    buffer_free(&b);
}

/* Damage behind a good check: every byte of every payload changed, the check made right again. */
static void a_forged_chunk_does_no_harm(void **state)
{
    static const uint8_t VALUES[] = {0, 0x7f, 0x80, 0xff};
    buffer b = BUFFER_EMPTY;
    size_t offset = RECORDING_HEADER_SIZE;
    recording_chunk chunk;

    (void)state;
    recordings_small(&b, 0);
    while (recording_take_chunk(b.data + offset, b.length - offset, &chunk) ==
           RECORDING_CHUNK_WHOLE) {
        for (size_t i = 0; i < chunk.length * 4; i++) {
            buffer forged = BUFFER_EMPTY;
            buffer payload = BUFFER_EMPTY;
            error e = {0};
            model m;

            buffer_append(&payload, chunk.payload, chunk.length);
            payload.data[i / 4] = VALUES[i % 4];
            buffer_append(&forged, b.data, offset);
            recording_put_chunk(&forged, chunk.kind, chunk.flags, chunk.process, payload.data,
                                payload.length);
            buffer_append(&forged, b.data + offset + chunk.whole, b.length - offset - chunk.whole);
            assert_int_equal(load_bytes(forged.data, forged.length, &m, &e), 0);
            model_free(&m);
            buffer_free(&forged);
            buffer_free(&payload);
        }
        offset += chunk.whole;
    }
    buffer_free(&b);
}

static void a_bomb_is_stopped_by_the_memory_limit(void **state)
{
    static const recording_column COLUMNS[] = {{RECORDING_U64, "x", ""}};
    static const recording_table TABLE = {"bomb", "test", COLUMNS, 1};
    char path[] = "/tmp/clarinet-test-XXXXXX";
    int descriptor = mkstemp(path);
    recording_writer *writer;
    buffer b = BUFFER_EMPTY;
    size_t chunk;
    error e = {0};
    model m;

    (void)state;
    assert_int_equal(recording_writer_create(path, &writer, &e), 0);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &TABLE);
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_ROWS, 0);
    buffer_append_varint(&b, 1);
    buffer_append_fill(&b, 0, 15 << 20);
    assert_true(recording_end_chunk(&b, chunk));
    assert_int_equal(recording_writer_append(writer, &b, &e), 0);
    assert_int_equal(recording_writer_close(writer, &e), 0);
    assert_int_equal(model_load_path(path, 64 << 20, &m, &e), ERROR_LIMIT);
    assert_non_null(strstr(e.message, "64 MiB"));
    assert_int_equal(model_load_path(path, 0, &m, &e), 0);
    assert_int_equal(m.processes[0].tables[0].rows, 15 << 20);
    model_free(&m);
    close(descriptor);
    unlink(path);
    buffer_free(&b);
}

static void a_row_with_a_known_number_takes_the_place_of_the_other(void **state)
{
    static const recording_column COLUMNS[] = {{RECORDING_U64, "x", ""},
                                               {RECORDING_U64, "row", ""}};
    static const recording_table TABLE = {"table", "test", COLUMNS, 2};
    static const uint64_t CELLS[][2] = {{10, 1}, {20, 2}, {30, 0}, {11, 1}, {31, 0}, {12, 1}};
    static const uint64_t EXPECTED[] = {12, 20, 30, 31};
    char path[] = "/tmp/clarinet-test-XXXXXX";
    int descriptor = mkstemp(path);
    recording_writer *writer;
    recording_rows rows;
    buffer b = BUFFER_EMPTY;
    size_t chunk;
    error e = {0};
    model m;

    (void)state;
    assert_int_equal(recording_writer_create(path, &writer, &e), 0);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &TABLE);
    recording_end_chunk(&b, chunk);
    for (size_t i = 0; i < sizeof CELLS / sizeof *CELLS; i += 2) {
        recording_rows_begin(&rows, &b, 0, 1, &TABLE);
        for (size_t k = 0; k < 4; k++)
            recording_rows_put(&rows, CELLS[i + k / 2][k % 2]);
        assert_true(recording_rows_end(&rows));
    }
    assert_int_equal(recording_writer_append(writer, &b, &e), 0);
    assert_int_equal(recording_writer_close(writer, &e), 0);
    assert_int_equal(model_load_path(path, 0, &m, &e), 0);
    assert_int_equal(m.processes[0].tables[0].rows, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(model_cell(&m.processes[0].tables[0].columns[0], i), EXPECTED[i]);
    model_free(&m);
    close(descriptor);
    unlink(path);
    buffer_free(&b);
}

/* One round of names, as an agent defines them: a method of a managed and a frame of a native
 * module, and a stack of both. Ids begin after `first`; the modules were loaded at `base`. */
static void put_names(buffer *b, uint64_t first, uint64_t base)
{
    static const char *const TEXTS[] = {"Plugin.dll", "Plugin.Run", "native.so"};
    recording_module managed = {
        first + 1, RECORDING_MODULE_MANAGED, first + 1, 0, (const uint8_t *)"mvid", 4, base, 0};
    recording_module native = {
        first + 2, RECORDING_MODULE_NATIVE, first + 3, 0, (const uint8_t *)"build", 5, base, 4096};
    recording_method method = {first + 1, first + 1, 0x06000001, first + 2, 0, 0};
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (size_t i = 0; i < 3; i++)
        recording_put_string(b, first + 1 + i, TEXTS[i], strlen(TEXTS[i]));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_MODULE, 0);
    recording_put_module(b, &managed);
    recording_put_module(b, &native);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    recording_put_method(b, &method);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    recording_put_frame(b, first + 1, RECORDING_FRAME_MANAGED, first + 1, 7);
    recording_put_frame(b, first + 2, RECORDING_FRAME_NATIVE, first + 2, 7);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
    recording_put_stack(b, first + 1, 0, first + 1);
    recording_put_stack(b, first + 2, first + 1, first + 2);
    recording_end_chunk(b, chunk);
}

static void what_was_defined_again_is_the_same(void **state)
{
    static const recording_column COLUMNS[] = {{RECORDING_STACK_ID, "stack", ""},
                                               {RECORDING_METHOD_ID, "caught_in", ""}};
    static const recording_table TABLE = {"table", "test", COLUMNS, 2};
    recording_rows rows;
    buffer b = BUFFER_EMPTY;
    size_t chunk;
    error e = {0};
    model m;

    (void)state;
    recording_put_file_header(&b);
    put_names(&b, 0, 0x10000);
    put_names(&b, 100, 0x10000);
    put_names(&b, 200, 0x20000);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &TABLE);
    recording_end_chunk(&b, chunk);
    recording_rows_begin(&rows, &b, 0, 1, &TABLE);
    for (size_t i = 0; i < 3; i++) {
        recording_rows_put(&rows, 100 * i + 1);
        recording_rows_put(&rows, 100 * i + 1);
    }
    assert_true(recording_rows_end(&rows));
    assert_int_equal(load_bytes(b.data, b.length, &m, &e), 0);
    assert_int_equal(m.unknown_references, 0);
    assert_int_equal(m.processes[0].module_count, 1 + 3); /* the native one lay at two addresses */
    assert_int_equal(m.processes[0].method_count, 1 + 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(model_cell(&m.processes[0].tables[0].columns[0], i), 1);
        assert_int_equal(model_cell(&m.processes[0].tables[0].columns[1], i), 1);
    }
    model_free(&m);
    buffer_free(&b);
}

/* The disk is full in the middle of a chunk: the file keeps its whole chunks. */
static void a_full_disk_leaves_a_good_recording(void **state)
{
    char path[] = "/tmp/clarinet-test-XXXXXX";
    int descriptor = mkstemp(path);
    struct rlimit before;
    struct rlimit limit;
    recording_writer *writer;
    buffer b = BUFFER_EMPTY;
    error e = {0};
    model m;
    int code = 0;

    (void)state;
    recordings_small(&b, 0);
    memmove(b.data, b.data + RECORDING_HEADER_SIZE, b.length - RECORDING_HEADER_SIZE);
    b.length -= RECORDING_HEADER_SIZE;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 5 * b.length + 7;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(recording_writer_create(path, &writer, &e), 0);
    for (int i = 0; i < 10 && code == 0; i++) {
        code = recording_writer_append(writer, &b, &e);
        if (code == 0)
            code = recording_writer_flush(writer, &e);
    }
    assert_int_equal(code, ERROR_IO);
    assert_int_equal(recording_writer_append(writer, &b, NULL), ERROR_IO);
    assert_int_equal(recording_writer_close(writer, NULL), ERROR_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(model_load_path(path, 0, &m, &e), 0);
    assert_string_equal(m.cut, "");
    assert_int_equal(lseek(descriptor, 0, SEEK_END), (off_t)m.file_size);
    assert_true(m.file_size > 2000);
    model_free(&m);
    close(descriptor);
    unlink(path);
    buffer_free(&b);
}

static void files_that_are_no_recordings_get_a_clear_message(void **state)
{
    error e = {0};
    model m;

    (void)state;
    assert_int_equal(model_load_path("/nowhere.clarinet", 0, &m, &e), ERROR_NOT_FOUND);
    assert_true(e.advice[0] != '\0');
    assert_int_equal(model_load_path("/proc/self/maps", 0, &m, &e), ERROR_CORRUPT);
    assert_non_null(strstr(e.message, "is not a recording"));
    assert_int_equal(model_load_path("/tmp", 0, &m, &e), ERROR_IO);
}

static size_t allocations_until_failure;

static void *failing_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    if (allocations_until_failure-- == 0) {
        allocations_until_failure = 0;
        return NULL;
    }
    return realloc(pointer, size);
}

static void every_failing_allocation_is_survived(void **state)
{
    static const memory_backend BACKEND = {failing_resize, NULL};
    buffer b = BUFFER_EMPTY;
    int code = -1;

    (void)state;
    recordings_small(&b, 0);
    for (size_t n = 0; code != 0; n++) {
        error e = {0};
        model m;

        assert_true(n < 10000);
        allocations_until_failure = n;
        memory_use(&BACKEND);
        code = load_bytes(b.data, b.length, &m, &e);
        memory_use(NULL);
        if (code == 0)
            model_free(&m);
        else
            assert_int_equal(code, ERROR_MEMORY);
    }
    buffer_free(&b);
}

/* A name with a line break stays on its line; one that is too long is cut. */
/* An assembly that is loaded twice is one to the model; its methods are counted twice, and each
 * count has a last word. After an unload the same count goes on under another id. */
static void calls_of_an_assembly_that_is_loaded_twice_are_added_up(void **state)
{
    static const recording_column COLUMNS[] = {
        {RECORDING_METHOD_ID, "method", ""}, {RECORDING_U64, "calls", ""},
        {RECORDING_U64, "number", ""},       {RECORDING_DURATION, "p50", "ns"},
        {RECORDING_DURATION, "most", "ns"},
    };
    static const recording_table TABLE = {"trace_calls", "trace", COLUMNS, 5};
    static const uint64_t CELLS[][5] = {{1, 10, 0, 7, 9},
                                        {11, 20, 1, 8, 9},
                                        {1, 50, 0, 7, 9},
                                        {11, 60, 0, 6, 9},
                                        {11, 90, 1, 8, 9}};
    char path[] = "/tmp/clarinet-test-XXXXXX";
    int descriptor = mkstemp(path);
    recording_writer *writer;
    recording_rows rows;
    trace_results results;
    buffer b = BUFFER_EMPTY;
    size_t chunk;
    error e = {0};
    model m;

    (void)state;
    assert_int_equal(recording_writer_create(path, &writer, &e), 0);
    put_names(&b, 0, 0x1000);
    put_names(&b, 10, 0x1000);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &TABLE);
    recording_end_chunk(&b, chunk);
    recording_rows_begin(&rows, &b, 0, 1, &TABLE);
    for (size_t i = 0; i < sizeof CELLS / sizeof CELLS[0]; i++)
        for (size_t k = 0; k < 5; k++)
            recording_rows_put(&rows, CELLS[i][k]);
    assert_true(recording_rows_end(&rows));
    assert_int_equal(recording_writer_append(writer, &b, &e), 0);
    assert_int_equal(recording_writer_close(writer, &e), 0);
    assert_int_equal(model_load_path(path, 0, &m, &e), 0);
    assert_int_equal(trace_analyse(&m, &results, &e), 0);
    assert_int_equal(results.count, 1);
    assert_int_equal(results.items[0].calls, 150);
    assert_int_equal(results.items[0].p50_ns, 8); /* of the one with the most calls */
    assert_int_equal(trace_count_meant(&m, &results), 1);
    trace_results_free(&results);
    model_free(&m);
    close(descriptor);
    unlink(path);
    buffer_free(&b);
}

static void test_a_name_is_one_line(void **state)
{
    char out[24];

    (void)state;
    assert_string_equal(model_plain("plain \xc3\xa4", out, sizeof out), "plain \xc3\xa4");
    assert_string_equal(model_plain("a\nb\tc\033d", out, sizeof out), "a\\nb\\tc\\u001bd");
    assert_string_equal(model_plain("a\xc2\x9b"
                                    "b\xe2\x80\xae"
                                    "c",
                                    out, sizeof out),
                        "a\\u009bb\\u202ec");
    assert_string_equal(model_plain("", out, sizeof out), "");
    assert_true(strlen(model_plain("\001\001\001\001\001\001\001\001", out, sizeof out)) <
                sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_is_one_line),
        cmocka_unit_test(the_model_holds_what_was_recorded),
        cmocka_unit_test(methods_are_ranked_and_recursion_counts_once),
        cmocka_unit_test(callers_callees_and_hot_paths),
        cmocka_unit_test(selections_by_thread_time_and_state),
        cmocka_unit_test(a_recording_cut_anywhere_is_read_up_to_its_last_whole_chunk),
        cmocka_unit_test(a_flipped_byte_ends_the_recording_there),
        cmocka_unit_test(a_forged_chunk_does_no_harm),
        cmocka_unit_test(a_bomb_is_stopped_by_the_memory_limit),
        cmocka_unit_test(a_full_disk_leaves_a_good_recording),
        cmocka_unit_test(files_that_are_no_recordings_get_a_clear_message),
        cmocka_unit_test(a_row_with_a_known_number_takes_the_place_of_the_other),
        cmocka_unit_test(what_was_defined_again_is_the_same),
        cmocka_unit_test(calls_of_an_assembly_that_is_loaded_twice_are_added_up),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
