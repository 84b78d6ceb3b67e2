/*
 * otlp_profile: the profile of a recording as one ExportProfilesServiceRequest of OTLP, in protocol
 * buffers: the signal `profiles`, v1development, as of opentelemetry-proto 1.9. All that samples
 * refer to stands in the dictionary; entry 0 of each of its tables is the empty one. Field numbers
 * are those of the published definition; tests/otlp_profile.proto says the part that is used in our
 * words, and the test decodes with it.
 */
#include "report/report.h"

#include <string.h>

#include "analysis/aggregate.h"
#include "analysis/calltree.h"
#include "base/memory.h"
#include "base/os.h"
#include "report/protobuf.h"

enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum {
    DICTIONARY_MAPPING = 1,
    DICTIONARY_LOCATION = 2,
    DICTIONARY_FUNCTION = 3,
    DICTIONARY_LINK = 4,
    DICTIONARY_STRING = 5,
    DICTIONARY_ATTRIBUTE = 6,
    DICTIONARY_STACK = 7,
};
enum {
    PROFILE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_TIME = 3,
    PROFILE_DURATION = 4,
    PROFILE_PERIOD_TYPE = 5,
    PROFILE_PERIOD = 6,
    PROFILE_ID = 7,
};

typedef struct {
    const model *m;
    strings texts;
    buffer dictionary;
    buffer resources; /* of the request */
    /* What the processes before this one put into the dictionary; entry 0 is there already. */
    uint64_t mappings, functions, locations, stacks, attributes;
    bool failed;
} writer;

static uint64_t text_of(writer *w, const char *text)
{
    uint32_t index = 0;

    if (!strings_add_text(&w->texts, text, &index))
        w->failed = true;
    return index;
}

static void put_fixed(buffer *out, unsigned field, uint64_t value)
{
    buffer_append_char(out, (char)(field << 3 | 1));
    for (int i = 0; i < 8; i++)
        buffer_append_char(out, (char)(value >> 8 * i & 0xFF));
}

/* ---- the dictionary ---- */

static void put_mappings(writer *w, const model_process *p)
{
    buffer message = BUFFER_EMPTY;

    for (size_t i = 1; i < p->module_count; i++) {
        const model_module *module = &p->modules[i];
        const char *path = model_text(w->m, module->path != 0 ? module->path : module->name);

        protobuf_put_number(&message, 1, module->base);
        protobuf_put_number(&message, 2, module->base + module->size);
        protobuf_put_number(&message, 4, text_of(w, path));
        protobuf_put_message(&w->dictionary, DICTIONARY_MAPPING, &message);
    }
    buffer_free(&message);
}

static void put_functions(writer *w, const model_process *p)
{
    uint32_t *files = memory_allocate_array(p->function_count + 1, sizeof *files);
    buffer message = BUFFER_EMPTY;

    w->failed = w->failed || files == NULL;
    for (size_t i = 0; files != NULL && i < p->place_count; i++)
        if (p->places[i].file != 0)
            files[p->places[i].function] = p->places[i].file;
    for (size_t i = 0; files != NULL && i < p->function_count; i++) {
        protobuf_put_number(&message, 1, text_of(w, model_text(w->m, p->functions[i].name)));
        protobuf_put_number(&message, 3, text_of(w, model_text(w->m, files[i])));
        protobuf_put_message(&w->dictionary, DICTIONARY_FUNCTION, &message);
    }
    memory_free(files);
    buffer_free(&message);
}

static void put_locations(writer *w, const model_process *p)
{
    buffer message = BUFFER_EMPTY, line = BUFFER_EMPTY;

    for (size_t i = 0; i < p->place_count; i++) {
        const model_place *place = &p->places[i];
        uint32_t module = p->functions[place->function].module;

        protobuf_put_number(&line, 1, w->functions + place->function + 1);
        protobuf_put_number(&line, 2, place->line);
        protobuf_put_number(&message, 1, module == 0 ? 0 : w->mappings + module);
        protobuf_put_message(&message, 3, &line);
        protobuf_put_message(&w->dictionary, DICTIONARY_LOCATION, &message);
    }
    buffer_free(&message);
    buffer_free(&line);
}

