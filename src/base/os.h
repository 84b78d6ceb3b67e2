/*
 * os: the boundary to the operating system that both sides share. The rest of src/base is portable
 * C11; os_linux.c (and a file per further platform) is the only place in src/base with OS calls.
 */
#ifndef CLARINET_BASE_OS_H
#define CLARINET_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

uint64_t os_monotonic_ns(void);
uint64_t os_realtime_ns(void); /* since 1970 UTC */
uint64_t os_thread_cpu_ns(void);
uint64_t os_process_cpu_ns(void);
int os_process_id(void);
int os_thread_id(void);
/* When this process started, in clock ticks since boot, as /proc tells it; 0 = not known. */
uint64_t os_process_start_ticks(void);
/* How long ago that was; a long time when it is not known. */
uint64_t os_process_age_ms(void);
void os_sleep_ms(unsigned milliseconds);
void os_yield(void); /* lets another thread have the processor */

/* The whole file appended to out; files of /proc too (size unknown). limit 0 = 1 GiB. */
int os_read_file(const char *path, size_t limit, buffer *out, error *e);
/* Writes the whole file (mode 0600) beside the target and renames it, so a reader sees all or
 * nothing. */
int os_write_file(const char *path, const void *bytes, size_t length, error *e);
/* Writes all bytes to a descriptor, past EINTR and short writes; 0 or -errno. */
int os_write_all(int descriptor, const void *bytes, size_t length);

/* Fills with unpredictable bytes. */
int os_random(void *bytes, size_t length);

#endif
