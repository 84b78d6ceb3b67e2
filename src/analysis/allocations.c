/* allocations: see allocations.h. */
#include "analysis/allocations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "analysis/groups.h"
#include "base/memory.h"

typedef struct {
    uint64_t bytes, size, kind, count;
} row;

static void add_to(allocations_group *group, const row *r)
{
    group->bytes += r->bytes;
    if (r->kind == ALLOCATIONS_EXACT)
        group->objects += (double)r->count;
    else
        group->objects += r->size == 0 ? 1 : (double)r->bytes / (double)r->size;
    if (r->kind != ALLOCATIONS_LARGE && r->kind != ALLOCATIONS_EXACT)
        group->variance += (double)r->bytes * (double)r->bytes;
    group->rows++;
}

static allocations_group *find(allocations_groups *groups, uint32_t type, uint32_t stack)
{
    uint32_t key[2] = {type, stack};
    uint64_t *place = table_text_at(&groups->index, (const char *)key, sizeof key, 0);

    if (place == NULL)
        return NULL;
    if (*place == 0) {
        if (!array_reserve(&groups->items, &groups->capacity, groups->count + 1,
                           sizeof *groups->items))
            return NULL;
        groups->items[groups->count] = (allocations_group){.type = type, .stack = stack};
        *place = ++groups->count;
    }
    return &groups->items[*place - 1];
}

static int by_bytes(const void *a, const void *b)
{
    const allocations_group *x = a;
    const allocations_group *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void sort_groups(allocations_groups *groups)
{
    if (groups->count != 0)
        qsort(groups->items, groups->count, sizeof *groups->items, by_bytes);
}

int allocations_summarise(const model *m, const model_process *process, const model_table *table,
                          allocations *result, error *e)
{
    const model_column *stacks = groups_column(m, table, "stack", RECORDING_STACK_ID);
    const model_column *types = groups_column(m, table, "type", RECORDING_STRING_ID);
    const model_column *weights = groups_column(m, table, "bytes", RECORDING_U64);
    const model_column *sizes = groups_column(m, table, "size", RECORDING_U64);
    const model_column *kinds = groups_column(m, table, "kind", RECORDING_U64);
    const model_column *counts = groups_column(m, table, "count", RECORDING_U64);

    memset(result, 0, sizeof *result);
    result->watched_ns = groups_time_watched(m, process, "allocations");
    for (size_t i = 0; i < table->rows; i++) {
        uint32_t type = (uint32_t)groups_cell(types, i, 0);
        row r = {groups_cell(weights, i, 0), groups_cell(sizes, i, 0), groups_cell(kinds, i, 0),
                 groups_cell(counts, i, 0)};
        allocations_group *by_type = find(&result->types, type, 0);
        allocations_group *by_place =
            find(&result->places, type, (uint32_t)groups_cell(stacks, i, 0));

        if (by_type == NULL || by_place == NULL) {
            allocations_free(result);
            return error_set(e, ERROR_MEMORY, "no memory to count the allocations");
        }
        add_to(by_type, &r);
        add_to(by_place, &r);
        add_to(&result->all, &r);
        if (r.kind == ALLOCATIONS_LARGE)
            add_to(&result->large, &r);
        result->ticks += r.kind == ALLOCATIONS_TICK;
        result->exact += r.kind == ALLOCATIONS_EXACT;
    }
    sort_groups(&result->types);
    sort_groups(&result->places);
    return 0;
}

void allocations_free(allocations *result)
{
    memory_free(result->types.items);
    memory_free(result->places.items);
    table_text_free(&result->types.index);
    table_text_free(&result->places.index);
    memset(result, 0, sizeof *result);
}

double allocations_error_percent(const allocations_group *group)
{
    return group->bytes == 0 ? 0 : 196 * sqrt(group->variance) / (double)group->bytes;
}
