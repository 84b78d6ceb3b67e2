/* section: see section.h. */
#include "report/section.h"

#include <string.h>

#include "base/screen.h"
#include "base/text.h"

static bool has_stacks(const section *s)
{
    profile p;

    return profile_of(s->m, s->process, s->table, &p);
}

const report_section REPORT_SECTIONS[] = {
    {"exceptions", NULL, section_exceptions_markdown, section_exceptions_json},
    {"collections", NULL, section_gc_markdown, section_gc_json},
    {"waits", NULL, section_contention_markdown, section_contention_json},
    {"holders", NULL, section_nothing_markdown, section_rows_json},
    {"heap_types", NULL, section_heap_markdown, section_heap_json},
    {"heap_functions", NULL, section_nothing_markdown, section_nothing_json},
    {"heap_statics", NULL, section_nothing_markdown, section_nothing_json},
    {"allocations", NULL, section_allocations_markdown, section_allocations_json},
    {"live", NULL, section_live_markdown, section_live_json},
    {"compilations", NULL, section_jit_markdown, section_jit_json},
    {"inlining", NULL, section_inlining_markdown, section_inlining_json},
    {"transitions", NULL, section_transitions_markdown, section_transitions_json},
    {"counters", NULL, section_counters_markdown, section_counters_json},
    {"meters", NULL, section_counters_markdown, section_counters_json},
    {"pauses", NULL, section_pauses_markdown, section_pauses_json},
    {"requests", NULL, section_requests_markdown, section_requests_json},
    {"heap_fields", NULL, section_nothing_markdown, section_nothing_json},
    {"heap_values", NULL, section_nothing_markdown, section_nothing_json},
    {"heap_awaits", NULL, section_nothing_markdown, section_nothing_json},
    {"trace_calls", NULL, section_trace_markdown, section_trace_json},
    {"trace_methods", NULL, section_nothing_markdown, section_rows_json},
    {"trace_times", NULL, section_nothing_markdown, section_rows_json},
    {"trace_failures", NULL, section_nothing_markdown, section_rows_json},
    {"trace_tree", NULL, section_nothing_markdown, section_rows_json},
    {"trace_missing", NULL, section_nothing_markdown, section_rows_json},
    {"callees", NULL, section_nothing_markdown, section_rows_json}, /* rules read it */
    {NULL, has_stacks, section_profile_markdown, section_profile_json},
    {NULL, NULL, section_rows_markdown, section_rows_json},
};

const report_section *report_find_section(const section *s)
{
    const report_section *row = REPORT_SECTIONS;

    while ((row->table != NULL && !text_equal(row->table, model_text(s->m, s->table->name))) ||
           (row->fits != NULL && !row->fits(s)))
        row++;
    return row;
}

size_t section_top(const section *s, size_t standard)
{
    return s->options->top != 0 ? s->options->top : standard;
}

static void put_code(sink *out, const char *text, bool in_cell)
{
    size_t longest = 0;
    size_t run = 0;
    size_t length = strlen(text);
    bool pad;

    for (size_t i = 0; i < length; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    if (length == 0)
        return;
    pad = text[0] == '`' || text[length - 1] == '`' || text[0] == ' ';
    for (size_t i = 0; i <= longest; i++)
        sink_char(out, '`');
    sink_text(out, pad ? " " : "");
    for (size_t i = 0; i < length; i++) {
        size_t control = screen_control_length(text + i);

        if (text[i] == '|' && in_cell)
            sink_text(out, "\\|");
        else
            sink_char(out, control != 0 ? ' ' : text[i]);
        i += control == 0 ? 0 : control - 1;
    }
    sink_text(out, pad ? " " : "");
    for (size_t i = 0; i <= longest; i++)
        sink_char(out, '`');
}

void markdown_code(sink *out, const char *text)
{
    put_code(out, text, false);
}

void markdown_cell(sink *out, const char *text)
{
    put_code(out, text, true);
}

void markdown_text(sink *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        size_t control = screen_control_length(text);

        if (c == '<')
            sink_text(out, "&lt;");
        else if (c == '>')
            sink_text(out, "&gt;");
        else if (c == '&')
            sink_text(out, "&amp;");
        else if (strchr("\\`*_[]|#~!", c) != NULL)
            sink_format(out, "\\%c", c);
        else
            sink_char(out, control != 0 ? ' ' : (char)c);
        text += control == 0 ? 0 : control - 1;
    }
}

