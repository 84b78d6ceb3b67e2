/* data: see data.h. */
#include "report/data.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/checkup.h"
#include "report/heap_report.h"
#include "report/part.h"
#include "report/tasks_json.h"

bool data_strings_init(data_strings *s, const model *m)
{
    memset(s, 0, sizeof *s);
    s->m = m;
    s->numbers = memory_allocate_array(m->strings.count, sizeof *s->numbers);
    s->order = memory_allocate_array(m->strings.count, sizeof *s->order);
    if (s->numbers == NULL || s->order == NULL)
        return false;
    s->numbers[0] = 1; /* "" is number 0 */
    s->count = 1;
    return true;
}

void data_strings_free(data_strings *s)
{
    memory_free(s->numbers);
    memory_free(s->order);
    memset(s, 0, sizeof *s);
}

uint32_t data_string(data_strings *s, uint32_t string)
{
    if (s->numbers[string] == 0) {
        s->order[s->count++] = string;
        s->numbers[string] = (uint32_t)s->count;
    }
    return s->numbers[string] - 1;
}

void data_put_strings(data_strings *s, json *j)
{
    json_begin_array_at(j, "strings");
    for (size_t i = 0; i < s->count; i++)
        json_text(j, model_text(s->m, s->order[i]));
    json_end_array(j);
}

void data_put_frames(const model_process *p, data_strings *s, json *j)
{
    json_begin_object_at(j, "frames");
    json_begin_array_at(j, "name");
    for (size_t i = 0; i < p->place_count; i++)
        json_u64(j, data_string(s, p->functions[p->places[i].function].name));
    json_end_array(j);
    json_begin_array_at(j, "module");
    for (size_t i = 0; i < p->place_count; i++)
        json_u64(j, data_string(s, p->modules[p->functions[p->places[i].function].module].name));
    json_end_array(j);
    json_begin_array_at(j, "file");
    for (size_t i = 0; i < p->place_count; i++)
        json_u64(j, data_string(s, p->places[i].file));
    json_end_array(j);
    json_begin_array_at(j, "line");
    for (size_t i = 0; i < p->place_count; i++)
        json_u64(j, p->places[i].line);
    json_end_array(j);
    json_begin_array_at(j, "kind");
    for (size_t i = 0; i < p->place_count; i++)
        json_u64(j, p->functions[p->places[i].function].kind);
    json_end_array(j);
    json_end_object(j);
}

void data_put_stacks(const calltree *tree, json *j)
{
    json_begin_object_at(j, "stacks");
    json_begin_array_at(j, "parent");
    json_i64(j, -1);
    for (size_t i = 1; i < tree->count; i++)
        json_u64(j, tree->parents[i]);
    json_end_array(j);
    json_begin_array_at(j, "frame");
    json_i64(j, -1);
    for (size_t i = 1; i < tree->count; i++)
        json_u64(j, tree->keys[i]);
    json_end_array(j);
    json_end_object(j);
}

static void put_infos(const model *m, const model_process *p, json *j)
{
    json_begin_object_at(j, "info");
    for (size_t i = 0; i < p->info_count; i++)
        json_put_text(j, model_text(m, p->infos[i].key), model_text(m, p->infos[i].value));
    json_end_object(j);
}

