/*
 * chrome: the trace event format that chrome://tracing, Perfetto and others open: the traced calls
 * of a recording as complete events ("X"), async ones as pairs ("b", "e"), with threads and
 * processes named.
 */
#include <string.h>

#include "analysis/spans.h"
#include "report/json.h"
#include "report/report.h"

static void put_name(json *j, const char *what, uint64_t pid, uint64_t thread, const char *name)
{
    json_begin_object(j);
    json_put_text(j, "ph", "M");
    json_put_text(j, "name", what);
    json_put_u64(j, "pid", pid);
    json_put_u64(j, "tid", thread);
    json_begin_object_at(j, "args");
    json_put_text(j, "name", name);
    json_end_object(j);
    json_end_object(j);
}

/* An async call belongs to no thread: "b" and "e" with a number instead of one "X". */
static void put_part(json *j, const model *m, const span *s, const char *part, size_t number)
{
    const model_process *p = s->process;
    const model_method *method = &p->methods[s->method];
    bool ends = part[0] == 'e';

    json_begin_object(j);
    json_put_text(j, "ph", part);
    if (s->is_async)
        json_put_u64(j, "id", number + 1);
    json_put_text(j, "name", model_text(m, method->name));
    json_put_text(j, "cat", s->failed ? "failed" : "call");
    json_put_u64(j, "pid", p->pid);
    json_put_u64(j, "tid", p->threads[s->thread].os_id);
    json_put_f64(j, "ts", (double)(ends ? s->end : s->start) / 1000);
    if (!s->is_async)
        json_put_f64(j, "dur", (double)(s->end - s->start) / 1000);
    json_begin_object_at(j, "args");
    if (s->values != 0)
        json_put_text(j, "values", model_text(m, s->values));
    if (s->exception != 0)
        json_put_text(j, "exception", model_text(m, s->exception));
    json_end_object(j);
    json_end_object(j);
}

static void put_span(json *j, const model *m, const span *s, size_t number)
{
    put_part(j, m, s, s->is_async ? "b" : "X", number);
    if (s->is_async)
        put_part(j, m, s, "e", number);
}

int report_write_chrome(const model *m, const report_options *options, sink *out, error *e)
{
    spans all;
    json j;
    int code = report_find_spans(m, options, &all, e);

    if (code != 0)
        return code;
    json_init(&j, out);
    json_begin_object(&j);
    json_begin_array_at(&j, "traceEvents");
    for (size_t n = 0; n < all.count; n++) {
        const span *s = &all.items[n];
        const model_process *p = s->process;
        char title[200];

        if (n == 0 || s[-1].process != p) {
            report_process_title(m, p, title, sizeof title);
            put_name(&j, "process_name", p->pid, 0, title);
        }
        if (n == 0 || s[-1].process != p || s[-1].thread != s->thread) {
            model_thread_title(m, &p->threads[s->thread], title, sizeof title);
            put_name(&j, "thread_name", p->pid, p->threads[s->thread].os_id, title);
        }
        put_span(&j, m, s, n);
    }
    json_end_array(&j);
    json_put_text(&j, "displayTimeUnit", "ns");
    json_end_object(&j);
    json_free(&j);
    spans_free(&all);
    return 0;
}
