/* checkup: see checkup.h. */
#include "report/checkup.h"

#include <stdio.h>
#include <string.h>

#include "base/screen.h"
#include "base/text.h"
#include "report/section.h"

enum { WIDTH = 98, SHOWN_TYPES = 5 };

/* ---- what all forms share ---- */

/* The process the checkup is about: the first one with a finding, else the first. */
static const model_process *main_process(const checkup *c)
{
    if (c->m->process_count == 0)
        return NULL;
    return &c->m->processes[c->list->count == 0 ? 0 : c->list->items[0].process];
}

static void write_headline(const checkup *c, char *out, size_t size)
{
    size_t problems = findings_count(c->list, FINDINGS_WARNING);
    const model_process *p = main_process(c);
    const char *name = p == NULL ? "" : model_text(c->m, p->name);
    char who[160] = "an empty recording";
    char count[40] = "no problem";
    char inside[40] = "";

    if (p != NULL && p->own_pid != p->pid)
        snprintf(inside, sizeof inside, " (%llu inside)", (unsigned long long)p->own_pid);
    if (p != NULL)
        snprintf(who, sizeof who, "%s, pid %llu%s%s", name[0] == '\0' ? "the process" : name,
                 (unsigned long long)p->pid, inside,
                 c->m->process_count > 1 ? " and its other processes" : "");
    if (problems != 0)
        snprintf(count, sizeof count, "%zu problem%s", problems, problems == 1 ? "" : "s");
    snprintf(out, size, "%s%s found in %s", c->only_new && problems != 0 ? "new: " : "", count,
             who);
}

/* A process that was attached to has ended meanwhile, before its time. */
static bool has_ended(const checkup *c)
{
    const model_process *p = main_process(c);
    const char *attach = p == NULL ? NULL : model_info_value(c->m, p, "attach");

    return attach != NULL && text_equal(attach, "attach") &&
           text_equal(model_text(c->m, p->end_reason), "target exited");
}

static bool wanted(const model *m, const finding *f, const report_options *options)
{
    return options == NULL || report_wants_process(m, &m->processes[f->process], options);
}

/* ---- text for a terminal ---- */

typedef struct {
    sink *out;
    bool colour;
} terminal;

static void paint(const terminal *t, const char *code)
{
    if (t->colour)
        sink_format(t->out, "\033[%sm", code);
}

/* Text of the target: what could steer a terminal becomes '?'. */
static void put_harmless(sink *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t control = screen_control_length(text + i);

        sink_char(out, control != 0 ? '?' : text[i]);
        i += control == 0 ? 0 : control - 1;
    }
}

/* Characters, not bytes. */
static size_t width_of(const char *text, size_t length)
{
    size_t width = 0;

    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Words in lines of WIDTH columns, every line after the first indented; `at` columns are used. */
static void put_wrapped(const terminal *t, const char *text, size_t indent, size_t at)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        size_t width = width_of(text, length);

        if (at > indent && at + 1 + width > WIDTH) {
            sink_format(t->out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            sink_char(t->out, ' ');
            at++;
        }
        put_harmless(t->out, text, length);
        at += width;
        text += length;
        text += strspn(text, " ");
    }
    sink_char(t->out, '\n');
}

static const char *colour_of(findings_severity severity)
{
    return severity == FINDINGS_CRITICAL  ? "1;31"
           : severity == FINDINGS_WARNING ? "1;33"
           : severity == FINDINGS_OK      ? "32"
                                          : "36";
}

