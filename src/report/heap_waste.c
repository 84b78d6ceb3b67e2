/* heap_waste: memory that is kept for little or nothing, in the reports; see heap_report.h. */
#include "analysis/heap_waste.h"

#include "report/heap_report.h"
#include "report/report.h"
#include "report/section.h"

static const char *type_of(const heap *h, const heap_waste_row *row)
{
    const char *name = row->type == UINT32_MAX ? "" : heap_type_name(h, row->type);

    return row->kind == HEAP_WASTE_HOLES ? "(large object heap)"
           : name[0] == '\0'             ? "(unknown type)"
                                         : name;
}

/* What a row says besides its numbers. */
static void append_detail(const heap *h, const heap_waste *all, const heap_waste_row *row,
                          buffer *out)
{
    buffer holder = BUFFER_EMPTY;

    heap_waste_holder(h, row, &holder);
    if (row->room != 0)
        buffer_format(out, "%llu of %llu elements used", (unsigned long long)row->used,
                      (unsigned long long)row->room);
    else if (row->kind == HEAP_WASTE_UNDISPOSED)
        buffer_format(out, "%llu others were disposed", (unsigned long long)row->used);
    if (holder.length != 0)
        buffer_format(out, "%s%s %s", out->length != 0 ? ", " : "",
                      row->kind == HEAP_WASTE_HANDLERS ? "event" : "held by", buffer_text(&holder));
    if (row->owner != 0)
        buffer_format(out, " in %s", heap_owners_text(&all->owners, row->owner));
    buffer_free(&holder);
}

/* Whether the row is the first of its kind; *left counts the rows of the kind from here on. */
static bool is_first(const heap_waste *all, size_t i, size_t *left)
{
    *left = 0;
    for (size_t k = i; k < all->count && all->rows[k].kind == all->rows[i].kind; k++)
        ++*left;
    return i == 0 || all->rows[i - 1].kind != all->rows[i].kind;
}

static int find(const heap *h, const heap_report_options *o, heap_waste *all, error *e)
{
    *all = (heap_waste){0};
    return o->waste == 0 ? 0 : heap_find_waste(h, all, e);
}

static void put_row(const heap *h, const heap_waste *all, const heap_waste_row *row, sink *out)
{
    char text[REPORT_AMOUNT_SIZE];
    buffer detail = BUFFER_EMPTY;

    append_detail(h, all, row, &detail);
    sink_format(out, "%12s %11llu  ", report_amount(row->bytes, "bytes", text),
                (unsigned long long)row->count);
    heap_report_clean(out, type_of(h, row));
    if (detail.length != 0)
        sink_text(out, ", ");
    heap_report_clean(out, buffer_text(&detail));
    sink_char(out, '\n');
    buffer_free(&detail);
}

int heap_report_waste(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    heap_waste all;
    size_t left, shown = 0;
    int code = find(h, o, &all, e);

    if (all.count != 0)
        sink_format(out, "\n%12s %11s  %s\n", "bytes", "objects", "kept for little or nothing");
    for (size_t i = 0; i < all.count; i++) {
        if (is_first(&all, i, &left)) {
            sink_format(out, "%s:\n", heap_waste_text(all.rows[i].kind));
            shown = 0;
        }
        if (shown++ < o->waste)
            put_row(h, &all, &all.rows[i], out);
        else if (shown == o->waste + 1)
            sink_format(out, "%24s  and %zu more\n", "", left);
    }
    heap_waste_free(&all);
    return code;
}

int heap_report_waste_markdown(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    heap_waste all;
    size_t left, shown = 0;
    int code = find(h, o, &all, e);

    if (all.count != 0)
        sink_text(out, "### Kept for little or nothing\n\n| bytes | objects | what | type | |\n"
                       "|---:|---:|---|---|---|\n");
    for (size_t i = 0; i < all.count; i++) {
        const heap_waste_row *row = &all.rows[i];
        buffer detail = BUFFER_EMPTY;
        char text[REPORT_AMOUNT_SIZE];

        shown = is_first(&all, i, &left) ? 1 : shown + 1;
        if (shown > o->waste)
            continue;
        append_detail(h, &all, row, &detail);
        sink_format(out, "| %s | %llu | %s | ", report_amount(row->bytes, "bytes", text),
                    (unsigned long long)row->count, heap_waste_text(row->kind));
        markdown_cell(out, type_of(h, row));
        sink_text(out, " | ");
        markdown_cell(out, buffer_text(&detail));
        sink_text(out, " |\n");
        buffer_free(&detail);
    }
    if (all.count != 0)
        sink_char(out, '\n');
    heap_waste_free(&all);
    return code;
}

static void json_row(const heap *h, const heap_waste *all, const heap_waste_row *row, json *j)
{
    buffer holder = BUFFER_EMPTY;

    heap_waste_holder(h, row, &holder);
    json_begin_object(j);
    json_put_text(j, "kind", heap_waste_name(row->kind));
    json_put_text(j, "what", heap_waste_text(row->kind));
    json_put_text(j, "type", type_of(h, row));
    if (holder.length != 0)
        json_put_text(j, "holder", buffer_text(&holder));
    if (row->owner != 0)
        json_put_text(j, "owner", heap_owners_text(&all->owners, row->owner));
    json_put_u64(j, "count", row->count);
    json_put_u64(j, "bytes", row->bytes);
    if (row->room != 0) {
        json_put_u64(j, "used", row->used);
        json_put_u64(j, "room", row->room);
    }
    if (row->kind == HEAP_WASTE_UNDISPOSED)
        json_put_u64(j, "disposed", row->used);
    json_end_object(j);
    buffer_free(&holder);
}

int heap_report_waste_json(const heap *h, const heap_report_options *o, json *j, error *e)
{
    heap_waste all;
    size_t left, shown = 0;
    int code = find(h, o, &all, e);

    json_begin_array_at(j, "waste");
    for (size_t i = 0; i < all.count; i++) {
        shown = is_first(&all, i, &left) ? 1 : shown + 1;
        if (shown <= o->waste)
            json_row(h, &all, &all.rows[i], j);
    }
    json_end_array(j);
    heap_waste_free(&all);
    return code;
}
