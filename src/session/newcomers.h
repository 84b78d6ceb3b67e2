/*
 * newcomers: processes that a command has started and that may still connect.
 *
 * A script may end a moment after it started a program in the background, before the runtime in it
 * has loaded the agent. Whoever carries the command's environment and is a few seconds old at most
 * is waited for. Nothing is done to anybody: only /proc is read. No state.
 */
#ifndef CLARINET_SESSION_NEWCOMERS_H
#define CLARINET_SESSION_NEWCOMERS_H

#include <stdbool.h>

/* name, value: a variable in the environment of all the command's processes. sdk: the .NET SDK's
 * own processes connect too. known tells which processes have connected already. */
bool newcomers_expected(const char *name, const char *value, bool sdk,
                        bool (*known)(void *context, int process_id), void *context);

#endif
