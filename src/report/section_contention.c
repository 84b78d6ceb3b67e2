/* section_contention: who waited for which locks, in words and as data. */
#include "analysis/contention.h"
#include "report/section.h"

enum { TOP_TYPES = 20, TOP_PLACES = 10, TOP_OWNERS = 10, STACK_FRAMES = 12, TITLE = 120 };

static const char *type_name(const section *s, uint32_t type)
{
    const char *name = model_text(s->m, type);

    return name[0] == '\0' ? "(type not known)" : name;
}

static void thread_title(const section *s, uint32_t thread, char title[TITLE])
{
    model_thread_title(s->m, &s->process->threads[thread], title, TITLE);
}

static void put_types(const section *s, const contention *x)
{
    sink_text(s->out, "| waited | % | waits | longest | lock | kind |\n"
                      "|---:|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < x->types.count && i < section_top(s, TOP_TYPES); i++) {
        const groups_item *item = &x->types.items[i];
        char waited[REPORT_AMOUNT_SIZE];
        char longest[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %s | %.1f | %llu | %s | ", report_amount(item->sum, "ns", waited),
                    report_percent(item->sum, x->waited_ns), (unsigned long long)item->count,
                    report_amount(item->most, "ns", longest));
        markdown_cell(s->out, type_name(s, item->key[0]));
        sink_format(s->out, " | %s |\n", contention_kind_name(item->key[1]));
    }
    sink_char(s->out, '\n');
}

