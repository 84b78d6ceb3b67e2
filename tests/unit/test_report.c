/* Unit tests of the reports' parts: JSON, markdown, aggregation, failing memory in every format. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/aggregate.h"
#include "analysis/exceptions.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/heap_report.h"
#include "report/continuations.h"
#include "report/diff.h"
#include "report/json.h"
#include "report/report.h"
#include "report/section.h"
#include "support/recordings.h"

#define RENAMED "Shop.Program.Main"

static void load_small(model *m, int worse)
{
    buffer b = BUFFER_EMPTY;
    recording_file *file = NULL;

    recordings_small(&b, worse);
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
}

static void json_escapes_any_bytes(void **state)
{
    sink out;
    json j;

    (void)state;
    sink_init(&out, -1);
    json_init(&j, &out);
    json_begin_object(&j);
    json_put_text(&j, "a\"<", "</script>\\\n\t\x01\x7f\xc3\xa9\xff");
    json_key(&j, "numbers");
    json_begin_array(&j);
    json_u64(&j, UINT64_MAX);
    json_i64(&j, INT64_MIN);
    json_f64(&j, 0.5);
    json_f64(&j, NAN);
    json_bool(&j, true);
    json_begin_object(&j);
    json_end_object(&j);
    json_end_array(&j);
    json_end_object(&j);
    json_free(&j);
    assert_string_equal(buffer_text(&out.pending),
                        "{\"a\\\"\\u003c\":\"\\u003c/script>\\\\\\n\\t\\u0001\\u007f\xc3\xa9"
                        "\xef\xbf\xbd\",\"numbers\":[18446744073709551615,-9223372036854775808,0.5,"
                        "null,true,{}]}");
    sink_free(&out);
}

static void check_markdown(void (*put)(sink *, const char *), const char *text,
                           const char *expected)
{
    sink out;

    sink_init(&out, -1);
    put(&out, text);
    assert_string_equal(buffer_text(&out.pending), expected);
    sink_free(&out);
}

static void markdown_shows_text_as_it_is(void **state)
{
    (void)state;
    check_markdown(markdown_code, "List<int>.Sort", "`List<int>.Sort`");
    check_markdown(markdown_code, "a`b", "``a`b``");
    check_markdown(markdown_code, "`a``", "``` `a`` ```");
    check_markdown(markdown_code, "a|b\nc", "`a|b c`");
    check_markdown(markdown_cell, "a|b\nc", "`a\\|b c`");
    check_markdown(markdown_code, "", "");
    check_markdown(markdown_text, "<b>*x*</b>|&", "&lt;b&gt;\\*x\\*&lt;/b&gt;\\|&amp;");
}

static void amounts_are_readable(void **state)
{
    char text[REPORT_AMOUNT_SIZE];

    (void)state;
    assert_string_equal(report_amount(999, "ns", text), "999 ns");
    assert_string_equal(report_amount(1500, "ns", text), "1.50 us");
    assert_string_equal(report_amount(45600000, "ns", text), "45.6 ms");
    assert_string_equal(report_amount(7200000000000, "ns", text), "7200 s");
    assert_string_equal(report_amount(1500, "bytes", text), "1.50 KB");
    assert_string_equal(report_amount(12, "count", text), "12");
}

static void rows_are_put_together_by_time_thread_and_stack(void **state)
{
    aggregate_options how = {NULL, true, true, 4, 1, 0};
    aggregate rows;
    uint64_t weight = 0;
    profile cpu;
    model m;

    (void)state;
    load_small(&m, 0);
    assert_true(profile_find(&m, &m.processes[0], "cpu", &cpu));
    assert_int_equal(aggregate_build(&cpu, &PROFILE_ALL, &how, &rows, NULL), 0);
    assert_int_equal(rows.buckets, 4);
    for (size_t i = 0; i < rows.count; i++) {
        assert_true(i == 0 || rows.rows[i].bucket >= rows.rows[i - 1].bucket);
        weight += rows.rows[i].weight;
    }
    assert_int_equal(weight, 100000000);
    /* 25 ms each: {3,3}+{6}, {4,3}, {6,3}+..., as the list in recordings.c says. */
    assert_int_equal(rows.rows[0].samples, 2);
    aggregate_free(&rows);
    how.buckets = 100;
    how.rows_limit = 5;
    how.fewest = 1;
    assert_int_equal(aggregate_build(&cpu, &PROFILE_ALL, &how, &rows, NULL), 0);
    assert_int_equal(rows.buckets, 1);
    assert_int_equal(rows.count, 5);
    aggregate_free(&rows);
    model_free(&m);
}

