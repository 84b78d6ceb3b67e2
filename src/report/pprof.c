/*
 * pprof: the profile format of the pprof tool: a gzip-packed protocol buffer. Samples are put
 * together by stack, thread and state, and carry the thread's name and id (and the state and the
 * process, where there are several) as labels. A location is a line of a method; a mapping is a
 * module. Losses and own cost stand in the comments.
 *
 * Field numbers are those of the format's published definition; tests/profile.proto says them again
 * in our words and the test decodes our output with protoc.
 */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include "analysis/aggregate.h"
#include "analysis/calltree.h"
#include "base/memory.h"
#include "report/protobuf.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

typedef struct {
    const model *m;
    const report_options *options;
    gzip *z;
    strings texts; /* the profile's own string table */
    buffer message;
    buffer nested;
    buffer fields;
    /* What the processes before this one used. */
    uint64_t first_mapping;
    uint64_t first_function;
    uint64_t first_location;
    bool several_processes;
    uint64_t samples;
    uint64_t weight;
    bool failed;
} pprof;

static uint64_t text_of(pprof *w, const char *text)
{
    uint32_t index = 0;

    if (!strings_add_text(&w->texts, text, &index))
        w->failed = true;
    return index;
}

/* Hands what has gathered to gzip. */
static void flush_fields(pprof *w, size_t from)
{
    if (w->fields.length < from)
        return;
    gzip_write(w->z, w->fields.data, w->fields.length);
    if (w->fields.failed)
        w->failed = true;
    buffer_clear(&w->fields);
}

static void put_mappings(pprof *w, const model_process *p)
{
    for (size_t i = 1; i < p->module_count; i++) {
        const model_module *module = &p->modules[i];
        const char *path = model_text(w->m, module->path != 0 ? module->path : module->name);

        protobuf_put_number(&w->message, 1, w->first_mapping + i);
        protobuf_put_number(&w->message, 2, module->base);
        protobuf_put_number(&w->message, 3, module->base + module->size);
        protobuf_put_number(&w->message, 5, text_of(w, path));
        protobuf_put_number(&w->message, 6, text_of(w, model_text(w->m, module->identity)));
        protobuf_put_number(&w->message, 7, 1);
        protobuf_put_number(&w->message, 8, 1);
        protobuf_put_number(&w->message, 9, 1);
        protobuf_put_message(&w->fields, PROFILE_MAPPING, &w->message);
        flush_fields(w, 1 << 16);
    }
}

/* Functions get the file of any of their places. */
static bool put_functions(pprof *w, const model_process *p)
{
    uint32_t *files = memory_allocate_array(p->function_count, sizeof *files);

    if (files == NULL)
        return false;
    for (size_t i = 0; i < p->place_count; i++)
        if (p->places[i].file != 0)
            files[p->places[i].function] = p->places[i].file;
    for (size_t i = 0; i < p->function_count; i++) {
        uint64_t name = text_of(w, model_text(w->m, p->functions[i].name));

        protobuf_put_number(&w->message, 1, w->first_function + i + 1);
        protobuf_put_number(&w->message, 2, name);
        protobuf_put_number(&w->message, 3, name);
        protobuf_put_number(&w->message, 4, text_of(w, model_text(w->m, files[i])));
        protobuf_put_message(&w->fields, PROFILE_FUNCTION, &w->message);
        flush_fields(w, 1 << 16);
    }
    memory_free(files);
    return true;
}

static void put_locations(pprof *w, const model_process *p)
{
    for (size_t i = 0; i < p->place_count; i++) {
        const model_place *place = &p->places[i];
        uint32_t module = p->functions[place->function].module;

        protobuf_put_number(&w->nested, 1, w->first_function + place->function + 1);
        protobuf_put_number(&w->nested, 2, place->line);
        protobuf_put_number(&w->message, 1, w->first_location + i + 1);
        protobuf_put_number(&w->message, 2, module == 0 ? 0 : w->first_mapping + module);
        protobuf_put_message(&w->message, 4, &w->nested);
        protobuf_put_message(&w->fields, PROFILE_LOCATION, &w->message);
        flush_fields(w, 1 << 16);
    }
}

static void put_label(pprof *w, const char *key, const char *text, uint64_t number)
{
    protobuf_put_number(&w->nested, 1, text_of(w, key));
    if (text != NULL)
        protobuf_put_number(&w->nested, 2, text_of(w, text));
    protobuf_put_number(&w->nested, 3, number);
    protobuf_put_message(&w->message, 3, &w->nested);
}

static void put_labels(pprof *w, const profile *p, const aggregate_row *row)
{
    const model_thread *thread = &p->process->threads[row->thread];
    char title[200];

    if (row->thread != 0) {
        model_thread_title(w->m, thread, title, sizeof title);
        put_label(w, "thread", thread->name != 0 ? model_text(w->m, thread->name) : title, 0);
        put_label(w, "thread_id", NULL, thread->os_id);
    }
    if (row->state != 0)
        put_label(w, "state", profile_state_name(row->state), 0);
    if (w->several_processes) {
        report_process_title(w->m, p->process, title, sizeof title);
        put_label(w, "process", title, 0);
    }
}

