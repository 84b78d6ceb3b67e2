/* section_counters: what counters said, in words and as data. */
#include "analysis/counters.h"
#include "base/text.h"
#include "report/number.h"
#include "report/section.h"

static const char *title_of(const section *s, const counters_item *item)
{
    const char *title = model_text(s->m, item->title);

    return title[0] != '\0' ? title : model_text(s->m, item->name);
}

static void put_item(const section *s, const counters_item *item)
{
    double values[] = {item->last, item->sum / (double)item->numbers, item->least, item->most};
    char text[NUMBER_TEXT];

    sink_text(s->out, "| ");
    markdown_cell(s->out, model_text(s->m, item->provider));
    sink_text(s->out, " | ");
    markdown_cell(s->out, title_of(s, item));
    sink_text(s->out, " | ");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sink_format(s->out, "%s | ", number_text(text, 6, values[i]));
    if (model_text(s->m, item->unit)[0] != '\0')
        markdown_cell(s->out, model_text(s->m, item->unit));
    sink_text(s->out, item->kind == COUNTERS_SUMMARY_INCREASE ? " an interval |\n" : " |\n");
}

static void put_no_numbers(const section *s, const counters_item *item)
{
    if (item->numbers == item->count)
        return;
    sink_format(s->out, "%llu of %llu values of ",
                (unsigned long long)(item->count - item->numbers), (unsigned long long)item->count);
    markdown_code(s->out, title_of(s, item));
    sink_text(s->out, " of ");
    markdown_code(s->out, model_text(s->m, item->provider));
    sink_format(s->out, " are no numbers (NaN or infinite)%s.\n\n",
                item->numbers == 0 ? "" : ": mean, least and most are those of the others");
}

int section_counters_markdown(const section *s)
{
    counters_summary x;
    int code = counters_summarise(s->m, s->table, &x, s->e);

    if (code != 0)
        return code;
    sink_format(s->out, "## %s\n\n",
                text_equal(model_text(s->m, s->table->name), "meters") ? "Meters" : "Counters");
    if (x.count == 0)
        sink_text(s->out, "None was published.\n");
    else
        sink_text(s->out, "| provider | counter | last | mean | least | most | unit |\n"
                          "|---|---|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < x.count; i++)
        put_item(s, &x.items[i]);
    sink_char(s->out, '\n');
    for (size_t i = 0; i < x.count; i++)
        put_no_numbers(s, &x.items[i]);
    counters_free(&x);
    return 0;
}

int section_counters_json(const section *s, json *j)
{
    static const char *const KINDS[] = {"level", "increase"};
    counters_summary x;
    int code = counters_summarise(s->m, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_begin_array_at(j, "counters");
    for (size_t i = 0; i < x.count; i++) {
        const counters_item *item = &x.items[i];

        json_begin_object(j);
        json_put_text(j, "provider", model_text(s->m, item->provider));
        json_put_text(j, "name", model_text(s->m, item->name));
        json_put_text(j, "title", model_text(s->m, item->title));
        json_put_text(j, "unit", model_text(s->m, item->unit));
        if (item->tags != 0)
            json_put_text(j, "tags", model_text(s->m, item->tags));
        json_put_text(j, "kind", KINDS[item->kind < 2 ? item->kind : 0]);
        json_put_u64(j, "count", item->count);
        if (item->numbers != item->count)
            json_put_u64(j, "no_numbers", item->count - item->numbers);
        json_put_f64(j, "sum", item->sum);
        json_put_f64(j, "last", item->last);
        json_put_f64(j, "least", item->least);
        json_put_f64(j, "most", item->most);
        json_end_object(j);
    }
    json_end_array(j);
    counters_free(&x);
    return 0;
}
