/*
 * port: a recording without the agent, through the event stream of the runtime's diagnostics port.
 * For where the library cannot be loaded: every folder is mounted noexec or read-only, the runtime
 * is too old, profilers are refused. Only profilers that live on events work this way, and tell
 * less (docs/port.md); the recording says so.
 *
 * Rows are kept in memory and written at the end: the runtime names most methods last. Thread
 * rules: as session.h; the command that ends the stream has a thread of its own.
 */
#ifndef CLARINET_SESSION_PORT_H
#define CLARINET_SESSION_PORT_H

#include "session/session.h"

/* Whether this profiler works through the port. */
bool port_has_profiler(const char *name);

/* `why`: the reason for not using the agent. It is the answer when none of the profilers works
 * through the port, or when the process does not start a stream. */
int port_record(const session_options *options, const diagnostics_process *process,
                const error *why, session_result *result, error *e);

#endif
