/* report: see report.h. */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

const report_format REPORT_FORMATS[] = {
    {"html", ".html", "text/html; charset=utf-8",
     "one page with flame graphs, time line and tables; opens anywhere, without network", false,
     report_write_html},
    {"md", ".md", "text/markdown; charset=utf-8",
     "text: top methods and lines, hottest paths, exceptions, losses", false,
     report_write_markdown},
    {"json", ".json", "application/json", "the same as data", false, report_write_json},
    {"speedscope", ".speedscope.json", "application/json", "for speedscope.app", false,
     report_write_speedscope},
    {"pprof", ".pb.gz", "application/octet-stream", "for pprof, Pyroscope and others", true,
     report_write_pprof},
    {"collapsed", ".txt", "text/plain; charset=utf-8", "one line per stack, `root;...;leaf weight`",
     false, report_write_collapsed},
    {"chrome", ".trace.json", "application/json",
     "single calls of traced methods, for chrome://tracing and Perfetto", false,
     report_write_chrome},
    {"otlp", ".otlp.json", "application/json", "the same as OpenTelemetry spans, for a collector",
     false, report_write_otlp},
    {"otlp-profile", ".otlp.pb", "application/x-protobuf",
     "a profile for a collector that takes OpenTelemetry's signal for profiles (in development)",
     true, report_write_otlp_profile},
    {NULL, NULL, NULL, NULL, false, NULL},
};

const report_format *report_find_format(const char *name)
{
    for (const report_format *format = REPORT_FORMATS; format->name != NULL; format++)
        if (text_equal(format->name, name))
            return format;
    return text_equal(name, "markdown") ? report_find_format("md") : NULL;
}

static void append_name(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    if (used + strlen(name) + 3 < size)
        snprintf(list + used, size - used, "%s%s", used == 0 ? "" : ", ", name);
}

/* Unless the list has this name already. */
static void add_once(char *list, size_t size, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return;
    append_name(list, size, name);
}

static int no_such_process(const model *m, const char *name, error *e)
{
    char list[300] = "";

    for (size_t i = 0; i < m->process_count; i++) {
        char title[120];

        report_process_title(m, &m->processes[i], title, sizeof title);
        append_name(list, sizeof list, title);
    }
    error_set(e, ERROR_NOT_FOUND, "the recording has no process '%s'", name);
    return error_advise(e, "it has: %s", list[0] == '\0' ? "none" : list);
}

static int no_such_profiler(const model *m, const report_options *options, error *e)
{
    char list[300] = "";

    for (size_t i = 0; i < m->process_count; i++) {
        const model_process *p = &m->processes[i];

        if (!report_wants_process(m, p, options))
            continue;
        for (size_t k = 0; k < p->profiler_count; k++)
            add_once(list, sizeof list, model_text(m, p->profilers[k].name));
        for (size_t k = 0; k < p->table_count; k++)
            add_once(list, sizeof list, model_text(m, p->tables[k].profiler));
    }
    error_set(e, ERROR_NOT_FOUND, "the recording has no profiler '%s'", options->profiler);
    return error_advise(e, "it has: %s", list[0] == '\0' ? "none" : list);
}

static bool has_profiler(const model *m, const model_process *p, const char *name)
{
    for (size_t i = 0; i < p->profiler_count; i++)
        if (text_equal(name, model_text(m, p->profilers[i].name)))
            return true;
    for (size_t i = 0; i < p->table_count; i++)
        if (profile_table_is(m, &p->tables[i], name))
            return true;
    return false;
}

static bool is_thread(const model *m, const model_thread *thread, const char *wanted)
{
    uint64_t id;

    if (text_to_u64(wanted, &id) && (id == thread->os_id))
        return true;
    return thread->name != 0 && text_matches(model_text(m, thread->name), wanted);
}

static bool has_thread(const model *m, const model_process *p, const char *wanted)
{
    for (size_t i = 1; i < p->thread_count; i++) {
        if (is_thread(m, &p->threads[i], wanted))
            return true;
    }
    return false;
}