static void put_threads(const model *m, const model_process *p, json *j)
{
    json_begin_array_at(j, "threads");
    for (size_t i = 1; i < p->thread_count; i++) {
        const model_thread *thread = &p->threads[i];

        json_begin_object(j);
        json_put_u64(j, "id", thread->os_id);
        json_put_u64(j, "managed", thread->managed_id);
        json_put_text(j, "name", model_text(m, thread->name));
        json_put_u64(j, "flags", thread->flags);
        json_put_u64(j, "start", thread->start / 1000);
        json_put_u64(j, "end", thread->end / 1000);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_costs(const model *m, const model_process *p, json *j)
{
    json_begin_array_at(j, "loss");
    for (size_t i = 0; i < p->loss_count; i++) {
        json_begin_object(j);
        json_put_text(j, "profiler", model_text(m, p->losses[i].profiler));
        json_put_text(j, "reason", model_text(m, p->losses[i].reason));
        json_put_u64(j, "count", p->losses[i].total);
        json_end_object(j);
    }
    json_end_array(j);
    json_begin_object_at(j, "cost");
    json_put_u64(j, "agent_cpu", p->cost.thread_cpu_ns / 1000);
    json_put_u64(j, "handler", p->cost.handler_ns / 1000);
    json_put_u64(j, "handler_calls", p->cost.handler_calls);
    json_put_u64(j, "memory", p->cost.memory_bytes);
    json_end_object(j);
}

static void put_profilers(const model *m, const model_process *p, json *j)
{
    static const char *const STATES[] = {"unknown", "started", "stopped", "failed"};

    json_begin_array_at(j, "profilers");
    for (size_t i = 0; i < p->profiler_count; i++) {
        const model_profiler *profiler = &p->profilers[i];

        json_begin_object(j);
        json_put_text(j, "name", model_text(m, profiler->name));
        json_put_text(j, "state", STATES[profiler->state]);
        json_put_u64(j, "time", profiler->start / 1000);
        json_put_u64(j, "stop", profiler->stop / 1000);
        json_put_text(j, "note", model_text(m, profiler->note));
        json_begin_object_at(j, "parameters");
        for (size_t k = 0; k < profiler->parameter_count; k++)
            json_put_text(j, model_text(m, profiler->parameters[k].key),
                          model_text(m, profiler->parameters[k].value));
        json_end_object(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static int put_tables(const model *m, const model_process *p, const calltree *tree,
                      const report_options *options, data_strings *s, json *j, error *e)
{
    part_view chosen;
    int code = part_make(m, p, options, &chosen, e);

    json_begin_array_at(j, "tables");
    for (size_t i = 0; i < p->table_count && code == 0; i++)
        if (!text_equal("heap", model_text(m, p->tables[i].profiler)) &&
            (options->profiler == NULL || profile_table_is(m, &p->tables[i], options->profiler)))
            code = data_put_table(m, part_process(&chosen, i), part_table(&chosen, i), tree,
                                  options, s, j, e);
    json_end_array(j);
    part_free(&chosen);
    return code == 0 ? data_put_sources(m, p, options, s, j, e) : code;
}

/* Heap and tasks of the snapshot: the one of the recording, else the one that was taken apart of
 * the same process. */
static int put_heap(const model *m, const model_process *p, const model *snapshot, json *j,
                    error *e)
{
    int code;

    for (size_t i = 0; p->heap == NULL && snapshot != NULL && i < snapshot->process_count; i++)
        if (snapshot->processes[i].pid == p->pid && snapshot->processes[i].heap != NULL)
            return put_heap(snapshot, &snapshot->processes[i], NULL, j, e);
    if (p->heap == NULL)
        return 0;
    code = heap_report_page(m, p, j, e);
    return code == 0 ? tasks_json_page(m, p, j, e) : code;
}

static int put_process(const model *m, const model_process *p, const report_options *options,
                       json *j, error *e)
{
    calltree tree = {0};
    data_strings s;
    int code = 0;

    if (!data_strings_init(&s, m))
        code = error_set(e, ERROR_MEMORY, "no memory for the report");
    if (code == 0)
        code = calltree_build(p, CALLTREE_PLACES, &tree, e);
    if (code == 0) {
        json_begin_object(j);
        json_put_u64(j, "pid", p->pid);
        json_put_u64(j, "inner_pid", p->own_pid);
        json_put_text(j, "name", model_text(m, p->name));
        put_infos(m, p, j);
        json_put_u64(j, "origin", p->origin_unix_ns / 1000000);
        json_put_u64(j, "duration", p->duration_ns / 1000);
        json_put_text(j, "end", model_text(m, p->end_reason));
        data_put_frames(p, &s, j);
        data_put_stacks(&tree, j);
        put_threads(m, p, j);
        put_costs(m, p, j);
        put_profilers(m, p, j);
        code = put_tables(m, p, &tree, options, &s, j, e);
        if (code == 0)
            code = put_heap(m, p, options->snapshot, j, e);
        if (code == 0 && (options->profiler == NULL || text_equal(options->profiler, "threads")))
            code = data_put_waits(m, p, &tree, j, e);
        data_put_strings(&s, j);
        json_end_object(j);
    }
    calltree_free(&tree);
    data_strings_free(&s);
    return code;
}

static void put_top(const model *m, const findings *found, const report_options *options, json *j)
{
    const char *command = model_info_value(m, NULL, "command");
    const char *created = model_info_value(m, NULL, "created_unix_ns");
    char title[200] = "an empty recording";
    char part[REPORT_PART_SIZE];
    uint64_t created_ns = 0;

    if (m->process_count != 0)
        report_process_title(m, &m->processes[0], title, sizeof title);
    if (created != NULL)
        text_to_u64(created, &created_ns);
    json_put_u64(j, "version", 1);
    json_put_text(j, "kind", "recording");
    json_put_text(j, "title", title);
    json_put_text(j, "tool", CLARINET_VERSION);
    json_put_text(j, "command", command == NULL ? "" : command);
    json_put_u64(j, "created", created_ns / 1000000);
    json_put_text(j, "cut", m->cut);
    if (report_is_part(options))
        json_put_text(j, "part", report_part(options, part));
    json_put_u64(j, "not_recorded", model_not_recorded(m));
    checkup_put_findings(m, found, options, j);
}

int data_write(const model *m, const report_options *options, json *j, error *e)
{
    findings found = {0};
    int code = options->found != NULL ? 0 : findings_look(m, options->limits, &found, e);

    if (code != 0)
        return code;
    json_begin_object(j);
    put_top(m, options->found != NULL ? options->found : &found, options, j);
    findings_free(&found);
    json_begin_array_at(j, "processes");
    for (size_t i = 0; i < m->process_count && code == 0; i++)
        if (report_wants_process(m, &m->processes[i], options))
            code = put_process(m, &m->processes[i], options, j, e);
    json_end_array(j);
    json_end_object(j);
    return code;
}
