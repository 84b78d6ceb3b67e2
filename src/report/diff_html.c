/* diff_html: the report page with the data of a difference (docs/report-data.md, "Diff"). */
#include <string.h>

#include "base/text.h"
#include "report/diff.h"
#include "report/json.h"
#include "report/page.h"

static void put_frames(const difference *d, json *j)
{
    json_begin_object_at(j, "frames");
    json_begin_array_at(j, "name");
    for (size_t i = 0; i < d->function_count; i++)
        json_u64(j, d->functions[i].name);
    json_end_array(j);
    json_begin_array_at(j, "module");
    for (size_t i = 0; i < d->function_count; i++)
        json_u64(j, d->functions[i].module);
    json_end_array(j);
    json_begin_array_at(j, "file");
    for (size_t i = 0; i < d->function_count; i++)
        json_u64(j, 0);
    json_end_array(j);
    json_begin_array_at(j, "line");
    for (size_t i = 0; i < d->function_count; i++)
        json_u64(j, 0);
    json_end_array(j);
    json_begin_array_at(j, "kind");
    for (size_t i = 0; i < d->function_count; i++)
        json_u64(j, d->functions[i].kind);
    json_end_array(j);
    json_end_object(j);
}

static void put_stacks(const difference *d, json *j)
{
    json_begin_object_at(j, "stacks");
    json_begin_array_at(j, "parent");
    json_i64(j, -1);
    for (size_t i = 1; i < d->node_count; i++)
        json_u64(j, d->parents[i]);
    json_end_array(j);
    json_begin_array_at(j, "frame");
    json_i64(j, -1);
    for (size_t i = 1; i < d->node_count; i++)
        json_u64(j, d->keys[i]);
    json_end_array(j);
    json_end_object(j);
}

static bool has_weight(const difference *d, size_t node)
{
    return d->sides[0].self[node] != 0 || d->sides[1].self[node] != 0;
}

static void put_weight(const difference *d, uint64_t weight, json *j)
{
    if (text_equal(d->unit, "ns"))
        json_microseconds(j, weight);
    else
        json_u64(j, weight);
}

static void put_side_column(const difference *d, unsigned side, json *j)
{
    json_begin_array_at(j, side == 0 ? "before" : "after");
    for (size_t i = 0; i < d->node_count; i++)
        if (has_weight(d, i))
            put_weight(d, d->sides[side].self[i], j);
    json_end_array(j);
}

static void put_table(const difference *d, json *j)
{
    bool is_time = text_equal(d->unit, "ns");
    size_t rows = 0;

    for (size_t i = 0; i < d->node_count; i++)
        rows += has_weight(d, i);
    json_begin_object(j);
    json_put_text(j, "name", "diff");
    json_put_text(j, "profiler", "");
    json_put_u64(j, "rows", rows);
    json_put_u64(j, "recorded", d->sides[0].total.samples + d->sides[1].total.samples);
    json_put_u64(j, "bucket", 0);
    json_put_text(j, "weight", "after");
    json_put_text(j, "unit", is_time ? "us" : d->unit);
    json_begin_object_at(j, "columns");
    json_begin_array_at(j, "stack");
    for (size_t i = 0; i < d->node_count; i++)
        if (has_weight(d, i))
            json_u64(j, i);
    json_end_array(j);
    put_side_column(d, 0, j);
    put_side_column(d, 1, j);
    json_end_object(j);
    json_begin_object_at(j, "types");
    json_put_text(j, "stack", "stack");
    json_put_text(j, "before", is_time ? "duration" : "u64");
    json_put_text(j, "after", is_time ? "duration" : "u64");
    json_end_object(j);
    json_begin_object_at(j, "units");
    json_end_object(j);
    json_end_object(j);
}

static void put_empty(json *j, const char *key)
{
    json_begin_array_at(j, key);
    json_end_array(j);
}

