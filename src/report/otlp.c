/* otlp: see otlp.h. Also the report format of that name: the traced calls of a recording. */
#include "report/otlp.h"

#include "analysis/spans.h"
#include "report/report.h"

enum { KIND_INTERNAL = 1, STATUS_OK = 0, STATUS_ERROR = 2 };

uint64_t otlp_id(uint64_t number)
{
    uint64_t x = number + 0x9E3779B97F4A7C15u;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return x == 0 ? 1 : x;
}

static void put_id(json *j, const char *key, const uint64_t *words, int count)
{
    char text[33];

    for (int n = 0; n < 16 * count; n++)
        text[n] = "0123456789abcdef"[words[n / 16] >> (60 - n % 16 * 4) & 15];
    text[16 * count] = '\0';
    json_put_text(j, key, text);
}

/* 64-bit numbers are texts in this form. */
static void put_number_text(json *j, const char *key, uint64_t value)
{
    char text[24];
    char *at = text + sizeof text - 1;

    *at = '\0';
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    json_put_text(j, key, at);
}

void otlp_attribute_text(json *j, const char *key, const char *value)
{
    json_begin_object(j);
    json_put_text(j, "key", key);
    json_begin_object_at(j, "value");
    json_put_text(j, "stringValue", value);
    json_end_object(j);
    json_end_object(j);
}

void otlp_attribute_number(json *j, const char *key, uint64_t value)
{
    json_begin_object(j);
    json_put_text(j, "key", key);
    json_begin_object_at(j, "value");
    put_number_text(j, "intValue", value);
    json_end_object(j);
    json_end_object(j);
}

void otlp_begin(json *j)
{
    json_begin_object(j);
    json_begin_array_at(j, "resourceSpans");
}

void otlp_begin_resource(json *j, const char *service, uint64_t pid, const char *runtime_version)
{
    json_begin_object(j);
    json_begin_object_at(j, "resource");
    json_begin_array_at(j, "attributes");
    otlp_attribute_text(j, "service.name", service);
    otlp_attribute_number(j, "process.pid", pid);
    otlp_attribute_text(j, "process.runtime.name", ".NET");
    if (runtime_version != NULL)
        otlp_attribute_text(j, "process.runtime.version", runtime_version);
    json_end_array(j);
    json_end_object(j);
    json_begin_array_at(j, "scopeSpans");
    json_begin_object(j);
    json_begin_object_at(j, "scope");
    json_put_text(j, "name", "clarinet");
    json_put_text(j, "version", CLARINET_VERSION);
    json_end_object(j);
    json_begin_array_at(j, "spans");
}

/* The event that receivers look for: an exception left the call at its end. */
static void put_exception(json *j, const otlp_span *s)
{
    json_begin_array_at(j, "events");
    json_begin_object(j);
    put_number_text(j, "timeUnixNano", s->end_unix_ns);
    json_put_text(j, "name", "exception");
    json_begin_array_at(j, "attributes");
    otlp_attribute_text(j, "exception.type", s->exception);
    json_end_array(j);
    json_end_object(j);
    json_end_array(j);
}

void otlp_begin_span(json *j, const otlp_span *s)
{
    json_begin_object(j);
    put_id(j, "traceId", s->trace, 2);
    put_id(j, "spanId", &s->id, 1);
    if (s->parent != 0)
        put_id(j, "parentSpanId", &s->parent, 1);
    json_put_text(j, "name", s->name);
    json_put_u64(j, "kind", KIND_INTERNAL);
    put_number_text(j, "startTimeUnixNano", s->start_unix_ns);
    put_number_text(j, "endTimeUnixNano", s->end_unix_ns);
    json_begin_object_at(j, "status");
    if (s->failed) {
        json_put_u64(j, "code", STATUS_ERROR);
        if (s->exception != NULL && s->exception[0] != '\0')
            json_put_text(j, "message", s->exception);
    }
    json_end_object(j);
    if (s->failed && s->exception != NULL && s->exception[0] != '\0')
        put_exception(j, s);
    json_begin_array_at(j, "attributes");
    if (s->failed && s->exception != NULL && s->exception[0] != '\0')
        otlp_attribute_text(j, "exception.type", s->exception);
}

void otlp_end_span(json *j)
{
    json_end_array(j);
    json_end_object(j);
}

void otlp_end_resource(json *j)
{
    json_end_array(j);
    json_end_object(j);
    json_end_array(j);
    json_end_object(j);
}

void otlp_end(json *j)
{
    json_end_array(j);
    json_end_object(j);
}

/* ---- the report format ---- */

static void put_span(json *j, const model *m, const spans *all, size_t number)
{
    const span *s = &all->items[number];
    const model_process *p = s->process;
    uint64_t seed = p->origin_unix_ns ^ p->pid << 32;
    otlp_span out = {
        .name = model_text(m, p->methods[s->method].name),
        .trace = {otlp_id(seed), otlp_id(seed ^ otlp_id(s->root))},
        .id = otlp_id(seed + number),
        .parent = s->parent == SPANS_NONE ? 0 : otlp_id(seed + s->parent),
        .start_unix_ns = p->origin_unix_ns + s->start,
        .end_unix_ns = p->origin_unix_ns + s->end,
        .failed = s->failed,
        .exception = model_text(m, s->exception),
    };

    otlp_begin_span(j, &out);
    otlp_attribute_number(j, "thread.id", p->threads[s->thread].os_id);
    if (p->threads[s->thread].name != 0)
        otlp_attribute_text(j, "thread.name", model_text(m, p->threads[s->thread].name));
    otlp_attribute_text(j, "code.function.name", model_text(m, p->methods[s->method].name));
    if (s->is_async)
        otlp_attribute_text(j, "clarinet.call", "async");
    if (s->values != 0)
        otlp_attribute_text(j, "clarinet.values", model_text(m, s->values));
    otlp_end_span(j);
}

int report_write_otlp(const model *m, const report_options *options, sink *out, error *e)
{
    spans all;
    json j;
    int code = report_find_spans(m, options, &all, e);

    if (code != 0)
        return code;
    json_init(&j, out);
    otlp_begin(&j);
    for (size_t n = 0; n < all.count;) {
        const model_process *p = all.items[n].process;
        size_t end = n;

        while (end < all.count && all.items[end].process == p)
            end++;
        otlp_begin_resource(&j, p->name == 0 ? "process" : model_text(m, p->name), p->pid,
                            model_info_value(m, p, "runtime_version"));
        for (size_t k = n; k < end; k++)
            put_span(&j, m, &all, k);
        otlp_end_resource(&j);
        n = end;
    }
    otlp_end(&j);
    json_free(&j);
    spans_free(&all);
    return 0;
}
