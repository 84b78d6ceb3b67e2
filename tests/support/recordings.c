/* recordings: see recordings.h. */
#include "support/recordings.h"

#include <stdio.h>
#include <string.h>

#include "recording/encode.h"
#include "recording/writer.h"

static const recording_column SAMPLE_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},      {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_STACK_ID, "stack", ""}, {RECORDING_DURATION, "weight", ""},
    {RECORDING_U64, "state", ""},
};
static const recording_table CPU = {"samples", "cpu", SAMPLE_COLUMNS, 5};
static const recording_table WALL = {"samples", "wall", SAMPLE_COLUMNS, 5};

static const recording_column EXCEPTION_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},      {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_STRING_ID, "type", ""}, {RECORDING_STRING_ID, "message", ""},
    {RECORDING_STACK_ID, "stack", ""}, {RECORDING_METHOD_ID, "caught_in", ""},
    {RECORDING_U64, "flags", ""},      {RECORDING_U64, "count", ""},
};
static const recording_table EXCEPTIONS = {"exceptions", "exceptions", EXCEPTION_COLUMNS, 8};

static const char *const SMALL_STRINGS[] = {
    "Shop.dll",                                     /* 1 */
    "/app/Shop.dll",                                /* 2 */
    "libcoreclr.so",                                /* 3 */
    "/usr/share/dotnet/libcoreclr.so",              /* 4 */
    "Shop.Program.Main",                            /* 5 */
    "Shop.Orders.Place",                            /* 6 */
    "Shop.Orders.Price<System.Decimal>",            /* 7 */
    RECORDINGS_EVIL,                                /* 8 */
    "(string[])",                                   /* 9 */
    "main",                                         /* 10 */
    "worker <1>",                                   /* 11 */
    "System.InvalidOperationException",             /* 12 */
    "the order | was `already` placed\nand <paid>", /* 13 */
    "Shop.OutOfStockException",                     /* 14 */
    "\xff\xfe broken \x01",                         /* 15 */
};

static const char *const TOOL_STRINGS[] = {
    "/src/Shop/Orders.cs",  /* 0 */
    "/src/Shop/Program.cs", /* 1 */
    "WKS::gc_heap::mark",   /* 2 */
};

static void put_strings(buffer *b, const char *const *texts, size_t count, uint64_t first)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);

    for (size_t i = 0; i < count; i++)
        recording_put_string(b, first + i, texts[i], strlen(texts[i]));
    recording_end_chunk(b, chunk);
}

static void put_infos(buffer *b, uint32_t process, const char *const (*pairs)[2], size_t count)
{
    size_t chunk = recording_begin_chunk(b, RECORDING_INFO, process);

    for (size_t i = 0; i < count; i++)
        recording_put_info(b, pairs[i][0], pairs[i][1]);
    recording_end_chunk(b, chunk);
}

