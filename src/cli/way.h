/* way: by the agent or through the diagnostics port: what the environment says, and what was done.
 * Private to src/cli. */
#ifndef CLARINET_CLI_WAY_H
#define CLARINET_CLI_WAY_H

#include "session/session.h"

/* CLARINET_WAY: agent, port, or nothing: whichever works, the agent first. The port cannot be had
 * for a command that is to be started. */
int way_choose(session_way *way, bool starts_command, error *e);
/* Says on stderr that a recording went through the port, why, and what it lacks for that. */
void way_tell(const session_result *result);
/* Its last part, for who has told the rest while recording: the file could not take all, and what
 * came lies beside it. */
void way_tell_stream(const session_result *result);
/* What the source of meters left out. */
void way_tell_left_out(const session_result *result);

#endif
