/*
 * commands: what can be asked of a .NET process through its diagnostics port.
 *
 * Each function is one command on a connection of its own, sent whole. All return 0 or a negative
 * error code and fill *e; a refusal of the runtime is explained (refusal.h). None of them changes
 * the target except as its name says. Thread rules: nothing is shared.
 */
#ifndef CLARINET_DIAGNOSTICS_COMMANDS_H
#define CLARINET_DIAGNOSTICS_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "clarinet/types.h"
#include "diagnostics/ipc.h"

typedef struct {
    int version;         /* 1, 2 or 3: of the command that answered */
    uint64_t process_id; /* as the process sees itself */
    uint8_t cookie[16];  /* random, the same for the life of the runtime */
    /* UTF-8, never NULL after success; "" where the runtime said nothing. */
    char *command_line;
    char *operating_system;
    char *architecture;       /* as .NET says it: x64, arm64, … */
    char *entry_assembly;     /* from version 2 */
    char *runtime_version;    /* from version 2 */
    char *runtime_identifier; /* from version 3: linux-x64 */
} diagnostics_process_info;

void diagnostics_process_info_free(diagnostics_process_info *info);
/* Parses the payload of an answer of ProcessInfo `version` (1, 2 or 3). */
int diagnostics_parse_process_info(int version, reader payload, diagnostics_process_info *info,
                                   error *e);
/* Asks with ProcessInfo2, and with ProcessInfo when the runtime is too old for that. With `newest`,
 * also with ProcessInfo3 where the runtime (8.0 and later) knows it. */
int diagnostics_get_process_info(const ipc_address *address, bool newest,
                                 diagnostics_process_info *info, error *e);

/* Loads a profiler library into the running process. `path` is absolute, as the process sees it.
 * Returns when the profiler's InitializeForAttach and ProfilerAttachComplete are through. */
int diagnostics_attach_profiler(const ipc_address *address, const GUID *clsid, const char *path,
                                const void *client_data, size_t client_length, unsigned timeout_ms,
                                error *e);

/* For a process that is held at its start: the profiler to load when it is resumed. (A running
 * process answers with success and does nothing.) */
int diagnostics_set_startup_profiler(const ipc_address *address, const GUID *clsid,
                                     const char *path, error *e);
/* Lets a process go on that is held at its start; does nothing to one that is not. */
int diagnostics_resume_runtime(const ipc_address *address, error *e);
/* value NULL removes the variable. */
int diagnostics_set_environment_variable(const ipc_address *address, const char *name,
                                         const char *value, error *e);
/* Appends "NAME=value" texts, each closed by a zero byte. */
int diagnostics_get_process_environment(const ipc_address *address, buffer *out, error *e);

typedef enum {
    DIAGNOSTICS_PERF_MAP_ALL = 1,
    DIAGNOSTICS_PERF_MAP_JITDUMP = 2,
    DIAGNOSTICS_PERF_MAP_MAP = 3,
} diagnostics_perf_map;

/* Makes the runtime (8.0 and later) write /tmp/perf-PID.map from now on. */
int diagnostics_enable_perf_map(const ipc_address *address, diagnostics_perf_map kind, error *e);
int diagnostics_disable_perf_map(const ipc_address *address, error *e);

#endif