static void put_code(buffer *b)
{
    static const uint8_t MVID[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    recording_module shop = {1, RECORDING_MODULE_MANAGED, 1, 2, MVID, 16, 0, 0};
    recording_module native = {2, RECORDING_MODULE_NATIVE, 3, 4, MVID, 8, 0x7f0000000000, 0x100000};
    size_t chunk = recording_begin_chunk(b, RECORDING_MODULE, 0);

    recording_put_module(b, &shop);
    recording_put_module(b, &native);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    for (uint64_t i = 1; i <= 4; i++) {
        recording_method method = {i, 1, 0x06000000 + i, 4 + i, i == 1 ? 9 : 0, 0};

        recording_put_method(b, &method);
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    recording_put_frame(b, 1, RECORDING_FRAME_MANAGED, 1, 1);     /* Main */
    recording_put_frame(b, 2, RECORDING_FRAME_MANAGED, 2, 5);     /* Place, line 10 */
    recording_put_frame(b, 3, RECORDING_FRAME_MANAGED, 2, 9);     /* Place, line 12 */
    recording_put_frame(b, 4, RECORDING_FRAME_MANAGED, 3, 1);     /* Price */
    recording_put_frame(b, 5, RECORDING_FRAME_MANAGED, 4, 1);     /* Evil */
    recording_put_frame(b, 6, RECORDING_FRAME_NATIVE, 2, 0x1234); /* gc_heap::mark */
    recording_put_frame(b, 7, RECORDING_FRAME_NATIVE, 2, 0x2000); /* no symbol */
    recording_put_frame(b, 8, RECORDING_FRAME_NATIVE, 2, 0x3000); /* no symbol */
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
    recording_put_stack(b, 1, 0, 1); /* Main */
    recording_put_stack(b, 2, 1, 2); /* Main Place:10 */
    recording_put_stack(b, 3, 2, 4); /* Main Place:10 Price */
    recording_put_stack(b, 4, 1, 3); /* Main Place:12 */
    recording_put_stack(b, 5, 2, 3); /* Main Place:10 Place:12 */
    recording_put_stack(b, 6, 1, 5); /* Main Evil */
    recording_put_stack(b, 8, 4, 7); /* Main Place:12 [libcoreclr.so] */
    recording_put_stack(b, 9, 8, 8); /* Main Place:12 [libcoreclr.so] [libcoreclr.so] */
    recording_put_stack(b, 7, 9, 6); /* and gc_heap::mark */
    recording_end_chunk(b, chunk);
}

static void put_symbols(buffer *b)
{
    size_t chunk;

    put_strings(b, TOOL_STRINGS, sizeof TOOL_STRINGS / sizeof *TOOL_STRINGS,
                RECORDING_TOOL_STRINGS);
    chunk = recording_begin_chunk(b, RECORDING_SYMBOL, 0);
    recording_put_symbol(b, 1, 0, RECORDING_TOOL_STRINGS + 1, 3);
    recording_put_symbol(b, 2, 0, RECORDING_TOOL_STRINGS, 10);
    recording_put_symbol(b, 3, 0, RECORDING_TOOL_STRINGS, 12);
    recording_put_symbol(b, 4, 0, RECORDING_TOOL_STRINGS, 20);
    recording_put_symbol(b, 6, RECORDING_TOOL_STRINGS + 2, 0, 0);
    recording_end_chunk(b, chunk);
}

static void put_threads(buffer *b)
{
    recording_thread threads[] = {
        {100, 1, 10, RECORDING_THREAD_MAIN, 0, 0},
        {101, 5, 11, RECORDING_THREAD_BACKGROUND, 1000000, 90000000},
        {102, 6, 0, RECORDING_THREAD_POOL, 1000000, 0},
    };
    size_t chunk = recording_begin_chunk(b, RECORDING_THREAD, 0);

    for (size_t i = 0; i < 3; i++)
        recording_put_thread(b, &threads[i]);
    recording_end_chunk(b, chunk);
}

static void put_sample(recording_rows *rows, uint64_t time_ms, uint64_t thread, uint64_t stack,
                       uint64_t weight_ms, uint64_t state)
{
    recording_rows_put(rows, time_ms * 1000000);
    recording_rows_put(rows, thread);
    recording_rows_put(rows, stack);
    recording_rows_put(rows, weight_ms * 1000000);
    recording_rows_put(rows, state);
}

static void put_samples(buffer *b, int worse)
{
    static const uint8_t STACKS[10][2] = {{100, 3}, {100, 3}, {101, 6}, {100, 4}, {100, 3},
                                          {101, 6}, {100, 3}, {102, 7}, {100, 5}, {100, 4}};
    size_t chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(b, 1, &CPU);
    recording_put_table(b, 2, &WALL);
    recording_put_table(b, 3, &EXCEPTIONS);
    recording_end_chunk(b, chunk);
    recording_rows_begin(&rows, b, 0, 1, &CPU);
    for (uint64_t i = 0; i < 10; i++)
        put_sample(&rows, 10 * i + 5, STACKS[i][0], STACKS[i][1], 10, RECORDING_STATE_RUNNING);
    for (uint64_t i = 0; i < 4 && worse; i++)
        put_sample(&rows, 100 + 10 * i, 100, 3, 10, RECORDING_STATE_RUNNING);
    recording_rows_end(&rows);
    recording_rows_begin(&rows, b, 0, 2, &WALL);
    put_sample(&rows, 1, 101, 1, 10, RECORDING_STATE_RUNNING);
    put_sample(&rows, 11, 101, 1, 40, RECORDING_STATE_LOCK);
    put_sample(&rows, 51, 101, 1, 50, RECORDING_STATE_SLEEP);
    recording_rows_end(&rows);
}

static void put_exception(recording_rows *rows, uint64_t time_ms, uint64_t type, uint64_t message,
                          uint64_t stack, uint64_t caught_in, uint64_t count)
{
    recording_rows_put(rows, time_ms * 1000000);
    recording_rows_put(rows, 100);
    recording_rows_put(rows, type);
    recording_rows_put(rows, message);
    recording_rows_put(rows, stack);
    recording_rows_put(rows, caught_in);
    recording_rows_put(rows, 0);
    recording_rows_put(rows, count);
}

static void put_exceptions(buffer *b)
{
    recording_rows rows;

    recording_rows_begin(&rows, b, 0, 3, &EXCEPTIONS);
    put_exception(&rows, 20, 12, 13, 3, 1, 1);
    put_exception(&rows, 40, 12, 13, 3, 1, 4);
    put_exception(&rows, 60, 14, 15, 4, 0, 1);
    recording_rows_end(&rows);
}

static void put_closing(buffer *b, uint32_t process)
{
    static const recording_parameter PARAMETERS[] = {{"interval", "10ms"}, {"native", "true"}};
    recording_cost cost = {1500000, 250000, 10, 1048576};
    size_t chunk = recording_begin_chunk(b, RECORDING_PROFILER, process);

    recording_put_profiler(b, "cpu", RECORDING_STARTED, 1000000, "", PARAMETERS, 2);
    recording_put_profiler(b, "cpu", RECORDING_STOPPED, 100000000, "", NULL, 0);
    recording_put_profiler(b, "gc", RECORDING_FAILED, 1000000, "the runtime is too old", NULL, 0);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_LOSS, process);
    recording_put_loss(b, "cpu", "ring full", 1);
    recording_put_loss(b, "cpu", "ring full", 3);
    recording_put_loss(b, "cpu", "walk ended early", 1);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_COST, process);
    recording_put_cost(b, &cost);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_END, process);
    recording_put_end(b, "duration", 100000000);
    recording_end_chunk(b, chunk);
}

