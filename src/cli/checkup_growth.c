/* checkup_growth: see checkup_growth.h. */
#include "cli/checkup_growth.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"

#define MB 1e6
enum {
    TOLD = 4,
    LEAST_BYTES = 64 << 10, /* the first look itself makes objects of the runtime's */
    LEAST_PART = 20,        /* of all growth, a twentieth */
    LONGEST_PATH = 600,
};

static finding *find_leak(const findings *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (text_equal(found->items[i].id, "leak-growth"))
            return &found->items[i];
    return NULL;
}

bool checkup_growth_is_asked(const findings *found)
{
    return find_leak(found) != NULL;
}

static const heap *whole_heap(const model *m)
{
    const model_process *p = heap_find(m);
    const heap *h;

    return p == NULL || heap_shared(m, p, &h, NULL) != 0 || heap_is_quick(h) ? NULL : h;
}

/* With the time of its end, which is when the walk is over: how long it took to begin differs. */
static int add(heap_series *s, const heap *h, error *e)
{
    int code = heap_series_add(s, h, e);

    if (code == 0 && h->p->origin_unix_ns != 0)
        s->snapshots[s->count - 1].time_ns = h->p->origin_unix_ns + h->p->duration_ns;
    return code;
}

int checkup_growth_begin(checkup_growth *g, const char *file, error *e)
{
    const heap *h;
    model m;
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return code;
    h = whole_heap(&m);
    if (h == NULL) {
        code = error_set(e, ERROR_IO, "the snapshot of the heap is not whole");
    } else {
        heap_series_init(&g->series);
        g->series.keeps_ways = true;
        g->has_first = true;
        code = add(&g->series, h, e);
    }
    model_free(&m);
    return code;
}

/* How much a type must have grown to be told. */
static int64_t least_growth(const heap_series *s)
{
    int64_t all = (int64_t)(s->snapshots[1].bytes - s->snapshots[0].bytes);

    return all / LEAST_PART > LEAST_BYTES ? all / LEAST_PART : LEAST_BYTES;
}

static void tell_type(const heap_series *s, const heap *h, const heap_series_row *row, finding *f)
{
    double minutes = (double)heap_series_span(s) / 6e10;
    int64_t bytes = heap_series_growth(s, row->bytes), objects = heap_series_growth(s, row->count);
    buffer path = BUFFER_EMPTY, line = BUFFER_EMPTY;

    buffer_format(&line, "%s: %.1f MB more a minute", row->name, (double)bytes / MB / minutes);
    if (objects > 0)
        buffer_format(&line, " in %.0f objects", (double)objects / minutes);
    if (heap_growth_way(&s->ways, h, row->name, &path, NULL) == 0 && path.length != 0)
        buffer_format(&line, ", held by %.*s%s", LONGEST_PATH, buffer_text(&path),
                      path.length > LONGEST_PATH ? "…" : "");
    if (!buffer_failed(&line))
        findings_add_evidence(f, buffer_text(&line));
    buffer_free(&path);
    buffer_free(&line);
}

static void tell_first(const heap_series *s, const heap_series_row *row, finding *f)
{
    buffer text = BUFFER_EMPTY;

    buffer_format(&text, "%s. What grows most is %s, by %.1f MB a minute", f->statement, row->name,
                  (double)heap_series_growth(s, row->bytes) / MB /
                      ((double)heap_series_span(s) / 6e10));
    findings_set_statement(f, &text);
    buffer_format(&text, "Each path leads from a root to what grows: give the cache at its "
                         "beginning a limit, remove from the list, unsubscribe from the event. A "
                         "program that has just started also grows: look again later, or watch it "
                         "for longer with `clarinet heap watch PID`.");
    findings_set_advice(f, &text);
}

void checkup_growth_tell(checkup_growth *g, const model *second, findings *found)
{
    finding *f = find_leak(found);
    const heap *h = g->has_first ? whole_heap(second) : NULL;
    heap_series *s = &g->series;
    size_t told = 0;
    char line[160];

    if (f == NULL || h == NULL || add(s, h, NULL) != 0 || heap_series_span(s) == 0)
        return;
    heap_series_sort(s, HEAP_BY_BYTES);
    snprintf(line, sizeof line,
             "what grew in the %.1f s between two looks at the heap, each after "
             "a full collection:",
             (double)heap_series_span(s) / 1e9);
    findings_add_evidence(f, line);
    for (; told < s->types.count && told < TOLD; told++) {
        if (heap_series_growth(s, s->types.items[told].bytes) < least_growth(s))
            break;
        tell_type(s, h, &s->types.items[told], f);
    }
    if (told != 0)
        tell_first(s, &s->types.items[0], f);
    else
        findings_add_evidence(f, "no type by 64 KB or more: it may be a cache that is full now");
}

void checkup_growth_free(checkup_growth *g)
{
    if (g->has_first)
        heap_series_free(&g->series);
    g->has_first = false;
}
