/* heap_groups: a snapshot by namespace or assembly, in the reports; see heap_report.h. */
#include "analysis/heap_groups.h"

#include "report/heap_report.h"
#include "report/report.h"

static const char *name_of(const heap_group *group)
{
    return group->name[0] == '\0' ? "(none)" : group->name;
}

int heap_report_groups(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    heap_groups all;
    int code = heap_find_groups(h, o->group, o->order, &all, e);

    if (code != 0)
        return code;
    sink_char(out, '\n');
    if (!heap_is_quick(h))
        sink_format(out, "%12s %6s ", "retained", "%");
    sink_format(out, "%12s %11s %8s  %s\n", "own bytes", "objects", "types",
                o->group == HEAP_GROUP_ASSEMBLY ? "assembly" : "namespace");
    for (size_t i = 0; i < all.count && i < o->top; i++) {
        const heap_group *group = &all.items[i];
        char text[2][REPORT_AMOUNT_SIZE];

        if (!heap_is_quick(h))
            sink_format(out, "%12s %6.1f ", report_amount(group->retained, "bytes", text[0]),
                        report_percent(group->retained, h->bytes));
        sink_format(out, "%12s %11llu %8llu  ", report_amount(group->bytes, "bytes", text[1]),
                    (unsigned long long)group->count, (unsigned long long)group->types);
        heap_report_clean(out, name_of(group));
        sink_char(out, '\n');
    }
    if (all.count > o->top)
        sink_format(out, "%zu more (--top shows more)\n", all.count - o->top);
    heap_groups_free(&all);
    return 0;
}

int heap_report_groups_json(const heap *h, const heap_report_options *o, json *j, error *e)
{
    heap_groups all;
    int code = heap_find_groups(h, o->group, o->order, &all, e);

    if (code != 0)
        return code;
    json_begin_array_at(j, "groups");
    for (size_t i = 0; i < all.count && i < o->top; i++) {
        json_begin_object(j);
        json_put_text(j, o->group == HEAP_GROUP_ASSEMBLY ? "assembly" : "namespace",
                      all.items[i].name);
        json_put_u64(j, "count", all.items[i].count);
        json_put_u64(j, "bytes", all.items[i].bytes);
        if (!heap_is_quick(h))
            json_put_u64(j, "retained", all.items[i].retained);
        json_put_u64(j, "types", all.items[i].types);
        json_end_object(j);
    }
    json_end_array(j);
    heap_groups_free(&all);
    return 0;
}
