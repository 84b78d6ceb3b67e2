/* trace_spans_output: see trace_spans_output.h. */
#include "profilers/trace_spans_output.h"

#include "agent/agent.h"
#include "base/os.h"

enum {
    SELF = ENGINE_INDEX_trace,
    BATCH = 2048,
    LONGEST = 56, /* bytes of a row at most */
    PATIENCE_MS = 300,
};

typedef struct {
    agent *a;
    trace_state_of_engine *s;
    output *out;
    uint8_t *at;   /* in the rows' buffer */
    uint64_t time; /* of the row before */
    uint32_t thread, method;
    uint64_t name; /* of the method; 0 = nothing is defined yet */
} writing;

static inline uint8_t *put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static void define(writing *w, const trace_span *span)
{
    trace_entry *entry = trace_registry_at(&w->s->registry, span->method);

    w->thread = span->thread;
    w->method = span->method;
    w->name = trace_output_name(w->a, entry);
    output_define(w->out, RECORDING_THREAD_ID, w->thread);
    output_define(w->out, RECORDING_METHOD_ID, w->name);
}

/* The type of what made it fail, defined. */
static uint32_t exception_of(writing *w, const trace_span *span)
{
    const trace_exceptions *x = w->s->registry.counters.exceptions;
    uint32_t name = 0;

    if (span->exception == 0 || x == NULL)
        return 0;
    if (!trace_exceptions_named(x, span->exception, &name)) { /* a new one, in this round */
        trace_output_name_failures(w->a, w->s);
        trace_exceptions_named(x, span->exception, &name);
    }
    if (name != 0)
        output_define(w->out, RECORDING_STRING_ID, name);
    return name;
}

/* The first span of its trace and the span around it are near: how far before it they began. */
static void write_span(writing *w, const trace_span *span)
{
    const trace_span_clock *clock = &w->s->span_clock;
    bool ends = span->part == TRACE_SPAN_END; /* knows its end only */
    uint64_t start = trace_span_clock_ns(clock, ends ? span->end : span->start);
    uint64_t duration =
        span->part == TRACE_SPAN_WHOLE ? trace_span_clock_ns(clock, span->end) - start : 0;
    uint64_t time = start - w->out->origin_ns;
    int64_t since = (int64_t)(time - w->time);
    uint32_t number = (uint32_t)span->span;
    uint32_t exception = exception_of(w, span);
    uint8_t *at = w->at;

    if (span->thread != w->thread || span->method != w->method || w->name == 0)
        define(w, span);
    at = put(at, (uint64_t)since << 1 ^ (uint64_t)(since >> 63));
    at = put(at, span->thread);
    at = put(at, w->name);
    at = put(at, number);
    at = put(at, number - (uint32_t)(span->span >> 32));
    at = put(at, span->parent == 0 ? 0 : number - span->parent);
    at = put(at, (uint64_t)span->part | (uint64_t)span->failed << 2);
    at = put(at, duration);
    w->at = put(at, exception);
    w->time = time;
}

/* Returns how many; 0 = none is there, or there is no room for them. */
static size_t write_batch(writing *w, size_t most)
{
    ring *from = &w->s->spans;
    recording_rows *rows = output_rows(w->out, SELF, TRACE_TABLE_SPANS);
    size_t count = 0;
    size_t written = 0;
    ring_record record;

    if (rows == NULL || !buffer_reserve(rows->out, BATCH * LONGEST))
        return 0;
    w->at = rows->out->data + rows->out->length;
    w->time = rows->previous[0];
    w->name = 0;
    for (; count < most && count < BATCH && ring_next(from, &record); count++) {
        const trace_span *span = record.payload;

        if (span->method < w->s->registry.count) {
            write_span(w, span);
            written++;
        }
        ring_release(from);
    }
    *w->at = 0;
    rows->out->length = (size_t)(w->at - rows->out->data);
    rows->previous[0] = w->time;
    rows->rows += written;
    w->out->rows += written;
    return count;
}

/* Whether the session's socket takes what it was sent; one that is gone is met in the round. */
static bool send(writing *w, int descriptor)
{
    output_gather(w->out);
    output_send(w->out, descriptor);
    return w->out->pending.length - w->out->pending_sent < OUTPUT_LIMIT / 2;
}

void trace_spans_write(agent *a, trace_state_of_engine *s, bool last)
{
    uint64_t dropped = atomic_load_explicit(&s->spans.dropped, memory_order_relaxed);
    size_t left = ring_fill(&s->spans) / sizeof(trace_span); /* a busy program goes on meanwhile */
    client *c = agent_client_of(a, SELF);
    unsigned waited = 0;
    writing w = {.a = a, .s = s};
    size_t count;

    if (c != NULL && left != 0) {
        w.out = &c->out;
        trace_span_clock_settle(&s->span_clock, &s->registry.counters);
        while ((count = write_batch(&w, left)) != 0) {
            left -= count;
            while (!send(&w, c->descriptor) && last && waited++ < PATIENCE_MS)
                os_sleep_ms(1);
            if (!last && w.out->pending.length - w.out->pending_sent >= OUTPUT_LIMIT / 2)
                break;
        }
    }
    if (dropped != s->spans_dropped)
        agent_lose(a, SELF, 0, dropped - s->spans_dropped);
    s->spans_dropped = dropped;
}
