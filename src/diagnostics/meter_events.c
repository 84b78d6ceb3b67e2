/* meter_events: see meter_events.h. */
#include "diagnostics/meter_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "clr/counter_events.h"

enum {
    EVENT_COUNTER = 4,
    EVENT_GAUGE = 5,
    EVENT_HISTOGRAM = 6,
    EVENT_ERROR = 9,
    EVENT_SERIES_LIMIT = 12,
    EVENT_HISTOGRAM_LIMIT = 13,
    EVENT_CALLBACK_ERROR = 14,
    EVENT_OTHER_SESSION = 15,
    EVENT_UP_DOWN = 16,
    EVENT_OTHER_SETTINGS = 17,
    MOST_SERIES = 1000,
    MOST_HISTOGRAMS = 20,
    MOST_UNITS = 2048, /* of one text */
    MOST_MESSAGE = 200,
};

/* The texts that every value begins with. */
typedef enum { SESSION, METER, VERSION, INSTRUMENT, UNIT, TAGS, HEAD } head_text;

typedef struct {
    buffer head[HEAD];
    buffer title;
    buffer tags;
    buffer name;
    meter_put put;
    void *context;
} work;

static bool read_text(reader *r, buffer *out)
{
    const uint8_t *begin = r->position;
    size_t units = 0;

    buffer_clear(out);
    while (reader_u16(r) != 0)
        units++;
    if (reader_failed(r))
        return false;
    text_append_utf16_bytes(out, begin, units < MOST_UNITS ? units : MOST_UNITS);
    return !buffer_failed(out);
}