/* One for each node of the tree: the leaf first, as on the way up. */
static void put_stack(writer *w, const calltree *tree, uint32_t node, buffer *message)
{
    uint64_t path[MODEL_MAXIMUM_DEPTH];
    size_t depth = 0;

    for (; node != 0 && depth < MODEL_MAXIMUM_DEPTH; node = tree->parents[node])
        path[depth++] = w->locations + tree->keys[node] + 1;
    protobuf_put_packed(message, 1, path, depth);
    protobuf_put_message(&w->dictionary, DICTIONARY_STACK, message);
}

/* A text as an attribute of samples; returns its index. */
static uint64_t put_attribute(writer *w, const char *key, const char *text)
{
    buffer message = BUFFER_EMPTY, value = BUFFER_EMPTY;

    protobuf_put_number(&message, 1, text_of(w, key));
    protobuf_put_text(&value, 1, text);
    protobuf_put_message(&message, 2, &value);
    protobuf_put_message(&w->dictionary, DICTIONARY_ATTRIBUTE, &message);
    buffer_free(&message);
    buffer_free(&value);
    return ++w->attributes;
}

/* ---- profiles ---- */

static void put_type(writer *w, buffer *out, unsigned field, const profile *p)
{
    buffer message = BUFFER_EMPTY;
    const char *unit = strcmp(p->unit, "ns") == 0 ? "nanoseconds" : p->unit;

    protobuf_put_number(&message, 1, text_of(w, model_text(w->m, p->table->profiler)));
    protobuf_put_number(&message, 2, text_of(w, unit));
    protobuf_put_message(out, field, &message);
    buffer_free(&message);
}

/* Rows by stack and thread; the thread's name is an attribute. */
static void put_samples(writer *w, const profile *p, const calltree *tree, const aggregate *rows,
                        buffer *out)
{
    uint64_t *threads = memory_allocate_array(p->process->thread_count + 1, sizeof *threads);
    buffer message = BUFFER_EMPTY, stack = BUFFER_EMPTY;

    w->failed = w->failed || threads == NULL;
    for (size_t i = 0; threads != NULL && i < rows->count; i++) {
        const aggregate_row *row = &rows->rows[i];

        put_stack(w, tree, row->node, &stack);
        protobuf_put_number(&message, 1, ++w->stacks);
        if (row->thread != 0) {
            uint64_t *known = &threads[row->thread];
            char title[200];

            if (*known == 0) {
                model_thread_title(w->m, &p->process->threads[row->thread], title, sizeof title);
                *known = put_attribute(w, "thread.name", title);
            }
            protobuf_put_packed(&message, 2, known, 1);
        }
        protobuf_put_packed(&message, 4, &row->weight, 1);
        protobuf_put_message(out, PROFILE_SAMPLE, &message);
    }
    memory_free(threads);
    buffer_free(&message);
    buffer_free(&stack);
}

static void put_key_value(buffer *resource, const char *key, const char *text, uint64_t number)
{
    buffer pair = BUFFER_EMPTY, value = BUFFER_EMPTY;

    protobuf_put_text(&pair, 1, key);
    if (text != NULL)
        protobuf_put_text(&value, 1, text);
    else
        protobuf_put_number(&value, 3, number);
    protobuf_put_message(&pair, 2, &value);
    protobuf_put_message(resource, 1, &pair);
    buffer_free(&pair);
    buffer_free(&value);
}

/* ResourceProfiles around one profile. */
static void put_resource(writer *w, const model_process *p, buffer *content)
{
    buffer whole = BUFFER_EMPTY, part = BUFFER_EMPTY, scope = BUFFER_EMPTY;

    put_key_value(&part, "service.name", model_text(w->m, p->name), 0);
    put_key_value(&part, "process.pid", NULL, p->pid);
    put_key_value(&part, "process.runtime.name", ".NET", 0);
    protobuf_put_message(&whole, 1, &part);
    protobuf_put_text(&scope, 1, "clarinet");
    protobuf_put_text(&scope, 2, CLARINET_VERSION);
    protobuf_put_message(&part, 1, &scope);
    protobuf_put_message(&part, 2, content);
    protobuf_put_message(&whole, 2, &part);
    protobuf_put_message(&w->resources, REQUEST_RESOURCE_PROFILES, &whole);
    buffer_free(&whole);
    buffer_free(&part);
    buffer_free(&scope);
}

