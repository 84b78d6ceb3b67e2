/*
 * otlp_flow: see otlp_flow.h. There are millions of spans, nearly all of them plain ones (neither
 * failed nor async): these are put together by hand, to the same text as otlp.h's.
 */
#include "report/otlp_flow.h"

#include <string.h>

#include "report/otlp.h"

#define PIECE(text) text, sizeof(text) - 1

enum { PLAIN_ROOM = 512 }; /* bytes of a plain span but for its names */

typedef struct {
    const model *m;
    sink *out;
    json j;
    uint64_t seed;    /* of the process's ids */
    buffer name;      /* of the last plain span's method, as JSON */
    uint32_t process; /* of the same */
    uint32_t method;
} writing;

static void put_span(writing *w, const flow_span *s)
{
    const model_process *p = &w->m->processes[s->process];
    const char *name = model_text(w->m, p->methods[s->method].name);
    otlp_span out = {
        .name = name,
        .trace = {otlp_id(w->seed), otlp_id(w->seed ^ s->id >> 32)},
        .id = otlp_id(w->seed ^ s->id),
        .parent = s->parent == 0 ? 0 : otlp_id(w->seed ^ s->parent),
        .start_unix_ns = p->origin_unix_ns + s->start,
        .end_unix_ns = p->origin_unix_ns + s->end,
        .failed = s->failed,
        .exception = model_text(w->m, s->exception),
    };
    json *j = &w->j;

    otlp_begin_span(j, &out);
    otlp_attribute_text(j, "code.function.name", name);
    otlp_attribute_number(j, "thread.id", p->threads[s->thread].os_id);
    if (s->is_async)
        otlp_attribute_text(j, "clarinet.call", "async");
    if (s->unfinished)
        otlp_attribute_text(j, "clarinet.end", "not seen");
    otlp_end_span(j);
}

/* ---- plain spans ---- */

static char *put(char *at, const char *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return at + length;
}

static char *put_hex(char *at, uint64_t value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[value >> shift & 15];
    return at;
}

static char *put_number(char *at, uint64_t value)
{
    char digits[20];
    size_t n = sizeof digits;

    do
        digits[--n] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    return put(at, digits + n, sizeof digits - n);
}

/* False when there is no memory. */
static bool name_method(writing *w, const flow_span *s)
{
    const model_process *p = &w->m->processes[s->process];
    sink text;
    json j;

    if (w->name.length != 0 && w->process == s->process && w->method == s->method)
        return true;
    sink_init(&text, -1);
    json_init(&j, &text);
    json_text(&j, model_text(w->m, p->methods[s->method].name));
    json_free(&j);
    buffer_free(&w->name);
    w->name = text.pending;
    w->process = s->process;
    w->method = s->method;
    return !buffer_failed(&w->name);
}

static void put_plain_span(writing *w, const flow_span *s)
{
    const model_process *p = &w->m->processes[s->process];
    buffer *out = &w->out->pending;
    char *at;

    if (!name_method(w, s) || !buffer_reserve(out, PLAIN_ROOM + 2 * w->name.length)) {
        out->failed = true;
        return;
    }
    at = (char *)out->data + out->length;
    if (w->j.comma)
        *at++ = ',';
    w->j.comma = true;
    at = put(at, PIECE("{\"traceId\":\""));
    at = put_hex(at, otlp_id(w->seed));
    at = put_hex(at, otlp_id(w->seed ^ s->id >> 32));
    at = put(at, PIECE("\",\"spanId\":\""));
    at = put_hex(at, otlp_id(w->seed ^ s->id));
    if (s->parent != 0) {
        at = put(at, PIECE("\",\"parentSpanId\":\""));
        at = put_hex(at, otlp_id(w->seed ^ s->parent));
    }
    at = put(at, PIECE("\",\"name\":"));
    at = put(at, (const char *)w->name.data, w->name.length);
    at = put(at, PIECE(",\"kind\":1,\"startTimeUnixNano\":\""));
    at = put_number(at, p->origin_unix_ns + s->start);
    at = put(at, PIECE("\",\"endTimeUnixNano\":\""));
    at = put_number(at, p->origin_unix_ns + s->end);
    at = put(at, PIECE("\",\"status\":{},\"attributes\":[{\"key\":\"code.function.name\",\"value\":"
                       "{\"stringValue\":"));
    at = put(at, (const char *)w->name.data, w->name.length);
    at = put(at, PIECE("}},{\"key\":\"thread.id\",\"value\":{\"intValue\":\""));
    at = put_number(at, p->threads[s->thread].os_id);
    at = put(at, PIECE("\"}}]}"));
    *at = '\0';
    out->length = (size_t)(at - (char *)out->data);
}

/* ---- a request ---- */

void otlp_flow_write(const model *m, const flow_span *spans, size_t count, sink *out)
{
    writing w = {.m = m, .out = out, .name = BUFFER_EMPTY};

    json_init(&w.j, out);
    otlp_begin(&w.j);
    for (size_t n = 0; n < count;) {
        uint32_t process = spans[n].process;
        const model_process *p = &m->processes[process];

        w.seed = p->origin_unix_ns ^ (uint64_t)p->pid << 32;
        otlp_begin_resource(&w.j, p->name == 0 ? "process" : model_text(m, p->name), p->pid,
                            model_info_value(m, p, "runtime_version"));
        for (; n < count && spans[n].process == process; n++) {
            if (spans[n].failed || spans[n].is_async)
                put_span(&w, &spans[n]);
            else
                put_plain_span(&w, &spans[n]);
        }
        otlp_end_resource(&w.j);
    }
    otlp_end(&w.j);
    json_free(&w.j);
    buffer_free(&w.name);
}
