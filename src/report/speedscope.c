/*
 * speedscope: the file format of speedscope.app, sampled form: one profile per thread, in order of
 * time. Neighbouring samples of a thread on the same stack are one entry with their weights added.
 */
#include "report/report.h"

#include <string.h>

#include "analysis/calltree.h"
#include "base/memory.h"
#include "report/json.h"

typedef struct {
    uint32_t *order; /* rows by thread, in order of time */
    size_t *starts;  /* of each thread in `order`, and the end */
} by_thread;

static uint32_t thread_of(const profile *p, size_t row)
{
    return p->thread == NULL ? 0 : p->thread->u32[row];
}

static bool sort_by_thread(const profile *p, const profile_selection *selection, by_thread *t)
{
    size_t threads = p->process->thread_count;

    t->order = memory_allocate(p->table->rows * sizeof *t->order);
    t->starts = memory_allocate_array(threads + 2, sizeof *t->starts);
    if (t->order == NULL || t->starts == NULL)
        return false;
    for (size_t row = 0; row < p->table->rows; row++)
        if (profile_row_matches(p, selection, row))
            t->starts[thread_of(p, row) + 2]++;
    for (size_t i = 2; i < threads + 2; i++)
        t->starts[i] += t->starts[i - 1];
    for (size_t row = 0; row < p->table->rows; row++)
        if (profile_row_matches(p, selection, row))
            t->order[t->starts[thread_of(p, row) + 1]++] = (uint32_t)row;
    return true;
}

static void put_frames(json *j, const model *m, const model_process *p)
{
    for (uint32_t i = 0; i < p->place_count; i++) {
        const model_place *place = &p->places[i];

        json_begin_object(j);
        json_put_text(j, "name", model_text(m, p->functions[place->function].name));
        if (place->file != 0)
            json_put_text(j, "file", model_text(m, place->file));
        if (place->line != 0)
            json_put_u64(j, "line", place->line);
        json_end_object(j);
    }
}

static void put_stack(json *j, const model_process *p, uint32_t stack, size_t first_frame)
{
    uint32_t path[MODEL_MAXIMUM_DEPTH];
    size_t depth = 0;

    for (; stack != 0; stack = p->stack_parents[stack])
        if (!calltree_is_repeated(p, stack))
            path[depth++] = p->frames[p->stack_frames[stack]].place;
    json_begin_array(j);
    while (depth-- > 0)
        json_u64(j, first_frame + path[depth]);
    json_end_array(j);
}

static void put_weights(json *j, const profile *p, const profile_selection *selection,
                        const uint32_t *rows, size_t count)
{
    uint64_t weight = 0;

    json_begin_array_at(j, "weights");
    for (size_t i = 0; i < count; i++) {
        weight += profile_row_weight_in(p, selection, rows[i]);
        if (i + 1 < count && profile_row_stack(p, rows[i]) == profile_row_stack(p, rows[i + 1]))
            continue;
        json_u64(j, weight);
        weight = 0;
    }
    json_end_array(j);
}

static void put_thread(json *j, const profile *p, const profile_selection *selection,
                       uint32_t thread, const uint32_t *rows, size_t count, size_t first_frame,
                       const char *process)
{
    char title[300];
    size_t used = 0;
    uint64_t total = 0;

    title[0] = '\0';
    if (process != NULL) {
        strncat(title, process, 150);
        strcat(title, ": ");
        used = strlen(title);
    }
    model_thread_title(p->m, &p->process->threads[thread], title + used, sizeof title - used);
    for (size_t i = 0; i < count; i++)
        total += profile_row_weight_in(p, selection, rows[i]);
    json_begin_object(j);
    json_put_text(j, "type", "sampled");
    json_put_text(j, "name", title);
    json_put_text(j, "unit",
                  strcmp(p->unit, "ns") == 0      ? "nanoseconds"
                  : strcmp(p->unit, "bytes") == 0 ? "bytes"
                                                  : "none");
    json_put_u64(j, "startValue", 0);
    json_put_u64(j, "endValue", total);
    json_begin_array_at(j, "samples");
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || profile_row_stack(p, rows[i]) != profile_row_stack(p, rows[i + 1]))
            put_stack(j, p->process, profile_row_stack(p, rows[i]), first_frame);
    json_end_array(j);
    put_weights(j, p, selection, rows, count);
    json_end_object(j);
}

static int put_process(json *j, const profile *p, const report_options *options, size_t first_frame,
                       const char *title, error *e)
{
    by_thread threads = {NULL, NULL};
    profile_selection selection;
    int code = report_select(p->m, p->process, options, &selection, e);

    if (code == 0 && !sort_by_thread(p, &selection, &threads))
        code = error_set(e, ERROR_MEMORY, "no memory for the report");
    for (uint32_t i = 0; i < p->process->thread_count && code == 0; i++) {
        size_t begin = threads.starts[i];
        size_t end = threads.starts[i + 1];

        if (begin != end)
            put_thread(j, p, &selection, i, threads.order + begin, end - begin, first_frame, title);
    }
    report_selection_free(&selection);
    memory_free(threads.order);
    memory_free(threads.starts);
    return code;
}

static int put_profiles(json *j, const model *m, const report_options *options, error *e)
{
    size_t first_frame = 0;
    int code = 0;

    for (size_t i = 0; i < m->process_count && code == 0; i++) {
        const model_process *process = &m->processes[i];
        char title[120];
        profile p;

        if (!report_wants_process(m, process, options))
            continue;
        report_process_title(m, process, title, sizeof title);
        if (profile_find(m, process, options->profiler, &p))
            code = put_process(j, &p, options, first_frame, m->process_count > 1 ? title : NULL, e);
        first_frame += process->place_count;
    }
    return code;
}

int report_write_speedscope(const model *m, const report_options *options, sink *out, error *e)
{
    int code = report_find_profiles(m, options, e);
    char title[200] = "clarinet";
    json j;

    if (code != 0)
        return code;
    json_init(&j, out);
    json_begin_object(&j);
    json_put_text(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_begin_object_at(&j, "shared");
    json_begin_array_at(&j, "frames");
    for (size_t i = 0; i < m->process_count; i++) {
        if (!report_wants_process(m, &m->processes[i], options))
            continue;
        report_process_title(m, &m->processes[i], title, sizeof title);
        put_frames(&j, m, &m->processes[i]);
    }
    json_end_array(&j);
    json_end_object(&j);
    json_begin_array_at(&j, "profiles");
    code = put_profiles(&j, m, options, e);
    json_end_array(&j);
    json_put_text(&j, "name", title);
    json_put_text(&j, "exporter", "clarinet " CLARINET_VERSION);
    json_put_u64(&j, "activeProfileIndex", 0);
    json_end_object(&j);
    json_free(&j);
    return code;
}
