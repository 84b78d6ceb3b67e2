/* os for Windows: see os.h. Paths are UTF-8 outside and UTF-16 towards the system. */
#define _CRT_RAND_S /* declares rand_s */
#include "base/os.h"

#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

enum { WIDE_PATH = 4096, TICK_NS = 100 };

static bool widen(const char *path, wchar_t wide[WIDE_PATH])
{
    return MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, WIDE_PATH) > 0;
}

static uint64_t ticks_of(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

uint64_t os_monotonic_ns(void)
{
    LARGE_INTEGER now;
    LARGE_INTEGER rate;
    uint64_t ticks;

    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    ticks = (uint64_t)now.QuadPart;
    return ticks / (uint64_t)rate.QuadPart * 1000000000u +
           ticks % (uint64_t)rate.QuadPart * 1000000000u / (uint64_t)rate.QuadPart;
}

uint64_t os_realtime_ns(void)
{
    const uint64_t from_1601_to_1970 = 116444736000000000u;
    FILETIME now;

    GetSystemTimeAsFileTime(&now);
    return (ticks_of(now) - from_1601_to_1970) * TICK_NS;
}

uint64_t os_thread_cpu_ns(void)
{
    FILETIME made, ended, kernel, user;

    if (!GetThreadTimes(GetCurrentThread(), &made, &ended, &kernel, &user))
        return 0;
    return (ticks_of(kernel) + ticks_of(user)) * TICK_NS;
}

uint64_t os_process_cpu_ns(void)
{
    FILETIME made, ended, kernel, user;

    if (!GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user))
        return 0;
    return (ticks_of(kernel) + ticks_of(user)) * TICK_NS;
}

int os_process_id(void)
{
    return (int)GetCurrentProcessId();
}

int os_thread_id(void)
{
    return (int)GetCurrentThreadId();
}

void os_sleep_ms(unsigned milliseconds)
{
    Sleep(milliseconds);
}

void os_yield(void)
{
    SwitchToThread();
}

static int open_failed(error *e, const char *path)
{
    DWORD reason = GetLastError();
    bool missing = reason == ERROR_FILE_NOT_FOUND || reason == ERROR_PATH_NOT_FOUND;

    return error_set(e,
                     missing                         ? ERROR_NOT_FOUND
                     : reason == ERROR_ACCESS_DENIED ? ERROR_PERMISSION
                                                     : ERROR_IO,
                     "cannot open %s (error %lu)", path, (unsigned long)reason);
}

int os_read_file(const char *path, size_t limit, buffer *out, error *e)
{
    enum { STEP = 65536 };
    wchar_t wide[WIDE_PATH];
    size_t start = out->length;
    HANDLE file = INVALID_HANDLE_VALUE;
    DWORD n = 0;
    int code = 0;

    if (widen(path, wide))
        file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                           OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return open_failed(e, path);
    if (limit == 0)
        limit = (size_t)1 << 30;
    do {
        if (!buffer_reserve(out, STEP))
            code = error_set(e, ERROR_MEMORY, "no memory to read %s", path);
        else if (!ReadFile(file, out->data + out->length, STEP, &n, NULL))
            code = error_set(e, ERROR_IO, "cannot read %s (error %lu)", path,
                             (unsigned long)GetLastError());
        if (code != 0)
            break;
        out->length += n;
        out->data[out->length] = 0;
        if (out->length - start > limit)
            code = error_set(e, ERROR_LIMIT, "%s is larger than %zu bytes", path, limit);
    } while (code == 0 && n != 0);
    CloseHandle(file);
    return code;
}

int os_write_file(const char *path, const void *bytes, size_t length, error *e)
{
    char temporary[WIDE_PATH];
    wchar_t wide[WIDE_PATH];
    wchar_t wide_temporary[WIDE_PATH];
    HANDLE file;
    DWORD written = 0;
    bool done;

    if (snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, os_process_id()) >=
            (int)sizeof temporary ||
        !widen(path, wide) || !widen(temporary, wide_temporary))
        return error_set(e, ERROR_USAGE, "the path is too long: %s", path);
    file = CreateFileW(wide_temporary, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL,
                       NULL);
    if (file == INVALID_HANDLE_VALUE)
        return open_failed(e, temporary);
    done = length <= MAXDWORD && WriteFile(file, bytes, (DWORD)length, &written, NULL) &&
           written == length;
    CloseHandle(file);
    if (done && MoveFileExW(wide_temporary, wide, MOVEFILE_REPLACE_EXISTING))
        return 0;
    DeleteFileW(wide_temporary);
    return error_set(e, ERROR_IO, "cannot write %s", path);
}

int os_write_all(int descriptor, const void *bytes, size_t length)
{
    const char *p = bytes;

    while (length != 0) {
        int n = _write(descriptor, p, length > 1 << 20 ? 1 << 20 : (unsigned)length);

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

    for (size_t n = 0; n < length; n++) {
        unsigned value;

        if (rand_s(&value) != 0)
            return ERROR_IO;
        p[n] = (uint8_t)value;
    }
    return 0;
}