static bool to_number(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static void put(work *w, const char *suffix, const char *quantile, unsigned kind, double value)
{
    meter_value v = {.kind = kind, .value = value};

    buffer_clear(&w->tags);
    buffer_clear(&w->title);
    buffer_clear(&w->name);
    buffer_format(&w->name, "%s%s", buffer_text(&w->head[INSTRUMENT]), suffix);
    buffer_append(&w->tags, w->head[TAGS].data, w->head[TAGS].length);
    if (quantile != NULL)
        buffer_format(&w->tags, "%squantile=%s", w->tags.length == 0 ? "" : ",", quantile);
    buffer_format(&w->title, w->tags.length == 0 ? "%s" : "%s {%s}", buffer_text(&w->name),
                  buffer_text(&w->tags));
    v.meter = buffer_text(&w->head[METER]);
    v.name = buffer_text(&w->name);
    v.title = buffer_text(&w->title);
    v.unit = buffer_text(&w->head[UNIT]);
    v.tags = buffer_text(&w->tags);
    w->put(w->context, &v);
}

/* "0.5=12;0.95=80;0.99=81", then how many values and their sum (not in the first version). */
static bool read_histogram(work *w, reader *r)
{
    char *at;
    uint32_t count;
    double value;

    if (!read_text(r, &w->head[TAGS]) || !read_text(r, &w->head[SESSION]))
        return false;
    at = w->head[SESSION].length == 0 ? NULL : (char *)w->head[SESSION].data;
    for (char *next; at != NULL && *at != '\0'; at = next) {
        char *equals = strchr(at, '=');

        next = at + strcspn(at, ";");
        if (*next != '\0')
            *next++ = '\0';
        if (equals == NULL || equals >= next)
            return false;
        *equals = '\0';
        if (to_number(equals + 1, &value))
            put(w, "", at, COUNTER_LEVEL, value);
    }
    if (reader_left(r) < 12)
        return true;
    count = reader_u32(r);
    value = reader_f64(r);
    put(w, ".count", NULL, COUNTER_INCREASE, count);
    put(w, ".sum", NULL, COUNTER_INCREASE, value);
    return true;
}

/* Levels that the runtime (9.0 and 10.0) makes as counters, although they go up and down. */
static bool is_level(const work *w)
{
    return text_equal(buffer_text(&w->head[METER]), "System.Runtime") &&
           (text_equal(buffer_text(&w->head[INSTRUMENT]), "dotnet.thread_pool.queue.length") ||
            text_equal(buffer_text(&w->head[INSTRUMENT]), "dotnet.thread_pool.thread.count"));
}

/* Counter: rate in the interval, value so far. Up-down: the same. Gauge: its last value, or "". */
static bool read_single(work *w, uint32_t id, reader *r)
{
    double value;

    if (id == EVENT_COUNTER && is_level(w))
        id = EVENT_UP_DOWN;
    if (!read_text(r, &w->head[TAGS]) || !read_text(r, &w->head[SESSION]))
        return false;
    if (id == EVENT_UP_DOWN && reader_left(r) >= 2 && !read_text(r, &w->head[SESSION]))
        return false;
    if (to_number(buffer_text(&w->head[SESSION]), &value))
        put(w, "", NULL, id == EVENT_COUNTER ? COUNTER_INCREASE : COUNTER_LEVEL, value);
    return true;
}

bool meter_events_read(uint32_t id, reader payload, meter_put put_value, void *context)
{
    work w = {.put = put_value, .context = context};
    bool is_good = true;

    if (id != EVENT_COUNTER && id != EVENT_GAUGE && id != EVENT_HISTOGRAM && id != EVENT_UP_DOWN)
        return true;
    for (int i = 0; i < TAGS && is_good; i++)
        is_good = read_text(&payload, &w.head[i]);
    if (is_good)
        is_good =
            id == EVENT_HISTOGRAM ? read_histogram(&w, &payload) : read_single(&w, id, &payload);
    for (int i = 0; i < HEAD; i++)
        buffer_free(&w.head[i]);
    buffer_free(&w.title);
    buffer_free(&w.tags);
    buffer_free(&w.name);
    return is_good;
}

/* Up to its end of line: the rest is a stack. */
static void append_message(reader *payload, buffer *out)
{
    buffer text = BUFFER_EMPTY;
    int length;

    read_text(payload, &text); /* session */
    read_text(payload, &text);
    length = (int)strcspn(buffer_text(&text), "\r\n");
    buffer_format(out, "%.*s", length < MOST_MESSAGE ? length : MOST_MESSAGE, buffer_text(&text));
    buffer_free(&text);
}

bool meter_events_read_trouble(uint32_t id, reader payload, buffer *out)
{
    switch (id) {
    case EVENT_ERROR:
        buffer_append_text(out, "the source of meters says: ");
        append_message(&payload, out);
        return true;
    case EVENT_OTHER_SESSION:
        buffer_append_text(out, "another tool reads the meters and shares them with nobody: end it "
                                "and try again");
        return true;
    case EVENT_OTHER_SETTINGS:
        buffer_append_text(out, "another tool reads the meters with another interval or other "
                                "limits: use its interval, or end it");
        return true;
    default:
        return false;
    }
}

bool meter_events_read_note(uint32_t id, reader payload, buffer *out)
{
    switch (id) {
    case EVENT_CALLBACK_ERROR:
        buffer_append_text(out, "an instrument was not read, its callback failed: ");
        append_message(&payload, out);
        return true;
    case EVENT_SERIES_LIMIT:
        buffer_format(out, "more than %d series of meters: the others are not told", MOST_SERIES);
        return true;
    case EVENT_HISTOGRAM_LIMIT:
        buffer_format(out, "more than %d histograms: the others are not told", MOST_HISTOGRAMS);
        return true;
    default:
        return false;
    }
}

void meter_events_append_filter(buffer *out, const char *meters, uint64_t interval_ns)
{
    /* ClientId tells the source's readers apart; the limits must be the same for all of them */
    buffer_format(out,
                  "SessionId=SHARED;Metrics=%s;RefreshInterval=%u.%03u;MaxTimeSeries=%d;"
                  "MaxHistograms=%d;ClientId=clarinet",
                  meters, (unsigned)(interval_ns / 1000000000),
                  (unsigned)(interval_ns / 1000000 % 1000), MOST_SERIES, MOST_HISTOGRAMS);
}
