/*
 * clarinet trace PID PATTERN… or clarinet trace PATTERN… -- CMD…: calls and times of chosen methods
 * of a live program. Records with the profiler `trace` and shows what was recorded.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "base/buffer.h"
#include "base/os.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cil/pattern.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "diagnostics/processes.h"
#include "session/session.h"

enum { DRY_RUN_NS = 1500000000, ROWS = 40 };

typedef struct {
    catalogue_selection selection;
    session_options session;
    const char *target;   /* PID or name; NULL in run mode */
    char *const *command; /* NULL when attaching */
    char file[512];       /* the recording; "" = a temporary one */
    bool temporary;       /* and is removed at the end */
    bool json;
    const char *json_file; /* NULL = stdout, or stderr in run mode */
    FILE *out;             /* the program's own output stays apart from ours */
    bool dry_run;
    bool all;                /* every method, not only the first ones */
    bool values;             /* single calls with their values */
    const char *slower_than; /* NULL = all */
    const char *rate;
    buffer patterns;
    buffer library;
    buffer typed;
} request;

static int usage(error *e, const char *what)
{
    error_set(e, ERROR_USAGE, "%s", what);
    error_advise(e, "for example: clarinet trace -d 10s 1234 'Shop.Orders::Place*'");
    return ERROR_USAGE;
}

static int parse_options(int argc, char **argv, request *q, error *e)
{
    static const struct option OPTIONS[] = {{"duration", required_argument, NULL, 'd'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"json", optional_argument, NULL, 'j'},
                                            {"dry-run", no_argument, NULL, 'n'},
                                            {"all", no_argument, NULL, 'a'},
                                            {"args", no_argument, NULL, 'v'},
                                            {"slower-than", required_argument, NULL, 's'},
                                            {"rate", required_argument, NULL, 'r'},
                                            {NULL, 0, NULL, 0}};
    int option;
    int code = 0;

    opterr = 0;
    optind = 1;
    while (code == 0 && (option = getopt_long(argc, argv, "+d:o:na", OPTIONS, NULL)) != -1) {
        if (option == 'd')
            code = catalogue_parse_duration(optarg, &q->session.duration_ns, e);
        else if (option == 'j')
            q->json = true, q->json_file = optarg;
        else if (option == 'n')
            q->dry_run = true;
        else if (option == 'a')
            q->all = true;
        else if (option == 'v')
            q->values = true;
        else if (option == 's')
            q->values = true, q->slower_than = optarg;
        else if (option == 'r')
            q->rate = optarg;
        else if (option != 'o')
            code = error_set(e, ERROR_USAGE, "trace does not know the option %s", argv[optind - 1]);
        else if (snprintf(q->file, sizeof q->file, "%s", optarg) >= (int)sizeof q->file)
            code = error_set(e, ERROR_USAGE, "the file's name is too long");
    }
    return code;
}

/* PID PATTERN… or PATTERN… -- CMD… */
static int parse(int argc, char **argv, request *q, error *e)
{
    cil_patterns patterns;
    int at;
    int end = argc;
    int code = parse_options(argc, argv, q, e);

    if (code != 0)
        return code;
    at = optind;
    for (int i = at; i < argc && end == argc; i++)
        if (strcmp(argv[i], "--") == 0)
            end = i;
    if (end + 1 < argc)
        q->command = argv + end + 1;
    else if (end < argc)
        return usage(e, "no command stands after --");
    else if (at < end)
        q->target = argv[at++];
    else
        return usage(e, "nothing to trace: name a PID or a process, and the methods");
    if (at == end)
        return usage(e, "no method is named");
    for (; at < end; at++)
        buffer_format(&q->patterns, "%s%s", q->patterns.length == 0 ? "" : " ", argv[at]);
    code = cil_patterns_parse(&patterns, buffer_text(&q->patterns), e);
    if (code != 0)
        return code;
    cil_patterns_free(&patterns);
    if (q->dry_run && q->session.duration_ns == 0 && q->command == NULL)
        q->session.duration_ns = DRY_RUN_NS;
    code = catalogue_add(&q->selection, "trace", e);
    if (code == 0)
        code = catalogue_set(&q->selection, "trace", "methods", buffer_text(&q->patterns), e);
    if (code == 0)
        code = catalogue_set(&q->selection, "trace", "dry_run", q->dry_run ? "true" : "false", e);
    if (code == 0)
        code = catalogue_set(&q->selection, "trace", "values", q->values ? "true" : "false", e);
    if (code == 0 && q->slower_than != NULL)
        code = catalogue_set(&q->selection, "trace", "slower_than", q->slower_than, e);
    if (code == 0 && q->rate != NULL)
        code = catalogue_set(&q->selection, "trace", "rate", q->rate, e);
    return code;
}

