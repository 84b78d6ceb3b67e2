/* groups: see groups.h. */
#include "analysis/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

bool groups_add(groups_list *g, uint32_t first, uint32_t second, uint32_t third, uint64_t count,
                uint64_t sum)
{
    uint32_t key[GROUPS_KEYS] = {first, second, third};
    uint64_t *place = table_text_at(&g->index, (const char *)key, sizeof key, 0);
    groups_item *item;

    if (place == NULL)
        return false;
    if (*place == 0) {
        if (!array_reserve(&g->items, &g->capacity, g->count + 1, sizeof *g->items))
            return false;
        memset(&g->items[g->count], 0, sizeof *g->items);
        memcpy(g->items[g->count].key, key, sizeof key);
        *place = ++g->count;
    }
    item = &g->items[*place - 1];
    item->count += count;
    item->sum += sum;
    if (count == 1 && sum > item->most)
        item->most = sum;
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int by_sum(const void *a, const void *b)
{
    const groups_item *x = a;
    const groups_item *y = b;
    int order = compare(x->sum, y->sum);

    if (order == 0)
        order = compare(x->count, y->count);
    return order != 0 ? order : memcmp(x->key, y->key, sizeof x->key);
}

static int by_count(const void *a, const void *b)
{
    const groups_item *x = a;
    const groups_item *y = b;
    int order = compare(x->count, y->count);

    return order != 0 ? order : by_sum(a, b);
}

void groups_sort(groups_list *g)
{
    if (g->count != 0)
        qsort(g->items, g->count, sizeof *g->items, by_sum);
}

void groups_sort_by_count(groups_list *g)
{
    if (g->count != 0)
        qsort(g->items, g->count, sizeof *g->items, by_count);
}

void groups_free(groups_list *g)
{
    memory_free(g->items);
    table_text_free(&g->index);
    memset(g, 0, sizeof *g);
}

bool groups_spread_add(groups_spread *s, uint64_t value)
{
    if (!array_reserve(&s->values, &s->capacity, s->count + 1, sizeof *s->values))
        return false;
    s->values[s->count++] = value;
    s->sum += value;
    return true;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return compare(*y, *x);
}

void groups_spread_sort(groups_spread *s)
{
    if (s->count != 0)
        qsort(s->values, s->count, sizeof *s->values, ascending);
}

uint64_t groups_spread_at(const groups_spread *s, double share)
{
    double place = share * (double)s->count;
    size_t index = (size_t)place;

    if (s->count == 0)
        return 0;
    if (index > 0 && (double)index == place)
        index--;
    return s->values[index < s->count ? index : s->count - 1];
}

void groups_spread_free(groups_spread *s)
{
    memory_free(s->values);
    memset(s, 0, sizeof *s);
}

const model_column *groups_column(const model *m, const model_table *table, const char *name,
                                  uint8_t type)
{
    const model_column *column = model_find_column(m, table, name);

    return column != NULL && column->type == type ? column : NULL;
}

uint64_t groups_time_watched(const model *m, const model_process *process, const char *profiler)
{
    for (size_t i = 0; i < process->profiler_count; i++) {
        const model_profiler *p = &process->profilers[i];

        if (text_equal(model_text(m, p->name), profiler) && p->stop > p->start)
            return p->stop - p->start;
    }
    return process->duration_ns;
}
