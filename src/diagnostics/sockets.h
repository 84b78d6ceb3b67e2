/*
 * sockets: the diagnostics sockets that lie in temporary folders.
 *
 * A socket is named `dotnet-diagnostic-PID-START-socket`: PID as the process sees itself (in its
 * own PID namespace), START its start time in clock ticks since boot. So a socket that was left
 * behind is told from a living one even when the PID is used again. Each folder is listed once.
 */
#ifndef CLARINET_DIAGNOSTICS_SOCKETS_H
#define CLARINET_DIAGNOSTICS_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnostics/ipc.h"

typedef struct {
    int inner_pid;
    uint64_t start_ticks;
    char name[80];
    bool taken;  /* a process was found for it */
    bool socket; /* the folder says that it is one, and no link */
    bool stale;  /* nobody listens */
} sockets_entry;

typedef struct {
    uint64_t device, inode; /* of the folder: the same one may be reached on several paths */
    char root[32];
    char path[400]; /* without a closing slash, except "/" */
    sockets_entry *entries;
    size_t count;
} sockets_folder;

typedef struct {
    sockets_folder *folders;
    size_t count;
    bool out_of_files; /* a folder was not listed: too many files are open here */
} sockets_cache;

void sockets_free(sockets_cache *cache);
/* True and the two numbers, when the name is one of a diagnostics socket. */
bool sockets_parse_name(const char *name, int *inner_pid, uint64_t *start_ticks);
/* The folder `path` inside `root` ("" = ours), listed now or before. NULL when it cannot be read.
 * The pointer is good until the next call. */
sockets_folder *sockets_list(sockets_cache *cache, const char *root, const char *path);
/* The socket of a process, or NULL. start_ticks 0 takes any. Marks it as taken. */
sockets_entry *sockets_find(sockets_folder *folder, int inner_pid, uint64_t start_ticks);
/* Marks those of the sockets that are not taken on which nobody listens: one system call each. What
 * is not marked has to be asked. */
void sockets_mark_stale(sockets_folder *folder);
/* The socket's whole address; process_id and the timeout are the caller's. */
void sockets_address(const sockets_folder *folder, const sockets_entry *entry,
                     ipc_address *address);

#endif
