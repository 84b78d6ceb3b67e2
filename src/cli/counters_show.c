/* counters_show: see counters_show.h. */
#include "cli/counters_show.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "cli/plain.h"
#include "report/json.h"
#include "report/number.h"

/* ---- CSV ---- */

void counters_show_csv_head(FILE *out)
{
    fputs("time_s,provider,counter,kind,value,unit,tags\n", out);
}

static void put_csv_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void counters_show_csv(FILE *out, const counters_series *s, const counters_value *v)
{
    char value[NUMBER_TEXT];

    fprintf(out, "%.3f,", (double)v->time_ns / 1e9);
    put_csv_text(out, s->provider);
    fputc(',', out);
    put_csv_text(out, s->name);
    fprintf(out, ",%s,%s,", counters_kind_name(s->kind),
            number_text(value, NUMBER_EXACT, v->value));
    put_csv_text(out, s->unit);
    fputc(',', out);
    put_csv_text(out, s->tags);
    fputc('\n', out);
}

/* ---- words ---- */

static void put_value(FILE *out, const counters_series *s, const counters_value *v)
{
    char value[NUMBER_TEXT];

    plain_put(out, s->title[0] != '\0' ? s->title : s->name);
    fprintf(out, "  %s", number_text(value, 10, v->value));
    if (s->unit[0] != '\0') {
        fputc(' ', out);
        plain_put(out, s->unit);
    }
    if (s->kind == COUNTERS_INCREASE)
        fprintf(out, " in %.3g s", (double)v->interval_ns / 1e9);
    fputc('\n', out);
}

void counters_show_line(FILE *out, const counters_series *s, const counters_value *v)
{
    fprintf(out, "%.1f s  ", (double)v->time_ns / 1e9);
    plain_put(out, s->provider);
    fputs("  ", out);
    put_value(out, s, v);
}

/* ---- the screen ---- */

enum { NARROWEST = 36, ROWS = 24, WIDTH = 80 };

typedef struct {
    buffer label; /* a provider, or a counter behind two blanks */
    buffer value;
} screen_line;

static bool is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* of a character */
}

/* The first `width` characters of a text and blanks up to there. */
static void put_cell(FILE *out, const char *text, size_t width)
{
    size_t used = 0;

    for (; *text != '\0' && (used < width || is_inside(*text)); text++) {
        used += !is_inside(*text);
        fputc(*text, out);
    }
    fprintf(out, "%*s", (int)(width - used), "");
}

/* Those of one provider stand together, where its first one came. */
static size_t make_lines(const counters_live *c, screen_line *lines)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++) {
        bool is_first = c->series[i].count != 0;

        for (size_t k = 0; k < i && is_first; k++)
            is_first = c->series[k].count == 0 ||
                       strcmp(c->series[k].provider, c->series[i].provider) != 0;
        if (!is_first)
            continue;
        plain_append(&lines[count++].label, c->series[i].provider);
        for (size_t k = i; k < c->count; k++) {
            const counters_series *s = &c->series[k];
            screen_line *line = &lines[count];
            char value[NUMBER_TEXT];

            if (s->count == 0 || strcmp(s->provider, c->series[i].provider) != 0)
                continue;
            buffer_append_text(&line->label, "  ");
            plain_append(&line->label, s->title[0] != '\0' ? s->title : s->name);
            buffer_append_text(&line->value, number_text(value, 10, s->values[s->count - 1].value));
            if (s->unit[0] != '\0') {
                buffer_append_char(&line->value, ' ');
                plain_append(&line->value, s->unit);
            }
            if (s->kind == COUNTERS_INCREASE)
                buffer_format(&line->value, " in %.3g s",
                              (double)s->values[s->count - 1].interval_ns / 1e9);
            count++;
        }
    }
    return count;
}

static size_t length_of(const char *text)
{
    size_t length = 0;

    for (; *text != '\0'; text++)
        length += !is_inside(*text);
    return length;
}

static void put_line(FILE *out, const screen_line *line, size_t width)
{
    size_t value = length_of(buffer_text(&line->value));

    value = value + 3 > width ? width - 3 : value;
    if (line->value.length == 0) {
        put_cell(out, buffer_text(&line->label), width);
        return;
    }
    put_cell(out, buffer_text(&line->label), width - value - 3);
    fputs("  ", out);
    put_cell(out, buffer_text(&line->value), value);
    fputc(' ', out);
}

/* As many columns as are needed and fit; what has no room is counted. */
static void put_lines(FILE *out, const screen_line *lines, size_t count)
{
    struct winsize size = {ROWS, WIDTH, 0, 0};
    size_t rows, columns, width, shown;

    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_row < 3 || size.ws_col < NARROWEST)
        size = (struct winsize){ROWS, WIDTH, 0, 0};
    rows = size.ws_row - 1u;
    columns = (count + rows - 1) / rows;
    if (columns > size.ws_col / (unsigned)NARROWEST)
        columns = size.ws_col / (unsigned)NARROWEST;
    if (columns == 0)
        columns = 1;
    width = columns == 1 && size.ws_col > WIDTH ? WIDTH : size.ws_col / columns;
    shown = count > rows * columns ? rows * columns - 1 : count;
    rows = count < rows ? count : rows;
    fputs("\033[H", out);
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < columns; column++) {
            size_t at = column * rows + row;

            if (at < shown)
                put_line(out, &lines[at], width);
            else if (at == shown && shown < count)
                fprintf(out, "  and %zu more: -f csv has all", count - shown);
        }
        fputs("\033[K\n", out);
    }
    fputs("\033[J", out);
}

