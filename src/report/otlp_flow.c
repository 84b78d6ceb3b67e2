/* otlp_flow: see otlp_flow.h. */
#include "report/otlp_flow.h"

#include "report/otlp.h"

static void put_span(json *j, const model *m, const flow_span *s)
{
    const model_process *p = s->process;
    uint64_t seed = p->origin_unix_ns ^ (uint64_t)p->pid << 32;
    const char *name = model_text(m, p->methods[s->method].name);
    otlp_span out = {
        .name = name,
        .trace = {otlp_id(seed), otlp_id(seed ^ s->id >> 32)},
        .id = otlp_id(seed ^ s->id),
        .parent = s->parent == 0 ? 0 : otlp_id(seed ^ s->parent),
        .start_unix_ns = p->origin_unix_ns + s->start,
        .end_unix_ns = p->origin_unix_ns + s->end,
        .failed = s->failed,
        .exception = model_text(m, s->exception),
    };

    otlp_begin_span(j, &out);
    otlp_attribute_text(j, "code.function.name", name);
    otlp_attribute_number(j, "thread.id", p->threads[s->thread].os_id);
    if (s->is_async)
        otlp_attribute_text(j, "clarinet.call", "async");
    if (s->unfinished)
        otlp_attribute_text(j, "clarinet.end", "not seen");
    otlp_end_span(j);
}

void otlp_flow_write(const model *m, const flow *f, size_t *next, sink *out)
{
    size_t end = f->count - *next > OTLP_FLOW_BATCH ? *next + OTLP_FLOW_BATCH : f->count;
    json j;

    json_init(&j, out);
    otlp_begin(&j);
    while (*next < end) {
        const model_process *p = f->items[*next].process;

        otlp_begin_resource(&j, p->name == 0 ? "process" : model_text(m, p->name), p->pid,
                            model_info_value(m, p, "runtime_version"));
        for (; *next < end && f->items[*next].process == p; (*next)++)
            put_span(&j, m, &f->items[*next]);
        otlp_end_resource(&j);
    }
    otlp_end(&j);
    json_free(&j);
}
