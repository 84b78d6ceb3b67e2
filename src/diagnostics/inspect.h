/*
 * inspect: looks at one process: is it .NET, where is its socket, can it be attached to.
 * The private part of processes.h.
 */
#ifndef CLARINET_DIAGNOSTICS_INSPECT_H
#define CLARINET_DIAGNOSTICS_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "diagnostics/processes.h"
#include "diagnostics/procfs.h"
#include "diagnostics/sockets.h"

/* What is the same for all processes of one listing, so that it is looked up once. */
typedef struct {
    char mount_namespace[64];
    char pid_namespace[64];
    uint64_t root_device, root_inode;
    const char *own_temporary_folder; /* our own TMPDIR, or NULL */
    unsigned timeout_ms;
    uint64_t deadline_ns; /* after it, every process gets a short timeout only */
    sockets_cache sockets;
    buffer scratch;
    uint32_t last_user_id;
    char last_user[64];
} inspect_context;

void inspect_begin(inspect_context *context, unsigned timeout_ms);
void inspect_end(inspect_context *context);

/* True and a filled *process (the caller frees it) when it is a .NET process. */
bool inspect_process(inspect_context *context, const procfs_stat *stat,
                     diagnostics_process *process);
/* A process of which only the socket can be seen: true when it answers. */
bool inspect_socket(inspect_context *context, const sockets_folder *folder,
                    const sockets_entry *entry, diagnostics_process *process);

#endif
