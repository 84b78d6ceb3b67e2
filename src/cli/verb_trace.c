/*
 * clarinet trace PID PATTERN… or clarinet trace PATTERN… -- CMD…: calls and times of chosen methods
 * of a live program. Records with the profiler `trace` and shows what was recorded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "catalogue/condition.h"
#include "cil/pattern.h"
#include "cli/bad_option.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "cli/take.h"
#include "cli/trace_show.h"
#include "diagnostics/processes.h"
#include "session/session.h"

enum { DRY_RUN_NS = 1500000000 };

typedef struct {
    catalogue_selection selection;
    session_options session;
    const char *target;   /* PID or name; NULL in run mode */
    char *const *command; /* NULL when attaching */
    char file[512];       /* the recording; "" = a temporary one */
    bool temporary;       /* and is removed at the end */
    bool said;            /* that calls are counted */
    trace_show show;
    bool arguments; /* all of them */
    const char *fields;
    const char *on, *when, *log, *redact, *slower_than, *rate; /* NULL = not said */
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

static int take_file(request *q, const char *name, error *e)
{
    if (snprintf(q->file, sizeof q->file, "%s", name) >= (int)sizeof q->file)
        return error_set(e, ERROR_USAGE, "the file's name is too long");
    return 0;
}

static int take_duration(request *q, const char *text, error *e)
{
    int code = catalogue_parse_duration(text, &q->session.duration_ns, e);

    if (code == 0 && q->session.duration_ns == 0)
        return usage(e, "a duration of 0 traces nothing");
    return code;
}

static void take_option(request *q, int option, const char *value)
{
    if (option == 'j')
        q->show.json = true, q->show.json_file = value;
    else if (option == 'n')
        q->show.dry_run = true;
    else if (option == 'a')
        q->show.all = true;
    else if (option == 't')
        q->show.tree = true;
    else if (option == 'v' && value == NULL)
        q->arguments = true;
    else if (option == 'v')
        q->fields = value;
    else if (option == 'O')
        q->on = value;
    else if (option == 'w')
        q->when = value;
    else if (option == 'l')
        q->log = value;
    else if (option == 'R')
        q->redact = value;
    else if (option == 's')
        q->slower_than = value;
    else
        q->rate = value;
}

static int parse_options(int argc, char **argv, request *q, error *e)
{
    static const char LETTERS[] = "d:o:na";
    static const struct option OPTIONS[] = {{"duration", required_argument, NULL, 'd'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"json", optional_argument, NULL, 'j'},
                                            {"dry-run", no_argument, NULL, 'n'},
                                            {"all", no_argument, NULL, 'a'},
                                            {"tree", no_argument, NULL, 't'},
                                            {"args", optional_argument, NULL, 'v'},
                                            {"on", required_argument, NULL, 'O'},
                                            {"when", required_argument, NULL, 'w'},
                                            {"log", required_argument, NULL, 'l'},
                                            {"redact", required_argument, NULL, 'R'},
                                            {"slower-than", required_argument, NULL, 's'},
                                            {"rate", required_argument, NULL, 'r'},
                                            {NULL, 0, NULL, 0}};
    int option;
    int code = 0;

    opterr = 0;
    optind = 1;
    while (code == 0 && (option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL)) != -1) {
        if (option == 'd')
            code = take_duration(q, optarg, e);
        else if (option == 'o')
            code = take_file(q, optarg, e);
        else if (option == '?')
            code = bad_option("trace", LETTERS, OPTIONS, argv, e);
        else
            take_option(q, option, optarg);
    }
    return code;
}

/* The method that --log begins with is traced too. */
static int add_log_methods(request *q, error *e)
{
    const char *end = q->log;
    int depth = 0;

    if (q->log == NULL)
        return 0;
    for (; *end != '\0' && (*end != ' ' || depth > 0); end++)
        depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
    if (*end == '\0' || end[1] == '\0' || end == q->log) {
        error_set(e, ERROR_USAGE, "--log needs a method and a text after it");
        return error_advise(e, "for example: --log 'Shop.Orders::Place entered {id}'");
    }
    if (strrchr(end, '{') != NULL && strchr(strrchr(end, '{'), '}') == NULL) {
        error_set(e, ERROR_USAGE, "the text of --log has no } at its end: '%s'", end + 1);
        return error_advise(e, "for example: --log 'Shop.Orders::Place entered {id}'");
    }
    buffer_format(&q->patterns, "%s%.*s", q->patterns.length == 0 ? "" : " ", (int)(end - q->log),
                  q->log);
    return 0;
}

static int check_moments(const char *list, error *e)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");

        if (!(length == 5 && memcmp(list, "entry", 5) == 0) &&
            !(length == 4 && memcmp(list, "exit", 4) == 0) &&
            !(length == 9 && memcmp(list, "exception", 9) == 0)) {
            error_set(e, ERROR_USAGE, "--on does not know '%.*s'", (int)length, list);
            return error_advise(e, "it takes entry, exit, exception, or several with commas");
        }
        list += length;
        list += *list == ',';
    }
    return 0;
}

