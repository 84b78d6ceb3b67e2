/* os for Linux, against any libc: see os.h. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t os_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t os_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

uint64_t os_thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t os_process_cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int os_process_id(void)
{
    return (int)getpid();
}

int os_thread_id(void)
{
    return (int)syscall(SYS_gettid);
}

uint64_t os_process_start_ticks(void)
{
    enum { START_FIELD = 22 };
    buffer text = BUFFER_EMPTY;
    const char *p = NULL;
    uint64_t ticks = 0;

    if (os_read_file("/proc/self/stat", 4096, &text, NULL) == 0)
        p = strrchr(buffer_text(&text), ')');
    for (int field = 2; p != NULL && field < START_FIELD; field++) {
        p = strchr(p, ' ');
        if (p != NULL)
            p++;
    }
    if (p != NULL)
        ticks = strtoull(p, NULL, 10);
    buffer_free(&text);
    return ticks;
}

uint64_t os_process_age_ms(void)
{
    uint64_t started = os_process_start_ticks();
    long per_second = sysconf(_SC_CLK_TCK);
    uint64_t now = clock_ns(CLOCK_BOOTTIME) / 1000000;

    if (started == 0 || per_second <= 0 || now == 0)
        return UINT32_MAX;
    started = started * 1000 / (uint64_t)per_second;
    return now < started ? 0 : now - started;
}

void os_sleep_ms(unsigned milliseconds)
{
    struct timespec left = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void os_yield(void)
{
    sched_yield();
}

int os_read_file(const char *path, size_t limit, buffer *out, error *e)
{
    enum { STEP = 65536 };
    size_t start = out->length;
    /* a pipe in a file's place has nobody on its other side, and must not hold us */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (descriptor < 0) {
        int number = errno;
        int code = number == ENOENT                      ? ERROR_NOT_FOUND
                   : number == EACCES || number == EPERM ? ERROR_PERMISSION
                                                         : ERROR_IO;

        return error_set_errno(e, code, number, "cannot open %s", path);
    }
#ifndef CLARINET_IN_TARGET
    fcntl(descriptor, F_SETFL, 0); /* somebody may be there, and slow: `--points <(…)` */
#endif
    if (limit == 0)
        limit = (size_t)1 << 30;
    for (;;) {
        ssize_t n;

        if (!buffer_reserve(out, STEP)) {
            close(descriptor);
            return error_set(e, ERROR_MEMORY, "no memory to read %s", path);
        }
        n = read(descriptor, out->data + out->length, STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int number = errno;

            close(descriptor);
            return error_set_errno(e, ERROR_IO, number, "cannot read %s", path);
        }
        if (n == 0)
            break;
        out->length += (size_t)n;
        out->data[out->length] = 0;
        if (out->length - start > limit) {
            close(descriptor);
            return error_set(e, ERROR_LIMIT, "%s is larger than %zu bytes", path, limit);
        }
    }
    close(descriptor);
    return 0;
}

int os_write_file(const char *path, const void *bytes, size_t length, error *e)
{
    char temporary[4096];
    int descriptor;
    int failed;

    if (snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, os_process_id()) >=
        (int)sizeof temporary)
        return error_set(e, ERROR_USAGE, "the path is too long: %s", path);
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot write %s", temporary);
    failed = os_write_all(descriptor, bytes, length);
    if (close(descriptor) != 0 && failed == 0)
        failed = -errno;
    if (failed == 0 && rename(temporary, path) != 0)
        failed = -errno;
    if (failed != 0) {
        unlink(temporary);
        return error_set_errno(e, ERROR_IO, -failed, "cannot write %s", path);
    }
    return 0;
}

int os_write_all(int descriptor, const void *bytes, size_t length)
{
    const uint8_t *p = bytes;

    while (length != 0) {
        ssize_t n = write(descriptor, p, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        length -= (size_t)n;
    }
    return 0;
}

int os_random(void *bytes, size_t length)
{
    uint8_t *p = bytes;

    while (length != 0) {
        long n = syscall(SYS_getrandom, p, length, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ERROR_IO;
        p += n;
        length -= (size_t)n;
    }
    return 0;
}