static void put_finding(const checkup *c, const terminal *t, const finding *f)
{
    paint(t, colour_of(f->severity));
    sink_format(t->out, "%s", findings_severity_name(f->severity));
    paint(t, "0");
    paint(t, "1");
    sink_format(t->out, "  %s", f->title);
    paint(t, "0");
    if (c->m->process_count > 1) {
        char title[200];

        report_process_title(c->m, &c->m->processes[f->process], title, sizeof title);
        sink_text(t->out, "  in ");
        put_harmless(t->out, title, strlen(title));
    }
    sink_text(t->out, "\n  ");
    put_wrapped(t, f->statement, 2, 2);
    for (size_t i = 0; i < f->evidence_count; i++) {
        const char *line = f->evidence[i];

        paint(t, "2");
        sink_text(t->out, text_ends_with(line, ":") ? "    " : "      ");
        put_harmless(t->out, line, strlen(line));
        paint(t, "0");
        sink_char(t->out, '\n');
    }
    sink_text(t->out, "  what to do:");
    put_wrapped(t, f->advice, 2, 13);
    sink_format(t->out, "  more: %s\n\n", f->doc);
}

static void put_vitals(const checkup *c, const terminal *t)
{
    static const char *const MARKS[] = {"ok", "ok", "!", "!!", "-"};
    findings_vital vitals[FINDINGS_VITALS];
    const model_process *p = main_process(c);

    if (p == NULL)
        return;
    findings_vitals(c->m, p, c->limits, vitals);
    paint(t, "1");
    sink_text(t->out, "Vital signs");
    paint(t, "0");
    sink_char(t->out, '\n');
    for (size_t i = 0; i < FINDINGS_VITALS; i++) {
        sink_text(t->out, "  ");
        paint(t, colour_of(vitals[i].mark));
        sink_format(t->out, "%-2s", MARKS[vitals[i].mark]);
        paint(t, "0");
        sink_format(t->out, "  %-10s  %s\n", vitals[i].name, vitals[i].text);
    }
    if (report_has_own_cost_percent(p)) {
        double begin_ms, running;

        sink_format(t->out, "      %-10s  %.2f %% of one processor", "our cost",
                    report_own_cost_percent(p));
        if (report_own_cost_parts(p, &begin_ms, &running))
            sink_format(t->out, ": %.0f ms once, then %.2f %%", begin_ms, running);
        sink_char(t->out, '\n');
    }
}

static void put_types(const checkup *c, const terminal *t)
{
    const checkup_types *types = c->types;

    if (types == NULL || types->count == 0)
        return;
    sink_char(t->out, '\n');
    paint(t, "1");
    sink_text(t->out, "Heap");
    paint(t, "0");
    sink_format(t->out, "  %.1f MB, %llu objects%s; most of it:\n", (double)types->bytes / 1e6,
                (unsigned long long)types->objects,
                types->is_quick ? ", those not collected yet too" : "");
    for (size_t i = 0; i < types->count && i < SHOWN_TYPES; i++) {
        const checkup_type *type = &types->items[i];

        sink_format(t->out, "  %9.2f MB %10llu x ", (double)type->bytes / 1e6,
                    (unsigned long long)type->count);
        put_harmless(t->out, type->name, strlen(type->name));
        sink_char(t->out, '\n');
    }
}

int checkup_write_text(const checkup *c, sink *out, error *e)
{
    terminal t = {out, c->colour};
    char headline[300];

    write_headline(c, headline, sizeof headline);
    paint(&t, "1");
    put_harmless(out, headline, strlen(headline));
    paint(&t, "0");
    if (has_ended(c))
        sink_format(out, "\nit ended while it was looked at, after %.1f s",
                    (double)main_process(c)->duration_ns / 1e9);
    else if (main_process(c) != NULL && report_is_cut_short(c->m, main_process(c)))
        sink_format(out, "\n%s after %.1f s: the rest is missing",
                    model_text(c->m, main_process(c)->end_reason),
                    (double)main_process(c)->duration_ns / 1e9);
    sink_text(out, "\n\n");
    for (size_t i = 0; i < c->list->count; i++)
        put_finding(c, &t, &c->list->items[i]);
    put_vitals(c, &t);
    put_types(c, &t);
    if (c->page != NULL)
        sink_format(out, "\nreport     %s\n", c->page);
    if (c->recording != NULL)
        sink_format(out, "recording  %s\n", c->recording);
    if (c->snapshot != NULL)
        sink_format(out, "heap       %s\n", c->snapshot);
    return sink_finish(out, e);
}

