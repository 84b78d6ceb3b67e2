/* profile: see profile.h. */
#include "analysis/profile.h"

#include <string.h>

#include "base/text.h"

static const char *const WEIGHTS[] = {"weight", "bytes", "count"};
static const char *const STATES[PROFILE_STATES] = {"other", "running", "lock", "sleep",
                                                   "io",    "gc",      "wait"};

static const model_column *typed_column(const profile *p, const char *name, uint8_t type)
{
    const model_column *column = model_find_column(p->m, p->table, name);

    return column != NULL && column->type == type ? column : NULL;
}

static const model_column *first_of_type(const model_table *table, uint8_t type)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].type == type)
            return &table->columns[i];
    return NULL;
}

static bool is_number(const model_column *column)
{
    return column->type == RECORDING_U64 || column->type == RECORDING_DURATION;
}

static const char *unit_of(const profile *p)
{
    if (p->weight == NULL)
        return "count";
    if (p->weight->type == RECORDING_DURATION)
        return "ns";
    return text_equal(model_text(p->m, p->weight->unit), "bytes") ||
                   text_equal(model_text(p->m, p->weight->name), "bytes")
               ? "bytes"
               : "count";
}

bool profile_of(const model *m, const model_process *process, const model_table *table, profile *p)
{
    *p = (profile){.m = m, .process = process, .table = table};
    /* Columns get their memory with the first row: a table without rows is an empty profile. */
    p->stack = typed_column(p, "stack", RECORDING_STACK_ID);
    if (p->stack == NULL)
        p->stack = first_of_type(table, RECORDING_STACK_ID);
    if (p->stack == NULL)
        return false;
    p->time = first_of_type(table, RECORDING_TIME);
    p->thread = first_of_type(table, RECORDING_THREAD_ID);
    p->state = typed_column(p, "state", RECORDING_U64);
    for (size_t i = 0; i < sizeof WEIGHTS / sizeof *WEIGHTS && p->weight == NULL; i++) {
        const model_column *column = model_find_column(m, table, WEIGHTS[i]);

        if (column != NULL && is_number(column))
            p->weight = column;
    }
    p->unit = unit_of(p);
    p->lasts = p->time != NULL && text_equal(p->unit, "ns") &&
               text_equal(model_text(m, table->profiler), "wall");
    return true;
}

bool profile_table_is(const model *m, const model_table *table, const char *name)
{
    const char *profiler = model_text(m, table->profiler);
    size_t length = strlen(profiler);

    return text_equal(profiler, name) ||
           (strncmp(profiler, name, length) == 0 && name[length] == '.' &&
            text_equal(model_text(m, table->name), name + length + 1));
}

static bool find_by_profiler(const model *m, const model_process *process, const char *profiler,
                             profile *p)
{
    for (size_t i = 0; i < process->table_count; i++) {
        const model_table *table = &process->tables[i];

        if ((profiler == NULL || profile_table_is(m, table, profiler)) &&
            profile_of(m, process, table, p))
            return true;
    }
    return false;
}

bool profile_find(const model *m, const model_process *process, const char *profiler, profile *p)
{
    if (profiler != NULL)
        return find_by_profiler(m, process, profiler, p);
    return find_by_profiler(m, process, "cpu", p) || find_by_profiler(m, process, "wall", p) ||
           find_by_profiler(m, process, NULL, p);
}

bool profile_row_matches(const profile *p, const profile_selection *selection, size_t row)
{
    if (p->time != NULL && p->time->u64[row] >= selection->to)
        return false;
    if (p->time != NULL && p->time->u64[row] < selection->from &&
        (!p->lasts || profile_row_weight_in(p, selection, row) == 0))
        return false;
    if (selection->threads != NULL &&
        (p->thread == NULL || selection->threads[p->thread->u32[row]] == 0))
        return false;
    return selection->state == 0 || (p->state != NULL && p->state->u64[row] == selection->state);
}

profile_total profile_sum(const profile *p, const profile_selection *selection,
                          uint64_t *weight_by_stack, uint64_t *samples_by_stack)
{
    profile_total total = {0, 0};

    for (size_t row = 0; row < p->table->rows; row++) {
        uint64_t weight;
        uint32_t stack;

        if (!profile_row_matches(p, selection, row))
            continue;
        weight = profile_row_weight_in(p, selection, row);
        stack = profile_row_stack(p, row);
        total.weight += weight;
        total.samples++;
        if (weight_by_stack != NULL)
            weight_by_stack[stack] += weight;
        if (samples_by_stack != NULL)
            samples_by_stack[stack]++;
    }
    return total;
}

void profile_sum_threads(const profile *p, const profile_selection *selection,
                         uint64_t *weight_by_thread, uint64_t *samples_by_thread)
{
    if (p->thread == NULL)
        return;
    for (size_t row = 0; row < p->table->rows; row++) {
        if (!profile_row_matches(p, selection, row))
            continue;
        weight_by_thread[p->thread->u32[row]] += profile_row_weight_in(p, selection, row);
        samples_by_thread[p->thread->u32[row]]++;
    }
}

void profile_sum_states(const profile *p, const profile_selection *selection,
                        uint64_t weights[PROFILE_STATES])
{
    for (size_t i = 0; i < PROFILE_STATES; i++)
        weights[i] = 0;
    if (p->state == NULL)
        return;
    for (size_t row = 0; row < p->table->rows; row++) {
        uint64_t state = p->state->u64[row];

        if (profile_row_matches(p, selection, row))
            weights[state < PROFILE_STATES ? state : 0] += profile_row_weight_in(p, selection, row);
    }
}

const char *profile_state_name(uint64_t state)
{
    return STATES[state < PROFILE_STATES ? state : 0];
}
