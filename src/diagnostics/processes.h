/*
 * processes: the .NET processes of this machine, what they are, and whether they can be examined.
 *
 * Found by their diagnostics sockets and by /proc: own and others' processes, processes in
 * containers (through /proc/PID/root, with the PID they have inside), processes whose TMPDIR is
 * elsewhere, and those that cannot be attached to: each of these carries its reason.
 * Nothing is changed in the processes; each is asked one question (ProcessInfo) with a short
 * timeout, and a stopped one is not asked at all.
 */
#ifndef CLARINET_DIAGNOSTICS_PROCESSES_H
#define CLARINET_DIAGNOSTICS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "diagnostics/ipc.h"

typedef struct {
    int process_id; /* as we see it; 0 when only the socket can be seen from here */
    int inner_pid;  /* as the process sees itself; the same outside containers */
    uint32_t user_id;
    uint64_t start_ticks; /* since boot: with the PID it names a process for good */
    double uptime_seconds;
    bool container; /* another PID namespace or another root folder than ours */
    bool attachable;
    int code;   /* an error_code when not attachable, else 0 */
    char state; /* as in /proc/PID/stat; 0 when not known */
    /* UTF-8, never NULL; "" where it is not known. */
    char *name; /* entry assembly, or the program's name */
    char *entry_assembly;
    char *runtime_version;
    char *architecture;
    char *command_line;
    char *user;
    char *profiler;         /* libraries of profilers that are loaded; "" = none seen */
    char *reason;           /* why it is not attachable; "" when it is */
    char *advice;           /* what to do about that; may be "" */
    char *temporary_folder; /* as the process sees it */
    char root[32];          /* "/proc/PID/root" when its files are not ours, else "" */
    ipc_address address;    /* path is empty when there is no socket */
} diagnostics_process;

typedef struct {
    diagnostics_process *items; /* ordered by PID */
    size_t count;
    char **stale; /* sockets that were left behind in the folders that were looked at */
    size_t stale_count;
} diagnostics_process_list;

void diagnostics_process_free(diagnostics_process *process);
void diagnostics_process_list_free(diagnostics_process_list *list);

/* All of them. timeout_ms is for one process's answer (0 = a second). */
int diagnostics_list_processes(unsigned timeout_ms, diagnostics_process_list *list, error *e);

/* The process a person means by a PID or by a name (entry assembly or program, without its folder
 * and .dll). Fails with words of its own for an unknown PID, a process that is not .NET, an unknown
 * and an ambiguous name. The process found may still not be attachable: see
 * diagnostics_require_attachable. */
int diagnostics_find_process(const char *text, diagnostics_process *process, error *e);
int diagnostics_find_process_id(int process_id, diagnostics_process *process, error *e);

/* 0, or the reason why it cannot be attached to as an error. */
int diagnostics_require_attachable(const diagnostics_process *process, error *e);

#endif