/* ---- markdown ---- */

void checkup_put_markdown(const model *m, const findings *list, const report_options *options,
                          sink *out)
{
    bool first = true;

    for (size_t i = 0; i < list->count; i++) {
        const finding *f = &list->items[i];

        if (!wanted(m, f, options))
            continue;
        if (first)
            sink_text(out, "# Findings\n\n");
        first = false;
        sink_format(out, "## %s: %s\n\n", findings_severity_name(f->severity), f->title);
        markdown_text(out, f->statement);
        sink_text(out, "\n\n");
        for (size_t k = 0; k < f->evidence_count; k++) {
            sink_text(out, "- ");
            markdown_code(out, f->evidence[k]);
            sink_char(out, '\n');
        }
        sink_format(out, "%sWhat to do: ", f->evidence_count == 0 ? "" : "\n");
        markdown_text(out, f->advice);
        sink_format(out, "\n\nMore: %s (`%s`)\n\n", f->doc, f->id);
    }
}

int checkup_write_markdown(const checkup *c, sink *out, error *e)
{
    findings_vital vitals[FINDINGS_VITALS];
    const model_process *p = main_process(c);
    char headline[300];

    write_headline(c, headline, sizeof headline);
    markdown_text(out, headline);
    sink_text(out, "\n\n");
    checkup_put_markdown(c->m, c->list, NULL, out);
    if (p != NULL) {
        findings_vitals(c->m, p, c->limits, vitals);
        sink_text(out, "# Vital signs\n\n| sign | state | |\n|---|---|---|\n");
        for (size_t i = 0; i < FINDINGS_VITALS; i++)
            sink_format(out, "| %s | %s | %s |\n", vitals[i].name,
                        findings_severity_name(vitals[i].mark), vitals[i].text);
        sink_char(out, '\n');
    }
    if (c->types != NULL && c->types->count != 0) {
        sink_text(out, "# Heap\n\n| type | objects | MB |\n|---|---:|---:|\n");
        for (size_t i = 0; i < c->types->count; i++) {
            sink_text(out, "| ");
            markdown_code(out, c->types->items[i].name);
            sink_format(out, " | %llu | %.2f |\n", (unsigned long long)c->types->items[i].count,
                        (double)c->types->items[i].bytes / 1e6);
        }
        sink_char(out, '\n');
    }
    return sink_finish(out, e);
}

/* ---- JSON ---- */

static void put_heap_types(const checkup_types *types, json *j)
{
    json_begin_array_at(j, "heap_types");
    for (size_t i = 0; i < types->count; i++) {
        json_begin_object(j);
        json_put_text(j, "type", types->items[i].name);
        json_put_u64(j, "objects", types->items[i].count);
        json_put_u64(j, "bytes", types->items[i].bytes);
        json_end_object(j);
    }
    json_end_array(j);
}

void checkup_put_findings(const model *m, const findings *list, const report_options *options,
                          json *j)
{
    json_begin_array_at(j, "findings");
    for (size_t i = 0; i < list->count; i++) {
        const finding *f = &list->items[i];

        if (!wanted(m, f, options))
            continue;
        json_begin_object(j);
        json_put_text(j, "id", f->id);
        json_put_text(j, "severity", findings_severity_name(f->severity));
        json_put_text(j, "title", f->title);
        json_put_text(j, "statement", f->statement);
        json_begin_array_at(j, "evidence");
        for (size_t k = 0; k < f->evidence_count; k++)
            json_text(j, f->evidence[k]);
        json_end_array(j);
        json_put_text(j, "advice", f->advice);
        json_put_text(j, "doc", f->doc);
        json_put_text(j, "place", f->place);
        json_put_u64(j, "pid", m->processes[f->process].pid);
        json_end_object(j);
    }
    json_end_array(j);
}

