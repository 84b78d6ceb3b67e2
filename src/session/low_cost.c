/* low_cost: see low_cost.h. */
#include "session/low_cost.h"

#include <stdio.h>

#include "diagnostics/procfs.h"

enum {
    UNKNOWN_LOOK_MS = 1000,
    SHORTEST_LOOK_MS = 200,
    MANY_THREADS = 32, /* from here on they are looked at 6 times instead of 12 */
    /* wall looks at all threads, which is the larger part of all the cost: the more there are, the
     * less often. */
    WALL_MS_PER_THREAD = 2,
    WALL_LEAST_MS = 20,
    WALL_MOST_MS = 100,
};

int session_select_low_cost(catalogue_selection *selection, buffer *names, error *e)
{
    static const char *const CHEAP[] = {"cpu",        "wall",   "exceptions",  "gc",  "threads",
                                        "contention", "pauses", "allocations", "jit", "counters"};
    int code = 0;

    for (size_t i = 0; i < sizeof CHEAP / sizeof *CHEAP && code == 0; i++) {
        if (catalogue_find(CHEAP[i]) == NULL)
            continue;
        code = catalogue_add(selection, CHEAP[i], e);
        if (names != NULL)
            buffer_format(names, "%s%s", names->length == 0 ? "" : ", ", CHEAP[i]);
    }
    return code;
}

static int set_milliseconds(catalogue_selection *selection, const char *profiler, uint64_t value,
                            error *e)
{
    char interval[32];

    if (catalogue_selected_by_name(selection, profiler) == NULL)
        return 0;
    snprintf(interval, sizeof interval, "%llums", (unsigned long long)value);
    return catalogue_set(selection, profiler, "interval", interval, e);
}

int session_pace_low_cost(catalogue_selection *selection, int process_id, uint64_t duration_ns,
                          error *e)
{
    procfs_stat stat = {0};
    uint64_t look_ms = UNKNOWN_LOOK_MS, wall_ms = WALL_LEAST_MS;

    if (process_id != 0 && procfs_read_stat(process_id, &stat) && stat.threads > 0)
        wall_ms = (uint64_t)stat.threads * WALL_MS_PER_THREAD;
    wall_ms = wall_ms < WALL_LEAST_MS ? WALL_LEAST_MS : wall_ms;
    wall_ms = wall_ms > WALL_MOST_MS ? WALL_MOST_MS : wall_ms;
    /* The threads are looked at often enough to see how long who waits, the last time shortly
     * before the end. */
    if (duration_ns != 0)
        look_ms = duration_ns / 1000000 * (stat.threads > MANY_THREADS ? 15 : 8) / 100;
    look_ms = look_ms < SHORTEST_LOOK_MS ? SHORTEST_LOOK_MS : look_ms;
    if (set_milliseconds(selection, "wall", wall_ms, e) != 0)
        return e->code;
    return set_milliseconds(selection, "threads", look_ms, e);
}
