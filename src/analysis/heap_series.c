/* heap_series: see heap_series.h. */
#include "analysis/heap_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

enum { LEAST_LEAK = 64 << 10, LEAST_SHARE = 100 };

static int no_memory(error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory to compare the snapshots");
}

void heap_series_init(heap_series *s)
{
    memset(s, 0, sizeof *s);
    table_text_init(&s->types.known);
    table_text_init(&s->holders.known);
    heap_sites_init(&s->sites);
}

static void free_rows(heap_series_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        memory_free((void *)rows->items[i].name);
    memory_free(rows->items);
    table_text_free(&rows->known);
}

void heap_series_free(heap_series *s)
{
    free_rows(&s->types);
    free_rows(&s->holders);
    heap_sites_free(&s->sites);
    heap_survival_free(&s->first);
    heap_growth_free(&s->ways);
    memset(s, 0, sizeof *s);
}

static heap_series_row *row_of(heap_series_rows *rows, const char *name, size_t length)
{
    uint64_t *at = table_text_at(&rows->known, name, length, rows->count);
    char *copy;

    if (at == NULL)
        return NULL;
    if (*at < rows->count)
        return &rows->items[*at];
    copy = memory_allocate(length + 1);
    if (copy == NULL ||
        !array_reserve(&rows->items, &rows->capacity, rows->count + 1, sizeof *rows->items)) {
        memory_free(copy);
        return NULL;
    }
    memcpy(copy, name, length);
    copy[length] = '\0';
    rows->items[rows->count].name = copy;
    return &rows->items[rows->count++];
}

/* `numbers`: the row of each type. */
static bool add_types(heap_series *s, const heap *h, uint32_t *numbers)
{
    for (uint32_t i = 0; i < h->type_count; i++) {
        const char *name = heap_type_name(h, i);
        heap_series_row *row;

        if (h->types[i].count == 0)
            continue;
        row = row_of(&s->types, name, strlen(name));
        if (row == NULL)
            return false;
        row->count[s->count] += h->types[i].count;
        row->bytes[s->count] += h->types[i].bytes;
        row->retained[s->count] += h->types[i].retained;
        numbers[i] = (uint32_t)(row - s->types.items);
    }
    return true;
}

static bool add_holders(heap_series *s, const heap *h)
{
    buffer text = BUFFER_EMPTY;
    bool good = true;

    for (size_t i = 0; good && i < h->holder_count; i++) {
        heap_series_row *row;

        buffer_clear(&text);
        heap_root_text(h, h->holders[i].root, &text);
        buffer_format(&text, " -> %s", heap_type_name(h, h->holders[i].type));
        row = row_of(&s->holders, buffer_text(&text), text.length);
        good = row != NULL;
        if (!good)
            break;
        row->count[s->count] += h->holders[i].count;
        row->bytes[s->count] += h->holders[i].retained;
        row->retained[s->count] += h->holders[i].retained;
    }
    buffer_free(&text);
    return good;
}

/* What is there of the first snapshot's objects. */
static bool match_first(heap_series *s, const heap *h, const uint32_t *numbers)
{
    uint64_t *survived;
    bool good;

    if (s->count == 0)
        return heap_survival_keep(&s->first, h, numbers);
    s->is_matched = heap_survival_is_same(&s->first, h);
    if (!s->is_matched)
        return true;
    survived = memory_allocate_array(s->types.count + 1, sizeof *survived);
    good = survived != NULL && heap_survival_count(&s->first, h, numbers, survived);
    for (size_t i = 0; good && i < s->types.count; i++)
        s->types.items[i].survived = survived[i];
    memory_free(survived);
    return good;
}

static bool add_snapshot(heap_series *s, const heap *h)
{
    uint32_t *numbers = memory_allocate_array(h->type_count + 1, sizeof *numbers);
    bool good = numbers != NULL && add_types(s, h, numbers) && add_holders(s, h) &&
                match_first(s, h, numbers);

    memory_free(numbers);
    return good;
}

