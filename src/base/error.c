/* error: see error.h. Thread rules: an `error` belongs to its caller; nothing here is shared. */
#include "base/error.h"

#undef error_set
#undef error_set_errno
#undef error_advise
#undef error_prefix

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_clear(error *e)
{
    if (e == NULL)
        return;
    e->code = 0;
    e->message[0] = '\0';
    e->advice[0] = '\0';
}

int error_set(error *e, int code, const char *format, ...)
{
    va_list arguments;

    if (e == NULL)
        return code;
    error_clear(e);
    e->code = code;
    va_start(arguments, format);
    vsnprintf(e->message, sizeof e->message, format, arguments);
    va_end(arguments);
    return code;
}

int error_set_errno(error *e, int code, int number, const char *format, ...)
{
    va_list arguments;
    size_t length;

    if (e == NULL)
        return code;
    error_clear(e);
    e->code = code;
    va_start(arguments, format);
    vsnprintf(e->message, sizeof e->message, format, arguments);
    va_end(arguments);
    length = strlen(e->message);
    snprintf(e->message + length, sizeof e->message - length, ": %s", strerror(number));
    return code;
}

int error_advise(error *e, const char *format, ...)
{
    va_list arguments;

    if (e == NULL)
        return ERROR_BUG;
    va_start(arguments, format);
    vsnprintf(e->advice, sizeof e->advice, format, arguments);
    va_end(arguments);
    return e->code;
}

int error_prefix(error *e, const char *format, ...)
{
    char old[sizeof e->message];
    va_list arguments;
    size_t length;

    if (e == NULL)
        return ERROR_BUG;
    memcpy(old, e->message, sizeof old);
    va_start(arguments, format);
    vsnprintf(e->message, sizeof e->message, format, arguments);
    va_end(arguments);
    length = strlen(e->message);
    snprintf(e->message + length, sizeof e->message - length, ": %s", old);
    return e->code;
}

const char *error_name(int code)
{
    switch (code) {
    case 0:
        return "no error";
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        return text;
        ERROR_LIST(X)
#undef X
    default:
        return "unknown error";
    }
}
