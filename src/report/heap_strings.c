/* heap_strings: strings that say the same, in the reports; see heap_report.h. */
#include <string.h>

#include "analysis/heap_strings.h"
#include "base/screen.h"
#include "base/text.h"
#include "report/heap_report.h"
#include "report/report.h"
#include "report/section.h"

void heap_report_cut(const char *text, uint64_t length_utf16, size_t limit, buffer *out)
{
    uint64_t units = 0;
    size_t characters = 0;
    size_t at = 0;

    for (; text[at] != '\0' && (limit == 0 || characters < limit); characters++) {
        size_t length = 1;

        while (((unsigned char)text[at + length] & 0xc0) == 0x80)
            length++;
        units += length == 4 ? 2 : 1;
        if (screen_control_length(text + at) != 0)
            buffer_append_char(out, ' ');
        else
            buffer_append(out, text + at, length);
        at += length;
    }
    if (text[at] != '\0' || length_utf16 > units)
        buffer_append_text(out, "…");
}

static void text_of(const heap *h, const heap_duplicate *d, size_t limit, buffer *out)
{
    heap_report_cut(model_text(h->m, d->text), d->length, limit, out);
}

static void append_holders(const heap *h, const heap_duplicates *all, const heap_duplicate *d,
                           buffer *out)
{
    for (size_t i = 0; i < HEAP_STRINGS_HOLDERS && d->holders[i].count != 0; i++) {
        if (i != 0)
            buffer_append_text(out, ", ");
        heap_string_holder_text(h, &all->owners, &d->holders[i], out);
    }
}

static void put_verdict(const heap *h, const heap_duplicates *all, sink *out)
{
    char text[REPORT_AMOUNT_SIZE];

    sink_format(out, "%llu text%s stored more than once: %s could be spared",
                (unsigned long long)all->texts, all->texts == 1 ? " is" : "s are",
                report_amount(all->wasted, "bytes", text));
    if (h->snapshot->strings_forgotten != 0)
        sink_format(out, " (at least: %llu strings were not compared with all others)",
                    (unsigned long long)h->snapshot->strings_forgotten);
}

int heap_report_strings(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    heap_duplicates all;
    int code;

    if (o->texts == 0 || (h->snapshot->flags & RECORDING_HEAP_STRINGS) == 0)
        return 0;
    code = heap_find_duplicates(h, o->texts, &all, e);
    if (code != 0)
        return code;
    if (all.count != 0) {
        sink_char(out, '\n');
        put_verdict(h, &all, out);
        sink_format(out, "\n%12s %11s %10s  %s\n", "wasted", "strings", "length", "text, held by");
    }
    for (size_t i = 0; i < all.count; i++) {
        const heap_duplicate *d = &all.items[i];
        buffer text = BUFFER_EMPTY;
        char wasted[REPORT_AMOUNT_SIZE];

        buffer_append_char(&text, '"');
        text_of(h, d, o->text_size, &text);
        buffer_append_text(&text, "\", ");
        append_holders(h, &all, d, &text);
        sink_format(out, "%12s %11llu %10llu  ", report_amount(d->wasted, "bytes", wasted),
                    (unsigned long long)d->count, (unsigned long long)d->length);
        heap_report_clean(out, buffer_text(&text));
        sink_char(out, '\n');
        buffer_free(&text);
    }
    heap_duplicates_free(&all);
    return 0;
}

int heap_report_strings_markdown(const heap *h, const heap_report_options *o, sink *out, error *e)
{
    heap_duplicates all;
    int code;

    if (o->texts == 0 || (h->snapshot->flags & RECORDING_HEAP_STRINGS) == 0)
        return 0;
    code = heap_find_duplicates(h, o->texts, &all, e);
    if (code != 0)
        return code;
    if (all.count != 0) {
        sink_text(out, "### Equal strings\n\n");
        put_verdict(h, &all, out);
        sink_text(out, ".\n\n| wasted | strings | length | text | held by |\n"
                       "|---:|---:|---:|---|---|\n");
    }
    for (size_t i = 0; i < all.count; i++) {
        const heap_duplicate *d = &all.items[i];
        buffer text = BUFFER_EMPTY, holders = BUFFER_EMPTY;
        char wasted[REPORT_AMOUNT_SIZE];

        text_of(h, d, o->text_size, &text);
        append_holders(h, &all, d, &holders);
        sink_format(out, "| %s | %llu | %llu | ", report_amount(d->wasted, "bytes", wasted),
                    (unsigned long long)d->count, (unsigned long long)d->length);
        markdown_cell(out, buffer_text(&text));
        sink_text(out, " | ");
        markdown_cell(out, buffer_text(&holders));
        sink_text(out, " |\n");
        buffer_free(&text);
        buffer_free(&holders);
    }
    if (all.count != 0)
        sink_char(out, '\n');
    heap_duplicates_free(&all);
    return 0;
}

static void json_duplicate(const heap *h, const heap_duplicates *all, const heap_duplicate *d,
                           size_t limit, json *j)
{
    buffer text = BUFFER_EMPTY;

    text_of(h, d, limit, &text);
    json_begin_object(j);
    json_put_text(j, "value", buffer_text(&text));
    json_put_u64(j, "length", d->length);
    json_put_u64(j, "count", d->count);
    json_put_u64(j, "bytes", d->bytes);
    json_put_u64(j, "wasted", d->wasted);
    json_begin_array_at(j, "holders");
    for (size_t i = 0; i < HEAP_STRINGS_HOLDERS && d->holders[i].count != 0; i++) {
        buffer_clear(&text);
        heap_string_holder_text(h, NULL, &d->holders[i], &text);
        json_begin_object(j);
        json_put_text(j, "holder", buffer_text(&text));
        if (d->holders[i].owner != 0)
            json_put_text(j, "owner", heap_owners_text(&all->owners, d->holders[i].owner));
        json_put_u64(j, "references", d->holders[i].count);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
    buffer_free(&text);
}

int heap_report_strings_json(const heap *h, const heap_report_options *o, json *j, error *e)
{
    heap_duplicates all;
    int code = heap_find_duplicates(h, o->texts, &all, e);

    if (code != 0)
        return code;
    json_begin_array_at(j, "duplicates");
    for (size_t i = 0; i < all.count; i++)
        json_duplicate(h, &all, &all.items[i], o->text_size, j);
    json_end_array(j);
    json_put_u64(j, "duplicate_texts", all.texts);
    json_put_u64(j, "duplicate_bytes", all.wasted);
    json_put_u64(j, "strings_not_compared", h->snapshot->strings_forgotten);
    heap_duplicates_free(&all);
    return 0;
}
