/*
 * take: what the verbs share that record a process, show what came and keep the recording only
 * where the user named a file: a temporary recording, and one session on a process named by the
 * user.
 *
 * Thread rules: the tool's main thread.
 */
#ifndef CLARINET_CLI_TAKE_H
#define CLARINET_CLI_TAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "diagnostics/processes.h"
#include "session/session.h"

/* Makes an empty temporary recording in $TMPDIR or /tmp. It has no name there, so that nothing
 * stays behind however the tool ends; `file` is the path it can be opened by in this process (at
 * least 32 bytes), until it is forgotten. Forgetting clears `file`. */
int take_temporary(char *file, size_t room, error *e);
void take_forget(char *file);

/* Profilers, `heap` among them, for a look at what holds what: with the values of fields, without
 * the texts of strings. */
int take_select_heap(catalogue_selection *selection, const char *profilers, error *e);

/* Records a process as `session` says, with the agent that stands beside the tool. Trouble in the
 * middle of a session is an error here: half of a look shows nothing. session->library is set for
 * the time of the call. */
int take_look(session_options *session, const diagnostics_process *process, error *e);
/* The same for a process named by the user: a PID or a name. */
int take_look_at(session_options *session, const char *target, error *e);

/* For session_options.enough of a heap snapshot: its last chunk has come. */
bool take_whole_snapshot(void *context, const recording_chunk *chunk);

#endif