void counters_show_screen(FILE *out, const counters_live *c)
{
    screen_line *lines = memory_allocate_array(2 * c->count + 1, sizeof *lines);
    size_t count;

    if (lines == NULL)
        return;
    count = make_lines(c, lines);
    put_lines(out, lines, count);
    for (size_t i = 0; i < count; i++) {
        buffer_free(&lines[i].label);
        buffer_free(&lines[i].value);
    }
    memory_free(lines);
    fflush(out);
}

/* ---- JSON ---- */

static void json_series(json *j, const counters_series *s)
{
    json_begin_object(j);
    json_put_text(j, "provider", s->provider);
    json_put_text(j, "name", s->name);
    json_put_text(j, "title", s->title);
    json_put_text(j, "unit", s->unit);
    if (s->tags[0] != '\0')
        json_put_text(j, "tags", s->tags);
    json_put_text(j, "kind", counters_kind_name(s->kind));
    json_begin_array_at(j, "values");
    for (size_t i = 0; i < s->count; i++) {
        json_begin_object(j);
        json_put_u64(j, "time_ns", s->values[i].time_ns);
        json_put_u64(j, "interval_ns", s->values[i].interval_ns);
        json_put_f64(j, "value", s->values[i].value);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

int counters_show_json(int descriptor, const counters_live *c, error *e)
{
    sink to;
    json j;
    int code;

    sink_init(&to, descriptor);
    json_init(&j, &to);
    json_begin_object(&j);
    json_begin_array_at(&j, "counters");
    for (size_t i = 0; i < c->count; i++)
        json_series(&j, &c->series[i]);
    json_end_array(&j);
    json_end_object(&j);
    sink_char(&to, '\n');
    json_free(&j);
    code = sink_finish(&to, e);
    sink_free(&to);
    return code;
}

/* ---- Prometheus ---- */

/* Letters, digits and _ only. */
static char folded(char letter)
{
    return isalnum((unsigned char)letter) ? (char)tolower((unsigned char)letter) : '_';
}

static bool is_same_folded(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if (folded(*a) != folded(*b))
            return false;
    return *a == *b;
}

static void put_part(buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        buffer_append_char(out, folded(text[i]));
}

static void put_identifier(buffer *out, const char *text)
{
    put_part(out, text, strlen(text));
}

static void put_metric_name(buffer *out, const counters_series *s)
{
    buffer_append_text(out, "dotnet_");
    put_identifier(out, s->provider);
    buffer_append_char(out, '_');
    put_identifier(out, s->name);
    if (s->kind == COUNTERS_INCREASE)
        buffer_append_text(out, "_total");
}

/* Up to the comma before the next name: a piece without = belongs to the value. */
static size_t value_length(const char *text)
{
    size_t length = strcspn(text, ",");

    while (text[length] != '\0' && text[length + 1 + strcspn(text + length + 1, "=,")] != '=')
        length += 1 + strcspn(text + length + 1, ",");
    return length;
}

/* The tags as labels: {route="/orders",quantile="0.5"}. */
static void put_labels(buffer *out, const char *tags)
{
    const char *at = tags;

    while (*at != '\0') {
        size_t name = strcspn(at, "=,");
        size_t value = at[name] == '=' ? value_length(at + name + 1) : 0;

        buffer_append_char(out, at == tags ? '{' : ',');
        if (isdigit((unsigned char)*at)) /* a label's name begins with a letter or _ */
            buffer_append_char(out, '_');
        put_part(out, at, name);
        buffer_append_text(out, "=\"");
        at += name + (at[name] == '=');
        for (size_t i = 0; i < value; i++) {
            if (at[i] == '\\' || at[i] == '"' || at[i] == '\n')
                buffer_append_char(out, '\\');
            buffer_append_char(out, at[i] == '\n' ? 'n' : at[i]);
        }
        at += value + (at[value] == ',');
        buffer_append_char(out, '"');
    }
    if (at != tags)
        buffer_append_char(out, '}');
}

static bool is_same_metric(const counters_series *a, const counters_series *b)
{
    return a->count != 0 && b->count != 0 && a->kind == b->kind &&
           is_same_folded(a->provider, b->provider) && is_same_folded(a->name, b->name);
}

/* A metric's type is told once, before the first of its series. */
static bool is_first(const counters_live *c, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_same_metric(&c->series[i], &c->series[index]))
            return false;
    return true;
}

/* What grows is told as its sum, in which a step that is no number is not: such a step is told as
 * long as it is the last one, so that a total does not stay NaN for good. */
static double value_now(const counters_series *s)
{
    double last = s->values[s->count - 1].value;

    return s->kind == COUNTERS_INCREASE && isfinite(last) ? s->sum : last;
}

void counters_show_prometheus(buffer *out, const counters_live *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const counters_series *s = &c->series[i];

        if (s->count == 0 || !is_first(c, i))
            continue;
        buffer_append_text(out, "# TYPE ");
        put_metric_name(out, s);
        buffer_append_text(out, s->kind == COUNTERS_INCREASE ? " counter\n" : " gauge\n");
        for (size_t k = i; k < c->count; k++) {
            const counters_series *one = &c->series[k];
            char value[NUMBER_TEXT];

            if (!is_same_metric(one, s))
                continue;
            put_metric_name(out, one);
            put_labels(out, one->tags);
            buffer_format(out, " %s\n", number_text(value, NUMBER_EXACT, value_now(one)));
        }
    }
}
