/* heap_diff: growth over several snapshots, by type and by what keeps objects alive; what grows
 * with every one of three or more is said first. See heap_report.h. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/heap_report.h"
#include "report/report.h"

enum { LEAKS = 5 };

static const char *signed_bytes(int64_t bytes, char text[REPORT_AMOUNT_SIZE + 1])
{
    text[0] = bytes < 0 ? '-' : '+';
    report_amount((uint64_t)(bytes < 0 ? -bytes : bytes), "bytes", text + 1);
    return text;
}

static bool is_same(const heap_series *s, const heap_series_row *row)
{
    return heap_series_growth(s, row->count) == 0 && heap_series_growth(s, row->bytes) == 0;
}

/* Growth in a minute; 0 = the times are not known. */
static uint64_t minutely(const heap_series *s, const heap_series_row *row)
{
    uint64_t length_ns = heap_series_span(s);
    int64_t growth = heap_series_weight(s, row);

    return length_ns == 0 || growth <= 0 ? 0
                                         : (uint64_t)((double)growth * 60e9 / (double)length_ns);
}

/* Objects of the last snapshot that were not found in the first, and the other way round: at most
 * so many, because survivors may have moved. */
static uint64_t new_of(const heap_series *s, const heap_series_row *row)
{
    return row->count[s->count - 1] - row->survived;
}

static uint64_t gone_of(const heap_series_row *row)
{
    return row->count[0] - row->survived;
}

static uint64_t survivors(const heap_series *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->types.count; i++)
        sum += s->types.items[i].survived;
    return sum;
}

static const char *name_of(const heap_series_row *row)
{
    return row->name[0] == '\0' ? "(unknown type)" : row->name;
}

static bool is_wanted(const heap_report_options *o, const char *type)
{
    return o->type == NULL || text_matches(type, o->type);
}

static bool is_wanted_row(const void *context, const heap_series_row *row)
{
    return is_wanted(context, name_of(row));
}

/* A type that has gone is none of the last snapshot's. */
static int check_type(const heap_series *s, const heap *last, const heap_report_options *o,
                      error *e)
{
    for (size_t i = 0; i < s->types.count; i++)
        if (is_wanted(o, name_of(&s->types.items[i])))
            return 0;
    return heap_report_check_type(last, o, e);
}

/* ---- text ---- */

static int put_leaks(const heap_series *s, const heap *last, const heap_report_options *o,
                     sink *out, error *e)
{
    const heap_series_row *leaks[LEAKS];
    size_t found = heap_series_leaks(s, leaks, LEAKS, is_wanted_row, o);
    int code = 0;

    for (size_t i = 0; i < found && code == 0; i++) {
        const heap_series_row *row = leaks[i];
        char text[3][REPORT_AMOUNT_SIZE + 1];
        buffer way = BUFFER_EMPTY;

        code = heap_growth_way(&s->ways, last, row->name, &way, e);
        heap_report_clean(out, name_of(row));
        sink_format(out, " grows with every snapshot: %+lld objects, %s",
                    (long long)heap_series_growth(s, row->count),
                    signed_bytes(heap_series_growth(s, row->bytes), text[0]));
        if (heap_series_weight(s, row) != heap_series_growth(s, row->bytes))
            sink_format(out, ", %s with what they keep alive",
                        signed_bytes(heap_series_weight(s, row), text[2]));
        if (minutely(s, row) != 0)
            sink_format(out, " (%s a minute)", report_amount(minutely(s, row), "bytes", text[1]));
        if (way.length != 0) {
            sink_text(out, ", kept alive by ");
            heap_report_clean(out, buffer_text(&way));
        }
        sink_text(out, ".\n");
        buffer_free(&way);
    }
    if (s->count >= 3 && heap_series_has_quick(s))
        sink_text(out, "What grows is not judged: a quick look counts dead objects too.\n");
    else if (found == 0 && s->count >= 3)
        sink_text(out, o->type == NULL ? "Nothing of size grows with every snapshot.\n"
                                       : "None of these types grows with every snapshot.\n");
    sink_text(out, s->count >= 3 ? "\n" : "");
    return code;
}