/* 1.23 ms, 45 us, 8 s: three figures. */
static const char *duration_text(uint64_t ns, char text[32])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t n = 0;
    double value;

    while (n < 3 && (double)ns < units[n].unit)
        n++;
    value = (double)ns / units[n].unit;
    snprintf(text, 32,
             value < 10 && n < 3    ? "%.2f %s"
             : value < 100 && n < 3 ? "%.1f %s"
                                    : "%.0f %s",
             value, units[n].name);
    return text;
}

static json_t *clean_text(const char *text)
{
    buffer cleaned = BUFFER_EMPTY;
    json_t *value;

    text_append_cleaned(&cleaned, text, strlen(text));
    value = json_string(buffer_text(&cleaned));
    buffer_free(&cleaned);
    return value;
}

static json_t *result_json(const model *m, const trace_result *r)
{
    buffer name = BUFFER_EMPTY;
    json_t *o = json_object();

    buffer_format(&name, "%s%s", model_text(m, r->name), model_text(m, r->parameters));
    json_object_set_new(o, "method", clean_text(buffer_text(&name)));
    buffer_free(&name);
    json_object_set_new(o, "module", clean_text(model_text(m, r->module)));
    json_object_set_new(o, "state", clean_text(model_text(m, r->state)));
    json_object_set_new(o, "calls", json_integer((json_int_t)r->calls));
    json_object_set_new(o, "exceptions", json_integer((json_int_t)r->failures));
    json_object_set_new(o, "total_ns", json_integer((json_int_t)r->total_ns));
    json_object_set_new(o, "self_ns", json_integer((json_int_t)r->self_ns));
    json_object_set_new(o, "min_ns", json_integer((json_int_t)r->least_ns));
    json_object_set_new(o, "p50_ns", json_integer((json_int_t)r->p50_ns));
    json_object_set_new(o, "p90_ns", json_integer((json_int_t)r->p90_ns));
    json_object_set_new(o, "p99_ns", json_integer((json_int_t)r->p99_ns));
    json_object_set_new(o, "p999_ns", json_integer((json_int_t)r->p999_ns));
    json_object_set_new(o, "max_ns", json_integer((json_int_t)r->most_ns));
    json_object_set_new(o, "active", json_integer((json_int_t)r->active));
    json_object_set_new(o, "threads", json_integer((json_int_t)r->threads));
    json_object_set_new(o, "kind", json_string(r->step ? "steps" : "method"));
    if (r->step)
        json_object_set_new(o, "completions", json_integer((json_int_t)r->completions));
    return o;
}

/* Visits the single calls of a recording, oldest first within each process. */
typedef struct {
    uint32_t name; /* string */
    uint64_t time, duration, thread;
    bool failed;
    uint32_t values;
} single_call;

static void each_call(const model *m, void *context,
                      void (*visit)(void *context, const model *m, const single_call *c))
{
    for (size_t n = 0; n < m->process_count; n++) {
        const model_process *p = &m->processes[n];
        const model_table *t = model_find_table(m, p, "trace_events", "trace");
        const model_column *columns[6];
        static const char *const names[6] = {"time",     "thread", "method",
                                             "duration", "failed", "values"};

        for (size_t k = 0; t != NULL && k < 6; k++) {
            columns[k] = model_find_column(m, t, names[k]);
            if (columns[k] == NULL)
                t = NULL;
        }
        for (size_t row = 0; t != NULL && row < t->rows; row++) {
            single_call c = {p->methods[model_cell(columns[2], row)].name,
                             model_cell(columns[0], row),
                             model_cell(columns[3], row),
                             p->threads[model_cell(columns[1], row)].os_id,
                             model_cell(columns[4], row) != 0,
                             (uint32_t)model_cell(columns[5], row)};

            visit(context, m, &c);
        }
    }
}