/* Only the file's name: paths of build machines are long. */
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *backslash = strrchr(path, '\\');

    if (backslash != NULL && (slash == NULL || backslash > slash))
        slash = backslash;
    return slash == NULL ? path : slash + 1;
}

/* Indented code: nothing inside is read as markdown, but a line break would end the line. */
static void put_code_line(sink *out, const char *text)
{
    for (; *text != '\0'; text++) {
        size_t control = screen_control_length(text);

        sink_char(out, control != 0 ? ' ' : *text);
        text += control == 0 ? 0 : control - 1;
    }
}

void markdown_stack(sink *out, const model *m, const model_process *p, uint32_t stack, size_t limit)
{
    size_t left = p->stack_depths[stack];

    for (; stack != 0 && limit > 0; stack = p->stack_parents[stack], left--) {
        const model_frame *frame = &p->frames[p->stack_frames[stack]];

        if (calltree_is_repeated(p, stack))
            continue;
        limit--;
        sink_text(out, "    ");
        put_code_line(out, model_text(m, p->functions[frame->function].name));
        if (frame->line != 0) {
            sink_text(out, "  ");
            put_code_line(out, file_name(model_text(m, frame->file)));
            sink_format(out, ":%u", frame->line);
        }
        sink_char(out, '\n');
    }
    if (left > 0)
        sink_format(out, "    … %zu more\n", left);
}

void json_stack(json *j, const model *m, const model_process *p, uint32_t stack, size_t limit)
{
    json_begin_array(j);
    for (; stack != 0 && limit > 0; stack = p->stack_parents[stack]) {
        const model_frame *frame = &p->frames[p->stack_frames[stack]];
        const model_function *function = &p->functions[frame->function];

        if (calltree_is_repeated(p, stack))
            continue;
        limit--;
        json_begin_object(j);
        json_put_text(j, "name", model_text(m, function->name));
        if (function->module != 0)
            json_put_text(j, "module", model_text(m, p->modules[function->module].name));
        if (frame->file != 0)
            json_put_text(j, "file", model_text(m, frame->file));
        if (frame->line != 0)
            json_put_u64(j, "line", frame->line);
        json_end_object(j);
    }
    json_end_array(j);
}

void markdown_spread(sink *out, const char *what, const groups_spread *spread)
{
    char sum[REPORT_AMOUNT_SIZE];
    char half[REPORT_AMOUNT_SIZE];
    char most[REPORT_AMOUNT_SIZE];
    char nearly[REPORT_AMOUNT_SIZE];
    char longest[REPORT_AMOUNT_SIZE];

    sink_format(out,
                "| %s: sum | median | 90 %% | 99 %% | longest |\n|---:|---:|---:|---:|---:|\n"
                "| %s | %s | %s | %s | %s |\n\n",
                what, report_amount(spread->sum, "ns", sum),
                report_amount(groups_spread_at(spread, 0.5), "ns", half),
                report_amount(groups_spread_at(spread, 0.9), "ns", most),
                report_amount(groups_spread_at(spread, 0.99), "ns", nearly),
                report_amount(groups_spread_at(spread, 1), "ns", longest));
}

void json_spread(json *j, const char *key, const groups_spread *spread)
{
    json_begin_object_at(j, key);
    json_put_u64(j, "count", spread->count);
    json_put_u64(j, "sum_ns", spread->sum);
    json_put_u64(j, "p50_ns", groups_spread_at(spread, 0.5));
    json_put_u64(j, "p90_ns", groups_spread_at(spread, 0.9));
    json_put_u64(j, "p99_ns", groups_spread_at(spread, 0.99));
    json_put_u64(j, "longest_ns", groups_spread_at(spread, 1));
    json_end_object(j);
}
