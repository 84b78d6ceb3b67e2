/* json_report: the whole report as data. The parts about tables are in section_*.c. */
#include "base/text.h"
#include "report/checkup.h"
#include "report/part.h"
#include "report/section.h"

static void put_infos(const model *m, const model_info *infos, size_t count, json *j)
{
    json_begin_object_at(j, "info");
    for (size_t i = 0; i < count; i++)
        json_put_text(j, model_text(m, infos[i].key), model_text(m, infos[i].value));
    json_end_object(j);
}

static void put_threads(const model *m, const model_process *p, json *j)
{
    json_begin_array_at(j, "threads");
    for (size_t i = 1; i < p->thread_count; i++) {
        const model_thread *thread = &p->threads[i];

        json_begin_object(j);
        json_put_u64(j, "id", thread->os_id);
        json_put_u64(j, "managed_id", thread->managed_id);
        json_put_text(j, "name", model_text(m, thread->name));
        json_put_u64(j, "flags", thread->flags);
        json_put_u64(j, "start_ns", thread->start);
        json_put_u64(j, "end_ns", thread->end);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_losses(const model *m, const model_process *p, json *j)
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
}

static void put_cost(const model_process *p, json *j)
{
    json_begin_object_at(j, "cost");
    json_put_u64(j, "agent_cpu_ns", p->cost.thread_cpu_ns);
    json_put_u64(j, "handler_ns", p->cost.handler_ns);
    json_put_u64(j, "handler_calls", p->cost.handler_calls);
    json_put_u64(j, "memory_bytes", p->cost.memory_bytes);
    json_put_f64(j, "percent_of_one_cpu", report_own_cost_percent(p));
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
        json_put_u64(j, "start_ns", profiler->start);
        json_put_u64(j, "stop_ns", profiler->stop);
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

static int put_tables(const model *m, const model_process *p, const report_options *options,
                      json *j, error *e)
{
    part_view chosen;
    int code = part_make(m, p, options, &chosen, e);

    json_begin_array_at(j, "tables");
    for (size_t i = 0; i < p->table_count && code == 0; i++) {
        const char *profiler = model_text(m, p->tables[i].profiler);
        section s = {m, part_process(&chosen, i), part_table(&chosen, i), options, j->out, e};

        if (options->profiler != NULL && !text_equal(options->profiler, profiler))
            continue;
        json_begin_object(j);
        json_put_text(j, "name", model_text(m, p->tables[i].name));
        json_put_text(j, "profiler", profiler);
        json_put_u64(j, "rows", s.table->rows);
        code = report_find_section(&s)->json(&s, j);
        json_end_object(j);
    }
    json_end_array(j);
    part_free(&chosen);
    return code;
}

static int put_process(const model *m, const model_process *p, const report_options *options,
                       json *j, error *e)
{
    int code;

    json_begin_object(j);
    json_put_u64(j, "pid", p->pid);
    json_put_u64(j, "inner_pid", p->own_pid);
    json_put_text(j, "name", model_text(m, p->name));
    json_put_u64(j, "duration_ns", p->duration_ns);
    json_put_text(j, "end", model_text(m, p->end_reason));
    put_infos(m, p->infos, p->info_count, j);
    put_profilers(m, p, j);
    put_losses(m, p, j);
    put_cost(p, j);
    put_threads(m, p, j);
    code = put_tables(m, p, options, j, e);
    json_end_object(j);
    return code;
}

int report_write_json(const model *m, const report_options *options, sink *out, error *e)
{
    char part[REPORT_PART_SIZE];
    findings found;
    int code = findings_look(m, options->limits, &found, e);
    json j;

    if (code != 0)
        return code;
    json_init(&j, out);
    json_begin_object(&j);
    json_put_u64(&j, "version", 1);
    json_put_text(&j, "tool", "clarinet " CLARINET_VERSION);
    json_put_text(&j, "cut", m->cut);
    json_put_u64(&j, "damaged_chunks", m->damaged_chunks);
    if (report_is_part(options))
        json_put_text(&j, "part", report_part(options, part));
    put_infos(m, m->infos, m->info_count, &j);
    checkup_put_findings(m, &found, options, &j);
    findings_free(&found);
    json_begin_array_at(&j, "processes");
    for (size_t i = 0; i < m->process_count && code == 0; i++)
        if (report_wants_process(m, &m->processes[i], options))
            code = put_process(m, &m->processes[i], options, &j, e);
    json_end_array(&j);
    json_end_object(&j);
    sink_char(out, '\n');
    json_free(&j);
    return code;
}
