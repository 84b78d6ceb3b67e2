/* Unit tests of the events of meters, on payloads as 8.0 to 10.0 write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "clr/counter_events.h"
#include "diagnostics/meter_events.h"

enum {
    COUNTER = 4,
    GAUGE = 5,
    HISTOGRAM = 6,
    ERROR_EVENT = 9,
    CALLBACK_ERROR = 14,
    OTHER = 17,
    UP_DOWN = 16
};

static void add_text(buffer *out, const char *text)
{
    for (; *text != '\0'; text++)
        buffer_append_u16(out, (uint8_t)*text);
    buffer_append_u16(out, 0);
}

static void add_head_of(buffer *out, const char *meter, const char *instrument, const char *tags)
{
    add_text(out, "SHARED");
    add_text(out, meter);
    add_text(out, "1.2");
    add_text(out, instrument);
    add_text(out, "{order}");
    add_text(out, tags);
}

static void add_head(buffer *out, const char *instrument, const char *tags)
{
    add_head_of(out, "Shop", instrument, tags);
}

static void note(void *context, const meter_value *v)
{
    buffer_format(context, "%s|%s|%s|%s|%s|%u|%g\n", v->meter, v->name, v->title, v->unit, v->tags,
                  v->kind, v->value);
}

static void check(uint32_t id, const buffer *payload, bool is_good, const char *expected)
{
    buffer seen = BUFFER_EMPTY;

    assert_int_equal(meter_events_read(id, reader_of(payload->data, payload->length), note, &seen),
                     is_good);
    assert_string_equal(buffer_text(&seen), expected);
    buffer_free(&seen);
}

static void reads_counters_and_levels(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    add_head(&b, "sold", "kind=book,paid=True");
    add_text(&b, "7");
    add_text(&b, "19");
    check(COUNTER, &b, true,
          "Shop|sold|sold {kind=book,paid=True}|{order}|kind=book,paid=True|1|7\n");
    check(UP_DOWN, &b, true,
          "Shop|sold|sold {kind=book,paid=True}|{order}|kind=book,paid=True|0|19\n");
    buffer_clear(&b);
    add_head(&b, "open", "");
    add_text(&b, "2.5E-3");
    check(GAUGE, &b, true, "Shop|open|open|{order}||0|0.0025\n");
    buffer_clear(&b);
    add_head(&b, "open", "");
    add_text(&b, ""); /* nothing was measured */
    check(GAUGE, &b, true, "");
    add_text(&b, "NaN");
    check(2, &b, true, ""); /* another event */
    buffer_free(&b);
}

/* As the runtime writes what a ratio of nothing to nothing is, and the like. */
static void reads_what_is_no_number(void **state)
{
    static const struct {
        const char *text;
        const char *told;
    } CASES[] = {{"NaN", "Shop|open|open|{order}||0|nan\n"},
                 {"Infinity", "Shop|open|open|{order}||0|inf\n"},
                 {"-Infinity", "Shop|open|open|{order}||0|-inf\n"},
                 {"1x", ""}};
    buffer b = BUFFER_EMPTY;

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        buffer_clear(&b);
        add_head(&b, "open", "");
        add_text(&b, CASES[i].text);
        check(GAUGE, &b, true, CASES[i].told);
    }
    buffer_clear(&b);
    add_head(&b, "took", "");
    add_text(&b, "0.5=NaN");
    buffer_append_u32(&b, 1);
    buffer_append_u64(&b, 0x7ff0000000000000); /* infinite */
    check(HISTOGRAM, &b, true,
          "Shop|took|took {quantile=0.5}|{order}|quantile=0.5|0|nan\n"
          "Shop|took.count|took.count|{order}||1|1\n"
          "Shop|took.sum|took.sum|{order}||1|inf\n");
    buffer_free(&b);
}

