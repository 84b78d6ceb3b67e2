/*
 * profile: any table with a column of stacks, seen as a profile: what a flame graph adds up, how
 * much of it fell on which stack, in a selection by thread, time and state.
 *
 * The weight is the column `weight`, or `bytes`, or `count`; without any of them each row counts 1.
 * Rows of wall last: each stands for the time from its own on, as long as its weight. Of one that
 * reaches out of the selected time only what is inside counts.
 * Thread rules: everything here only reads the model.
 */
#ifndef CLARINET_ANALYSIS_PROFILE_H
#define CLARINET_ANALYSIS_PROFILE_H

#include "analysis/model.h"

typedef struct {
    const model *m;
    const model_process *process;
    const model_table *table;
    const model_column *stack;
    const model_column *time; /* these may be NULL */
    const model_column *thread;
    const model_column *weight;
    const model_column *state;
    const char *unit; /* "ns", "bytes" or "count" */
    bool lasts;       /* rows stand for a stretch of time, not for a moment */
} profile;

/* What to look at; PROFILE_ALL selects everything. */
typedef struct {
    uint64_t from; /* time, ns; from <= t < to */
    uint64_t to;
    const uint8_t *threads; /* by index of the process's threads: 1 = selected; NULL = all */
    uint64_t state;         /* 0 = all */
} profile_selection;

#define PROFILE_ALL                                                                                \
    (profile_selection)                                                                            \
    {                                                                                              \
        0, UINT64_MAX, NULL, 0                                                                     \
    }

typedef struct {
    uint64_t weight;
    uint64_t samples; /* rows */
} profile_total;

/* false when the table has no stacks. */
bool profile_of(const model *m, const model_process *process, const model_table *table, profile *p);
/* Whether a table is of this profiler, or is the one that "profiler.table" names. */
bool profile_table_is(const model *m, const model_table *table, const char *name);
/* The profile of a profiler, by its name ("cpu", "allocations.live"); NULL takes cpu, else wall,
 * else the first table with stacks. false when there is none. */
bool profile_find(const model *m, const model_process *process, const char *profiler, profile *p);
bool profile_row_matches(const profile *p, const profile_selection *selection, size_t row);

static inline uint64_t profile_row_weight(const profile *p, size_t row)
{
    return p->weight == NULL ? 1 : model_cell(p->weight, row);
}
/* What of the row's weight is between the two times. */
static inline uint64_t profile_row_weight_between(const profile *p, size_t row, uint64_t from,
                                                  uint64_t to)
{
    uint64_t weight = profile_row_weight(p, row);
    uint64_t start = p->lasts ? p->time->u64[row] : from;
    uint64_t before = start < from ? from - start : 0;

    if (!p->lasts)
        return weight;
    weight = weight > before ? weight - before : 0;
    start += before;
    return start >= to ? 0 : weight < to - start ? weight : to - start;
}
static inline uint64_t profile_row_weight_in(const profile *p, const profile_selection *selection,
                                             size_t row)
{
    return profile_row_weight_between(p, row, selection->from, selection->to);
}
static inline uint32_t profile_row_stack(const profile *p, size_t row)
{
    return p->stack->u32[row];
}

/* Adds each selected row to its stack: arrays of process->stack_count, cleared by the caller;
 * either may be NULL. Returns the sums. */
profile_total profile_sum(const profile *p, const profile_selection *selection,
                          uint64_t *weight_by_stack, uint64_t *samples_by_stack);
/* By thread: arrays of process->thread_count, cleared by the caller. */
void profile_sum_threads(const profile *p, const profile_selection *selection,
                         uint64_t *weight_by_thread, uint64_t *samples_by_thread);
/* By state; states from PROFILE_STATES on are put into slot 0. */
#define PROFILE_STATES 7
void profile_sum_states(const profile *p, const profile_selection *selection,
                        uint64_t weights[PROFILE_STATES]);
/* "running", "lock", …; "other" for what is not known. */
const char *profile_state_name(uint64_t state);

#endif
