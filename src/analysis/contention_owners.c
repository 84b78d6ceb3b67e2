/* contention_owners: see contention_owners.h. */
#include "analysis/contention_owners.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "base/memory.h"

static int by_thread_and_time(const void *a, const void *b)
{
    const contention_owner_sample *x = a;
    const contention_owner_sample *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->seen < y->seen ? -1 : x->seen > y->seen;
}

/* A row of wall ends at the moment when its stack was seen; that of a thread that did not run holds
 * for all of it. A row of cpu is of one moment. */
static void load_samples(const model *m, const model_table *table, bool is_wall,
                         contention_owners *o)
{
    const model_column *times = groups_column(m, table, "time", RECORDING_TIME);
    const model_column *threads = groups_column(m, table, "thread", RECORDING_THREAD_ID);
    const model_column *stacks = groups_column(m, table, "stack", RECORDING_STACK_ID);
    const model_column *weights = groups_column(m, table, "weight", RECORDING_DURATION);
    const model_column *states = groups_column(m, table, "state", RECORDING_U64);

    for (size_t i = 0; i < table->rows; i++) {
        contention_owner_sample *s = &o->items[o->count];
        uint64_t state = groups_cell(states, i, RECORDING_STATE_RUNNING);

        s->thread = (uint32_t)groups_cell(threads, i, 0);
        s->stack = (uint32_t)groups_cell(stacks, i, 0);
        s->start = groups_cell(times, i, 0);
        s->seen = s->start + (is_wall ? groups_cell(weights, i, 0) : 0);
        if (state == RECORDING_STATE_RUNNING)
            s->start = s->seen;
        o->count += s->thread != 0 && s->stack != 0;
    }
}

/* A row of holders is of the moment when its stack was seen, and says for how long the thread had
 * stood there. */
static void load_holders(const model *m, const model_table *table, contention_owners *o)
{
    const model_column *times = groups_column(m, table, "time", RECORDING_TIME);
    const model_column *threads = groups_column(m, table, "thread", RECORDING_THREAD_ID);
    const model_column *stacks = groups_column(m, table, "stack", RECORDING_STACK_ID);
    const model_column *stood = groups_column(m, table, "stood", RECORDING_DURATION);

    for (size_t i = 0; i < table->rows; i++) {
        contention_owner_sample *s = &o->items[o->count];
        uint64_t before = groups_cell(stood, i, 0);

        s->thread = (uint32_t)groups_cell(threads, i, 0);
        s->stack = (uint32_t)groups_cell(stacks, i, 0);
        s->seen = groups_cell(times, i, 0);
        s->start = before < s->seen ? s->seen - before : 0;
        o->count += s->thread != 0 && s->stack != 0;
    }
}

bool contention_owners_load(const model *m, const model_process *process, contention_owners *o)
{
    const model_table *holders = model_find_table(m, process, "holders", "contention");
    const model_table *wall = model_find_table(m, process, "samples", "wall");
    const model_table *table = wall != NULL ? wall : model_find_table(m, process, "samples", "cpu");
    size_t rows = (holders != NULL ? holders->rows : 0) + (table != NULL ? table->rows : 0);

    memset(o, 0, sizeof *o);
    o->is_sampled = table != NULL || holders != NULL;
    if (rows == 0)
        return true;
    o->items = memory_allocate_array(rows + 1, sizeof *o->items);
    if (o->items == NULL)
        return false;
    if (holders != NULL)
        load_holders(m, holders, o);
    if (table != NULL)
        load_samples(m, table, wall != NULL, o);
    if (o->count != 0)
        qsort(o->items, o->count, sizeof *o->items, by_thread_and_time);
    return true;
}

void contention_owners_free(contention_owners *o)
{
    memory_free(o->items);
    memset(o, 0, sizeof *o);
}

uint32_t contention_owners_stack(const contention_owners *o, uint32_t thread, uint64_t begin,
                                 uint64_t end)
{
    size_t low = 0;
    size_t high = o->count;
    /* the waiter wakes up a little after the lock was let go */
    uint64_t held_until = end - (end - begin) / 10;

    while (low < high) { /* the first sample of the thread that was seen at `begin` or later */
        size_t middle = low + (high - low) / 2;
        const contention_owner_sample *s = &o->items[middle];

        if (s->thread < thread || (s->thread == thread && s->seen < begin))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == o->count || o->items[low].thread != thread)
        return 0;
    return o->items[low].seen <= held_until || o->items[low].start <= begin ? o->items[low].stack
                                                                            : 0;
}