static void put_profile(writer *w, const profile *p, const calltree *tree, const aggregate *rows)
{
    buffer content = BUFFER_EMPTY;
    uint8_t id[16] = {0};
    uint64_t samples = 0, weight = 0;

    for (size_t i = 0; i < rows->count; i++) {
        samples += rows->rows[i].samples;
        weight += rows->rows[i].weight;
    }
    if (os_random(id, sizeof id) != 0)
        w->failed = true;
    put_type(w, &content, PROFILE_TYPE, p);
    put_samples(w, p, tree, rows, &content);
    put_fixed(&content, PROFILE_TIME, p->process->origin_unix_ns);
    protobuf_put_number(&content, PROFILE_DURATION, p->process->duration_ns);
    put_type(w, &content, PROFILE_PERIOD_TYPE, p);
    protobuf_put_number(&content, PROFILE_PERIOD, samples == 0 ? 0 : weight / samples);
    protobuf_put_bytes(&content, PROFILE_ID, id, sizeof id);
    put_resource(w, p->process, &content);
    buffer_free(&content);
}

static int put_process(writer *w, const profile *p, const report_options *options, error *e)
{
    calltree tree = {0};
    aggregate rows = {0};
    profile_selection selection;
    aggregate_options how = {NULL, true, false, 1, 1, 0};
    int code = report_select(w->m, p->process, options, &selection, e);

    if (code == 0)
        code = calltree_build(p->process, CALLTREE_PLACES, &tree, e);
    how.node_of_stack = tree.node_of_stack;
    if (code == 0)
        code = aggregate_build(p, &selection, &how, &rows, e);
    if (code == 0) {
        put_mappings(w, p->process);
        put_functions(w, p->process);
        put_locations(w, p->process);
        put_profile(w, p, &tree, &rows);
        w->mappings += p->process->module_count - 1;
        w->functions += p->process->function_count;
        w->locations += p->process->place_count;
    }
    report_selection_free(&selection);
    calltree_free(&tree);
    aggregate_free(&rows);
    return code;
}

/* Entry 0 of each table, so that 0 can mean none. */
static void begin_dictionary(writer *w)
{
    static const unsigned TABLES[] = {DICTIONARY_MAPPING, DICTIONARY_LOCATION,  DICTIONARY_FUNCTION,
                                      DICTIONARY_LINK,    DICTIONARY_ATTRIBUTE, DICTIONARY_STACK};

    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        protobuf_put_bytes(&w->dictionary, TABLES[i], "", 0);
}

static int write_all(writer *w, const report_options *options, sink *out, error *e)
{
    buffer whole = BUFFER_EMPTY;
    int code = 0;

    begin_dictionary(w);
    for (size_t i = 0; i < w->m->process_count && code == 0; i++) {
        const model_process *process = &w->m->processes[i];
        profile p;

        if (report_wants_process(w->m, process, options) &&
            profile_find(w->m, process, options->profiler, &p))
            code = put_process(w, &p, options, e);
    }
    for (size_t i = 0; i < w->texts.count; i++)
        protobuf_put_bytes(&w->dictionary, DICTIONARY_STRING, w->texts.texts[i],
                           strlen(w->texts.texts[i]));
    protobuf_put_message(&whole, REQUEST_DICTIONARY, &w->dictionary);
    if (code == 0 && (w->failed || buffer_failed(&w->resources) || buffer_failed(&whole)))
        code = error_set(e, ERROR_MEMORY, "no memory for the report");
    if (code == 0) {
        sink_bytes(out, w->resources.data, w->resources.length);
        sink_bytes(out, whole.data, whole.length);
    }
    buffer_free(&whole);
    return code;
}

int report_write_otlp_profile(const model *m, const report_options *options, sink *out, error *e)
{
    writer w = {.m = m};
    int code = report_find_profiles(m, options, e);

    if (code != 0)
        return code;
    if (strings_init(&w.texts))
        code = write_all(&w, options, out, e);
    else
        code = error_set(e, ERROR_MEMORY, "no memory for the report");
    strings_free(&w.texts);
    buffer_free(&w.dictionary);
    buffer_free(&w.resources);
    return code;
}
