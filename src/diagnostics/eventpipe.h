/*
 * eventpipe: a stream of events out of a .NET process, through its diagnostics port.
 *
 * Starting a session opens a connection that stays open: the runtime writes its events into it in
 * the nettrace format (nettrace.h reads them). Stopping is a command on a second connection; after
 * it the runtime writes what it still has and closes. When our side just goes away, the runtime
 * ends the session by itself. The whole payload is built before anything is sent: half of one can
 * crash the target.
 */
#ifndef CLARINET_DIAGNOSTICS_EVENTPIPE_H
#define CLARINET_DIAGNOSTICS_EVENTPIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "diagnostics/ipc.h"

typedef struct {
    const char *name; /* Microsoft-Windows-DotNETRuntime, System.Runtime, … */
    uint64_t keywords;
    uint32_t level;     /* 1 critical … 5 verbose */
    const char *filter; /* "Key=value;Key=value", or NULL */
} eventpipe_provider;

typedef struct {
    const eventpipe_provider *providers;
    size_t count;
    uint32_t buffer_mb; /* in the target; 0 = 16 */
    bool rundown;       /* at the end, describe all methods and modules (0.3 MB and more) */
} eventpipe_options;

typedef struct {
    uint64_t id;
    int descriptor; /* non-blocking; readable with poll; the caller owns it */
} eventpipe_session;

/* Starts a session with CollectTracing2, which 8.0 and every later runtime knows. */
int eventpipe_start(const ipc_address *address, const eventpipe_options *options,
                    eventpipe_session *session, error *e);
/* Asks the runtime to end the session; read on until the end of the stream. */
int eventpipe_stop(const ipc_address *address, const eventpipe_session *session, error *e);
/* Closes our end. Without eventpipe_stop before, events that are still in the target are lost. */
void eventpipe_close(eventpipe_session *session);
/* Reads what is there, waiting up to timeout_ms. Returns the bytes, 0 at the end of the stream, or
 * a negative error code; ERROR_TIMEOUT when nothing came. */
long eventpipe_read(const eventpipe_session *session, void *bytes, size_t room, int timeout_ms,
                    error *e);

#endif