static void put_worker(buffer *b)
{
    static const char *const INFO[][2] = {{"pid", "4712"}, {"name", "Shop.Worker"}};
    recording_method method = {1, 0, 0x06000001, 1, 0, 0};
    recording_rows rows;
    size_t chunk;

    put_infos(b, 1, INFO, 2);
    chunk = recording_begin_chunk(b, RECORDING_STRING, 1);
    recording_put_string(b, 1, "Worker.Program.Main", 19);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 1);
    recording_put_method(b, &method);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 1);
    recording_put_frame(b, 1, RECORDING_FRAME_MANAGED, 1, 0);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_STACK, 1);
    recording_put_stack(b, 1, 0, 1);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_TABLE, 1);
    recording_put_table(b, 1, &CPU);
    recording_end_chunk(b, chunk);
    recording_rows_begin(&rows, b, 1, 1, &CPU);
    for (uint64_t i = 0; i < 5; i++)
        put_sample(&rows, 10 * i, 200, 1, 10, RECORDING_STATE_RUNNING);
    recording_rows_end(&rows);
    chunk = recording_begin_chunk(b, RECORDING_END, 1);
    recording_put_end(b, "duration", 100000000);
    recording_end_chunk(b, chunk);
}

void recordings_small(buffer *out, int worse)
{
    static const char *const OWN[][2] = {{"tool_version", "0.1.0"},
                                         {"command", "clarinet record -p cpu 4711"},
                                         {"created_unix_ns", "1790000000000000000"}};
    static const char *const INFO[][2] = {
        {"pid", "4711"},
        {"name", "Shop.Api"},
        {"command_line", "dotnet Shop.Api.dll --name '<b>'"},
        {"entry_assembly", "Shop.Api"},
        {"runtime_version", "9.0.22"},
        {"architecture", "x64"},
        {"origin_unix_ns", "1790000000000000000"},
    };

    recording_put_file_header(out);
    put_infos(out, RECORDING_PROCESS_NONE, OWN, 3);
    put_infos(out, 0, INFO, sizeof INFO / sizeof *INFO);
    put_strings(out, SMALL_STRINGS, sizeof SMALL_STRINGS / sizeof *SMALL_STRINGS, 1);
    put_code(out);
    put_threads(out);
    put_samples(out, worse);
    put_exceptions(out);
    put_symbols(out);
    /* A kind that this version does not know. */
    recording_put_chunk(out, 999, 0, 0, "future", 6);
    put_worker(out);
    put_closing(out, 0);
}

