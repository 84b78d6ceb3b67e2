/* section_requests: requests that were served and made, in words and as data. */
#include "analysis/requests.h"
#include "base/memory.h"
#include "report/section.h"

enum { TOP_NAMES = 20, TOP_OPEN = 20 };

static const char *const TITLES[REQUESTS_KINDS] = {"Requests served", "Requests made"};
static const char *const KINDS[REQUESTS_KINDS] = {"served", "made"};

static double rate(uint64_t count, uint64_t ns)
{
    return ns == 0 ? 0 : (double)count / ((double)ns / 1e9);
}

static void put_name(const section *s, const requests_group *group)
{
    char *name = memory_copy_text_n(group->name, group->length);

    if (name != NULL)
        markdown_cell(s->out, name);
    memory_free(name);
}

static void put_more(const section *s, size_t count, size_t shown)
{
    if (count > shown)
        sink_format(s->out, "… %zu more (--top shows them)\n\n", count - shown);
}

static void put_groups(const section *s, const char *title, const requests_list *list)
{
    sink_format(s->out,
                "| requests | failed | refused | median | 90 %% | 99 %% | longest | in all | %s |\n"
                "|---:|---:|---:|---:|---:|---:|---:|---:|---|\n",
                title);
    for (size_t i = 0; i < list->count && i < section_top(s, TOP_NAMES); i++) {
        const requests_group *group = &list->items[i];
        static const double SHARES[] = {0.5, 0.9, 0.99, 1};
        char text[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %zu | %llu | %llu ", group->lengths.count,
                    (unsigned long long)group->failures, (unsigned long long)group->refused);
        for (size_t k = 0; k < sizeof SHARES / sizeof *SHARES; k++)
            sink_format(s->out, "| %s ",
                        report_amount(groups_spread_at(&group->lengths, SHARES[k]), "ns", text));
        sink_format(s->out, "| %s | ", report_amount(group->lengths.sum, "ns", text));
        put_name(s, group);
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
    put_more(s, list->count, section_top(s, TOP_NAMES));
}

static void put_side(const section *s, const requests *x, requests_kind kind)
{
    const requests_side *side = &x->sides[kind];

    sink_format(s->out,
                "## %s\n\n%zu requests, %.4g a second; %llu failed, %llu were refused (400 to "
                "499).\n\n",
                TITLES[kind], side->all.lengths.count, rate(side->all.lengths.count, x->watched_ns),
                (unsigned long long)side->all.failures, (unsigned long long)side->all.refused);
    if (side->all.lengths.count == 0)
        return;
    markdown_spread(s->out, "Request", &side->all.lengths);
    if (kind == REQUESTS_MADE)
        put_groups(s, "host", &side->hosts);
    put_groups(s, "request", &side->names);
}

static void put_open(const section *s, const requests *x)
{
    if (x->open_count == 0)
        return;
    sink_format(s->out,
                "### Requests under way at the end\n\n%zu of them.\n\n"
                "| age | | request | for |\n|---:|---|---|---|\n",
                x->open_count);
    for (size_t i = 0; i < x->open_count && i < section_top(s, TOP_OPEN); i++) {
        char age[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %s | %s | ", report_amount(x->open[i].age_ns, "ns", age),
                    KINDS[x->open[i].kind]);
        markdown_cell(s->out, x->open[i].name);
        sink_text(s->out, " | ");
        markdown_cell(s->out, x->open[i].inside);
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
    put_more(s, x->open_count, section_top(s, TOP_OPEN));
}

int section_requests_markdown(const section *s)
{
    requests x;
    int code = requests_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    put_side(s, &x, REQUESTS_SERVED);
    if (x.sides[REQUESTS_MADE].all.lengths.count != 0)
        put_side(s, &x, REQUESTS_MADE);
    put_open(s, &x);
    requests_free(&x);
    return 0;
}

static void json_group(json *j, const requests_group *group)
{
    json_put_u64(j, "failed", group->failures);
    json_put_u64(j, "refused", group->refused);
    json_spread(j, "duration", &group->lengths);
}

static void json_groups(const section *s, json *j, const char *key, const requests_list *list)
{
    json_begin_array_at(j, key);
    for (size_t i = 0; i < list->count && i < section_top(s, 1000); i++) {
        char *name = memory_copy_text_n(list->items[i].name, list->items[i].length);

        json_begin_object(j);
        json_put_text(j, "name", name == NULL ? "" : name);
        json_group(j, &list->items[i]);
        json_end_object(j);
        memory_free(name);
    }
    json_end_array(j);
}

int section_requests_json(const section *s, json *j)
{
    requests x;
    int code = requests_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_put_u64(j, "watched_ns", x.watched_ns);
    for (size_t i = 0; i < REQUESTS_KINDS; i++) {
        const requests_side *side = &x.sides[i];

        json_begin_object_at(j, KINDS[i]);
        json_put_f64(j, "rate", rate(side->all.lengths.count, x.watched_ns));
        json_group(j, &side->all);
        json_groups(s, j, "requests", &side->names);
        if (i == REQUESTS_MADE)
            json_groups(s, j, "hosts", &side->hosts);
        json_end_object(j);
    }
    json_begin_array_at(j, "under_way");
    for (size_t i = 0; i < x.open_count && i < section_top(s, 1000); i++) {
        json_begin_object(j);
        json_put_text(j, "kind", KINDS[x.open[i].kind]);
        json_put_text(j, "name", x.open[i].name);
        json_put_text(j, "inside", x.open[i].inside);
        json_put_u64(j, "thread", s->process->threads[x.open[i].thread].os_id);
        json_put_u64(j, "age_ns", x.open[i].age_ns);
        json_end_object(j);
    }
    json_end_array(j);
    requests_free(&x);
    return 0;
}