/* Rows of wall: running from 1 ms on for 10 ms, before a lock for 40 ms, asleep for 50 ms. */
static void rows_that_last_are_cut_at_the_ends_of_a_range(void **state)
{
    aggregate_options how = {NULL, true, true, 4, 1, 0};
    profile_selection range = PROFILE_ALL;
    uint64_t states[PROFILE_STATES];
    uint64_t weight = 0, samples = 0;
    profile_total total;
    aggregate rows;
    profile wall;
    model m;

    (void)state;
    load_small(&m, 0);
    assert_true(profile_find(&m, &m.processes[0], "wall", &wall));
    range.from = 20000000;
    range.to = 60000000;
    total = profile_sum(&wall, &range, NULL, NULL);
    assert_int_equal(total.weight, 40000000);
    assert_int_equal(total.samples, 2);
    profile_sum_states(&wall, &range, states);
    assert_int_equal(states[RECORDING_STATE_RUNNING], 0);
    assert_int_equal(states[RECORDING_STATE_LOCK], 31000000);
    assert_int_equal(states[RECORDING_STATE_SLEEP], 9000000);

    assert_int_equal(aggregate_build(&wall, &range, &how, &rows, NULL), 0);
    assert_int_equal(rows.start_ns, range.from);
    for (size_t i = 0; i < rows.count; i++) {
        assert_true(rows.rows[i].weight <= rows.bucket_ns);
        weight += rows.rows[i].weight;
        samples += rows.rows[i].samples;
    }
    assert_int_equal(weight, 40000000);
    assert_int_equal(samples, 2);
    assert_int_equal(rows.count, 5); /* the lock in four steps of 10 ms, the sleep in the last */
    aggregate_free(&rows);

    assert_int_equal(aggregate_build(&wall, &PROFILE_ALL, &how, &rows, NULL), 0);
    weight = samples = 0;
    for (size_t i = 0; i < rows.count; i++) {
        weight += rows.rows[i].weight;
        samples += rows.rows[i].samples;
    }
    assert_int_equal(weight, 100000000);
    assert_int_equal(samples, 3);
    aggregate_free(&rows);
    model_free(&m);
}

static void check_continuations(model *m, const char *name, uint64_t samples, const char *note)
{
    char text[CONTINUATIONS_NOTE_SIZE];
    continuations sum;
    profile_total whole;
    uint32_t string;
    profile cpu;

    assert_true(strings_add_text(&m->strings, name, &string));
    for (size_t i = 0; i < m->processes[0].function_count; i++)
        if (text_starts_with(model_text(m, m->processes[0].functions[i].name), RENAMED))
            m->processes[0].functions[i].name = string;
    assert_true(profile_find(m, &m->processes[0], "cpu", &cpu));
    whole = profile_sum(&cpu, &PROFILE_ALL, NULL, NULL);
    assert_int_equal(continuations_sum(&cpu, &PROFILE_ALL, &sum, NULL), 0);
    assert_int_equal(sum.all.samples, samples == 0 ? 0 : whole.samples);
    assert_int_equal(sum.known.samples, 0);
    assert_int_equal(strncmp(continuations_note(&sum, whole.weight, text), note, strlen(note)), 0);
    assert_true(note[0] != '\0' || text[0] == '\0');
}

/* Main, the outermost frame of every stack, becomes this and that. */
static void continuations_are_known_by_their_box(void **state)
{
    model m;

    (void)state;
    load_small(&m, 0);
    check_continuations(&m, RENAMED "StateMachineBox<int>", 0, "");
    check_continuations(&m,
                        "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<TResult>."
                        "AsyncStateMachineBox<TStateMachine>.MoveNext",
                        1, "100.0 % ran in continuations of async methods.");
    model_free(&m);
}

