/* text_api: see clarinet/text.h. A clr_text is a base buffer. */
#include "clarinet/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"

clr_text *clr_text_create(void)
{
    return memory_allocate_array(1, sizeof(clr_text));
}

void clr_text_free(clr_text *text)
{
    if (text == NULL)
        return;
    buffer_free(text);
    memory_free(text);
}

const char *clr_text_value(const clr_text *text)
{
    return buffer_text(text);
}

size_t clr_text_length(const clr_text *text)
{
    return text->length;
}

int clr_text_failed(const clr_text *text)
{
    return buffer_failed(text);
}

void clr_text_clear(clr_text *text)
{
    buffer_clear(text);
}

void clr_text_append(clr_text *text, const char *value)
{
    buffer_append_text(text, value);
}

void clr_text_format(clr_text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !buffer_reserve(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf((char *)text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void clr_text_append_utf16(clr_text *text, const WCHAR *units, size_t count)
{
    text_append_utf16_bytes(text, (const uint8_t *)units, count);
}

int clr_utf16(const char *value, WCHAR *units, size_t capacity)
{
    buffer out;
    size_t count;

    if (capacity == 0)
        return 0;
    buffer_fix(&out, units, capacity * sizeof *units);
    count = text_append_utf8_as_utf16(&out, value, strlen(value));
    if (buffer_failed(&out) || count >= capacity) {
        units[0] = 0;
        return 0;
    }
    units[count] = 0;
    return 1;
}
