/*
 * Spans out of a model that grows: each once, async ones joined however far begin and end are
 * apart. Which losses of a recording are spans that are missing, and of what.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/flow.h"
#include "report/otlp_flow.h"

static const recording_column COLUMNS[] = {
    {RECORDING_TIME, "time", ""},
    {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_U64, "span", ""},
    {RECORDING_U64, "first", ""},
    {RECORDING_U64, "parent", ""},
    {RECORDING_U64, "part", ""},
    {RECORDING_DURATION, "duration", "ns"},
    {RECORDING_STRING_ID, "exception", ""},
};
static const recording_table SPANS = {"trace_spans", "trace", COLUMNS, 9};
enum { WHOLE, BEGIN, END, FAILED = 4 };

typedef struct {
    uint64_t cells[9];
} row;

static void add(model *m, const buffer *chunks)
{
    recording_chunk chunk;

    for (size_t at = 0; at < chunks->length; at += chunk.whole) {
        assert_int_equal(recording_take_chunk(chunks->data + at, chunks->length - at, &chunk),
                         RECORDING_CHUNK_WHOLE);
        assert_int_equal(model_add(m, &chunk, NULL), 0);
    }
}

static void add_definitions(model *m)
{
    const recording_method method = {.id = 1, .name = 1};
    buffer b = BUFFER_EMPTY;
    size_t chunk = recording_begin_chunk(&b, RECORDING_INFO, 0);

    recording_put_info(&b, "pid", "7");
    recording_put_info(&b, "name", "Shop");
    recording_put_info(&b, "origin_unix_ns", "1000000");
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_STRING, 0);
    recording_put_string(&b, 1, "Shop.A<T>.B", 11);
    recording_put_string(&b, 2, "Shop.Refused", 12);
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_METHOD, 0);
    recording_put_method(&b, &method);
    recording_end_chunk(&b, chunk);
    chunk = recording_begin_chunk(&b, RECORDING_TABLE, 0);
    recording_put_table(&b, 1, &SPANS);
    recording_end_chunk(&b, chunk);
    add(m, &b);
    buffer_free(&b);
}

static void take(flow *f, model *m, const row *rows, size_t count)
{
    recording_rows out;
    buffer b = BUFFER_EMPTY;

    recording_rows_begin(&out, &b, 0, 1, &SPANS);
    for (size_t n = 0; n < count; n++)
        recording_rows_put_row(&out, rows[n].cells);
    assert_true(recording_rows_end(&out));
    add(m, &b);
    buffer_free(&b);
    assert_int_equal(flow_take(f, m, NULL), 0);
}

static void an_async_call_is_one_span_however_far_its_end_is(void **state)
{
    static const row BEGINS[] = {{{10, 5, 1, 1, 0, 0, BEGIN, 0, 0}},
                                 {{20, 5, 1, 2, 1, 1, WHOLE, 4, 0}},
                                 {{30, 5, 1, 3, 0, 0, BEGIN, 0, 0}}};
    static const row ENDS[] = {{{90, 6, 1, 1, 0, 0, END | FAILED, 0, 2}},
                               {{40, 5, 1, 4, 0, 0, BEGIN, 0, 0}},
                               {{40, 5, 1, 4, 0, 0, WHOLE | FAILED, 3, 2}},
                               {{95, 6, 1, 9, 0, 0, END, 0, 0}}}; /* of a call that nobody saw */
    flow f = {0};
    model m;

    (void)state;
    assert_int_equal(model_begin(&m, 0, NULL), 0);
    add_definitions(&m);
    take(&f, &m, BEGINS, 3);
    assert_int_equal(f.count, 1);
    assert_true(f.items[0].parent == f.items[0].id - 1 && !f.items[0].is_async);
    f.count = 0;
    take(&f, &m, ENDS, 4);
    assert_int_equal(f.count, 2);
    assert_true(f.items[0].is_async && f.items[0].failed && !f.items[0].unfinished);
    assert_int_equal(f.items[0].start, 10);
    assert_int_equal(f.items[0].end, 90);
    assert_string_equal(model_text(&m, f.items[0].exception), "Shop.Refused");
    assert_true(f.items[1].is_async && f.items[1].failed && f.items[1].end == 43);
    assert_int_equal(flow_finish(&f, NULL), 0);
    assert_int_equal(f.count, 3);
    assert_true(f.items[2].unfinished && f.items[2].start == 30);
    assert_int_equal(flow_missing(&f), 0);
    flow_free(&f);
    model_free(&m);
}

