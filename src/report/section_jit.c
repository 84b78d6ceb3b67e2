/* section_jit: what was compiled while the program ran, in words and as data. */
#include "analysis/jit.h"
#include "report/section.h"

/* A method is normally compiled quickly, instrumented, in a long loop and optimized. */
enum { TOP_METHODS = 20, OFTEN = 5 };

static void put_tiers(const section *s, const jit *x)
{
    sink_text(s->out, "| code | methods | time | longest |\n|---|---:|---:|---:|\n");
    for (size_t i = 0; i < x->tiers.count; i++) {
        const groups_item *item = &x->tiers.items[i];
        char sum[REPORT_AMOUNT_SIZE];
        char longest[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %s | %llu | %s | %s |\n", jit_tier_name(item->key[0]),
                    (unsigned long long)item->count, report_amount(item->sum, "ns", sum),
                    report_amount(item->most, "ns", longest));
    }
    sink_char(s->out, '\n');
}

static void put_methods(const section *s, const groups_list *methods, uint64_t least)
{
    sink_text(s->out, "| time | times | method |\n|---:|---:|---|\n");
    for (size_t i = 0; i < methods->count && i < section_top(s, TOP_METHODS); i++) {
        const groups_item *item = &methods->items[i];
        char sum[REPORT_AMOUNT_SIZE], room[JIT_NAME];

        if (item->count < least)
            break;
        sink_format(s->out, "| %s | %llu | ", report_amount(item->sum, "ns", sum),
                    (unsigned long long)item->count);
        markdown_cell(s->out, jit_method_name(s->m, s->process, item, room));
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

int section_jit_markdown(const section *s)
{
    char spent[REPORT_AMOUNT_SIZE];
    char waited[REPORT_AMOUNT_SIZE];
    char first[REPORT_AMOUNT_SIZE];
    jit x;
    int code = jit_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    sink_format(s->out,
                "## Compilation\n\n%llu compilations took %s; the program waited for %s of it, %s "
                "in its first second.\n\n",
                (unsigned long long)x.total, report_amount(x.spent_ns, "ns", spent),
                report_amount(x.waited_ns, "ns", waited),
                report_amount(x.first_second_ns, "ns", first));
    if (x.total != 0) {
        put_tiers(s, &x);
        sink_text(s->out, "### Took longest\n\n");
        put_methods(s, &x.methods, 0);
    }
    if (x.again.count != 0 && x.again.items[0].count >= OFTEN) {
        sink_text(s->out, "### Compiled again and again\n\n");
        put_methods(s, &x.again, OFTEN);
    }
    jit_free(&x);
    return 0;
}

static void json_methods(const section *s, json *j, const char *key, const groups_list *methods,
                         uint64_t least)
{
    json_begin_array_at(j, key);
    for (size_t i = 0; i < methods->count && i < section_top(s, 1000); i++) {
        const groups_item *item = &methods->items[i];
        char room[JIT_NAME];

        if (item->count < least)
            break;
        json_begin_object(j);
        json_put_text(j, "method", jit_method_name(s->m, s->process, item, room));
        json_put_bool(j, "made_at_run_time", item->key[0] == 0);
        json_put_u64(j, "count", item->count);
        json_put_u64(j, "spent_ns", item->sum);
        json_put_u64(j, "longest_ns", item->most);
        json_end_object(j);
    }
    json_end_array(j);
}

int section_jit_json(const section *s, json *j)
{
    jit x;
    int code = jit_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_put_u64(j, "total", x.total);
    json_put_u64(j, "spent_ns", x.spent_ns);
    json_put_u64(j, "waited_ns", x.waited_ns);
    json_put_u64(j, "first_second_ns", x.first_second_ns);
    json_put_u64(j, "il_bytes", x.il_bytes);
    json_put_u64(j, "code_bytes", x.code_bytes);
    json_begin_array_at(j, "tiers");
    for (size_t i = 0; i < x.tiers.count; i++) {
        json_begin_object(j);
        json_put_u64(j, "tier", x.tiers.items[i].key[0]);
        json_put_text(j, "code", jit_tier_name(x.tiers.items[i].key[0]));
        json_put_u64(j, "count", x.tiers.items[i].count);
        json_put_u64(j, "spent_ns", x.tiers.items[i].sum);
        json_put_u64(j, "longest_ns", x.tiers.items[i].most);
        json_end_object(j);
    }
    json_end_array(j);
    json_methods(s, j, "methods", &x.methods, 0);
    json_methods(s, j, "again", &x.again, OFTEN);
    jit_free(&x);
    return 0;
}