static int begins_too_late(uint64_t from_ns, uint64_t end_ns, error *e)
{
    char end[REPORT_AMOUNT_SIZE];
    char from[REPORT_AMOUNT_SIZE];

    error_set(e, ERROR_NOT_FOUND, "the recording is %s long: nothing is left from %s on",
              report_amount(end_ns, "ns", end), report_amount(from_ns, "ns", from));
    return error_advise(e, "--from counts from the recording's start");
}

int report_check(const model *m, const report_options *options, error *e)
{
    bool has_process = options->process == NULL;
    bool has_wanted = options->profiler == NULL;
    bool has_threads = options->thread == NULL;
    uint64_t end_ns = 0;

    for (size_t i = 0; i < m->process_count; i++) {
        if (!report_wants_process(m, &m->processes[i], options))
            continue;
        has_process = true;
        if (m->processes[i].duration_ns > end_ns)
            end_ns = m->processes[i].duration_ns;
        has_wanted = has_wanted || has_profiler(m, &m->processes[i], options->profiler);
        has_threads = has_threads || has_thread(m, &m->processes[i], options->thread);
    }
    if (!has_process)
        return no_such_process(m, options->process, e);
    if (!has_threads) {
        error_set(e, ERROR_NOT_FOUND, "no thread in the recording has the OS id or name '%s'",
                  options->thread);
        return error_advise(e, "`-f md` lists the threads; * and ? stand for what is not known");
    }
    if (!has_wanted)
        return no_such_profiler(m, options, e);
    return end_ns != 0 && options->from_ns > end_ns ? begins_too_late(options->from_ns, end_ns, e)
                                                    : 0;
}

int report_write(const model *m, const report_format *format, const report_options *options,
                 sink *out, error *e)
{
    int code = report_check(m, options, e);

    if (code != 0)
        return code;
    code = format->write(m, options, out, e);
    return code != 0 ? code : sink_finish(out, e);
}

bool report_wants_process(const model *m, const model_process *p, const report_options *options)
{
    uint64_t pid;

    if (options->process == NULL || text_equal(options->process, model_text(m, p->name)))
        return true;
    return text_to_u64(options->process, &pid) && pid == p->pid;
}

bool report_is_part(const report_options *options)
{
    return options->thread != NULL || options->from_ns != 0 || options->to_ns != 0 ||
           options->state != 0;
}

const char *report_part(const report_options *options, char out[REPORT_PART_SIZE])
{
    bool in_time = options->from_ns != 0 || options->to_ns != 0;
    char from[REPORT_AMOUNT_SIZE];
    char to[REPORT_AMOUNT_SIZE];

    report_amount(options->from_ns, "ns", from);
    report_amount(options->to_ns, "ns", to);
    snprintf(out, REPORT_PART_SIZE, "%s%.160s%s%s%s%s%s%s%s%s",
             options->thread != NULL ? "thread " : "",
             options->thread != NULL ? options->thread : "",
             options->thread != NULL && in_time ? ", " : "", in_time ? "from " : "",
             in_time ? from : "", in_time ? " to " : "",
             !in_time              ? ""
             : options->to_ns != 0 ? to
                                   : "the end",
             options->state != 0 && (in_time || options->thread != NULL) ? ", " : "",
             options->state != 0 ? "state " : "",
             options->state != 0 ? profile_state_name(options->state) : "");
    return out;
}

