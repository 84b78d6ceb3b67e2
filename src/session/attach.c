/*
 * attach: see attach.h. A resident agent is tried first. One that is just leaving refuses both the
 * connection and the next attach for a moment, so the whole is tried again for a few seconds. One
 * that serves as many sessions as it can hangs up, and one that waits for a runtime which is stuck
 * says nothing: loading it again would only fail in the target.
 */
#include "session/attach.h"

#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "clarinet/profiler.h"
#include "diagnostics/commands.h"
#include "diagnostics/procfs.h"
#include "session/place.h"

enum { PATIENCE_MS = 8000, PAUSE_MS = 40, PAUSE_FULL_MS = 100, ATTACH_TIMEOUT_MS = 10000 };

static int connect_to(const diagnostics_process *process, place *p, const uint8_t *token,
                      session_link *l, control_welcome *welcome, bool *hung_up, error *e)
{
    int descriptor;
    int code = place_connect(p, process->process_id, &descriptor, e);

    if (code != 0)
        return code;
    link_init(l, descriptor);
    code = link_greet(l, token, welcome, e);
    *hung_up = code == ERROR_GONE;
    if (code != 0)
        link_close(l);
    return code;
}

/* *hung_up: an agent listens, and closed the connection without a word. */
static int use_resident(const diagnostics_process *process, session_link *l,
                        control_welcome *welcome, bool *hung_up, error *e)
{
    uint8_t token[CONTROL_TOKEN_SIZE];
    place p;
    int code = place_find(process, &p, e);

    *hung_up = false;
    if (code != 0)
        return code;
    code = place_read_token(&p, token, e);
    if (code == 0)
        code = connect_to(process, &p, token, l, welcome, hung_up, e);
    place_close(&p);
    return code;
}

static int tell_unheard(const diagnostics_process *process, error *e)
{
    error_set(e, ERROR_RUNTIME,
              "the runtime of process %d tells the agent nothing, since another profiler declined",
              process->process_id);
    return error_advise(e, "start the program without CORECLR_ENABLE_PROFILING"), ERROR_RUNTIME;
}

/* Attaches the counterweight, where the agent hears nothing without. */
static void balance(const diagnostics_process *process, const place *p, control_welcome *welcome)
{
    char path[PLACE_PATH + 80];
    GUID clsid;

    snprintf(path, sizeof path, "%s/%s", p->path, p->library);
    clr_guid_parse(CONTROL_CLSID_COUNTERWEIGHT, &clsid);
    if (diagnostics_attach_profiler(&process->address, &clsid, path, "", 0, ATTACH_TIMEOUT_MS,
                                    NULL) == 0)
        welcome->flags &= ~(uint64_t)CONTROL_HEARS_NOTHING;
}

/* The same for one that is there already: whoever loaded it was ended before that. */
static void balance_resident(const diagnostics_process *process, const char *library,
                             control_welcome *welcome)
{
    place p;

    if (place_make(process, library, &p, NULL) != 0)
        return;
    balance(process, &p, welcome);
    place_close(&p);
}

static int load(const diagnostics_process *process, const char *library, bool main_place,
                session_link *l, control_welcome *welcome, error *e)
{
    uint8_t token[CONTROL_TOKEN_SIZE];
    char path[PLACE_PATH + 80];
    buffer data = BUFFER_EMPTY;
    GUID clsid;
    bool hung_up;
    place p;
    int code = place_make(process, library, &p, e);

    if (code != 0)
        return code;
    place_sweep(process, &p);
    if (os_random(token, sizeof token) != 0)
        return error_set(e, ERROR_IO, "no random numbers");
    snprintf(path, sizeof path, "%s/%s", p.path, p.library);
    clr_guid_parse(main_place ? CONTROL_CLSID_MAIN : CONTROL_CLSID_BESIDE, &clsid);
    buffer_append_u32(&data, CONTROL_PROTOCOL);
    buffer_append(&data, token, sizeof token);
    buffer_append_blob(&data, p.path, strlen(p.path));
    buffer_append_blob(&data, p.library, strlen(p.library));
    if (buffer_failed(&data))
        code = error_set(e, ERROR_MEMORY, "no memory to attach");
    else
        code = diagnostics_attach_profiler(&process->address, &clsid, path, data.data, data.length,
                                           ATTACH_TIMEOUT_MS, e);
    if (code == 0)
        code = connect_to(process, &p, token, l, welcome, &hung_up, e);
    if (code == 0 && (welcome->flags & CONTROL_HEARS_NOTHING) != 0)
        balance(process, &p, welcome);
    buffer_free(&data);
    place_close(&p);
    return code;
}