static void put_rows(const heap_series *s, const heap_series_rows *rows, bool of_types,
                     const heap_report_options *o, sink *out)
{
    char text[2][REPORT_AMOUNT_SIZE + 1];
    size_t shown = 0, left = 0;
    bool retained = of_types && !heap_series_has_quick(s);
    bool matched = of_types && s->is_matched;

    sink_format(out, "%12s ", of_types ? "own bytes" : "retained");
    if (retained)
        sink_format(out, "%12s ", "retained");
    sink_format(out, "%12s %12s", "objects", "now");
    if (matched)
        sink_format(out, " %11s %11s %11s", "survived", "new", "gone");
    sink_format(out, "  %s%s\n", s->count >= 3 ? "  " : "", of_types ? "type" : "kept alive by");
    for (size_t i = 0; i < rows->count; i++) {
        const heap_series_row *row = &rows->items[i];

        if (is_same(s, row) || (of_types && !is_wanted(o, name_of(row))))
            continue;
        if (shown == o->top) {
            left++;
            continue;
        }
        shown++;
        sink_format(out, "%12s ", signed_bytes(heap_series_growth(s, row->bytes), text[0]));
        if (retained)
            sink_format(out, "%12s ", signed_bytes(heap_series_growth(s, row->retained), text[1]));
        sink_format(out, "%+12lld %12llu", (long long)heap_series_growth(s, row->count),
                    (unsigned long long)row->count[s->count - 1]);
        if (matched)
            sink_format(out, " %11llu %11llu %11llu", (unsigned long long)row->survived,
                        (unsigned long long)new_of(s, row), (unsigned long long)gone_of(row));
        sink_format(out, "  %s", s->count < 3 ? "" : heap_series_rises(s, row) ? "^ " : "  ");
        heap_report_clean(out, name_of(row));
        sink_char(out, '\n');
    }
    if (left != 0)
        sink_format(out, "%zu more changed (--top shows more)\n", left);
    if (matched)
        sink_text(out, "Survived: old, large, pinned and frozen objects found at the same address. "
                       "Those that were\nyoung in the first snapshot or have moved are not "
                       "recognised: it is the least, new and gone the most.\n");
}

/* Where what has grown is allocated, if the recordings tell. */
static void put_sites(const heap_series *s, const heap_report_options *o, sink *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < s->sites.count && shown < o->top; i++) {
        const heap_site *site = &s->sites.items[i];
        char text[REPORT_AMOUNT_SIZE];

        if (!heap_series_has_grown(s, site->type) || !is_wanted(o, site->type))
            continue;
        if (shown++ == 0)
            sink_format(out, "\n%12s %12s  %s\n", site->alive ? "alive" : "allocated", "objects",
                        site->alive ? "of what was sampled: type, allocated at"
                                    : "type, allocated at");
        sink_format(out, "%12s %12.0f  ", report_amount(site->bytes, "bytes", text), site->objects);
        heap_report_clean(out, site->type);
        sink_text(out, ", ");
        heap_report_clean(out, site->place);
        sink_char(out, '\n');
    }
}

int heap_report_diff(heap_series *s, const heap *last, const heap_report_options *o, sink *out,
                     error *e)
{
    const size_t end = s->count - 1;
    char text[REPORT_AMOUNT_SIZE + 1];
    int code = check_type(s, last, o, e);

    if (code != 0)
        return code;
    heap_series_sort(s, o->order);
    sink_format(out, "%+lld objects, %s",
                (long long)(s->snapshots[end].objects - s->snapshots[0].objects),
                signed_bytes((int64_t)(s->snapshots[end].bytes - s->snapshots[0].bytes), text));
    if (s->count >= 3)
        sink_format(out, " over %zu snapshots", s->count);
    if (heap_series_span(s) >= 120 * UINT64_C(1000000000))
        sink_format(out, " in %.1f minutes", (double)heap_series_span(s) / 60e9);
    else if (heap_series_span(s) != 0)
        sink_format(out, " in %.1f s", (double)heap_series_span(s) / 1e9);
    if (s->is_matched)
        sink_format(out, "; at least %llu objects survived", (unsigned long long)survivors(s));
    sink_text(out, "\n");
    code = put_leaks(s, last, o, out, e);
    if (code != 0)
        return code;
    if (s->count >= 3)
        sink_text(out, "From the first snapshot to the last; ^ grows with every one.\n");
    sink_char(out, '\n');
    put_rows(s, &s->types, true, o, out);
    if (!heap_series_has_quick(s) && o->type == NULL) {
        sink_char(out, '\n');
        put_rows(s, &s->holders, false, o, out);
    }
    put_sites(s, o, out);
    if (!o->paths)
        return 0;
    sink_text(out, "\nIn the last snapshot:");
    return heap_report_paths(last, o, out, e);
}

/* ---- data ---- */

static void put_i64(json *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_i64(j, value);
}

