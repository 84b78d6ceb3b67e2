/* session: recording a running process. See session.h; launch.c has the other kind. */
#include "session/session.h"

#include <stdio.h>

#include <poll.h>
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "session/attach.h"
#include "session/counter_sources.h"
#include "session/meters.h"
#include "session/port.h"
#include "session/recorder.h"

enum { TURN_MS = 60000, TURN_PAUSE_MS = 100 };

/* Where the agent cannot be, and the caller allows it: through the port. *e says why. */
static int record_by_port(const session_options *options, const diagnostics_process *process,
                          session_result *result, error *e)
{
    error why = *e;
    int code;

    if (options->way == SESSION_BY_AGENT)
        return why.code;
    code = port_record(options, process, &why, result, e);
    if (code == 0)
        result->way_reason = why;
    return code;
}

/* An old runtime has a port all the same. */
static bool has_only_port(const diagnostics_process *process)
{
    return !process->attachable && process->code == ERROR_UNSUPPORTED &&
           process->address.path[0] != '\0';
}

static void take_meters(recorder *r, meters *m)
{
    buffer chunks = BUFFER_EMPTY;

    if (m == NULL)
        return;
    meters_take(m, r->stopping ? 0 : r->started_ns, &chunks);
    recorder_append_own(r, &chunks);
    buffer_free(&chunks);
}

static int record_by_agent(const session_options *options, const diagnostics_process *process,
                           session_result *result, bool *unloadable, error *e)
{
    session_link link;
    control_welcome welcome;
    bool main_place = false;
    recorder *r = recorder_create(options, result, e);
    meters *m = NULL;
    int code;

    if (r == NULL)
        return e->code;
    for (size_t i = 0; i < options->selection->count; i++)
        main_place =
            main_place || (options->selection->items[i].profiler->where & CATALOGUE_MAIN) != 0;
    code = meters_open(process, options->selection, &m, e);
    if (code == 0)
        code = attach_open(process, options->library, main_place, &link, &welcome, unloadable, e);
    if (code == 0) {
        peer *p = recorder_add(r, link, true, process->process_id);

        if (p == NULL)
            code = error_set(e, ERROR_MEMORY, "no memory for the connection to the agent");
        else
            recorder_start(r, p);
    }
    if (code != 0) {
        meters_close(m);
        recorder_abandon(r);
        return code;
    }
    do {
        recorder_round(r, meters_descriptor(m));
        take_meters(r, m);
    } while (!recorder_is_done(r));
    if (meters_trouble(m)[0] != '\0' && result->trouble.code == 0)
        error_set(&result->trouble, ERROR_BUSY, "%s", meters_trouble(m));
    snprintf(result->meter_note, sizeof result->meter_note, "%s", meters_note(m));
    meters_close(m);
    if (!result->total.started) {
        /* the agent refused, or the process ended before anything was recorded */
        *e = result->trouble;
        if (e->code == 0 || attach_ends_now(process))
            error_set(e, ERROR_GONE, "process %d ended before the recording began",
                      process->process_id);
        recorder_abandon(r);
        return e->code;
    }
    recorder_close(r);
    return 0;
}

/* Whoever wants one thing only waits until others who want the same have theirs: an agent takes one
 * snapshot of the heap at a time. */
static int record_in_turn(const session_options *options, const diagnostics_process *process,
                          session_result *result, bool *unloadable, error *e)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)TURN_MS * 1000000;
    int code;

    for (;;) {
        struct pollfd stop = {options->stop, POLLIN, 0};

        code = record_by_agent(options, process, result, unloadable, e);
        if (code != ERROR_BUSY || *unloadable || options->enough == NULL ||
            result->trouble.code != ERROR_BUSY || os_monotonic_ns() >= end ||
            poll(&stop, 1, TURN_PAUSE_MS) > 0)
            return code;
    }
}

static int record_selected(const session_options *options, const diagnostics_process *process,
                           session_result *result, error *e)
{
    bool unloadable = false;
    int code = diagnostics_require_attachable(process, e);

    if (code != 0)
        return has_only_port(process) ? record_by_port(options, process, result, e) : code;
    if (options->way == SESSION_BY_PORT) {
        error_clear(e);
        return record_by_port(options, process, result, e);
    }
    code = record_in_turn(options, process, result, &unloadable, e);
    return code != 0 && unloadable ? record_by_port(options, process, result, e) : code;
}

int session_record_process(const session_options *options, const diagnostics_process *process,
                           session_result *result, error *e)
{
    session_options own = *options;
    catalogue_selection *with = NULL;
    int code = catalogue_check_attach(options->selection, e);

    if (code == 0)
        code = counter_sources_of_process(options->selection, process->process_id, &with, e);
    if (with != NULL)
        own.selection = with;
    if (code == 0)
        code = record_selected(&own, process, result, e);
    memory_free(with);
    return code;
}
