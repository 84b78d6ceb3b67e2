/* markdown: the whole report in words. The parts about tables are in section_*.c. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/checkup.h"
#include "report/part.h"
#include "report/section.h"

static void put_fact(sink *out, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    sink_format(out, "| %s | ", name);
    markdown_cell(out, value);
    sink_text(out, " |\n");
}

static void put_facts(const model *m, const model_process *p, sink *out)
{
    static const char *const FACTS[][2] = {
        {"runtime", "runtime_version"},
        {"architecture", "architecture"},
        {"command line", "command_line"},
        {"entry assembly", "entry_assembly"},
        {"system", "os"},
        {"host", "host"},
        {"processors", "cpus"},
        {"attached by", "attach"},
        {"through the diagnostics port, because", "port_reason"},
    };
    char length[REPORT_AMOUNT_SIZE];

    sink_text(out, "| | |\n|---|---|\n");
    for (size_t i = 0; i < sizeof FACTS / sizeof *FACTS; i++)
        put_fact(out, FACTS[i][0], model_info_value(m, p, FACTS[i][1]));
    put_fact(out, "recorded", report_amount(p->duration_ns, "ns", length));
    put_fact(out, "ended", p->end_reason == 0 ? "cut off" : model_text(m, p->end_reason));
    sink_char(out, '\n');
}

static void put_profilers(const model *m, const model_process *p, sink *out)
{
    static const char *const STATES[] = {"unknown", "still running at the end", "done", "failed"};

    if (p->profiler_count == 0)
        return;
    sink_text(out, "## Profilers\n\n| profiler | state | parameters |\n|---|---|---|\n");
    for (size_t i = 0; i < p->profiler_count; i++) {
        const model_profiler *profiler = &p->profilers[i];

        sink_text(out, "| ");
        markdown_cell(out, model_text(m, profiler->name));
        sink_format(out, " | %s", STATES[profiler->state]);
        if (profiler->note != 0) {
            sink_text(out, ": ");
            markdown_text(out, model_text(m, profiler->note));
        }
        sink_text(out, " |");
        for (size_t k = 0; k < profiler->parameter_count; k++) {
            sink_char(out, ' ');
            markdown_text(out, model_text(m, profiler->parameters[k].key));
            sink_char(out, '=');
            markdown_text(out, model_text(m, profiler->parameters[k].value));
        }
        sink_text(out, " |\n");
    }
    sink_char(out, '\n');
}

static void put_losses(const model *m, const model_process *p, sink *out)
{
    bool cut_short = report_is_cut_short(m, p);

    sink_text(out, "## Losses\n\n");
    if (cut_short)
        sink_format(out,
                    "The recording ended before its time (%s): what the program did after "
                    "that is missing.\n\n",
                    model_text(m, p->end_reason));
    if (p->loss_count == 0) {
        if (cut_short)
            return;
        sink_text(out, m->cut[0] == '\0' && m->damaged_chunks == 0
                           ? "Nothing was lost."
                           : "No loss is told in what could be read; the rest is missing.");
        if (text_equal(model_text(m, p->end_reason), "target exited"))
            sink_text(out, " If the program crashed, the last moments before it are not here.");
        sink_text(out, "\n\n");
        return;
    }
    sink_text(out, "| profiler | lost | reason |\n|---|---:|---|\n");
    for (size_t i = 0; i < p->loss_count; i++) {
        sink_text(out, "| ");
        markdown_cell(out, model_text(m, p->losses[i].profiler));
        sink_format(out, " | %llu | ", (unsigned long long)p->losses[i].total);
        markdown_text(out, model_text(m, p->losses[i].reason));
        sink_text(out, " |\n");
    }
    sink_char(out, '\n');
}

static void put_cost(const model_process *p, sink *out)
{
    char a[REPORT_AMOUNT_SIZE];
    char b[REPORT_AMOUNT_SIZE];
    char c[REPORT_AMOUNT_SIZE];

    sink_text(out, "## Own cost\n\n");
    if (!p->has_cost) {
        sink_text(out, "Not recorded.\n\n");
        return;
    }
    sink_format(out, "%s CPU time of the agent's threads, %s in %llu calls of the signal handler",
                report_amount(p->cost.thread_cpu_ns, "ns", a),
                report_amount(p->cost.handler_ns, "ns", b),
                (unsigned long long)p->cost.handler_calls);
    if (report_has_own_cost_percent(p))
        sink_format(out, ": %.3f %% of one processor", report_own_cost_percent(p));
    sink_format(out, ". %s of memory.\n\n", report_amount(p->cost.memory_bytes, "bytes", c));
}

static bool wants_table(const model *m, const model_table *table, const report_options *options)
{
    return options->profiler == NULL ||
           text_equal(options->profiler, model_text(m, table->profiler));
}

static int put_process(const model *m, const model_process *p, const report_options *options,
                       sink *out, error *e)
{
    char title[200];
    part_view chosen;
    int code = part_make(m, p, options, &chosen, e);

    report_process_title(m, p, title, sizeof title);
    sink_text(out, "# ");
    markdown_text(out, title);
    sink_text(out, "\n\n");
    put_facts(m, p, out);
    for (size_t i = 0; i < p->table_count && code == 0; i++) {
        section s = {m, part_process(&chosen, i), part_table(&chosen, i), options, out, e};

        if (wants_table(m, &p->tables[i], options))
            code = report_find_section(&s)->markdown(&s);
    }
    part_free(&chosen);
    put_profilers(m, p, out);
    put_losses(m, p, out);
    put_cost(p, out);
    return code;
}

static void put_totals(const model *m, const report_options *options, sink *out, error *e)
{
    sink_text(out,
              "# Processes\n\n| process | profile | samples | weight |\n|---|---|---:|---:|\n");
    for (size_t i = 0; i < m->process_count; i++) {
        const model_process *p = &m->processes[i];
        char title[200];
        char amount[REPORT_AMOUNT_SIZE];
        profile_selection selection;
        profile_total total;
        profile found;

        if (!report_wants_process(m, p, options) ||
            !profile_find(m, p, options->profiler, &found) ||
            report_select(m, p, options, &selection, e) != 0)
            continue;
        total = profile_sum(&found, &selection, NULL, NULL);
        report_selection_free(&selection);
        report_process_title(m, p, title, sizeof title);
        sink_text(out, "| ");
        markdown_cell(out, title);
        sink_text(out, " | ");
        markdown_cell(out, model_text(m, found.table->profiler));
        sink_format(out, " | %llu | %s |\n", (unsigned long long)total.samples,
                    report_amount(total.weight, found.unit, amount));
    }
    sink_char(out, '\n');
}

int report_write_markdown(const model *m, const report_options *options, sink *out, error *e)
{
    uint64_t missing = model_not_recorded(m);
    findings found;
    int code = findings_look(m, options->limits, &found, e);

    if (code != 0)
        return code;
    if (m->cut[0] != '\0' || m->damaged_chunks != 0) {
        sink_text(out, m->damaged_chunks == 0 ? "**Cut off:** " : "**Damaged recording:** ");
        markdown_text(out, m->cut[0] != '\0' ? m->cut : "some chunks could not be read");
        if (m->damaged_chunks != 0)
            sink_format(out, " (%llu damaged chunks skipped)",
                        (unsigned long long)m->damaged_chunks);
        sink_text(out, ".\n\n");
    }
    if (missing != 0)
        sink_format(out, "**%llu more process%s not recorded:** there was no room.\n\n",
                    (unsigned long long)missing, missing == 1 ? " was" : "es were");
    if (report_is_part(options)) {
        char part[REPORT_PART_SIZE];

        sink_text(out, "**A part of the recording:** profiles and events are of ");
        markdown_text(out, report_part(options, part));
        sink_text(out, "; " PART_OF_WHOLE ".\n\n");
    }
    if (m->process_count == 0)
        sink_text(out, "The recording is empty: no process was recorded.\n");
    checkup_put_markdown(m, &found, options, out);
    findings_free(&found);
    if (m->process_count > 1 && options->process == NULL)
        put_totals(m, options, out, e);
    for (size_t i = 0; i < m->process_count && code == 0; i++)
        if (report_wants_process(m, &m->processes[i], options))
            code = put_process(m, &m->processes[i], options, out, e);
    return code;
}
