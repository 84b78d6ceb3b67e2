/* Unit tests of counters whose values are no numbers: as they come, and in the reports. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/counters.h"
#include "cli/counters_live.h"
#include "cli/counters_show.h"
#include "recording/file.h"
#include "recording/tables.h"
#include "report/number.h"
#include "report/report.h"

enum { TABLES_COUNTERS(TABLES_CELL) COLUMNS };
enum { SHOP = 1, RATIO, SPENT, NEVER, SERIES = 3 };

static const recording_column COUNTER_COLUMNS[] = {TABLES_COUNTERS(TABLES_COLUMN)};
static const recording_table TABLE = {"counters", "counters", COUNTER_COLUMNS, COLUMNS};
static const char *const TEXTS[] = {"Shop", "ratio", "spent", "never"};

/* A value of each series at each moment; the second one grows. */
static const double VALUES[][SERIES] = {{NAN, 2, NAN},
                                        {0.5, NAN, -INFINITY},
                                        {INFINITY, 3, NAN},
                                        {-0.25, -INFINITY, NAN},
                                        {NAN, 4, INFINITY}};

static void make(buffer *b, size_t moments)
{
    recording_rows rows;
    size_t chunk;

    recording_put_file_header(b);
    chunk = recording_begin_chunk(b, RECORDING_STRING, 0);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        recording_put_string(b, i + 1, TEXTS[i], strlen(TEXTS[i]));
    recording_end_chunk(b, chunk);
    chunk = recording_begin_chunk(b, RECORDING_TABLE, 0);
    recording_put_table(b, 1, &TABLE);
    recording_end_chunk(b, chunk);
    recording_rows_begin(&rows, b, 0, 1, &TABLE);
    for (size_t i = 0; i < moments * SERIES; i++) {
        uint64_t cells[COLUMNS] = {[TIME] = i,
                                   [PROVIDER] = SHOP,
                                   [NAME] = RATIO + i % SERIES,
                                   [KIND] = i % SERIES == 1 ? COUNTERS_INCREASE : COUNTERS_LEVEL};

        memcpy(&cells[VALUE], &VALUES[i / SERIES][i % SERIES], sizeof(double));
        recording_rows_put_row(&rows, cells);
    }
    assert_true(recording_rows_end(&rows));
}

static void load(model *m)
{
    recording_file *file = NULL;
    buffer b = BUFFER_EMPTY;

    make(&b, sizeof VALUES / sizeof *VALUES);
    assert_int_equal(recording_file_open_bytes(b.data, b.length, &file, NULL), 0);
    assert_int_equal(model_load(file, 0, m, NULL), 0);
    recording_file_close(file);
    buffer_free(&b);
}

static void assert_scraped(size_t moments, const char *expected)
{
    counters_live live = {.last_only = true};
    buffer text = BUFFER_EMPTY;
    buffer b = BUFFER_EMPTY;
    recording_chunk chunk;
    size_t at;

    recording_put_file_header(&b);
    at = b.length;
    buffer_clear(&b);
    make(&b, moments);
    for (; recording_take_chunk(b.data + at, b.length - at, &chunk) == RECORDING_CHUNK_WHOLE;
         at += chunk.whole)
        counters_live_feed(&live, &chunk);
    counters_show_prometheus(&text, &live);
    assert_non_null(strstr(buffer_text(&text), expected));
    buffer_free(&text);
    buffer_free(&b);
    counters_live_free(&live);
}

static void a_total_goes_on_after_what_is_no_number(void **state)
{
    (void)state;
    assert_scraped(1, "\ndotnet_shop_spent_total 2\n");
    assert_scraped(2, "\ndotnet_shop_spent_total NaN\n");
    assert_scraped(3, "\ndotnet_shop_spent_total 5\n");
    assert_scraped(4, "\ndotnet_shop_spent_total -Inf\n");
    assert_scraped(5, "\ndotnet_shop_spent_total 9\n");
    assert_scraped(5, "\ndotnet_shop_ratio NaN\n");
}