static void json_rows(const heap_series *s, const heap_series_rows *rows, bool of_types,
                      const heap_report_options *o, json *j)
{
    json_begin_array_at(j, of_types ? "types" : "holders");
    for (size_t i = 0, shown = 0; i < rows->count && shown < o->top; i++) {
        const heap_series_row *row = &rows->items[i];

        if (is_same(s, row) || (of_types && !is_wanted(o, name_of(row))))
            continue;
        shown++;
        json_begin_object(j);
        json_put_text(j, of_types ? "type" : "holder", row->name);
        put_i64(j, "count", heap_series_growth(s, row->count));
        if (of_types)
            put_i64(j, "bytes", heap_series_growth(s, row->bytes));
        if (!heap_series_has_quick(s))
            put_i64(j, "retained", heap_series_growth(s, row->retained));
        json_put_u64(j, "count_after", row->count[s->count - 1]);
        json_put_u64(j, of_types ? "bytes_after" : "retained_after", row->bytes[s->count - 1]);
        if (of_types && s->is_matched) {
            json_put_u64(j, "survived", row->survived);
            json_put_u64(j, "new", new_of(s, row));
            json_put_u64(j, "gone", gone_of(row));
        }
        if (s->count >= 3)
            json_put_bool(j, "grows_every_time", heap_series_rises(s, row));
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_sites(const heap_series *s, const heap_report_options *o, json *j)
{
    json_begin_array_at(j, "sites");
    for (size_t i = 0, shown = 0; i < s->sites.count && shown < o->top; i++) {
        const heap_site *site = &s->sites.items[i];

        if (!heap_series_has_grown(s, site->type) || !is_wanted(o, site->type))
            continue;
        shown++;
        json_begin_object(j);
        json_put_text(j, "type", site->type);
        json_put_text(j, "place", site->place);
        json_put_u64(j, "bytes", site->bytes);
        json_put_u64(j, "objects", (uint64_t)(site->objects + 0.5));
        json_put_bool(j, "alive", site->alive);
        json_end_object(j);
    }
    json_end_array(j);
}

static int json_leaks(const heap_series *s, const heap *last, const heap_report_options *o, json *j,
                      error *e)
{
    const heap_series_row *leaks[LEAKS];
    size_t found = heap_series_leaks(s, leaks, LEAKS, is_wanted_row, o);
    int code = 0;

    json_begin_array_at(j, "leaks");
    for (size_t i = 0; i < found && code == 0; i++) {
        const heap_series_row *row = leaks[i];
        buffer way = BUFFER_EMPTY;

        code = heap_growth_way(&s->ways, last, row->name, &way, e);
        json_begin_object(j);
        json_put_text(j, "type", row->name);
        put_i64(j, "count", heap_series_growth(s, row->count));
        put_i64(j, "bytes", heap_series_growth(s, row->bytes));
        if (!heap_series_has_quick(s))
            put_i64(j, "retained", heap_series_growth(s, row->retained));
        json_put_u64(j, "bytes_per_minute", minutely(s, row));
        json_put_text(j, "path", buffer_text(&way));
        json_end_object(j);
        buffer_free(&way);
    }
    json_end_array(j);
    return code;
}

int heap_report_diff_json(heap_series *s, const heap *last, const heap_report_options *o, json *j,
                          error *e)
{
    const size_t end = s->count - 1;
    int code = check_type(s, last, o, e);

    if (code != 0)
        return code;
    heap_series_sort(s, o->order);
    put_i64(j, "objects", (int64_t)(s->snapshots[end].objects - s->snapshots[0].objects));
    put_i64(j, "bytes", (int64_t)(s->snapshots[end].bytes - s->snapshots[0].bytes));
    json_begin_array_at(j, "snapshots");
    for (size_t i = 0; i < s->count; i++) {
        json_begin_object(j);
        json_put_u64(j, "time_unix_ms", s->snapshots[i].time_ns / 1000000);
        json_put_u64(j, "objects", s->snapshots[i].objects);
        json_put_u64(j, "bytes", s->snapshots[i].bytes);
        json_end_object(j);
    }
    json_end_array(j);
    if (s->is_matched)
        json_put_u64(j, "survived", survivors(s));
    json_rows(s, &s->types, true, o, j);
    if (!heap_series_has_quick(s) && o->type == NULL)
        json_rows(s, &s->holders, false, o, j);
    json_sites(s, o, j);
    code = json_leaks(s, last, o, j, e);
    return code == 0 && o->paths ? heap_report_paths_json(last, o, j, e) : code;
}
