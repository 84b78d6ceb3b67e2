/* low_cost: see low_cost.h. */
#include "session/low_cost.h"

#include <stdio.h>

enum { UNKNOWN_LOOK_MS = 1000, SHORTEST_LOOK_MS = 200 };

int session_select_low_cost(catalogue_selection *selection, uint64_t duration_ns, buffer *names,
                            error *e)
{
    static const char *const CHEAP[] = {"cpu",        "wall",   "exceptions",  "gc",  "threads",
                                        "contention", "pauses", "allocations", "jit", "counters"};
    uint64_t look_ms = UNKNOWN_LOOK_MS;
    char interval[32];
    int code = 0;

    for (size_t i = 0; i < sizeof CHEAP / sizeof *CHEAP && code == 0; i++) {
        if (catalogue_find(CHEAP[i]) == NULL)
            continue;
        code = catalogue_add(selection, CHEAP[i], e);
        if (names != NULL)
            buffer_format(names, "%s%s", names->length == 0 ? "" : ", ", CHEAP[i]);
    }
    /* The threads are looked at a dozen times: to see how long who waits, the last time shortly
     * before the end. */
    if (duration_ns != 0)
        look_ms = duration_ns * 8 / 100 / 1000000;
    look_ms = look_ms < SHORTEST_LOOK_MS ? SHORTEST_LOOK_MS : look_ms;
    snprintf(interval, sizeof interval, "%llums", (unsigned long long)look_ms);
    /* Half as often as by itself: looking at every thread is the larger part of all the cost. */
    if (code == 0 && catalogue_selected_by_name(selection, "wall") != NULL)
        code = catalogue_set(selection, "wall", "interval", "20ms", e);
    if (code == 0 && catalogue_selected_by_name(selection, "threads") != NULL)
        code = catalogue_set(selection, "threads", "interval", interval, e);
    return code;
}