/* A small generator of numbers that is the same everywhere. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int flush_if_large(recording_writer *w, buffer *b, size_t limit, error *e)
{
    int code = 0;

    if (b->length >= limit) {
        code = recording_writer_append(w, b, e);
        buffer_clear(b);
    }
    return code;
}

enum { LARGE_METHODS = 4000, LARGE_LINES = 4 };

static void put_large_code(buffer *b)
{
    recording_module module = {1, RECORDING_MODULE_MANAGED, 1, 1, NULL, 0, 0, 0};
    size_t chunk = recording_begin_chunk(b, RECORDING_STRING, 0);
    char name[120];

    recording_put_string(b, 1, "Large.dll", 9);
    recording_put_string(b, 2, "/src/Large/File.cs", 18);
    for (unsigned i = 0; i < LARGE_METHODS; i++) {
        snprintf(name, sizeof name, "Company.Product.Area%u.SomeType%u<System.String>.Method%u",
                 i % 20, i / 20, i);
        recording_put_string(b, 10 + i, name, strlen(name));
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_MODULE, 0);
    recording_put_module(b, &module);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_METHOD, 0);
    for (unsigned i = 0; i < LARGE_METHODS; i++) {
        recording_method method = {i + 1, 1, 0x06000001 + i, 10 + i, 0, 0};

        recording_put_method(b, &method);
    }
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_FRAME, 0);
    for (unsigned i = 0; i < LARGE_METHODS * LARGE_LINES; i++)
        recording_put_frame(b, i + 1, RECORDING_FRAME_MANAGED, i / LARGE_LINES + 1,
                            i % LARGE_LINES);
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_SYMBOL, 0);
    for (unsigned i = 0; i < LARGE_METHODS * LARGE_LINES; i++)
        recording_put_symbol(b, i + 1, 0, 2, i + 1);
    recording_end_chunk(b, chunk);
}

/* Every leaf is a chain of its own below a node of what exists: shared tops, distinct ends. */
static uint64_t put_large_stacks(recording_writer *w, buffer *b, const recordings_size *size,
                                 uint32_t *leaves, error *e)
{
    uint64_t state = 88172645463325252ull;
    uint64_t count = 0;
    uint64_t trunk = size->depth > 6 ? size->depth - 6 : 1;
    size_t chunk = recording_begin_chunk(b, RECORDING_STACK, 0);

    for (; count < trunk; count++)
        recording_put_stack(b, count + 1, count, 1 + next_random(&state) % 400);
    for (uint32_t i = 0; i < size->stacks; i++) {
        uint64_t parent = 1 + next_random(&state) % (count < 20000 ? count : 20000);
        uint64_t chain = 1 + next_random(&state) % 6;

        for (uint64_t k = 0; k < chain; k++) {
            recording_put_stack(b, ++count, parent,
                                1 + next_random(&state) % (LARGE_METHODS * LARGE_LINES));
            parent = count;
        }
        leaves[i] = (uint32_t)count;
        if (recording_chunk_length(b, chunk) > 60000) {
            recording_end_chunk(b, chunk);
            if (flush_if_large(w, b, 1, e) != 0)
                return 0;
            chunk = recording_begin_chunk(b, RECORDING_STACK, 0);
        }
    }
    recording_end_chunk(b, chunk);
    return count;
}

static int put_large_rows(recording_writer *w, buffer *b, const recordings_size *size,
                          const uint32_t *leaves, error *e)
{
    uint64_t state = 1234567;
    uint64_t time = 1000000;
    uint64_t done = 0;
    int code = 0;

    while (done < size->samples && code == 0) {
        recording_rows rows;

        recording_rows_begin(&rows, b, 0, 1, &CPU);
        for (uint64_t i = 0; i < 4000 && done < size->samples; i++, done++) {
            uint64_t pick = next_random(&state) % size->stacks;

            /* Some stacks are hot: half of the samples fall on a sixteenth of them. */
            if (next_random(&state) % 2 == 0)
                pick /= 16;
            time += 10000000 / size->threads + next_random(&state) % 20000;
            recording_rows_put(&rows, time);
            recording_rows_put(&rows, 30000 + next_random(&state) % size->threads);
            recording_rows_put(&rows, leaves[pick]);
            recording_rows_put(&rows, 10000000);
            recording_rows_put(&rows, RECORDING_STATE_RUNNING);
        }
        recording_rows_end(&rows);
        code = flush_if_large(w, b, 1, e);
    }
    return code;
}

int recordings_write_large(const char *path, const recordings_size *size, error *e)
{
    static const char *const INFO[][2] = {
        {"pid", "1"}, {"name", "Large"}, {"runtime_version", "9.0.22"}};
    recording_writer *w = NULL;
    buffer b = BUFFER_EMPTY;
    buffer leaves = BUFFER_EMPTY;
    int code = recording_writer_create(path, &w, e);
    size_t chunk;

    if (code != 0)
        return code;
    recording_writer_pack(w, size->pack != 0);
    buffer_append_fill(&leaves, 0, (size_t)size->stacks * sizeof(uint32_t));
    put_infos(&b, 0, INFO, 3);
    put_large_code(&b);
    put_large_stacks(w, &b, size, (uint32_t *)(void *)leaves.data, e);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &CPU);
    recording_end_chunk(&b, chunk);
    code = put_large_rows(w, &b, size, (const uint32_t *)(const void *)leaves.data, e);
    put_closing(&b, 0);
    if (code == 0)
        code = recording_writer_append(w, &b, e);
    if (code == 0)
        code = recording_writer_close(w, e);
    else
        recording_writer_close(w, NULL);
    buffer_free(&b);
    buffer_free(&leaves);
    return code;
}