/* No share is called 0.0 %: the whole is then not told, a part is less than what can be shown. */
static void small_shares_of_continuations(void **state)
{
    char text[CONTINUATIONS_NOTE_SIZE];
    continuations few = {{4, 4}, {4, 4}}, most = {{9000, 9000}, {8998, 8998}};

    (void)state;
    assert_string_equal(continuations_note(&few, 10000, text), "");
    assert_non_null(strstr(continuations_note(&few, 8000, text), "0.1 % ran in"));
    assert_non_null(strstr(continuations_note(&most, 10000, text), "90.0 % ran in"));
    assert_non_null(strstr(text, "90.0 % stands below"));
    assert_non_null(strstr(text, ". Less than 0.1 % stands under"));
    assert_null(strstr(text, " 0.0 %"));
}

static void exceptions_are_grouped(void **state)
{
    exceptions x;
    const model_process *p;
    model m;

    (void)state;
    load_small(&m, 0);
    p = &m.processes[0];
    assert_int_equal(
        exceptions_summarise(&m, p, model_find_table(&m, p, "exceptions", NULL), &x, NULL), 0);
    assert_int_equal(x.total, 6);
    assert_int_equal(x.types.count, 2);
    assert_int_equal(x.types.items[0].count, 5);
    assert_int_equal(x.types.items[0].first, 20000000);
    assert_int_equal(x.types.items[0].last, 40000000);
    assert_int_equal(x.places.count, 2);
    assert_int_equal(x.bucket_ns, 2000000);
    assert_int_equal(x.buckets[10], 1);
    assert_int_equal(x.buckets[20], 4);
    exceptions_free(&x);
    model_free(&m);
}

/* The first row was only counted, the second has no message, the third a long one. */
static void messages_say_what_is_not_known_and_what_is_cut(void **state)
{
    const report_format *format = REPORT_FORMATS;
    report_options options = {0};
    const model_table *table;
    const model_column *message;
    char text[323] = "x"; /* the limit falls inside a character */
    uint32_t string;
    error e = {0};
    sink out;
    model m;

    (void)state;
    for (size_t i = 1; i + 1 < sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    load_small(&m, 0);
    table = model_find_table(&m, &m.processes[0], "exceptions", NULL);
    message = model_find_column(&m, table, "message");
    assert_true(strings_add_text(&m.strings, text, &string));
    message->u32[0] = message->u32[1] = 0;
    message->u32[2] = string;
    model_find_column(&m, table, "stack")->u32[0] = 0;
    model_find_column(&m, table, "stack")->u32[1] = 1;
    while (!text_equal(format->name, "md"))
        format++;
    sink_init(&out, -1);
    assert_int_equal(report_write(&m, format, &options, &out, &e), 0);
    assert_non_null(strstr(buffer_text(&out.pending), " | (only counted, not known) |\n"));
    assert_non_null(strstr(buffer_text(&out.pending), " |  |\n"));
    text[160 - (160 - 1) % 3] = '\0';
    strcat(text, "\xe2\x80\xa6` |\n");
    assert_non_null(strstr(buffer_text(&out.pending), text));
    sink_free(&out);
    model_free(&m);
}

/* Samples in gc_heap::mark fall to what called it: code without symbols, below Place. */
static void code_without_names_is_told_by_its_caller(void **state)
{
    const report_format *format = REPORT_FORMATS;
    report_options options = {0};
    const model_process *p;
    const model_table *table;
    const model_column *stack;
    error e = {0};
    sink out;
    model m;

    (void)state;
    load_small(&m, 0);
    p = &m.processes[0];
    table = model_find_table(&m, p, "samples", NULL);
    stack = model_find_column(&m, table, "stack");
    for (size_t i = 0; i < table->rows; i++) {
        if (p->frames[p->stack_frames[stack->u32[i]]].kind == RECORDING_FRAME_NATIVE)
            stack->u32[i] = p->stack_parents[stack->u32[i]];
    }
    while (!text_equal(format->name, "md"))
        format++;
    sink_init(&out, -1);
    assert_int_equal(report_write(&m, format, &options, &out, &e), 0);
    assert_non_null(strstr(buffer_text(&out.pending),
                           "| self | self % | code | works for |\n|---:|---:|---|---|\n"
                           "| 10.0 ms | 10.0 | `[libcoreclr.so]` | `Shop.Orders.Place` |\n\n"));
    sink_free(&out);
    model_free(&m);
}

static size_t allocations_left;

static void *failing_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    return realloc(pointer, size);
}

