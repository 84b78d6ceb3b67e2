/* attach: from a running process to a link to the agent in it. */
#ifndef CLARINET_SESSION_ATTACH_H
#define CLARINET_SESSION_ATTACH_H

#include <stdbool.h>

#include "base/error.h"
#include "diagnostics/processes.h"
#include "session/link.h"

/* Uses the agent that is there, or loads one (`library`: our own copy of it; `main_place`: as the
 * main profiler). The link has been greeted; nothing records yet. *unloadable: it failed because
 * the library cannot be put there or is not taken, and that will not pass. */
int attach_open(const diagnostics_process *process, const char *library, bool main_place,
                session_link *l, control_welcome *welcome, bool *unloadable, error *e);

/* Whether the process is gone, or only its entry is left. */
bool attach_has_ended(const diagnostics_process *process);

/* The same within half a second: a runtime that shuts down refuses things, and then its end is the
 * reason. */
bool attach_ends_now(const diagnostics_process *process);

#endif
