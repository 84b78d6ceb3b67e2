/* vitals: the six signs every checkup shows, each a number, a sentence and a mark. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exceptions.h"
#include "analysis/findings_rule.h"
#include "analysis/threads.h"
#include "base/memory.h"

static findings_severity mark(double value, double warning, double critical)
{
    return value >= critical  ? FINDINGS_CRITICAL
           : value >= warning ? FINDINGS_WARNING
                              : FINDINGS_OK;
}

static void not_recorded(findings_vital *v, const char *name, const char *unit)
{
    *v = (findings_vital){.name = name, .unit = unit, .mark = FINDINGS_UNKNOWN};
    snprintf(v->text, sizeof v->text, "not recorded");
}

static void take_cpu(const model *m, const model_process *p, double seconds, findings_vital *v)
{
    const char *cpus = model_info_value(m, p, "cpus");
    double count = cpus == NULL ? 0 : strtod(cpus, NULL);
    profile cpu;

    not_recorded(v, "cpu", "processors");
    if (!profile_find(m, p, "cpu", &cpu))
        return;
    v->value = (double)profile_sum(&cpu, &PROFILE_ALL, NULL, NULL).weight / 1e9 / seconds;
    v->mark = count >= 1 && v->value >= 0.9 * count ? FINDINGS_WARNING : FINDINGS_OK;
    if (count >= 1)
        snprintf(v->text, sizeof v->text, "%.2f of %.0f processors", v->value, count);
    else
        snprintf(v->text, sizeof v->text, "%.2f processors", v->value);
}

static bool has_profiler(const model *m, const model_process *p, const char *name)
{
    for (size_t i = 0; i < p->profiler_count; i++)
        if (strcmp(model_text(m, p->profilers[i].name), name) == 0)
            return p->profilers[i].state != RECORDING_FAILED;
    return false;
}

static void take_gc(const model *m, const model_process *p, const findings_limits *limits,
                    double seconds, findings_vital *v)
{
    const model_table *table = model_find_table(m, p, "collections", "gc");
    const model_column *pause = table == NULL ? NULL : model_find_column(m, table, "pause");
    uint64_t total = 0;
    uint64_t longest = 0;
    size_t rows = pause == NULL ? 0 : table->rows;

    not_recorded(v, "gc", "percent of time paused");
    if (!has_profiler(m, p, "gc") && pause == NULL)
        return;
    for (size_t row = 0; row < rows; row++) {
        total += model_cell(pause, row);
        longest = model_cell(pause, row) > longest ? model_cell(pause, row) : longest;
    }
    v->value = 100.0 * (double)total / 1e9 / seconds;
    v->mark =
        mark(v->value, limits->values[THRESHOLD_GC_SHARE], limits->values[THRESHOLD_GC_CRITICAL]);
    if (rows == 0)
        snprintf(v->text, sizeof v->text, "no collection");
    else
        snprintf(v->text, sizeof v->text,
                 "%.2f %% of the time paused, %zu collection%s, longest pause %.1f ms", v->value,
                 rows, rows == 1 ? "" : "s", (double)longest / 1e6);
}

static void take_threads(const model *m, const model_process *p, double seconds, findings_vital *v)
{
    uint64_t states[PROFILE_STATES];
    size_t used, managed = 0;
    threads_view view;
    profile wall;

    not_recorded(v, "threads", "managed threads");
    if (threads_make(m, p, &view, NULL) != 0)
        return;
    for (size_t i = 0; i < view.count; i++)
        managed += view.entries[i].native != 0;
    v->value = (double)(managed != 0 ? managed : view.count); /* old recordings have only these */
    v->mark = FINDINGS_OK;
    threads_free(&view);
    used = (size_t)snprintf(v->text, sizeof v->text, "%.0f managed", v->value);
    if (profile_find(m, p, "wall", &wall) && wall.state != NULL) {
        profile_sum_states(&wall, &PROFILE_ALL, states);
        snprintf(v->text + used, sizeof v->text - used, ", on average %.1f running",
                 (double)states[RECORDING_STATE_RUNNING] / 1e9 / seconds);
    }
}

static void take_allocation(const model *m, const model_process *p, double seconds,
                            findings_vital *v)
{
    const model_table *table = model_find_table(m, p, "allocations", NULL);
    const model_column *bytes = table == NULL ? NULL : model_find_column(m, table, "bytes");
    double total = 0;

    not_recorded(v, "allocation", "bytes a second");
    if (bytes == NULL && !has_profiler(m, p, "allocations"))
        return;
    for (size_t row = 0; bytes != NULL && row < table->rows; row++)
        total += (double)model_cell(bytes, row);
    v->value = total / seconds;
    v->mark = FINDINGS_OK;
    snprintf(v->text, sizeof v->text, "%.1f MB a second", v->value / 1e6);
}

static void take_exceptions(const model *m, const model_process *p, const findings_limits *limits,
                            double seconds, findings_vital *v)
{
    const model_table *table = model_find_table(m, p, "exceptions", "exceptions");
    exceptions all;

    not_recorded(v, "exceptions", "a second");
    if (table == NULL && !has_profiler(m, p, "exceptions"))
        return;
    if (table != NULL && exceptions_summarise(m, p, table, &all, NULL) == 0) {
        v->value = (double)all.total / seconds;
        exceptions_free(&all);
    }
    v->mark = mark(v->value, limits->values[THRESHOLD_STORM_RATE],
                   limits->values[THRESHOLD_STORM_CRITICAL]);
    if (v->value == 0)
        snprintf(v->text, sizeof v->text, "none");
    else
        snprintf(v->text, sizeof v->text, "%.1f a second", v->value);
}

static void take_locks(const model *m, const model_process *p, const findings_limits *limits,
                       double seconds, findings_vital *v)
{
    findings list = {0};
    findings_lock_sums sums;
    findings_context c = {
        .m = m,
        .process = p,
        .limits = limits,
        .list = &list,
        .seconds = seconds,
        .locked = memory_allocate_array(p->thread_count + 1, 1),
    };

    not_recorded(v, "locks", "threads waiting on average");
    if (c.locked == NULL || (!has_profiler(m, p, "wall") && !has_profiler(m, p, "threads") &&
                             !has_profiler(m, p, "contention")))
        return memory_free(c.locked);
    findings_sum_locks(&c, &sums);
    memory_free(c.locked);
    v->value = sums.average;
    v->mark = mark(v->value, limits->values[THRESHOLD_LOCK_THREADS],
                   limits->values[THRESHOLD_LOCK_CRITICAL]);
    snprintf(v->text, sizeof v->text, "%.2f threads waiting on average", v->value);
}

void findings_vitals(const model *m, const model_process *process, const findings_limits *limits,
                     findings_vital vitals[FINDINGS_VITALS])
{
    double seconds = (double)process->duration_ns / 1e9;
    findings_limits defaults;

    findings_limits_init(&defaults);
    if (limits == NULL)
        limits = &defaults;
    if (!(seconds > 0))
        seconds = 1;
    take_cpu(m, process, seconds, &vitals[0]);
    take_gc(m, process, limits, seconds, &vitals[1]);
    take_threads(m, process, seconds, &vitals[2]);
    take_allocation(m, process, seconds, &vitals[3]);
    take_exceptions(m, process, limits, seconds, &vitals[4]);
    take_locks(m, process, limits, seconds, &vitals[5]);
}