bool attach_has_ended(const diagnostics_process *process)
{
    return process->process_id != 0 && !procfs_is_alive(process->process_id, process->start_ticks);
}

bool attach_ends_now(const diagnostics_process *process)
{
    enum { LOOKS = 50, LOOK_PAUSE_MS = 10 };

    for (int i = 0; i < LOOKS; i++) {
        if (attach_has_ended(process))
            return true;
        os_sleep_ms(LOOK_PAUSE_MS);
    }
    return false;
}

/* Failures that a leaving agent causes and that pass. */
static bool may_pass(int code)
{
    return code == ERROR_RUNTIME || code == ERROR_GONE || code == ERROR_NOT_FOUND ||
           code == ERROR_BUSY;
}

static int tell_full(const diagnostics_process *process, error *e)
{
    error_set(e, ERROR_BUSY,
              "the agent in process %d takes no further session: it serves %d at once",
              process->process_id, CONTROL_MOST_SESSIONS);
    return error_advise(e, "wait until one of the others has ended"), ERROR_BUSY;
}

/* The agent is there: it listens, and takes no notice of who calls. */
static bool is_silent(int code)
{
    return code == ERROR_TIMEOUT || code == ERROR_BUSY;
}

static int tell_silent(const diagnostics_process *process, error *e)
{
    error_set(e, ERROR_BUSY,
              "the agent that came into process %d before does not answer: it still waits for the "
              "runtime to stand still, or is at work for another session",
              process->process_id);
    return error_advise(e, "is the process hung? A garbage collection that cannot end holds "
                           "everything up"),
           ERROR_BUSY;
}

int attach_open(const diagnostics_process *process, const char *library, bool main_place,
                session_link *l, control_welcome *welcome, bool *unloadable, error *e)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)PATIENCE_MS * 1000000;
    int code;

    *unloadable = false;
    for (;;) {
        error resident;
        bool full;
        bool silent;

        code = use_resident(process, l, welcome, &full, &resident);
        if (code == ERROR_UNSUPPORTED) {
            *e = resident;
            return code;
        }
        if (code == 0 && (welcome->flags & CONTROL_HEARS_NOTHING) != 0)
            balance_resident(process, library, welcome);
        if (code == 0)
            break;
        silent = is_silent(code);
        if (full)
            code = tell_full(process, e);
        else if (silent)
            code = tell_silent(process, e);
        else
            code = load(process, library, main_place, l, welcome, e);
        if (code == 0)
            break;
        if (attach_has_ended(process))
            return error_set(e, ERROR_GONE, "process %d ended while clarinet attached to it",
                             process->process_id);
        if (!may_pass(code) || os_monotonic_ns() >= end) {
            *unloadable = full || silent || code == ERROR_PERMISSION || code == ERROR_IO ||
                          code == ERROR_RUNTIME || code == ERROR_UNSUPPORTED;
            return code;
        }
        os_sleep_ms(full ? PAUSE_FULL_MS : PAUSE_MS);
    }
    if ((welcome->flags & CONTROL_HEARS_NOTHING) != 0) {
        link_close(l);
        *unloadable = true;
        return tell_unheard(process, e);
    }
    if (main_place && (welcome->flags & CONTROL_IN_MAIN_PLACE) == 0) {
        link_close(l);
        error_set(e, ERROR_BUSY,
                  "a recording of process %d is running that does not have the main "
                  "profiler's place",
                  process->process_id);
        return error_advise(e, "wait until it has ended"), ERROR_BUSY;
    }
    return 0;
}
