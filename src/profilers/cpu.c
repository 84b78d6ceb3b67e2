/*
 * cpu: where processor time goes. One timer per thread on that thread's CPU clock; a thread that
 * burns nothing costs nothing. The work is agent/sampling's; see docs/profilers/cpu.md.
 */
#include "agent/sampling.h"

static const recording_column COLUMNS[] = {
    {RECORDING_TIME, "time", ""},      {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_STACK_ID, "stack", ""}, {RECORDING_DURATION, "weight", ""},
    {RECORDING_U64, "state", ""},
};
static const recording_table TABLES[] = {
    {"samples", "cpu", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS},
};
static const char *const LOSSES[] = {
#define X(name, text) text,
    SAMPLING_LOSS_LIST(X)
#undef X
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

static void drain(agent *a, bool last)
{
    sampling_drain(a, last);
}

static void on_thread_assigned(agent *a, ThreadID thread, uint32_t os_thread)
{
    (void)thread;
    sampling_on_thread_assigned(a, os_thread);
}

static void on_collection_started(agent *a)
{
    (void)a;
    sampling_on_collection(true);
}

static void on_collection_finished(agent *a)
{
    (void)a;
    sampling_on_collection(false);
}

const engine ENGINE_cpu = {
    .name = "cpu",
    .mask_low = COR_PRF_MONITOR_THREADS,
    .mask_high = COR_PRF_HIGH_BASIC_GC,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .loss_count = SAMPLING_LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .drain = drain,
    .destroy = sampling_destroy,
    .note = sampling_note,
    .on_thread_assigned = on_thread_assigned,
    .on_thread_destroyed = sampling_on_thread_destroyed,
    .on_collection_started = on_collection_started,
    .on_collection_finished = on_collection_finished,
};