int heap_series_add(heap_series *s, const heap *h, error *e)
{
    const char *created = model_info_value(h->m, NULL, "created_unix_ns");

    if (s->count == HEAP_SERIES_MOST)
        return error_set(e, ERROR_USAGE, "at most %d snapshots are compared", HEAP_SERIES_MOST);
    if (created != NULL)
        text_to_u64(created, &s->snapshots[s->count].time_ns);
    s->snapshots[s->count].objects = h->objects;
    s->snapshots[s->count].bytes = h->bytes;
    s->snapshots[s->count].is_quick = heap_is_quick(h);
    if (!add_snapshot(s, h))
        return no_memory(e);
    if (s->count == s->ways_of && s->keeps_ways && heap_growth_keep(&s->ways, h, e) != 0)
        return e == NULL ? ERROR_MEMORY : e->code;
    s->count++;
    return heap_sites_add(&s->sites, h->m, h->p, e);
}

typedef struct {
    const heap_series *series;
    heap_order order;
} sorting;

static int64_t weight(const sorting *by, const heap_series_row *row)
{
    return heap_series_growth(by->series, by->order == HEAP_BY_COUNT      ? row->count
                                          : by->order == HEAP_BY_RETAINED ? row->retained
                                                                          : row->bytes);
}

static int compare(const void *a, const void *b, void *context)
{
    const heap_series_row *x = a, *y = b;
    int64_t p = weight(context, x), q = weight(context, y);

    return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

void heap_series_sort(heap_series *s, heap_order order)
{
    sorting by = {s, order};
    heap_series_rows *all[] = {&s->types, &s->holders};

    for (size_t i = 0; i < 2 && s->count != 0; i++)
        if (all[i]->count != 0)
            qsort_r(all[i]->items, all[i]->count, sizeof *all[i]->items, compare, &by);
    heap_sites_sort(&s->sites);
}

bool heap_series_has_grown(const heap_series *s, const char *type)
{
    for (size_t i = 0; i < s->types.count; i++)
        if (text_equal(s->types.items[i].name, type))
            return heap_series_growth(s, s->types.items[i].bytes) > 0;
    return false;
}

bool heap_series_rises(const heap_series *s, const heap_series_row *row)
{
    for (size_t i = 1; i < s->count; i++)
        if (row->count[i] < row->count[i - 1] || row->bytes[i] <= row->bytes[i - 1])
            return false;
    return s->count >= HEAP_SERIES_LEAST_LEAK;
}

/* Objects that hold what grows: of the buffers themselves some may come and go. */
static bool holds_more(const heap_series *s, const heap_series_row *row)
{
    for (size_t i = 1; i < s->count; i++)
        if (row->count[i] <= row->count[i - 1] || row->retained[i] <= row->retained[i - 1])
            return false;
    return s->count >= HEAP_SERIES_LEAST_LEAK;
}

static bool matters(const heap_series *s, int64_t growth)
{
    return growth >= LEAST_LEAK &&
           (uint64_t)growth >= s->snapshots[s->count - 1].bytes / LEAST_SHARE;
}

bool heap_series_has_quick(const heap_series *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->snapshots[i].is_quick)
            return true;
    return false;
}

bool heap_series_is_leak(const heap_series *s, const heap_series_row *row)
{
    if (heap_series_has_quick(s))
        return false;
    return (matters(s, heap_series_growth(s, row->bytes)) && heap_series_rises(s, row)) ||
           (matters(s, heap_series_growth(s, row->retained)) && holds_more(s, row));
}

int64_t heap_series_weight(const heap_series *s, const heap_series_row *row)
{
    int64_t own = heap_series_growth(s, row->bytes), all = heap_series_growth(s, row->retained);

    return all > own ? all : own;
}

size_t heap_series_leaks(const heap_series *s, const heap_series_row **rows, size_t room,
                         bool (*is_wanted)(const void *context, const heap_series_row *row),
                         const void *context)
{
    size_t count = 0;

    for (size_t i = 0; i < s->types.count; i++) {
        const heap_series_row *row = &s->types.items[i];
        size_t at = count;

        if (!is_wanted(context, row) || !heap_series_is_leak(s, row))
            continue;
        for (; at > 0 && heap_series_weight(s, rows[at - 1]) < heap_series_weight(s, row); at--)
            if (at < room)
                rows[at] = rows[at - 1];
        if (at < room)
            rows[at] = row;
        count += count < room;
    }
    return count;
}

uint64_t heap_series_span(const heap_series *s)
{
    uint64_t first = s->count == 0 ? 0 : s->snapshots[0].time_ns;
    uint64_t last = s->count == 0 ? 0 : s->snapshots[s->count - 1].time_ns;

    return first == 0 || last <= first ? 0 : last - first;
}
