/* sink: see sink.h. Thread rules: a sink belongs to one thread at a time. */
#include "report/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

static const size_t WRITE_SIZE = 128u << 10;

void sink_init(sink *out, int descriptor)
{
    memset(out, 0, sizeof *out);
    out->descriptor = descriptor;
}

void sink_free(sink *out)
{
    buffer_free(&out->pending);
}

static void write_out(sink *out)
{
    int failed = 0;

    if (out->failure == 0)
        failed = os_write_all(out->descriptor, out->pending.data, out->pending.length);
    if (failed != 0)
        out->failure = -failed;
    out->written += out->pending.length;
    buffer_clear(&out->pending);
}

void sink_bytes(sink *out, const void *bytes, size_t length)
{
    buffer_append(&out->pending, bytes, length);
    if (out->descriptor >= 0 && out->pending.length >= WRITE_SIZE)
        write_out(out);
}

void sink_text(sink *out, const char *text)
{
    sink_bytes(out, text, strlen(text));
}

void sink_char(sink *out, char c)
{
    sink_bytes(out, &c, 1);
}

void sink_u64(sink *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    sink_bytes(out, digits + at, sizeof digits - at);
}

void sink_format(sink *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        sink_bytes(out, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

int sink_finish(sink *out, error *e)
{
    if (out->pending.failed)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    if (out->descriptor >= 0 && out->pending.length != 0)
        write_out(out);
    if (out->failure != 0) {
        error_set_errno(e, ERROR_IO, out->failure, "cannot write the report");
        if (out->failure == ENOSPC || out->failure == EDQUOT)
            error_advise(e, out->descriptor == STDOUT_FILENO
                                ? "free some space, or send the output somewhere else"
                                : "free some space or choose another place with -o");
        if (out->failure == EFBIG)
            error_advise(e, "raise the limit of a file's size (`ulimit -f`)");
        return ERROR_IO;
    }
    return 0;
}
