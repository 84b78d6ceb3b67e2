/* section_gc: the garbage collections, in words and as data. */
#include "analysis/gc.h"
#include "report/section.h"

enum { TOP_PLACES = 10, STACK_FRAMES = 12 };

static void put_generations(const section *s, const gc *x)
{
    sink_text(s->out, "| generation | kind | collections | pause | longest |\n"
                      "|---:|---|---:|---:|---:|\n");
    for (size_t i = 0; i < x->generations.count; i++) {
        const groups_item *item = &x->generations.items[i];
        char pause[REPORT_AMOUNT_SIZE];
        char longest[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %u | %s | %llu | %s | %s |\n", item->key[0],
                    gc_kind_name(item->key[1]), (unsigned long long)item->count,
                    report_amount(item->sum, "ns", pause),
                    report_amount(item->most, "ns", longest));
    }
    sink_text(s->out, "\n| reason | collections | pause |\n|---|---:|---:|\n");
    for (size_t i = 0; i < x->reasons.count; i++) {
        const groups_item *item = &x->reasons.items[i];
        char pause[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %s | %llu | %s |\n", gc_reason_name(item->key[0]),
                    (unsigned long long)item->count, report_amount(item->sum, "ns", pause));
    }
    sink_char(s->out, '\n');
}

static void put_heap(const section *s, const gc *x)
{
    sink_text(s->out, "### Heap\n\n| part | after the first | after the last |\n|---|---:|---:|\n");
    for (int i = 0; i < GC_SPACES; i++) {
        char first[REPORT_AMOUNT_SIZE];
        char last[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "| %s | %s | %s |\n", gc_space_name(i),
                    report_amount(x->first[i], "bytes", first),
                    report_amount(x->last[i], "bytes", last));
    }
    sink_char(s->out, '\n');
}

static uint64_t allocation_rate(const gc *x)
{
    return x->allocated_ns == 0
               ? 0
               : (uint64_t)((double)x->allocated_bytes * 1e9 / (double)x->allocated_ns);
}

static void put_use(const section *s, const gc *x)
{
    char amount[REPORT_AMOUNT_SIZE];
    char rate[REPORT_AMOUNT_SIZE];

    if (x->allocated_ns != 0)
        sink_format(s->out, "Between the first and the last one %s were allocated, %s a second. ",
                    report_amount(x->allocated_bytes, "bytes", amount),
                    report_amount(allocation_rate(x), "bytes", rate));
    if (x->full_size != 0)
        sink_format(s->out,
                    "After the last full collection %s of the heap, %.1f %%, were free room "
                    "between objects (fragmentation). ",
                    report_amount(x->full_free, "bytes", amount),
                    report_percent(x->full_free, x->full_size));
    sink_text(s->out, "\n\n");
}

static void put_induced(const section *s, const gc *x)
{
    sink_format(s->out,
                "### Asked for by the program\n\n%llu collections were asked for (GC.Collect).\n\n",
                (unsigned long long)x->induced_total);
    for (size_t i = 0; i < x->induced.count && i < section_top(s, TOP_PLACES); i++) {
        const groups_item *place = &x->induced.items[i];
        char pause[REPORT_AMOUNT_SIZE];

        sink_format(s->out, "%llu times, %s pause%s\n\n", (unsigned long long)place->count,
                    report_amount(place->sum, "ns", pause),
                    place->key[0] == 0 ? ", place not known" : "");
        markdown_stack(s->out, s->m, s->process, place->key[0], STACK_FRAMES);
        sink_char(s->out, '\n');
    }
}

int section_gc_markdown(const section *s)
{
    char pause[REPORT_AMOUNT_SIZE];
    char promoted[REPORT_AMOUNT_SIZE];
    gc x;
    int code = gc_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    sink_format(s->out,
                "## Garbage collections\n\n%llu collections, %s of pauses in all (%.2f %% of the "
                "time), %s promoted, %llu compacting, at most %llu pinned objects.\n\n",
                (unsigned long long)x.total, report_amount(x.pauses.sum, "ns", pause),
                report_percent(x.pauses.sum, x.watched_ns),
                report_amount(x.promoted_bytes, "bytes", promoted),
                (unsigned long long)x.compacting, (unsigned long long)x.most_pinned);
    if (x.total != 0) {
        put_use(s, &x);
        markdown_spread(s->out, "Pause", &x.pauses);
        put_generations(s, &x);
        put_heap(s, &x);
    }
    if (x.induced_total != 0)
        put_induced(s, &x);
    gc_free(&x);
    return 0;
}

static void json_heap(json *j, const char *key, const uint64_t *sizes)
{
    json_begin_object_at(j, key);
    for (int i = 0; i < GC_SPACES; i++)
        json_put_u64(j, gc_space_name(i), sizes[i]);
    json_end_object(j);
}

static void json_item(json *j, const groups_item *item)
{
    json_put_u64(j, "count", item->count);
    json_put_u64(j, "pause_ns", item->sum);
    json_put_u64(j, "longest_ns", item->most);
}

static void json_groups(const section *s, json *j, const gc *x)
{
    json_begin_array_at(j, "generations");
    for (size_t i = 0; i < x->generations.count; i++) {
        json_begin_object(j);
        json_put_u64(j, "generation", x->generations.items[i].key[0]);
        json_put_text(j, "kind", gc_kind_name(x->generations.items[i].key[1]));
        json_item(j, &x->generations.items[i]);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_array_at(j, "reasons");
    for (size_t i = 0; i < x->reasons.count; i++) {
        json_begin_object(j);
        json_put_u64(j, "number", x->reasons.items[i].key[0]);
        json_put_text(j, "reason", gc_reason_name(x->reasons.items[i].key[0]));
        json_item(j, &x->reasons.items[i]);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_array_at(j, "induced_by");
    for (size_t i = 0; i < x->induced.count && i < section_top(s, 1000); i++) {
        json_begin_object(j);
        json_item(j, &x->induced.items[i]);
        json_key(j, "stack");
        json_stack(j, s->m, s->process, x->induced.items[i].key[0], MODEL_MAXIMUM_DEPTH);
        json_end_object(j);
    }
    json_end_array(j);
}

int section_gc_json(const section *s, json *j)
{
    gc x;
    int code = gc_summarise(s->m, s->process, s->table, &x, s->e);

    if (code != 0)
        return code;
    json_put_u64(j, "total", x.total);
    json_put_u64(j, "induced", x.induced_total);
    json_put_u64(j, "watched_ns", x.watched_ns);
    json_put_f64(j, "percent_in_pauses", report_percent(x.pauses.sum, x.watched_ns));
    json_spread(j, "pause", &x.pauses);
    json_put_u64(j, "suspending_ns", x.suspending_ns);
    json_put_u64(j, "promoted_bytes", x.promoted_bytes);
    json_put_u64(j, "compacting", x.compacting);
    json_put_u64(j, "most_pinned", x.most_pinned);
    json_put_u64(j, "allocated_bytes", x.allocated_bytes);
    json_put_u64(j, "allocated_bytes_per_second", allocation_rate(&x));
    json_begin_object_at(j, "fragmentation");
    json_put_u64(j, "size_bytes", x.full_size);
    json_put_u64(j, "free_bytes", x.full_free);
    json_put_f64(j, "percent", report_percent(x.full_free, x.full_size));
    json_end_object(j);
    json_groups(s, j, &x);
    json_heap(j, "heap_first", x.first);
    json_heap(j, "heap_last", x.last);
    gc_free(&x);
    return 0;
}
