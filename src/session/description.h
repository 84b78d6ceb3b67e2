/*
 * description: what the tool itself says in a recording, as chunks for the file: of the recording,
 * and of each process its name, command line, user and what facts.h knows. No state; any thread.
 * Private to src/session.
 */
#ifndef CLARINET_SESSION_DESCRIPTION_H
#define CLARINET_SESSION_DESCRIPTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Of the recording: who makes it and when, `command` (NULL = not known) what for. */
void description_put_tool(buffer *chunks, const char *command);
/* Of the recording: how many processes came for which there was no room. */
void description_put_not_recorded(buffer *chunks, uint64_t count);
/* Appends a chunk INFO of the process `index` of the recording: the host, and of a process that is
 * known (`process_id` is not 0) what can be seen of it now. */
void description_put(buffer *chunks, uint32_t index, int process_id);
/* The same with the assemblies that it has in its memory now. */
void description_put_assemblies(buffer *chunks, uint32_t index, int process_id);
/* The program's name, from what /proc/PID/cmdline holds: the dll that dotnet runs, else the
 * executable. */
void description_name(const buffer *cmdline, char *name, size_t room);

#endif
