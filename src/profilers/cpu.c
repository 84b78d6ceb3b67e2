/*
 * cpu: where processor time goes. One timer per thread on that thread's CPU clock; a thread that
 * burns nothing costs nothing. The work is agent/sampling's; see docs/profilers/cpu.md.
 */
#include "agent/sampling.h"

static const recording_table TABLES[] = {
    {"samples", "cpu", SAMPLING_COLUMNS, SAMPLING_COLUMN_COUNT},
};
static int start(agent *a, error *e)
{
    int code = sampling_open(a, SAMPLING_CPU, e);

    if (code == 0)
        a->engines[ENGINE_INDEX_cpu].state = a->sampling;
    return code;
}

static void configure(agent *a)
{
    sampling_configure(a, SAMPLING_CPU, ENGINE_INDEX_cpu);
}

static void stop(agent *a)
{
    sampling_close(a, SAMPLING_CPU);
}

const engine ENGINE_cpu = {
    .name = "cpu",
    .mask_low = COR_PRF_MONITOR_CLASS_LOADS,
    .mask_high = COR_PRF_HIGH_BASIC_GC,
    .tables = TABLES,
    .table_count = 1,
    .losses = SAMPLING_LOSS_NAMES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .drain = sampling_drain,
    .longest_wait_ms = sampling_longest_wait_ms,
    .destroy = sampling_destroy,
    .note = sampling_note_of_cpu,
    .on_thread_assigned = sampling_on_thread_assigned,
    .on_thread_named = sampling_on_thread_named,
    .on_thread_destroyed = sampling_on_thread_destroyed,
    .on_class_loading = sampling_on_class_loading,
    .on_collection_started = sampling_on_collection_started,
    .on_collection_finished = sampling_on_collection_finished,
};
