/*
 * dotnet_host: which program a .NET process runs: somebody's own, or a part of the .NET SDK.
 *
 * `dotnet run` starts several .NET processes: the CLI itself, MSBuild's nodes, the compiler server,
 * and at last the program. Whoever profiles "dotnet run" means the program. All of the SDK's own
 * parts lie in ROOT/sdk/VERSION/ beside ROOT/host/fxr, or are the `dotnet` host with a verb instead
 * of an assembly. Pure text work: the caller brings the facts and the look at the file system
 * (dotnet_host_is_sdk_here, in os_dotnet_linux.c, brings them itself).
 */
#ifndef CLARINET_BASE_DOTNET_HOST_H
#define CLARINET_BASE_DOTNET_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* executable: what /proc/PID/exe points to. arguments: /proc/PID/cmdline, each closed by a zero.
 * exists(path) tells whether a file or folder is there. */
bool dotnet_host_is_sdk(const char *executable, const char *arguments, size_t length,
                        bool (*exists)(const char *path));

/* Whether a command means the SDK's own work (`dotnet build`, the compiler by its path) and not a
 * program that the SDK starts (`dotnet run`, `dotnet test`, an installed tool) or is none of it. */
bool dotnet_host_means_sdk(const char *executable, const char *arguments, size_t length,
                           bool (*exists)(const char *path));

/* Where the program begins in a command that is started through nice, env, time, nohup, timeout,
 * stdbuf, setsid, ionice, chrt, taskset or sudo, one after another: an index, at most that of the
 * closing NULL. */
size_t dotnet_host_skip_prefixes(char *const *command);

/* dotnet_host_is_sdk for the process that asks. */
bool dotnet_host_is_sdk_here(void);

#endif