static void put_sample(pprof *w, const profile *p, const calltree *tree, const aggregate_row *row)
{
    uint64_t path[MODEL_MAXIMUM_DEPTH];
    uint64_t values[2] = {row->samples, row->weight};
    size_t depth = 0;

    /* The leaf comes first in this format, as it does on the way up. */
    for (uint32_t node = row->node; node != 0; node = tree->parents[node])
        path[depth++] = w->first_location + tree->keys[node] + 1;
    protobuf_put_packed(&w->message, 1, path, depth);
    protobuf_put_packed(&w->message, 2, values, 2);
    put_labels(w, p, row);
    protobuf_put_message(&w->fields, PROFILE_SAMPLE, &w->message);
    w->samples += row->samples;
    w->weight += row->weight;
    flush_fields(w, 1 << 16);
}

static int put_process(pprof *w, const profile *p, error *e)
{
    calltree tree = {0};
    aggregate rows = {0};
    profile_selection selection;
    aggregate_options how = {NULL, true, true, 1, 1, 0};
    int code = report_select(w->m, p->process, w->options, &selection, e);

    if (code == 0)
        code = calltree_build(p->process, CALLTREE_PLACES, &tree, e);
    how.node_of_stack = tree.node_of_stack;
    if (code == 0)
        code = aggregate_build(p, &selection, &how, &rows, e);
    if (code == 0) {
        put_mappings(w, p->process);
        w->failed |= !put_functions(w, p->process);
        put_locations(w, p->process);
        for (size_t i = 0; i < rows.count; i++)
            put_sample(w, p, &tree, &rows.rows[i]);
    }
    report_selection_free(&selection);
    calltree_free(&tree);
    aggregate_free(&rows);
    w->first_mapping += p->process->module_count;
    w->first_function += p->process->function_count;
    w->first_location += p->process->place_count;
    return code;
}

static void put_value_type(pprof *w, unsigned field, const char *type, const char *unit)
{
    protobuf_put_number(&w->message, 1, text_of(w, type));
    protobuf_put_number(&w->message, 2, text_of(w, unit));
    protobuf_put_message(&w->fields, field, &w->message);
}

static void put_comments(pprof *w, const model_process *p)
{
    char line[400];

    for (size_t i = 0; i < p->loss_count; i++) {
        uint64_t text;

        snprintf(line, sizeof line, "lost by %s: %llu (%s)",
                 model_text(w->m, p->losses[i].profiler), (unsigned long long)p->losses[i].total,
                 model_text(w->m, p->losses[i].reason));
        text = text_of(w, line);
        protobuf_put_packed(&w->fields, PROFILE_COMMENT, &text, 1);
    }
    if (p->has_cost) {
        uint64_t text;

        snprintf(line, sizeof line, "own cost: %llu us agent CPU, %llu us in %llu handler calls",
                 (unsigned long long)p->cost.thread_cpu_ns / 1000,
                 (unsigned long long)p->cost.handler_ns / 1000,
                 (unsigned long long)p->cost.handler_calls);
        text = text_of(w, line);
        protobuf_put_packed(&w->fields, PROFILE_COMMENT, &text, 1);
    }
}

static void put_closing(pprof *w, const profile *first, const char *profiler, const char *unit)
{
    put_value_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
    put_value_type(w, PROFILE_SAMPLE_TYPE, profiler, unit);
    put_value_type(w, PROFILE_PERIOD_TYPE, profiler, unit);
    protobuf_put_number(&w->fields, PROFILE_PERIOD, w->samples == 0 ? 0 : w->weight / w->samples);
    protobuf_put_number(&w->fields, PROFILE_TIME, first->process->origin_unix_ns);
    protobuf_put_number(&w->fields, PROFILE_DURATION, first->process->duration_ns);
    protobuf_put_number(&w->fields, PROFILE_DEFAULT_SAMPLE_TYPE, text_of(w, profiler));
    for (size_t i = 0; i < w->texts.count; i++) {
        protobuf_put_text(&w->fields, PROFILE_STRING_TABLE, w->texts.texts[i]);
        flush_fields(w, 1 << 16);
    }
    flush_fields(w, 1);
}

static int put_profile(pprof *w, error *e)
{
    profile first = {0};
    int code = 0;

    for (size_t i = 0; i < w->m->process_count && code == 0; i++) {
        const model_process *process = &w->m->processes[i];
        profile p;

        if (!report_wants_process(w->m, process, w->options) ||
            !profile_find(w->m, process, w->options->profiler, &p))
            continue;
        if (first.m == NULL)
            first = p;
        code = put_process(w, &p, e);
        put_comments(w, process);
    }
    if (code == 0 && first.table != NULL)
        put_closing(w, &first, model_text(w->m, first.table->profiler),
                    strcmp(first.unit, "ns") == 0 ? "nanoseconds" : first.unit);
    return code;
}

int report_write_pprof(const model *m, const report_options *options, sink *out, error *e)
{
    pprof w = {.m = m, .options = options};
    size_t processes = 0;
    gzip z;
    int code = report_find_profiles(m, options, e);

    if (code != 0)
        return code;
    for (size_t i = 0; i < m->process_count; i++)
        processes += report_wants_process(m, &m->processes[i], options);
    w.several_processes = processes > 1;
    w.z = &z;
    if (!strings_init(&w.texts) || !gzip_begin(&z, out)) {
        strings_free(&w.texts);
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    }
    code = put_profile(&w, e);
    if (!gzip_end(&z) || w.failed || w.fields.failed || w.message.failed)
        code = code != 0 ? code : error_set(e, ERROR_MEMORY, "no memory for the report");
    strings_free(&w.texts);
    buffer_free(&w.message);
    buffer_free(&w.nested);
    buffer_free(&w.fields);
    return code;
}