static void sums_are_of_the_numbers(void **state)
{
    counters_summary x;
    model m;

    (void)state;
    load(&m);
    assert_int_equal(
        counters_summarise(&m, model_find_table(&m, &m.processes[0], "counters", "counters"), &x,
                           NULL),
        0);
    assert_int_equal(x.count, SERIES);
    assert_int_equal(x.items[0].count, 5);
    assert_int_equal(x.items[0].numbers, 2);
    assert_true(x.items[0].sum == 0.25 && x.items[0].least == -0.25 && x.items[0].most == 0.5);
    assert_true(isnan(x.items[0].last) && x.items[1].sum == 9 && x.items[1].last == 4);
    assert_int_equal(x.items[2].numbers, 0);
    assert_true(isnan(x.items[2].least) && isnan(x.items[2].most) && isinf(x.items[2].last));
    counters_free(&x);
    model_free(&m);
}

static void assert_written(int (*write)(const model *, const report_options *, sink *, error *),
                           const char *const *expected, size_t count)
{
    report_options options = {0};
    sink out;
    model m;

    load(&m);
    sink_init(&out, -1);
    assert_int_equal(write(&m, &options, &out, NULL), 0);
    for (size_t i = 0; i < count; i++)
        if (strstr(buffer_text(&out.pending), expected[i]) == NULL)
            fail_msg("'%s' is not in: %s", expected[i], buffer_text(&out.pending));
    sink_free(&out);
    model_free(&m);
}

static void reports_say_what_is_no_number(void **state)
{
    static const char *const IN_WORDS[] = {
        "| `Shop` | `ratio` | NaN | 0.125 | -0.25 | 0.5 |  |\n",
        "| `Shop` | `spent` | 4 | 3 | 2 | 4 |  an interval |\n",
        "| `Shop` | `never` | +Inf | NaN | NaN | NaN |  |\n",
        "3 of 5 values of `ratio` of `Shop` are no numbers (NaN or infinite): mean, least and most "
        "are those of the others.\n\n2 of 5 values of `spent`",
        "5 of 5 values of `never` of `Shop` are no numbers (NaN or infinite).\n"};
    static const char *const AS_JSON[] = {
        "\"count\":5,\"no_numbers\":3,\"sum\":0.25,\"last\":null,\"least\":-0.25,\"most\":0.5}",
        "\"count\":5,\"no_numbers\":5,\"sum\":0,\"last\":null,\"least\":null,\"most\":null}"};
    static const char *const IN_THE_PAGE[] = {
        "\"value\":[\"NaN\",2,\"NaN\",0.5,\"NaN\",\"-Infinity\",\"Infinity\",3,\"NaN\",-0.25"};

    (void)state;
    assert_written(report_write_markdown, IN_WORDS, sizeof IN_WORDS / sizeof *IN_WORDS);
    assert_written(report_write_json, AS_JSON, sizeof AS_JSON / sizeof *AS_JSON);
    assert_written(report_write_html, IN_THE_PAGE, 1);
}

static void numbers_are_spelled(void **state)
{
    char text[NUMBER_TEXT];

    (void)state;
    assert_string_equal(number_text(text, 6, -NAN), "NaN");
    assert_string_equal(number_text(text, 6, INFINITY), "+Inf");
    assert_string_equal(number_text(text, 6, -INFINITY), "-Inf");
    assert_string_equal(number_text(text, 6, 1234567), "1.23457e+06");
    assert_string_equal(number_text(text, 15, -1.7976931348623157e308), "-1.7976931348623157e+308");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_total_goes_on_after_what_is_no_number),
        cmocka_unit_test(sums_are_of_the_numbers),
        cmocka_unit_test(reports_say_what_is_no_number),
        cmocka_unit_test(numbers_are_spelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
