/* section_pauses: when the whole runtime stood still, in words and as data. */
#include "analysis/pauses.h"
#include "report/section.h"

enum { TOP_SLOW = 10, STACK_FRAMES = 12, TITLE = 120 };

static void put_reasons(const section *s, const pauses *x)
{
    sink_text(s->out, "| reason | pauses | sum | longest |\n|---|---:|---:|---:|\n");
    for (size_t i = 0; i < x->reasons.count; i++) {
        const groups_item *item = &x->reasons.items[i];
        char sum[REPORT_AMOUNT_SIZE];
        char longest[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %s | %llu | %s | %s |\n", pauses_reason_name(item->key[0]),
                    (unsigned long long)item->count, report_amount(item->sum, "ns", sum),
                    report_amount(item->most, "ns", longest));
    }
    sink_char(s->out, '\n');
}

static void put_slow(const section *s, const pauses *x)
{
    sink_text(s->out, "### Slow to stop\n\nThe runtime waited for these threads.\n\n");
    for (size_t i = 0; i < x->slow.count && i < section_top(s, TOP_SLOW); i++) {
        const groups_item *item = &x->slow.items[i];
        char sum[REPORT_AMOUNT_SIZE];
        char title[TITLE];

        model_thread_title(s->m, &s->process->threads[item->key[1]], title, sizeof title);
        markdown_code(s->out, title);
        sink_format(s->out, ": %llu times, %s%s\n\n", (unsigned long long)item->count,
                    report_amount(item->sum, "ns", sum),
                    item->key[0] == 0 ? ", place not known" : "");
        markdown_stack(s->out, s->m, s->process, item->key[0], STACK_FRAMES);
        sink_char(s->out, '\n');
    }
}

int section_pauses_markdown(const section *s)
{
    char sum[REPORT_AMOUNT_SIZE];
    pauses x;
    int code = pauses_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    sink_format(s->out, "## Pauses\n\n%zu pauses, %s in all (%.2f %% of the time).\n\n",
                x.lengths.count, report_amount(x.lengths.sum, "ns", sum),
                report_percent(x.lengths.sum, x.watched_ns));
    if (x.lengths.count != 0) {
        markdown_spread(s->out, "Pause", &x.lengths);
        markdown_spread(s->out, "Until all had stopped", &x.suspending);
        put_reasons(s, &x);
    }
    if (x.slow.count != 0)
        put_slow(s, &x);
    pauses_free(&x);
    return 0;
}

int section_pauses_json(const section *s, json *j)
{
    pauses x;
    int code = pauses_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_put_u64(j, "watched_ns", x.watched_ns);
    json_put_f64(j, "percent_in_pauses", report_percent(x.lengths.sum, x.watched_ns));
    json_spread(j, "pause", &x.lengths);
    json_spread(j, "suspending", &x.suspending);
    json_begin_array_at(j, "reasons");
    for (size_t i = 0; i < x.reasons.count; i++) {
        json_begin_object(j);
        json_put_u64(j, "number", x.reasons.items[i].key[0]);
        json_put_text(j, "reason", pauses_reason_name(x.reasons.items[i].key[0]));
        json_put_u64(j, "count", x.reasons.items[i].count);
        json_put_u64(j, "sum_ns", x.reasons.items[i].sum);
        json_put_u64(j, "longest_ns", x.reasons.items[i].most);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_array_at(j, "slow_to_stop");
    for (size_t i = 0; i < x.slow.count && i < section_top(s, 1000); i++) {
        const model_thread *thread = &s->process->threads[x.slow.items[i].key[1]];

        json_begin_object(j);
        json_put_u64(j, "thread", thread->os_id);
        json_put_text(j, "name", model_text(s->m, thread->name));
        json_put_u64(j, "count", x.slow.items[i].count);
        json_put_u64(j, "suspending_ns", x.slow.items[i].sum);
        json_put_u64(j, "longest_ns", x.slow.items[i].most);
        json_key(j, "stack");
        json_stack(j, s->m, s->process, x.slow.items[i].key[0], MODEL_MAXIMUM_DEPTH);
        json_end_object(j);
    }
    json_end_array(j);
    pauses_free(&x);
    return 0;
}
