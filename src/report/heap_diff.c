/* heap_diff: growth between two snapshots, by type; see heap_report.h. Types match by name. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/heap_report.h"
#include "report/report.h"

typedef struct {
    const char *name;
    int64_t count, bytes, retained; /* after less before */
    uint64_t count_after, bytes_after;
} growth;

typedef struct {
    growth *items;
    size_t count;
} growths;

static int compare(const void *a, const void *b)
{
    const growth *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add(growth *g, const heap_type *t, int64_t sign)
{
    g->count += sign * (int64_t)t->count;
    g->bytes += sign * (int64_t)t->bytes;
    g->retained += sign * (int64_t)t->retained;
}

static int build(const heap *a, const heap *b, growths *out, error *e)
{
    table_text known;
    bool good;

    out->count = 0;
    out->items = memory_allocate_array(a->type_count + b->type_count, sizeof *out->items);
    table_text_init(&known);
    good = out->items != NULL;
    for (int side = 0; side < 2 && good; side++) {
        const heap *h = side == 0 ? a : b;

        for (uint32_t i = 0; i < h->type_count && good; i++) {
            const char *name = heap_type_name(h, i);
            uint64_t *at = table_text_at(&known, name, strlen(name), out->count);
            growth *g;

            good = at != NULL;
            if (!good)
                break;
            g = &out->items[*at];
            if (*at == out->count) {
                g->name = name;
                out->count++;
            }
            add(g, &h->types[i], side == 0 ? -1 : 1);
            if (side == 1) {
                g->count_after = h->types[i].count;
                g->bytes_after = h->types[i].bytes;
            }
        }
    }
    table_text_free(&known);
    if (!good) {
        memory_free(out->items);
        return error_set(e, ERROR_MEMORY, "no memory to compare the snapshots");
    }
    qsort(out->items, out->count, sizeof *out->items, compare);
    return 0;
}

static const char *signed_bytes(int64_t bytes, char text[REPORT_AMOUNT_SIZE + 1])
{
    text[0] = bytes < 0 ? '-' : '+';
    report_amount((uint64_t)(bytes < 0 ? -bytes : bytes), "bytes", text + 1);
    return text;
}

static bool is_same(const growth *g)
{
    return g->count == 0 && g->bytes == 0;
}

int heap_report_diff(const heap *a, const heap *b, size_t top, sink *out, error *e)
{
    char text[2][REPORT_AMOUNT_SIZE + 1];
    growths all;
    int code = build(a, b, &all, e);
    size_t shown = 0, left = 0;

    if (code != 0)
        return code;
    sink_format(out, "%+lld objects, %s\n\n%12s %12s %12s %12s  %s\n",
                (long long)(b->objects - a->objects),
                signed_bytes((int64_t)(b->bytes - a->bytes), text[0]), "own bytes", "retained",
                "objects", "now", "type");
    for (size_t i = 0; i < all.count; i++) {
        const growth *g = &all.items[i];

        if (is_same(g))
            continue;
        if (shown == top) {
            left++;
            continue;
        }
        shown++;
        sink_format(out, "%12s %12s %+12lld %12llu  %s\n", signed_bytes(g->bytes, text[0]),
                    signed_bytes(g->retained, text[1]), (long long)g->count,
                    (unsigned long long)g->count_after,
                    g->name[0] == '\0' ? "(unknown type)" : g->name);
    }
    if (left != 0)
        sink_format(out, "%zu more type%s changed (--top shows more)\n", left,
                    left == 1 ? "" : "s");
    memory_free(all.items);
    return 0;
}

int heap_report_diff_json(const heap *a, const heap *b, size_t top, json *j, error *e)
{
    growths all;
    int code = build(a, b, &all, e);

    if (code != 0)
        return code;
    json_key(j, "objects");
    json_i64(j, (int64_t)(b->objects - a->objects));
    json_key(j, "bytes");
    json_i64(j, (int64_t)(b->bytes - a->bytes));
    json_begin_array_at(j, "types");
    for (size_t i = 0, shown = 0; i < all.count && shown < top; i++) {
        const growth *g = &all.items[i];

        if (is_same(g))
            continue;
        shown++;
        json_begin_object(j);
        json_put_text(j, "type", g->name);
        json_key(j, "count");
        json_i64(j, g->count);
        json_key(j, "bytes");
        json_i64(j, g->bytes);
        json_key(j, "retained");
        json_i64(j, g->retained);
        json_put_u64(j, "count_after", g->count_after);
        json_put_u64(j, "bytes_after", g->bytes_after);
        json_end_object(j);
    }
    json_end_array(j);
    memory_free(all.items);
    return 0;
}