int report_select(const model *m, const model_process *p, const report_options *options,
                  profile_selection *selection, error *e)
{
    uint8_t *threads;

    *selection = PROFILE_ALL;
    selection->from = options->from_ns;
    if (options->to_ns != 0)
        selection->to = options->to_ns;
    selection->state = options->state;
    if (options->thread == NULL)
        return 0;
    threads = memory_allocate_array(p->thread_count, 1);
    if (threads == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    for (size_t i = 1; i < p->thread_count; i++)
        threads[i] = is_thread(m, &p->threads[i], options->thread);
    selection->threads = threads;
    return 0;
}

void report_selection_free(profile_selection *selection)
{
    memory_free((void *)(uintptr_t)selection->threads);
    *selection = PROFILE_ALL;
}

int report_find_profiles(const model *m, const report_options *options, error *e)
{
    char list[300] = "";

    for (size_t i = 0; i < m->process_count; i++) {
        const model_process *p = &m->processes[i];
        profile found;

        if (!report_wants_process(m, p, options))
            continue;
        if (profile_find(m, p, options->profiler, &found))
            return 0;
        for (size_t k = 0; k < p->table_count; k++)
            if (profile_of(m, p, &p->tables[k], &found))
                append_name(list, sizeof list, model_text(m, p->tables[k].profiler));
    }
    if (options->profiler == NULL) {
        error_set(e, ERROR_NOT_FOUND, "the recording has no profile with stacks");
        return error_advise(e, "use -f md or -f json to see what is in it");
    }
    error_set(e, ERROR_NOT_FOUND, "the recording has no profile of '%s'", options->profiler);
    return error_advise(e, "it has: %s", list[0] == '\0' ? "none with stacks" : list);
}

/* Whether the options' process, thread and stretch of time hold the call. */
static bool wants_span(const void *context, const model *m, const span *s)
{
    const report_options *options = context;

    return report_wants_process(m, s->process, options) &&
           (options->thread == NULL ||
            is_thread(m, &s->process->threads[s->thread], options->thread)) &&
           s->start >= options->from_ns && (options->to_ns == 0 || s->start < options->to_ns);
}

int report_find_spans(const model *m, const report_options *options, spans *out, error *e)
{
    int code = spans_find(m, wants_span, options, out, e);

    if (code != 0 || out->count != 0)
        return code;
    error_set(e, ERROR_NOT_FOUND, "the recording has no single calls of traced methods");
    error_advise(e, "record them with: clarinet trace --args -o FILE PID PATTERN");
    return ERROR_NOT_FOUND;
}

static const char *scaled(double value, const char *const *units, size_t count, double step,
                          char out[REPORT_AMOUNT_SIZE])
{
    size_t unit = 0;

    while (unit + 1 < count && value >= step) {
        value /= step;
        unit++;
    }
    snprintf(out, REPORT_AMOUNT_SIZE,
             value < 10 && unit != 0    ? "%.2f %s"
             : value < 100 && unit != 0 ? "%.1f %s"
                                        : "%.0f %s",
             value, units[unit]);
    return out;
}

const char *report_amount(uint64_t value, const char *unit, char out[REPORT_AMOUNT_SIZE])
{
    static const char *const TIMES[] = {"ns", "us", "ms", "s"};
    static const char *const SIZES[] = {"B", "KB", "MB", "GB", "TB"};

    if (text_equal(unit, "ns"))
        return scaled((double)value, TIMES, 4, 1000, out);
    if (text_equal(unit, "bytes"))
        return scaled((double)value, SIZES, 5, 1000, out);
    snprintf(out, REPORT_AMOUNT_SIZE, "%llu", (unsigned long long)value);
    return out;
}

double report_percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

bool report_is_cut_short(const model *m, const model_process *p)
{
    const char *reason = model_text(m, p->end_reason);

    return text_equal(reason, RECORDING_END_LOST) || text_equal(reason, RECORDING_END_CLOSED);
}

bool report_has_own_cost_percent(const model_process *p)
{
    return p->has_cost && p->duration_ns >= 100000000;
}

double report_own_cost_percent(const model_process *p)
{
    return report_percent(p->cost.thread_cpu_ns + p->cost.handler_ns, p->duration_ns);
}

bool report_own_cost_parts(const model_process *p, double *begin_ms, double *running_percent)
{
    const uint64_t first_ns = 1000000000;
    uint64_t begun = p->cost_begun.thread_cpu_ns + p->cost_begun.handler_ns;
    uint64_t all = p->cost.thread_cpu_ns + p->cost.handler_ns;

    if (p->cost_count < 3 || p->duration_ns < 2 * first_ns || all < begun)
        return false;
    *running_percent = report_percent(all - begun, p->duration_ns - first_ns);
    *begin_ms = (double)begun / 1e6 - *running_percent / 100 * 1000;
    *begin_ms = *begin_ms < 0 ? 0 : *begin_ms;
    return true;
}

void report_process_title(const model *m, const model_process *p, char *out, size_t size)
{
    const char *name = model_text(m, p->name);

    if (p->pid == 0) /* a file that does not tell it */
        snprintf(out, size, "%s", name[0] == '\0' ? "process" : name);
    else
        snprintf(out, size, "%s (pid %llu)", name[0] == '\0' ? "process" : name,
                 (unsigned long long)p->pid);
}
