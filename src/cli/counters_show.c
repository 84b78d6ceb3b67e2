/* counters_show: see counters_show.h. */
#include "cli/counters_show.h"

#include <ctype.h>
#include <string.h>

#include "base/screen.h"
#include "report/json.h"

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
    fprintf(out, "%.3f,", (double)v->time_ns / 1e9);
    put_csv_text(out, s->provider);
    fputc(',', out);
    put_csv_text(out, s->name);
    fprintf(out, ",%s,%.15g,", counters_kind_name(s->kind), v->value);
    put_csv_text(out, s->unit);
    fputc(',', out);
    put_csv_text(out, s->tags);
    fputc('\n', out);
}

/* ---- words ---- */

/* Names come from the program: what a terminal would obey is not shown. */
static void put_plain(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        size_t control = screen_control_length(text);

        fputc(control != 0 ? '?' : *text, out);
        text += control == 0 ? 0 : control - 1;
    }
}

static void put_value(FILE *out, const counters_series *s, const counters_value *v)
{
    put_plain(out, s->title[0] != '\0' ? s->title : s->name);
    fprintf(out, "  %.10g", v->value);
    if (s->unit[0] != '\0') {
        fputc(' ', out);
        put_plain(out, s->unit);
    }
    if (s->kind == COUNTERS_INCREASE)
        fprintf(out, " in %.3g s", (double)v->interval_ns / 1e9);
    fputc('\n', out);
}

void counters_show_line(FILE *out, const counters_series *s, const counters_value *v)
{
    fprintf(out, "%.1f s  ", (double)v->time_ns / 1e9);
    put_plain(out, s->provider);
    fputs("  ", out);
    put_value(out, s, v);
}

void counters_show_screen(FILE *out, const counters_live *c)
{
    const char *provider = "";

    fputs("\033[H\033[J", out);
    for (size_t i = 0; i < c->count; i++) {
        const counters_series *s = &c->series[i];

        if (s->count == 0)
            continue;
        if (strcmp(provider, s->provider) != 0) {
            put_plain(out, s->provider);
            fputc('\n', out);
            provider = s->provider;
        }
        fputs("  ", out);
        put_value(out, s, &s->values[s->count - 1]);
    }
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

/* The tags as labels: {route="/orders",quantile="0.5"}. */
static void put_labels(buffer *out, const char *tags)
{
    const char *at = tags;

    while (*at != '\0') {
        size_t name = strcspn(at, "=,");
        size_t value = at[name] == '=' ? strcspn(at + name + 1, ",") : 0;

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

            if (!is_same_metric(one, s))
                continue;
            put_metric_name(out, one);
            put_labels(out, one->tags);
            buffer_format(out, " %.15g\n",
                          one->kind == COUNTERS_INCREASE ? one->sum
                                                         : one->values[one->count - 1].value);
        }
    }
}
