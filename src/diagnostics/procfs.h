/*
 * procfs: what /proc says about a process, as much as is needed and no more: listing processes must
 * be cheap. Texts in /proc come from the processes themselves, so they are foreign bytes.
 */
#ifndef CLARINET_DIAGNOSTICS_PROCFS_H
#define CLARINET_DIAGNOSTICS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct {
    int process_id;
    char state;  /* R, S, D, T (stopped), t (traced), Z (zombie) … */
    bool ending; /* its memory is gone, or goes: nothing below /proc/PID can be trusted */
    int threads;
    uint64_t start_ticks; /* since boot, in clock ticks: also a part of the socket's name */
    char name[64];        /* at most 15 bytes of the program's name */
} procfs_stat;

/* Whole text of a stat file; false when it is not one. */
bool procfs_parse_stat(const char *text, size_t length, procfs_stat *stat);
bool procfs_read_stat(int process_id, procfs_stat *stat);
/* Whether the process of that number and that start still lives. */
bool procfs_is_alive(int process_id, uint64_t start_ticks);

/* Replaces *out by /proc/PID/NAME; 0 or -errno. At most `limit` bytes are kept. */
int procfs_read(int process_id, const char *name, size_t limit, buffer *out);
/* The target of the link /proc/PID/NAME as text; false when it cannot be read. */
bool procfs_read_link(int process_id, const char *name, char *text, size_t room);

/* The innermost number of the NSpid line of a status file; 0 when there is none. */
int procfs_parse_inner_pid(const char *status);
/* The value of a variable in an environ file, or NULL; it points into the buffer. */
const char *procfs_find_variable(const buffer *environment, const char *name);
/* Appends the command line with spaces between its arguments, broken UTF-8 repaired. */
void procfs_append_command_line(buffer *out, const buffer *cmdline);
/* Seconds since the process started. */
double procfs_uptime_seconds(const procfs_stat *stat);
/* Whether one of the first threads has a name that only .NET gives. Needs no permission. */
bool procfs_has_dotnet_thread(int process_id);
/* Whether our agent's own thread runs in it. */
bool procfs_has_agent_thread(int process_id);

#endif