/* NAME=value, each a text. */
static void put_environment(const checkup *c, const model_process *p, json *j)
{
    const char *line = model_info_value(c->m, p, "environment");
    buffer text = BUFFER_EMPTY;

    json_begin_array_at(j, "environment");
    while (line != NULL && *line != '\0') {
        size_t length = strcspn(line, "\n");

        buffer_clear(&text);
        buffer_append(&text, line, length);
        json_text(j, buffer_text(&text));
        line += length + (line[length] == '\n');
    }
    json_end_array(j);
    buffer_free(&text);
}

static void put_target(const checkup *c, const model_process *p, json *j)
{
    static const char *const KEYS[] = {"runtime_version", "architecture", "entry_assembly",
                                       "command_line", "attach"};

    json_begin_object_at(j, "target");
    json_put_u64(j, "pid", p == NULL ? 0 : p->pid);
    json_put_u64(j, "inner_pid", p == NULL ? 0 : p->own_pid);
    json_put_text(j, "name", p == NULL ? "" : model_text(c->m, p->name));
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && p != NULL; i++) {
        const char *value = model_info_value(c->m, p, KEYS[i]);

        json_put_text(j, KEYS[i], value == NULL ? "" : value);
    }
    if (p != NULL)
        put_environment(c, p, j);
    json_put_u64(j, "processes", c->m->process_count);
    json_end_object(j);
}

static void put_vital_signs(const checkup *c, const model_process *p, json *j)
{
    findings_vital vitals[FINDINGS_VITALS];

    json_begin_object_at(j, "vitals");
    if (p != NULL) {
        findings_vitals(c->m, p, c->limits, vitals);
        for (size_t i = 0; i < FINDINGS_VITALS; i++) {
            json_begin_object_at(j, vitals[i].name);
            json_put_text(j, "mark", findings_severity_name(vitals[i].mark));
            if (vitals[i].mark != FINDINGS_UNKNOWN)
                json_put_f64(j, "value", vitals[i].value);
            json_put_text(j, "unit", vitals[i].unit);
            json_put_text(j, "text", vitals[i].text);
            json_end_object(j);
        }
    }
    json_end_object(j);
}

int checkup_write_json(const checkup *c, sink *out, error *e)
{
    const model_process *p = main_process(c);
    double begin_ms, running;
    char headline[300];
    json j;

    write_headline(c, headline, sizeof headline);
    json_init(&j, out);
    json_begin_object(&j);
    json_put_u64(&j, "version", 1);
    json_put_text(&j, "headline", headline);
    put_target(c, p, &j);
    json_put_f64(&j, "duration_s", p == NULL ? 0 : (double)p->duration_ns / 1e9);
    json_put_text(&j, "end", p == NULL ? "" : model_text(c->m, p->end_reason));
    json_put_f64(&j, "overhead_percent", p == NULL ? 0 : report_own_cost_percent(p));
    if (p != NULL && report_own_cost_parts(p, &begin_ms, &running)) {
        json_put_f64(&j, "overhead_begin_ms", begin_ms);
        json_put_f64(&j, "overhead_running_percent", running);
    }
    put_vital_signs(c, p, &j);
    checkup_put_findings(c->m, c->list, NULL, &j);
    json_put_text(&j, "report", c->page == NULL ? "" : c->page);
    json_put_text(&j, "recording", c->recording == NULL ? "" : c->recording);
    if (c->snapshot != NULL)
        json_put_text(&j, "heap", c->snapshot);
    if (c->types != NULL && c->types->count != 0)
        put_heap_types(c->types, &j);
    json_end_object(&j);
    sink_char(out, '\n');
    json_free(&j);
    return sink_finish(out, e);
}
