/* counters: see counters.h. */
#include "analysis/counters.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "analysis/groups.h"
#include "base/memory.h"

static void add(counters_item *item, double value)
{
    item->count++;
    item->last = value;
    if (!isfinite(value))
        return;
    item->numbers++;
    item->sum += value;
    item->least = fmin(item->least, value);
    item->most = fmax(item->most, value);
}

static counters_item *find(counters_summary *c, const counters_item *row)
{
    uint32_t key[3] = {row->provider, row->name, row->tags};
    uint64_t *place = table_text_at(&c->index, (const char *)key, sizeof key, 0);

    if (place == NULL)
        return NULL;
    if (*place == 0) {
        if (!array_reserve(&c->items, &c->capacity, c->count + 1, sizeof *c->items))
            return NULL;
        c->items[c->count] = *row;
        *place = ++c->count;
    }
    return &c->items[*place - 1];
}

int counters_summarise(const model *m, const model_table *table, counters_summary *result, error *e)
{
    const model_column *provider = groups_column(m, table, "provider", RECORDING_STRING_ID);
    const model_column *name = groups_column(m, table, "name", RECORDING_STRING_ID);
    const model_column *title = groups_column(m, table, "title", RECORDING_STRING_ID);
    const model_column *tags = groups_column(m, table, "tags", RECORDING_STRING_ID);
    const model_column *unit = groups_column(m, table, "unit", RECORDING_STRING_ID);
    const model_column *kind = groups_column(m, table, "kind", RECORDING_U64);
    const model_column *value = groups_column(m, table, "value", RECORDING_F64);

    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < table->rows && value != NULL; i++) {
        counters_item row = {
            .provider = (uint32_t)groups_cell(provider, i, 0),
            .name = (uint32_t)groups_cell(name, i, 0),
            .title = (uint32_t)groups_cell(title, i, 0),
            .unit = (uint32_t)groups_cell(unit, i, 0),
            .tags = (uint32_t)groups_cell(tags, i, 0),
            .kind = (uint32_t)groups_cell(kind, i, 0),
            .least = NAN, /* which fmin and fmax pass over */
            .most = NAN,
        };
        counters_item *item = find(result, &row);

        if (item == NULL) {
            counters_free(result);
            return error_set(e, ERROR_MEMORY, "no memory to add up the counters");
        }
        add(item, model_cell_f64(value, i));
    }
    return 0;
}

void counters_free(counters_summary *result)
{
    memory_free(result->items);
    table_text_free(&result->index);
    memset(result, 0, sizeof *result);
}