/* Losses of each side; the cost of both together. */
static void put_costs(const difference *d, json *j)
{
    static const char *const NAMES[] = {"before", "after"};
    uint64_t agent = 0;
    uint64_t handler = 0;
    uint64_t calls = 0;

    json_begin_array_at(j, "loss");
    for (unsigned i = 0; i < 2; i++) {
        agent += d->sides[i].cost.thread_cpu_ns;
        handler += d->sides[i].cost.handler_ns;
        calls += d->sides[i].cost.handler_calls;
        json_begin_object(j);
        json_put_text(j, "profiler", NAMES[i]);
        json_put_text(j, "reason", "all reasons");
        json_put_u64(j, "count", d->sides[i].lost);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_object_at(j, "cost");
    json_put_u64(j, "agent_cpu", agent / 1000);
    json_put_u64(j, "handler", handler / 1000);
    json_put_u64(j, "handler_calls", calls);
    json_put_u64(j, "memory",
                 d->sides[0].cost.memory_bytes > d->sides[1].cost.memory_bytes
                     ? d->sides[0].cost.memory_bytes
                     : d->sides[1].cost.memory_bytes);
    json_end_object(j);
}

static void put_process(const difference *d, json *j)
{
    json_begin_object(j);
    json_put_u64(j, "pid", 0);
    json_put_text(j, "name", "");
    json_begin_object_at(j, "info");
    json_end_object(j);
    json_put_u64(j, "origin", 0);
    json_put_u64(j, "duration", d->sides[1].duration_ns / 1000);
    json_put_text(j, "end", "");
    json_begin_array_at(j, "strings");
    for (size_t i = 0; i < d->strings.count; i++)
        json_text(j, d->strings.texts[i]);
    json_end_array(j);
    put_frames(d, j);
    put_stacks(d, j);
    put_empty(j, "threads");
    json_begin_array_at(j, "tables");
    put_table(d, j);
    json_end_array(j);
    put_costs(d, j);
    put_empty(j, "profilers");
    put_empty(j, "sources");
    json_end_object(j);
}

static void put_side(const difference *d, unsigned side, json *j)
{
    const char *title = strings_at(&d->strings, d->sides[side].title);

    json_begin_object_at(j, side == 0 ? "before" : "after");
    json_put_text(j, "title", title);
    json_put_text(j, "file", title);
    json_put_u64(j, "duration", d->sides[side].duration_ns / 1000);
    json_key(j, "total");
    put_weight(d, d->sides[side].total.weight, j);
    json_put_u64(j, "samples", d->sides[side].total.samples);
    json_end_object(j);
}

static void put_data(const difference *d, json *j)
{
    buffer title = BUFFER_EMPTY;

    buffer_append_text(&title, strings_at(&d->strings, d->sides[0].title));
    buffer_append_text(&title, " against ");
    buffer_append_text(&title, strings_at(&d->strings, d->sides[1].title));
    json_begin_object(j);
    json_put_u64(j, "version", 1);
    json_put_text(j, "kind", "diff");
    json_put_text(j, "title", buffer_text(&title));
    json_put_text(j, "tool", CLARINET_VERSION);
    json_put_text(j, "command", "");
    json_put_u64(j, "created", 0);
    json_put_text(j, "cut", "");
    put_empty(j, "findings");
    json_begin_object_at(j, "diff");
    json_put_text(j, "profiler", d->profiler);
    put_side(d, 0, j);
    put_side(d, 1, j);
    json_put_f64(j, "scale", d->scale);
    json_end_object(j);
    json_begin_array_at(j, "processes");
    put_process(d, j);
    json_end_array(j);
    json_end_object(j);
    buffer_free(&title);
}

int diff_write_html(difference *d, const report_options *options, sink *out, error *e)
{
    json j;

    (void)options;
    (void)e;
    sink_text(out, report_page_head);
    json_init(&j, out);
    put_data(d, &j);
    json_free(&j);
    sink_text(out, report_page_tail);
    return 0;
}