/* The runtime makes two of its levels as counters: a total of -1 would be the answer. */
static void knows_levels_that_are_called_counters(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    add_head_of(&b, "System.Runtime", "dotnet.thread_pool.queue.length", "");
    add_text(&b, "-1");
    add_text(&b, "4");
    check(COUNTER, &b, true,
          "System.Runtime|dotnet.thread_pool.queue.length|dotnet.thread_pool.queue.length|{order}||"
          "0|4\n");
    buffer_clear(&b);
    add_head_of(&b, "System.Runtime", "dotnet.gc.collections", "");
    add_text(&b, "1");
    add_text(&b, "4");
    check(COUNTER, &b, true,
          "System.Runtime|dotnet.gc.collections|dotnet.gc.collections|{order}||1|1\n");
    buffer_free(&b);
}

static void reads_histograms(void **state)
{
    buffer b = BUFFER_EMPTY;

    (void)state;
    add_head(&b, "took", "route=/a");
    add_text(&b, "0.5=12;0.95=80.5;0.99=81");
    check(HISTOGRAM, &b, true, /* before count and sum were told */
          "Shop|took|took {route=/a,quantile=0.5}|{order}|route=/a,quantile=0.5|0|12\n"
          "Shop|took|took {route=/a,quantile=0.95}|{order}|route=/a,quantile=0.95|0|80.5\n"
          "Shop|took|took {route=/a,quantile=0.99}|{order}|route=/a,quantile=0.99|0|81\n");
    buffer_clear(&b);
    add_head(&b, "took", "");
    add_text(&b, "0.5=1");
    buffer_append_u32(&b, 3);
    buffer_append_u64(&b, 0x4008000000000000); /* 3.0 */
    check(HISTOGRAM, &b, true,
          "Shop|took|took {quantile=0.5}|{order}|quantile=0.5|0|1\n"
          "Shop|took.count|took.count|{order}||1|3\n"
          "Shop|took.sum|took.sum|{order}||1|3\n");
    buffer_free(&b);
}

static void survives_every_cut(void **state)
{
    buffer b = BUFFER_EMPTY;
    buffer seen = BUFFER_EMPTY;

    (void)state;
    add_head(&b, "took", "route=/a");
    add_text(&b, "0.5=12;0.95");
    check(HISTOGRAM, &b, false,
          "Shop|took|took {route=/a,quantile=0.5}|{order}|route=/a,quantile=0.5|0|12\n");
    for (size_t length = 0; length < b.length; length++)
        assert_false(meter_events_read(HISTOGRAM, reader_of(b.data, length), note, &seen));
    buffer_free(&seen);
    buffer_free(&b);
}

static void tells_what_is_not_told(void **state)
{
    buffer b = BUFFER_EMPTY;
    buffer words = BUFFER_EMPTY;

    (void)state;
    add_text(&b, "SHARED");
    add_text(&b, "no room");
    assert_true(meter_events_read_trouble(ERROR_EVENT, reader_of(b.data, b.length), &words));
    assert_string_equal(buffer_text(&words), "the source of meters says: no room");
    buffer_clear(&words);
    assert_true(meter_events_read_trouble(OTHER, reader_of(b.data, b.length), &words));
    assert_non_null(strstr(buffer_text(&words), "another interval"));
    assert_false(meter_events_read_trouble(COUNTER, reader_of(b.data, b.length), &words));
    /* a callback that fails leaves the others as they are */
    assert_false(meter_events_read_trouble(CALLBACK_ERROR, reader_of(b.data, b.length), &words));
    assert_false(meter_events_read_note(OTHER, reader_of(b.data, b.length), &words));
    b.length = 0;
    buffer_clear(&words);
    add_text(&b, "SHARED");
    add_text(&b, "Exception: boom\n at Shop");
    assert_true(meter_events_read_note(CALLBACK_ERROR, reader_of(b.data, b.length), &words));
    assert_string_equal(buffer_text(&words),
                        "an instrument was not read, its callback failed: Exception: boom");
    buffer_clear(&words);
    meter_events_append_filter(&words, "A,B", 250000000);
    assert_non_null(strstr(buffer_text(&words), ";Metrics=A,B;RefreshInterval=0.250;"));
    buffer_free(&words);
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_counters_and_levels),
        cmocka_unit_test(reads_what_is_no_number),
        cmocka_unit_test(knows_levels_that_are_called_counters),
        cmocka_unit_test(reads_histograms),
        cmocka_unit_test(survives_every_cut),
        cmocka_unit_test(tells_what_is_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