static const memory_backend FAILING = {failing_resize, NULL};

static void every_format_survives_every_failing_allocation(void **state)
{
    report_options options = {.threads = true};
    model m;

    (void)state;
    load_small(&m, 0);
    for (const report_format *format = REPORT_FORMATS; format->name != NULL; format++) {
        int code = -1;

        /* chrome and otlp say that there are no traced calls in it */
        for (size_t n = 0; code != 0 && code != ERROR_NOT_FOUND; n++) {
            error e = {0};
            sink out;

            assert_true(n < 2000);
            sink_init(&out, -1);
            allocations_left = n;
            memory_use(&FAILING);
            code = report_write(&m, format, &options, &out, &e);
            sink_free(&out);
            memory_use(NULL);
            assert_true(code == 0 || code == ERROR_MEMORY || code == ERROR_NOT_FOUND);
        }
    }
    model_free(&m);
}

static void a_diff_survives_every_failing_allocation(void **state)
{
    report_options options = {0};
    model before;
    model after;
    int code = -1;

    (void)state;
    load_small(&before, 0);
    load_small(&after, 1);
    for (size_t n = 0; code != 0; n++) {
        error e = {0};
        difference d;

        assert_true(n < 2000);
        allocations_left = n;
        memory_use(&FAILING);
        code = diff_build(&before, "a", &after, "b", &options, true, &d, &e);
        difference_free(&d);
        memory_use(NULL);
        assert_true(code == 0 || code == ERROR_MEMORY);
    }
    model_free(&before);
    model_free(&after);
}

static void foreign_text_does_not_steer_a_terminal(void **state)
{
    static const struct {
        const char *text;
        uint64_t units;
        size_t limit;
        const char *shown;
    } CASES[] = {
        {"plain \xc3\xa4", 7, 0, "plain \xc3\xa4"},
        {"\033[2J\x7f", 5, 0, " [2J "},
        {"\xc2\x9b"
         "31m, \xc2\x85, \xc2\xa0",
         10, 0, " 31m,  , \xc2\xa0"},
        {"\xe2\x80\xa8 \xe2\x80\xae \xe2\x81\xa7 \xe2\x80\xa6", 7, 0, "      \xe2\x80\xa6"},
        /* a character beyond U+FFFF has two units */
        {"emoji\xf0\x9f\x98\x80", 7, 0, "emoji\xf0\x9f\x98\x80"},
        {"emoji\xf0\x9f\x98\x80", 8, 0, "emoji\xf0\x9f\x98\x80\xe2\x80\xa6"},
        {"emoji\xf0\x9f\x98\x80", 7, 6, "emoji\xf0\x9f\x98\x80"},
        {"emoji\xf0\x9f\x98\x80", 7, 5, "emoji\xe2\x80\xa6"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        buffer out = BUFFER_EMPTY;

        heap_report_cut(CASES[i].text, CASES[i].units, CASES[i].limit, &out);
        assert_string_equal(buffer_text(&out), CASES[i].shown);
        buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_escapes_any_bytes),
        cmocka_unit_test(foreign_text_does_not_steer_a_terminal),
        cmocka_unit_test(markdown_shows_text_as_it_is),
        cmocka_unit_test(amounts_are_readable),
        cmocka_unit_test(rows_are_put_together_by_time_thread_and_stack),
        cmocka_unit_test(rows_that_last_are_cut_at_the_ends_of_a_range),
        cmocka_unit_test(continuations_are_known_by_their_box),
        cmocka_unit_test(small_shares_of_continuations),
        cmocka_unit_test(code_without_names_is_told_by_its_caller),
        cmocka_unit_test(exceptions_are_grouped),
        cmocka_unit_test(messages_say_what_is_not_known_and_what_is_cut),
        cmocka_unit_test(every_format_survives_every_failing_allocation),
        cmocka_unit_test(a_diff_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
