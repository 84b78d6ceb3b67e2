/* contention: see contention.h. */
#include "analysis/contention.h"

#include <string.h>

#include "analysis/contention_owners.h"

typedef struct {
    const model_column *time;
    const model_column *stack;
    const model_column *weight;
    const model_column *owner;
    const model_column *type;
    const model_column *kind;
    const model_column *flags;
    const model_column *count;
} columns;

const char *contention_kind_name(uint64_t kind)
{
    static const char *const KINDS[] = {"monitor", "Lock", "handle", "Monitor.Wait"};

    return kind < sizeof KINDS / sizeof *KINDS ? KINDS[kind] : "other";
}

static bool add_owner(const columns *c, size_t row, const contention_owners *samples, uint32_t type,
                      contention *result)
{
    uint32_t owner = (uint32_t)groups_cell(c->owner, row, 0);
    uint64_t begin = groups_cell(c->time, row, 0);
    uint64_t weight = groups_cell(c->weight, row, 0);
    uint64_t count = groups_cell(c->count, row, 1);
    uint32_t stack;

    if (owner == 0)
        return true;
    stack = contention_owners_stack(samples, owner, begin, begin + weight);
    result->owned_ns += weight;
    result->holding_ns += stack != 0 ? weight : 0;
    return groups_add(&result->owners, owner, type, 0, count, weight) &&
           (stack == 0 || groups_add(&result->holding, stack, type, owner, count, weight));
}

static bool add_row(const columns *c, size_t row, const contention_owners *samples,
                    contention *result)
{
    uint32_t stack = (uint32_t)groups_cell(c->stack, row, 0);
    uint32_t type = (uint32_t)groups_cell(c->type, row, 0);
    uint32_t kind = (uint32_t)groups_cell(c->kind, row, 0);
    uint64_t weight = groups_cell(c->weight, row, 0);
    uint64_t flags = groups_cell(c->flags, row, 0);
    uint64_t count = groups_cell(c->count, row, 1);

    result->total += count;
    result->waited_ns += weight;
    if ((flags & CONTENTION_OPEN) != 0)
        result->open++;
    if ((flags & CONTENTION_REST) != 0 && result->open != 0)
        result->open--; /* it ended after all */
    if ((flags & CONTENTION_COUNTED) != 0)
        result->counted += count;
    if (flags == 0 && !groups_spread_add(&result->single, weight))
        return false;
    if (!groups_add(&result->types, type, kind, 0, count, weight))
        return false;
    if (stack != 0 && !groups_add(&result->places, stack, type, kind, count, weight))
        return false;
    return add_owner(c, row, samples, type, result);
}

int contention_summarise(const model *m, const model_process *process, const model_table *table,
                         contention *result, error *e)
{
    columns c = {
        groups_column(m, table, "time", RECORDING_TIME),
        groups_column(m, table, "stack", RECORDING_STACK_ID),
        groups_column(m, table, "weight", RECORDING_DURATION),
        groups_column(m, table, "owner", RECORDING_THREAD_ID),
        groups_column(m, table, "type", RECORDING_STRING_ID),
        groups_column(m, table, "kind", RECORDING_U64),
        groups_column(m, table, "flags", RECORDING_U64),
        groups_column(m, table, "count", RECORDING_U64),
    };

    contention_owners samples;
    bool is_well = contention_owners_load(m, process, &samples);

    memset(result, 0, sizeof *result);
    result->watched_ns = groups_time_watched(m, process, "contention");
    result->is_sampled = samples.is_sampled;
    for (size_t i = 0; i < table->rows && is_well; i++)
        is_well = add_row(&c, i, &samples, result);
    contention_owners_free(&samples);
    if (!is_well) {
        contention_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to count the waits");
    }
    groups_spread_sort(&result->single);
    groups_sort(&result->types);
    groups_sort(&result->places);
    groups_sort(&result->owners);
    groups_sort(&result->holding);
    return 0;
}

void contention_free(contention *result)
{
    groups_free(&result->types);
    groups_free(&result->places);
    groups_free(&result->owners);
    groups_free(&result->holding);
    groups_spread_free(&result->single);
    memset(result, 0, sizeof *result);
}
