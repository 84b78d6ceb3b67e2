/* section_profile: a profile in words and as data: methods, lines, paths, threads, states. */
#include <string.h>

#include "base/memory.h"
#include "report/section.h"

enum { TOP_METHODS = 20, TOP_LINES = 15, TOP_PATHS = 5, TOP_THREADS = 20, PATH_FRAMES = 40 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static double share(const view *v, uint64_t weight)
{
    return report_percent(weight, v->total.weight);
}

static void put_methods(const section *s, const view *v, const calltree_rank *ranks,
                        const char *title)
{
    size_t count = smaller(v->method_count, section_top(s, TOP_METHODS));
    char amount[REPORT_AMOUNT_SIZE];

    sink_format(s->out, "### %s\n\n| self | self %% | total | total %% | method | module |\n",
                title);
    sink_text(s->out, "|---:|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        sink_format(s->out, "| %s | %.1f |", report_amount(ranks[i].self, v->profile.unit, amount),
                    share(v, ranks[i].self));
        sink_format(s->out, " %s | %.1f | ", report_amount(ranks[i].total, v->profile.unit, amount),
                    share(v, ranks[i].total));
        markdown_cell(s->out, view_function_name(v, ranks[i].key));
        sink_text(s->out, " | ");
        markdown_cell(s->out, view_module_name(v, ranks[i].key));
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

static void put_lines(const section *s, const view *v)
{
    size_t count = smaller(v->line_count, section_top(s, TOP_LINES));
    char amount[REPORT_AMOUNT_SIZE];

    if (count == 0) {
        sink_text(s->out,
                  "No line is known: no method on these stacks is in an assembly with a portable "
                  "PDB. The assemblies of .NET itself come without.\n\n");
        return;
    }
    sink_text(s->out, "### Lines by self\n\n| self | self % | total % | line | method |\n"
                      "|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const model_place *place = &v->process->places[v->lines[i].key];
        buffer line = BUFFER_EMPTY;

        sink_format(s->out, "| %s | %.1f |",
                    report_amount(v->lines[i].self, v->profile.unit, amount),
                    share(v, v->lines[i].self));
        sink_format(s->out, " %.1f | ", share(v, v->lines[i].total));
        buffer_append_text(&line, model_text(v->m, place->file));
        buffer_format(&line, ":%u", place->line);
        markdown_cell(s->out, buffer_text(&line));
        buffer_free(&line);
        sink_text(s->out, " | ");
        markdown_cell(s->out, view_function_name(v, place->function));
        sink_text(s->out, " |\n");
    }
    sink_char(s->out, '\n');
}

static void put_paths(const section *s, const view *v)
{
    char amount[REPORT_AMOUNT_SIZE];

    sink_text(s->out, "### Hottest paths\n\n");
    for (size_t i = 0; i < v->path_count; i++) {
        uint32_t keys[PATH_FRAMES];
        uint64_t weight = v->functions.self[v->paths[i]];
        size_t depth = view_path(&v->functions, v->paths[i], keys, PATH_FRAMES);

        sink_format(s->out, "%zu. %s, %.1f %%\n\n", i + 1,
                    report_amount(weight, v->profile.unit, amount), share(v, weight));
        for (size_t k = 0; k < depth; k++) {
            sink_text(s->out, "    - ");
            markdown_code(s->out, view_function_name(v, keys[k]));
            sink_char(s->out, '\n');
        }
        sink_char(s->out, '\n');
    }
}

static int put_threads(const section *s, const view *v)
{
    uint32_t *order = memory_allocate_array(v->process->thread_count, sizeof *order);
    char amount[REPORT_AMOUNT_SIZE];
    size_t count;
    size_t shown;

    if (order == NULL)
        return error_set(s->e, ERROR_MEMORY, "no memory for the report");
    count = view_order_threads(v, order);
    shown = smaller(count, section_top(s, TOP_THREADS));
    sink_text(s->out, "### Threads\n\n| weight | % | samples | thread |\n|---:|---:|---:|---|\n");
    for (size_t i = 0; i < shown; i++) {
        char title[200];

        model_thread_title(v->m, &v->process->threads[order[i]], title, sizeof title);
        sink_format(s->out, "| %s | %.1f | %llu | ",
                    report_amount(v->weight_by_thread[order[i]], v->profile.unit, amount),
                    share(v, v->weight_by_thread[order[i]]),
                    (unsigned long long)v->samples_by_thread[order[i]]);
        markdown_cell(s->out, title);
        sink_text(s->out, " |\n");
    }
    if (count > shown)
        sink_format(s->out, "\n%zu more thread%s.\n", count - shown, count - shown == 1 ? "" : "s");
    sink_char(s->out, '\n');
    memory_free(order);
    return 0;
}

static void put_states(const section *s, const view *v)
{
    char amount[REPORT_AMOUNT_SIZE];

    if (v->profile.state == NULL || v->total.weight == v->states[RECORDING_STATE_RUNNING])
        return;
    sink_text(s->out, "### States\n\n| weight | % | state |\n|---:|---:|---|\n");
    for (size_t i = 0; i < PROFILE_STATES; i++)
        if (v->states[i] != 0)
            sink_format(s->out, "| %s | %.1f | %s |\n",
                        report_amount(v->states[i], v->profile.unit, amount),
                        share(v, v->states[i]), profile_state_name(i));
    sink_char(s->out, '\n');
}

static void put_heading(const section *s, const view *v)
{
    char amount[REPORT_AMOUNT_SIZE];
    char note[CONTINUATIONS_NOTE_SIZE];
    const char *profiler = model_text(s->m, s->table->profiler);

    sink_text(s->out, "## ");
    markdown_text(s->out, profiler[0] == '\0' ? "profile" : profiler);
    sink_format(s->out, "\n\n%llu samples, %s in all.\n\n", (unsigned long long)v->total.samples,
                report_amount(v->total.weight, v->profile.unit, amount));
    if (continuations_note(&v->continuations, v->total.weight, note)[0] != '\0')
        sink_format(s->out, "%s\n\n", note);
}

int section_profile_markdown(const section *s)
{
    profile p;
    view v;
    int code;

    profile_of(s->m, s->process, s->table, &p);
    code = view_open(&v, &p, s->options, section_top(s, TOP_PATHS), s->e);
    if (code == 0) {
        put_heading(s, &v);
        if (v.total.samples != 0) {
            put_methods(s, &v, v.methods, "Methods by self");
            put_methods(s, &v, v.methods_by_total, "Methods by total");
            code = section_nameless_markdown(s, &v);
            put_lines(s, &v);
            put_paths(s, &v);
            put_states(s, &v);
            if (code == 0)
                code = put_threads(s, &v);
            if (code == 0)
                code = section_focus_markdown(s, &v);
        }
    }
    view_free(&v);
    return code;
}

static void json_methods(const section *s, const view *v, json *j)
{
    json_begin_array_at(j, "methods");
    for (size_t i = 0; i < smaller(v->method_count, section_top(s, 1000)); i++) {
        const calltree_rank *rank = &v->methods[i];

        json_begin_object(j);
        json_put_text(j, "name", view_function_name(v, rank->key));
        json_put_text(j, "module", view_module_name(v, rank->key));
        json_put_u64(j, "self", rank->self);
        json_put_u64(j, "total", rank->total);
        json_put_f64(j, "self_percent", share(v, rank->self));
        json_put_f64(j, "total_percent", share(v, rank->total));
        json_end_object(j);
    }
    json_end_array(j);
    json_put_u64(j, "method_count", v->method_count);
}

static void json_lines(const section *s, const view *v, json *j)
{
    json_begin_array_at(j, "lines");
    for (size_t i = 0; i < smaller(v->line_count, section_top(s, 1000)); i++) {
        const calltree_rank *rank = &v->lines[i];
        const model_place *place = &v->process->places[rank->key];

        json_begin_object(j);
        json_put_text(j, "method", view_function_name(v, place->function));
        json_put_text(j, "file", model_text(v->m, place->file));
        json_put_u64(j, "line", place->line);
        json_put_u64(j, "self", rank->self);
        json_put_u64(j, "total", rank->total);
        json_put_f64(j, "self_percent", share(v, rank->self));
        json_put_f64(j, "total_percent", share(v, rank->total));
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_paths(const view *v, json *j)
{
    json_begin_array_at(j, "paths");
    for (size_t i = 0; i < v->path_count; i++) {
        uint32_t keys[MODEL_MAXIMUM_DEPTH];
        size_t depth = view_path(&v->functions, v->paths[i], keys, MODEL_MAXIMUM_DEPTH);

        json_begin_object(j);
        json_put_u64(j, "weight", v->functions.self[v->paths[i]]);
        json_put_f64(j, "percent", share(v, v->functions.self[v->paths[i]]));
        json_begin_array_at(j, "frames");
        for (size_t k = 0; k < depth; k++)
            json_text(j, view_function_name(v, keys[k]));
        json_end_array(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_threads(const view *v, json *j)
{
    json_begin_array_at(j, "threads");
    for (size_t i = 0; i < v->process->thread_count; i++) {
        if (v->samples_by_thread[i] == 0)
            continue;
        json_begin_object(j);
        json_put_u64(j, "id", v->process->threads[i].os_id);
        json_put_text(j, "name", model_text(v->m, v->process->threads[i].name));
        json_put_u64(j, "weight", v->weight_by_thread[i]);
        json_put_u64(j, "samples", v->samples_by_thread[i]);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_object_at(j, "states");
    for (size_t i = 0; i < PROFILE_STATES; i++)
        if (v->states[i] != 0)
            json_put_u64(j, profile_state_name(i), v->states[i]);
    json_end_object(j);
}

/* Only where there are some, like the sentence in words. */
static void json_continuations(const view *v, json *j)
{
    char note[CONTINUATIONS_NOTE_SIZE];

    if (v->continuations.all.samples == 0)
        return;
    json_begin_object_at(j, "continuations");
    json_put_u64(j, "samples", v->continuations.all.samples);
    json_put_u64(j, "weight", v->continuations.all.weight);
    json_put_f64(j, "percent", share(v, v->continuations.all.weight));
    json_put_u64(j, "known_callers", v->continuations.known.samples);
    json_put_text(j, "note", continuations_note(&v->continuations, v->total.weight, note));
    json_end_object(j);
}

int section_profile_json(const section *s, json *j)
{
    profile p;
    view v;
    int code;

    profile_of(s->m, s->process, s->table, &p);
    code = view_open(&v, &p, s->options, section_top(s, 20), s->e);
    if (code == 0) {
        json_put_text(j, "unit", p.unit);
        json_put_u64(j, "samples", v.total.samples);
        json_put_u64(j, "total", v.total.weight);
        json_continuations(&v, j);
        json_methods(s, &v, j);
        code = section_nameless_json(s, &v, j);
        json_lines(s, &v, j);
        json_paths(&v, j);
        json_threads(&v, j);
        if (code == 0)
            code = section_focus_json(s, &v, j);
    }
    view_free(&v);
    return code;
}