static void print_call(void *context, const model *m, const single_call *c)
{
    const request *q = context;
    buffer text = BUFFER_EMPTY;
    char time[32];

    text_append_cleaned(&text, model_text(m, c->name), strlen(model_text(m, c->name)));
    buffer_append_text(&text, c->failed ? " failed: " : ": ");
    text_append_cleaned(&text, model_text(m, c->values), strlen(model_text(m, c->values)));
    fprintf(q->out, "%10.3f s %9s  %s\n", (double)c->time / 1e9, duration_text(c->duration, time),
            buffer_text(&text));
    buffer_free(&text);
}

static void add_call(void *context, const model *m, const single_call *c)
{
    json_t *o = json_object();

    json_object_set_new(o, "method", clean_text(model_text(m, c->name)));
    json_object_set_new(o, "time_ns", json_integer((json_int_t)c->time));
    json_object_set_new(o, "thread", json_integer((json_int_t)c->thread));
    json_object_set_new(o, "duration_ns", json_integer((json_int_t)c->duration));
    json_object_set_new(o, "failed", json_boolean(c->failed));
    json_object_set_new(o, "values", clean_text(model_text(m, c->values)));
    json_array_append_new(context, o);
}

static int print_json(const request *q, const model *m, const trace_results *results, error *e)
{
    json_t *array = json_array();
    FILE *out = q->json_file != NULL ? fopen(q->json_file, "w") : q->out;

    if (out == NULL) {
        json_decref(array);
        error_set_errno(e, ERROR_IO, errno, "%s cannot be written", q->json_file);
        return cli_fail(e);
    }

    for (size_t n = 0; n < results->count; n++)
        json_array_append_new(array, result_json(m, &results->items[n]));
    if (q->values) {
        json_t *both = json_object();

        json_object_set_new(both, "methods", array);
        array = json_array();
        each_call(m, array, add_call);
        json_object_set_new(both, "calls", array);
        array = both;
    }
    json_dumpf(array, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(array);
    if (q->json_file != NULL)
        fclose(out);
    return CLI_DONE;
}

static void print_name(FILE *out, const model *m, const trace_result *r)
{
    buffer name = BUFFER_EMPTY;

    text_append_cleaned(&name, model_text(m, r->name), strlen(model_text(m, r->name)));
    text_append_cleaned(&name, model_text(m, r->parameters), strlen(model_text(m, r->parameters)));
    if (r->step)
        buffer_format(&name, " (steps; %llu completed)", (unsigned long long)r->completions);
    fprintf(out, "%s\n", buffer_text(&name));
    buffer_free(&name);
}

static void print_rows(const request *q, const model *m, const trace_results *results)
{
    size_t shown = 0, called = 0;
    char text[6][32];

    fprintf(q->out, "%10s %6s %9s %9s %9s %9s %9s %6s  %s\n", "calls", "failed", "total", "self",
            "p50", "p99", "max", "active", "method");
    for (size_t n = 0; n < results->count; n++) {
        const trace_result *r = &results->items[n];

        if (r->calls == 0 && r->active == 0)
            continue;
        called++;
        if (!q->all && shown >= ROWS)
            continue;
        shown++;
        fprintf(q->out, "%10llu %6llu %9s %9s %9s %9s %9s %6llu  ", (unsigned long long)r->calls,
                (unsigned long long)r->failures, duration_text(r->total_ns, text[0]),
                duration_text(r->self_ns, text[1]), duration_text(r->p50_ns, text[2]),
                duration_text(r->p99_ns, text[3]), duration_text(r->most_ns, text[4]),
                (unsigned long long)r->active);
        print_name(q->out, m, r);
    }
    fprintf(q->out, "\n%zu method%s meant, %zu called", results->count,
            results->count == 1 ? "" : "s", called);
    if (shown < called)
        fprintf(q->out, ", %zu not shown (--all shows them)", called - shown);
    fputc('\n', q->out);
}

static void print_left_alone(const request *q, const model *m, const trace_results *results)
{
    for (size_t n = 0; n < results->count; n++) {
        const trace_result *r = &results->items[n];
        const char *state = model_text(m, r->state);

        if (!text_starts_with(state, "left alone"))
            continue;
        fprintf(q->out, "%s: ", state);
        print_name(q->out, m, r);
    }
}

static int show(const request *q, const char *file, error *e)
{
    model m;
    trace_results results;
    int written = CLI_DONE;
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return cli_fail(e);
    code = trace_analyse(&m, &results, e);
    if (code != 0) {
        model_free(&m);
        return cli_fail(e);
    }
    if (q->json) {
        written = print_json(q, &m, &results, e);
    } else if (q->dry_run) {
        for (size_t n = 0; n < results.count; n++)
            print_name(q->out, &m, &results.items[n]);
        print_left_alone(q, &m, &results);
        fprintf(q->out, "\n%zu method%s meant; nothing was changed\n", results.count,
                results.count == 1 ? "" : "s");
    } else {
        if (q->values)
            each_call(&m, (void *)(uintptr_t)q, print_call);
        print_rows(q, &m, &results);
        print_left_alone(q, &m, &results);
    }
    code = results.count == 0 ? CLI_FAILED : written;
    if (results.count == 0)
        fprintf(stderr,
                "clarinet: no loaded method matches '%s'\n  wildcards are * and ?; `clarinet il "
                "ASSEMBLY --list` lists the methods of an assembly\n",
                buffer_text(&q->patterns));
    trace_results_free(&results);
    model_free(&m);
    return code;
}

static int run(request *q, error *e)
{
    diagnostics_process process;
    session_result result;
    int code;

    if (q->command != NULL) {
        code = session_record_command(&q->session, q->command, &result, e);
    } else {
        code = diagnostics_find_process(q->target, &process, e);
        if (code != 0)
            return cli_fail(e);
        code = session_record_process(&q->session, &process, &result, e);
        diagnostics_process_free(&process);
    }
    if (code != 0)
        return cli_fail(e);
    if (result.trouble.code != 0)
        cli_fail(&result.trouble);
    if (!result.total.started)
        return result.exit_code; /* of the command; there is nothing to show */
    code = show(q, q->session.file, e);
    return q->command != NULL ? result.exit_code : code;
}

static int open_stop_descriptor(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The recording of a session that nobody asked to keep. */
static int choose_file(request *q, error *e)
{
    const char *folder = getenv("TMPDIR");
    int descriptor;

    q->session.file = q->file;
    if (q->file[0] != '\0')
        return 0;
    snprintf(q->file, sizeof q->file, "%s/clarinet-trace-XXXXXX",
             folder != NULL && folder[0] == '/' ? folder : "/tmp");
    descriptor = mkstemp(q->file);
    if (descriptor < 0)
        return error_set(e, ERROR_IO, "no temporary file can be made in %s", q->file);
    close(descriptor);
    q->temporary = true;
    return 0;
}

int verb_trace(int argc, char **argv)
{
    static request q; /* large; the one of this process */
    error e;
    int code;

    error_clear(&e);
    code = parse(argc, argv, &q, &e);
    if (code == 0)
        code = library_find(LIBRARY_AGENT, &q.library, &e);
    if (code == 0)
        code = choose_file(&q, &e);
    if (code != 0)
        return cli_fail(&e);
    for (int i = 0; i < argc; i++)
        buffer_format(&q.typed, "%s%s", i == 0 ? "clarinet " : " ", argv[i]);
    q.session.selection = &q.selection;
    q.session.library = buffer_text(&q.library);
    q.session.command = buffer_text(&q.typed);
    q.session.stop = open_stop_descriptor();
    q.out = q.command != NULL ? stderr : stdout;
    code = run(&q, &e);
    if (q.temporary)
        unlink(q.file);
    buffer_free(&q.patterns);
    buffer_free(&q.library);
    buffer_free(&q.typed);
    return code;
}