static void put_owners(const section *s, const contention *x)
{
    if (x->owners.count == 0)
        return;
    sink_text(s->out, "### Held by\n\nWho held the lock when a wait began.\n\n"
                      "| waited | waits | held by | lock |\n|---:|---:|---|---|\n");
    for (size_t i = 0; i < x->owners.count && i < section_top(s, TOP_OWNERS); i++) {
        const groups_item *item = &x->owners.items[i];
        char waited[REPORT_AMOUNT_SIZE];
        char title[TITLE];

        thread_title(s, item->key[0], title);
        sink_format(s->out, "| %s | %llu | ", report_amount(item->sum, "ns", waited),
                    (unsigned long long)item->count);
        markdown_cell(s->out, title);
        sink_text(s->out, " | ");
        markdown_cell(s->out, type_name(s, item->key[1]));
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

static void put_holding(const section *s, const contention *x)
{
    if (x->owners.count != 0 && !x->is_sampled)
        sink_text(
            s->out,
            "What they did meanwhile is shown with `contention.holders=true`, or when `wall` is "
            "recorded along; not through the diagnostics port.\n\n");
    if (x->holding.count == 0)
        return;
    sink_format(s->out,
                "### What the holders did\n\nStacks of the threads that held a lock, seen while "
                "others waited for it: known for %.0f %% of the waiting time.\n\n",
                report_percent(x->holding_ns, x->owned_ns));
    for (size_t i = 0; i < x->holding.count && i < section_top(s, TOP_PLACES); i++) {
        const groups_item *item = &x->holding.items[i];
        char waited[REPORT_AMOUNT_SIZE];
        char title[TITLE];

        thread_title(s, item->key[2], title);
        sink_format(s->out, "%s in %llu waits for ", report_amount(item->sum, "ns", waited),
                    (unsigned long long)item->count);
        markdown_code(s->out, type_name(s, item->key[1]));
        sink_text(s->out, ", held by ");
        markdown_code(s->out, title);
        sink_text(s->out, "\n\n");
        markdown_stack(s->out, s->m, s->process, item->key[0], STACK_FRAMES);
        sink_char(s->out, '\n');
    }
}

static void put_places(const section *s, const contention *x)
{
    sink_text(s->out, "### Waited at\n\n");
    for (size_t i = 0; i < x->places.count && i < section_top(s, TOP_PLACES); i++) {
        const groups_item *place = &x->places.items[i];
        char waited[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "%s in %llu waits for ", report_amount(place->sum, "ns", waited),
                    (unsigned long long)place->count);
        markdown_code(s->out, type_name(s, place->key[1]));
        sink_text(s->out, "\n\n");
        markdown_stack(s->out, s->m, s->process, place->key[0], STACK_FRAMES);
        sink_char(s->out, '\n');
    }
}

int section_contention_markdown(const section *s)
{
    char waited[REPORT_AMOUNT_SIZE];
    contention x;
    int code = contention_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    sink_format(s->out, "## Waits for locks\n\n%llu waits, %s in all.", (unsigned long long)x.total,
                report_amount(x.waited_ns, "ns", waited));
    if (x.open != 0)
        sink_format(s->out, " %llu were not over at the end.", (unsigned long long)x.open);
    if (x.counted != 0)
        sink_format(s->out, " %llu were counted and timed without a stack.",
                    (unsigned long long)x.counted);
    sink_text(s->out, "\n\n");
    if (x.single.count != 0)
        markdown_spread(s->out, "Wait", &x.single);
    if (x.total != 0) {
        put_types(s, &x);
        put_owners(s, &x);
        put_holding(s, &x);
        put_places(s, &x);
    }
    contention_free(&x);
    return 0;
}

static void json_item(json *j, const groups_item *item)
{
    json_put_u64(j, "count", item->count);
    json_put_u64(j, "waited_ns", item->sum);
    json_put_u64(j, "longest_ns", item->most);
}

static void json_types(const section *s, json *j, const contention *x)
{
    json_begin_array_at(j, "types");
    for (size_t i = 0; i < x->types.count && i < section_top(s, 1000); i++) {
        json_begin_object(j);
        json_put_text(j, "type", model_text(s->m, x->types.items[i].key[0]));
        json_put_text(j, "kind", contention_kind_name(x->types.items[i].key[1]));
        json_item(j, &x->types.items[i]);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_owners(const section *s, json *j, const contention *x)
{
    json_begin_array_at(j, "owners");
    for (size_t i = 0; i < x->owners.count && i < section_top(s, 1000); i++) {
        const model_thread *owner = &s->process->threads[x->owners.items[i].key[0]];

        json_begin_object(j);
        json_put_u64(j, "thread", owner->os_id);
        json_put_text(j, "name", model_text(s->m, owner->name));
        json_put_text(j, "type", model_text(s->m, x->owners.items[i].key[1]));
        json_item(j, &x->owners.items[i]);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_holding(const section *s, json *j, const contention *x)
{
    json_put_u64(j, "holding_ns", x->holding_ns);
    json_begin_array_at(j, "holding");
    for (size_t i = 0; i < x->holding.count && i < section_top(s, 1000); i++) {
        const groups_item *item = &x->holding.items[i];
        const model_thread *owner = &s->process->threads[item->key[2]];

        json_begin_object(j);
        json_put_u64(j, "thread", owner->os_id);
        json_put_text(j, "name", model_text(s->m, owner->name));
        json_put_text(j, "type", model_text(s->m, item->key[1]));
        json_item(j, item);
        json_key(j, "stack");
        json_stack(j, s->m, s->process, item->key[0], MODEL_MAXIMUM_DEPTH);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_places(const section *s, json *j, const contention *x)
{
    json_begin_array_at(j, "places");
    for (size_t i = 0; i < x->places.count && i < section_top(s, 1000); i++) {
        json_begin_object(j);
        json_put_text(j, "type", model_text(s->m, x->places.items[i].key[1]));
        json_put_text(j, "kind", contention_kind_name(x->places.items[i].key[2]));
        json_item(j, &x->places.items[i]);
        json_key(j, "stack");
        json_stack(j, s->m, s->process, x->places.items[i].key[0], MODEL_MAXIMUM_DEPTH);
        json_end_object(j);
    }
    json_end_array(j);
}

int section_contention_json(const section *s, json *j)
{
    contention x;
    int code = contention_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_put_u64(j, "total", x.total);
    json_put_u64(j, "waited_ns", x.waited_ns);
    json_put_u64(j, "open", x.open);
    json_put_u64(j, "without_stack", x.counted);
    json_put_u64(j, "watched_ns", x.watched_ns);
    json_spread(j, "single", &x.single);
    json_types(s, j, &x);
    json_owners(s, j, &x);
    json_holding(s, j, &x);
    json_places(s, j, &x);
    contention_free(&x);
    return 0;
}