/* Do both names mean one file? */
static bool is_same_file(const char *one, const char *other)
{
    struct stat first, second;

    if (strcmp(one, other) == 0)
        return true;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && S_ISREG(first.st_mode) &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* What is wrong with it is told of the option that was typed. */
static int set_parameter(request *q, const char *name, const char *value, error *e)
{
    int code = catalogue_set(&q->selection, "trace", name, value, e);
    const char *rest = e->message + strlen("trace.") + strlen(name);
    char message[sizeof e->message];

    if (code == 0 || !text_starts_with(e->message, "trace.") || *rest != ':')
        return code;
    snprintf(message, sizeof message, "--%s%s", name, rest);
    for (size_t n = 2; n < strlen(name) + 2; n++)
        message[n] = message[n] == '_' ? '-' : message[n];
    return error_set(e, code, "%s", message);
}

/* What the options ask of the profiler. */
static int set_parameters(request *q, error *e)
{
    condition parsed;
    bool values = q->arguments || (q->fields == NULL && q->log == NULL &&
                                   (q->slower_than != NULL || q->when != NULL || q->on != NULL));
    const struct {
        const char *name, *value;
    } parameters[] = {{"methods", buffer_text(&q->patterns)},
                      {"dry_run", q->show.dry_run ? "true" : "false"},
                      {"values", values ? "true" : "false"},
                      {"tree", q->show.tree ? "true" : "false"},
                      {"show", q->fields},
                      {"on", q->on},
                      {"when", q->when},
                      {"log", q->log},
                      {"redact", q->redact},
                      {"slower_than", q->slower_than},
                      {"rate", q->rate}};
    int code = q->when == NULL ? 0 : condition_parse(&parsed, q->when, e);

    if (code == 0 && q->on != NULL)
        code = check_moments(q->on, e);
    if (code == 0)
        code = catalogue_add(&q->selection, "trace", e);
    for (size_t n = 0; n < sizeof parameters / sizeof parameters[0] && code == 0; n++)
        if (parameters[n].value != NULL)
            code = set_parameter(q, parameters[n].name, parameters[n].value, e);
    q->show.calls = values || q->fields != NULL || q->log != NULL;
    return code;
}

/* PID PATTERN… or PATTERN… -- CMD… */
static int parse(int argc, char **argv, request *q, error *e)
{
    cil_patterns patterns;
    int at;
    int end = cli_find_command(argc, argv);
    int code = parse_options(end, argv, q, e);

    if (code != 0)
        return code;
    if (q->show.json_file != NULL && q->file[0] != '\0' &&
        is_same_file(q->show.json_file, q->file)) {
        error_set(e, ERROR_USAGE, "--json and -o name the same file, %s", q->file);
        return error_advise(e, "the recording and the JSON need a file each");
    }
    at = optind;
    if (end + 1 < argc)
        q->command = argv + end + 1;
    else if (end < argc)
        return usage(e, "no command stands after --");
    else if (at < end)
        q->target = argv[at++];
    else
        return usage(e, "nothing to trace: name a PID or a process, and the methods");
    if (at == end && q->log == NULL)
        return usage(e, "no method is named");
    for (; at < end; at++)
        buffer_format(&q->patterns, "%s%s", q->patterns.length == 0 ? "" : " ", argv[at]);
    code = add_log_methods(q, e);
    if (code == 0)
        code = cil_patterns_parse(&patterns, buffer_text(&q->patterns), e);
    if (code != 0)
        return code;
    cil_patterns_free(&patterns);
    if (q->show.dry_run && q->session.duration_ns == 0 && q->command == NULL)
        q->session.duration_ns = DRY_RUN_NS;
    return set_parameters(q, e);
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
    q->show.file_failed = result.trouble.code == ERROR_IO;
    code = trace_show_recording(&q->show, q->session.file, e);
    if (q->show.file_failed && code == CLI_DONE)
        code = CLI_FAILED;
    return q->command != NULL ? result.exit_code : code;
}

/* While it records. */
static void progress(void *context, const session_progress *now)
{
    request *q = context;

    /* the first rows name the methods that were asked for: from now on their calls count */
    if (!q->said && q->command == NULL && !q->show.dry_run && !q->show.live && now->rows != 0) {
        fputs("clarinet: tracing; Ctrl-C ends it\n", stderr);
        q->said = true;
    }
    if (now->started && !now->stopping)
        trace_show_progress(&q->show, q->session.file);
}

/* The recording of a session that nobody asked to keep is a temporary one. */
static int choose_file(request *q, error *e)
{
    int code;

    q->session.file = q->file;
    if (q->file[0] != '\0')
        return 0;
    code = take_temporary(q->file, sizeof q->file, e);
    q->temporary = code == 0;
    return code;
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
    cli_append_typed(&q.typed, "clarinet", argc, argv);
    q.session.selection = &q.selection;
    q.session.no_sdk_option = true;
    q.session.library = buffer_text(&q.library);
    q.session.command = buffer_text(&q.typed);
    q.session.stop = cli_open_stop_descriptor(NULL);
    q.session.progress = progress;
    q.session.context = &q;
    q.show.out = q.command != NULL ? stderr : stdout;
    q.show.started = q.command != NULL;
    q.show.patterns = buffer_text(&q.patterns);
    q.show.live = q.command == NULL && !q.show.json && !q.show.dry_run && !q.show.calls &&
                  isatty(STDOUT_FILENO);
    code = run(&q, &e);
    if (q.temporary)
        take_forget(q.file);
    buffer_free(&q.patterns);
    buffer_free(&q.library);
    buffer_free(&q.typed);
    return code;
}
