/* json: see json.h. */
#include "report/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void json_init(json *j, sink *out)
{
    memset(j, 0, sizeof *j);
    j->out = out;
}

void json_free(json *j)
{
    if (j->scratch.failed)
        j->out->pending.failed = true;
    buffer_free(&j->scratch);
}

static void separate(json *j)
{
    if (j->comma)
        sink_char(j->out, ',');
    j->comma = true;
}

static void begin(json *j, char bracket)
{
    separate(j);
    sink_char(j->out, bracket);
    j->comma = false;
}

static void end(json *j, char bracket)
{
    sink_char(j->out, bracket);
    j->comma = true;
}

void json_begin_object(json *j)
{
    begin(j, '{');
}

void json_end_object(json *j)
{
    end(j, '}');
}

void json_begin_array(json *j)
{
    begin(j, '[');
}

void json_end_array(json *j)
{
    end(j, ']');
}

static void escape(json *j, unsigned char c)
{
    switch (c) {
    case '"':
        sink_text(j->out, "\\\"");
        break;
    case '\\':
        sink_text(j->out, "\\\\");
        break;
    case '\n':
        sink_text(j->out, "\\n");
        break;
    case '\t':
        sink_text(j->out, "\\t");
        break;
    default:
        sink_format(j->out, "\\u%04x", c);
        break;
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != 0x7f;
}

static void write_text(json *j, const char *text)
{
    size_t length = strlen(text);
    size_t start = 0;

    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] >= 0x80) {
            buffer_clear(&j->scratch);
            text_append_cleaned(&j->scratch, text, length);
            text = buffer_text(&j->scratch);
            length = j->scratch.length;
            break;
        }
    }
    sink_char(j->out, '"');
    for (size_t i = 0; i < length; i++) {
        if (is_plain((unsigned char)text[i]))
            continue;
        sink_bytes(j->out, text + start, i - start);
        escape(j, (unsigned char)text[i]);
        start = i + 1;
    }
    sink_bytes(j->out, text + start, length - start);
    sink_char(j->out, '"');
}

void json_key(json *j, const char *key)
{
    separate(j);
    write_text(j, key);
    sink_char(j->out, ':');
    j->comma = false;
}

void json_text(json *j, const char *text)
{
    separate(j);
    write_text(j, text);
}

void json_u64(json *j, uint64_t value)
{
    separate(j);
    sink_u64(j->out, value);
}

void json_i64(json *j, int64_t value)
{
    separate(j);
    if (value < 0)
        sink_char(j->out, '-');
    sink_u64(j->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_f64(json *j, double value)
{
    separate(j);
    if (isfinite(value))
        sink_format(j->out, "%.10g", value);
    else
        sink_text(j->out, "null");
}

void json_f64_exact(json *j, double value)
{
    char text[32];

    for (int digits = 15; digits <= 17; digits += 2) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (digits == 17 || strtod(text, NULL) == value)
            break;
    }
    separate(j);
    sink_text(j->out, isfinite(value) ? text : "null");
}

void json_microseconds(json *j, uint64_t ns)
{
    if (ns >= 100000 || ns % 1000 == 0)
        json_u64(j, (ns + 500) / 1000);
    else
        json_f64(j, (double)ns / 1000);
}

void json_bool(json *j, bool value)
{
    separate(j);
    sink_text(j->out, value ? "true" : "false");
}

void json_put_text(json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_text(j, text);
}

void json_put_u64(json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_u64(j, value);
}

void json_put_f64(json *j, const char *key, double value)
{
    json_key(j, key);
    json_f64_exact(j, value);
}

void json_put_bool(json *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

void json_put_null(json *j, const char *key)
{
    json_key(j, key);
    separate(j);
    sink_text(j->out, "null");
}

void json_begin_object_at(json *j, const char *key)
{
    json_key(j, key);
    json_begin_object(j);
}

void json_begin_array_at(json *j, const char *key)
{
    json_key(j, key);
    json_begin_array(j);
}