static void calls_that_have_ended_take_no_memory(void **state)
{
    flow f = {0};
    model m;

    (void)state;
    assert_int_equal(model_begin(&m, 0, NULL), 0);
    add_definitions(&m);
    for (uint64_t n = 1; n <= 20000; n++) {
        const row rows[] = {{{n, 5, 1, n, 0, 0, BEGIN, 0, 0}}, {{n, 5, 1, n, 0, 0, END, 0, 0}}};

        take(&f, &m, rows, 2);
        assert_int_equal(f.count, 1);
        f.count = 0;
    }
    assert_int_equal(f.open_count, 1);
    assert_true(f.processes[0].open.capacity <= 4096);
    flow_free(&f);
    model_free(&m);
}

/* The same but for what makes one of them no plain one. */
static void a_plain_span_is_written_as_the_others_are(void **state)
{
    static const char MARK[] = ",{\"key\":\"clarinet.call\",\"value\":{\"stringValue\":\"async\"}}";
    static const row ROW = {{20, 5, 1, 2, 1, 1, WHOLE, 4, 0}};
    flow f = {0};
    model m;
    sink plain, other;
    char *mark;

    (void)state;
    assert_int_equal(model_begin(&m, 0, NULL), 0);
    add_definitions(&m);
    take(&f, &m, &ROW, 1);
    sink_init(&plain, -1);
    otlp_flow_write(&m, f.items, 1, &plain);
    f.items[0].is_async = true;
    sink_init(&other, -1);
    otlp_flow_write(&m, f.items, 1, &other);
    mark = strstr((char *)other.pending.data, MARK);
    assert_non_null(mark);
    memmove(mark, mark + sizeof MARK - 1, strlen(mark + sizeof MARK - 1) + 1);
    assert_string_equal((char *)plain.pending.data, (char *)other.pending.data);
    assert_non_null(strstr((char *)plain.pending.data, "Shop.A\\u003cT>.B"));
    sink_free(&plain);
    sink_free(&other);
    flow_free(&f);
    model_free(&m);
}

static void a_loss_is_told_as_what_it_counts(void **state)
{
    static const struct {
        const char *reason;
        flow_loss expected;
    } CASES[] = {
        {"ring full", FLOW_LOSS_CALLS},
        {"call not counted: no memory for its thread", FLOW_LOSS_CALLS},
        {"method not traced: more than 262,144, or no memory", FLOW_LOSS_METHODS},
        {"assembly left alone: it can be unloaded", FLOW_LOSS_ASSEMBLIES},
        {"method not listed: not called, and memory is short", FLOW_LOSS_NOTHING},
        {"method left alone: it has no CIL", FLOW_LOSS_NOTHING},
        {"type of an exception not kept: more than 2,048 methods and types", FLOW_LOSS_NOTHING},
        {"", FLOW_LOSS_CALLS},
    };

    (void)state;
    for (size_t n = 0; n < sizeof CASES / sizeof *CASES; n++)
        assert_int_equal(flow_loss_of(CASES[n].reason), CASES[n].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_async_call_is_one_span_however_far_its_end_is),
        cmocka_unit_test(calls_that_have_ended_take_no_memory),
        cmocka_unit_test(a_plain_span_is_written_as_the_others_are),
        cmocka_unit_test(a_loss_is_told_as_what_it_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
