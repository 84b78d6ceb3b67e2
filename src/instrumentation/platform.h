/*
 * platform: what the instrumentation agent asks of the operating system. One file per platform
 * (platform_linux.c); everything else in this room is portable C11.
 */
#ifndef CLARINET_INSTRUMENTATION_PLATFORM_H
#define CLARINET_INSTRUMENTATION_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "rules/home.h"

#if defined __x86_64__
#define PLATFORM_PROCESSOR "x64"
#elif defined __aarch64__
#define PLATFORM_PROCESSOR "arm64"
#elif defined __i386__
#define PLATFORM_PROCESSOR "x86"
#else
#error "this processor needs a name"
#endif

extern const char PLATFORM_SEPARATOR; /* of paths */
extern const bool PLATFORM_EMPTY_VARIABLE_IS_UNSET;
extern const char PLATFORM_NAME[]; /* system and processor, "linux-x64" */

/* The environment; the getter of rules/variables.h. */
const char *platform_variable(void *context, const char *name);

uint32_t platform_process_id(void);
/* The program's own file, and its parent's; "." when it can't be read. */
void platform_process_path(buffer *out);
void platform_parent_path(buffer *out);
/* The folder of a local newrelic.config, with a separator: the program's on Windows, on Linux the
 * current one (nothing), because the program is mostly the shared dotnet. */
void platform_local_folder(buffer *out);
/* The command line as the process filter wants it. */
void platform_command_line(buffer *out);

extern const home_files PLATFORM_FILES;
/* Makes the folder and those above it; true when it is there afterwards. */
bool platform_make_folder(const char *path);

/* A file for lines, truncated; negative when it can't be opened. */
intptr_t platform_open_log(const char *path);
/* The same, but negative when somebody has written to a file of that name: nothing of his is lost.
 */
intptr_t platform_open_new_log(const char *path);
intptr_t platform_console(void);
/* One write of the whole line; a failure is dropped. */
void platform_write_line(intptr_t file, const char *line, size_t length);
void platform_close_log(intptr_t file);

/* "YYYY-MM-DD HH:MM:SS", UTC, now. */
void platform_time_text(char text[20]);
uint64_t platform_unix_microseconds(void);

/* Runs `work` on a thread of our own and waits for its end; false when there is no thread. */
bool platform_run_on_thread(void (*work)(void *context), void *context);

#endif
