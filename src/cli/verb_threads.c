/*
 * clarinet threads PID: what every thread does now, and who waits for whom. Takes one look with the
 * profiler `threads` into a recording of its own, which is kept only with -o; from outside when the
 * process does not cooperate. Of a recording that is there already it shows the looks.
 */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/threads.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/cli.h"
#include "cli/take.h"
#include "cli/threads_show.h"
#include "diagnostics/processes.h"
#include "report/json.h"
#include "session/outside.h"
#include "session/session.h"

static const uint64_t LOOK_NS = 250000000; /* the look comes within the first tenth of a second */

typedef struct {
    const char *target;
    const char *file; /* -o; NULL = a temporary one */
    int watch_ms;     /* --watch; 0 = once */
    bool outside;     /* --outside: without the runtime's help */
    threads_show_options show;
} options;

/* ---- the look ---- */

static int look_inside(const options *o, const diagnostics_process *process, const char *file,
                       error *e)
{
    static catalogue_selection selection;
    session_options session = {0};
    int code;

    memset(&selection, 0, sizeof selection);
    code = catalogue_add(&selection, "threads", e);
    if (code != 0)
        return code;
    session.selection = &selection;
    session.file = file;
    session.short_lived = o->file == NULL;
    session.command = "clarinet threads";
    session.duration_ns = LOOK_NS;
    session.stop = -1;
    return take_look(&session, process, e);
}

/* The runtime could be suspended, and the look is in the file. */
static int check_look(const char *file, error *e)
{
    model m;
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return code;
    if (m.process_count == 0 || threads_last_look(&m, &m.processes[0]) == 0)
        code = error_set(e, ERROR_TIMEOUT, "its runtime could not be suspended");
    model_free(&m);
    return code;
}

/* Failures of a process that does not cooperate; not those of our own side. */
static bool may_look_from_outside(int code)
{
    return code == ERROR_TIMEOUT || code == ERROR_RUNTIME || code == ERROR_BUSY ||
           code == ERROR_UNSUPPORTED || code == ERROR_NOT_FOUND;
}

static int look_into_file(const options *o, const char *file, error *e)
{
    diagnostics_process process;
    char reason[sizeof e->message] = "as was asked for with --outside";
    int code = diagnostics_find_process(o->target, &process, e);

    if (code != 0)
        return code;
    if (!o->outside && process.attachable) {
        code = look_inside(o, &process, file, e);
        if (code == 0)
            code = check_look(file, e);
        snprintf(reason, sizeof reason, "%s", e->message);
    } else if (!o->outside) {
        code = diagnostics_require_attachable(&process, e);
        snprintf(reason, sizeof reason, "%s", process.reason);
    }
    if (o->outside || may_look_from_outside(code))
        code = outside_look(&process, reason, file, e);
    diagnostics_process_free(&process);
    return code;
}

static int show_look(const options *o, const model *m, uint64_t look, error *e)
{
    threads_view view;
    int code = threads_make_look(m, &m->processes[0], look, &view, e);

    if (code == 0) {
        threads_show(&view, &o->show);
        threads_free(&view);
    }
    return code;
}

/* The last look of a recording, or each one with --watch. */
static int show(const options *o, const char *file, bool every, error *e)
{
    model m;
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return code;
    if (m.process_count == 0)
        code = error_set(e, ERROR_NOT_FOUND, "the recording holds no process");
    else if (!every)
        code = show_look(o, &m, 0, e);
    for (uint64_t i = 1; code == 0 && every && i <= threads_last_look(&m, &m.processes[0]); i++)
        code = show_look(o, &m, i, e);
    model_free(&m);
    return code;
}

static bool parse_format(const char *text, options *o)
{
    static const struct {
        const char *name;
        threads_show_format format;
    } FORMATS[] = {{"text", THREADS_SHOW_WORDS},
                   {"json", THREADS_SHOW_JSON},
                   {"md", THREADS_SHOW_MARKDOWN},
                   {"html", THREADS_SHOW_HTML}};

    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        if (text_equal(text, FORMATS[i].name)) {
            o->show.format = FORMATS[i].format;
            return true;
        }
    }
    return false;
}

/* Seconds, with a fraction. */
static bool parse_watch(const char *text, options *o)
{
    char *end = NULL;
    double seconds = text == NULL ? 2 : strtod(text, &end);

    if ((text != NULL && (end == text || *end != '\0')) || !(seconds >= 0.1 && seconds <= 3600))
        return false;
    o->watch_ms = (int)(seconds * 1000);
    return true;
}

static bool parse_option(int option, options *o)
{
    switch (option) {
    case 'j':
        o->show.format = THREADS_SHOW_JSON;
        return true;
    case 'f':
        return parse_format(optarg, o);
    case 'l':
        o->show.flat = true;
        return true;
    case 'F':
        o->show.filter = optarg;
        return true;
    case 'o':
        o->file = optarg;
        return true;
    case 'O':
        o->outside = true;
        return true;
    case 'w':
        return parse_watch(optarg, o);
    case 't':
        return text_to_u64(optarg, &o->show.thread);
    default:
        return false;
    }
}

static int parse(int argc, char **argv, options *o, error *e)
{
    static const struct option OPTIONS[] = {{"json", no_argument, NULL, 'j'},
                                            {"flat", no_argument, NULL, 'l'},
                                            {"filter", required_argument, NULL, 'F'},
                                            {"thread", required_argument, NULL, 't'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"watch", optional_argument, NULL, 'w'},
                                            {"outside", no_argument, NULL, 'O'},
                                            {NULL, 0, NULL, 0}};
    int option;

    memset(o, 0, sizeof *o);
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "o:f:", OPTIONS, NULL)) != -1) {
        if (!parse_option(option, o)) {
            error_set(e, ERROR_USAGE, "threads does not understand %s", argv[optind - 1]);
            return error_advise(e, "`clarinet threads --help` lists the options");
        }
    }
    if (optind + 1 != argc) {
        error_set(e, ERROR_USAGE, "threads needs one process");
        return error_advise(e, "name a PID or a process: clarinet ps");
    }
    o->target = argv[optind];
    return 0;
}

/* One look into a file, which is then shown. */
static int look_once(const options *o, error *e)
{
    char temporary[512];
    const char *file = o->file != NULL ? o->file : temporary;
    int code = o->file != NULL ? 0 : take_temporary("threads", temporary, sizeof temporary, e);

    if (code != 0)
        return code;
    code = look_into_file(o, file, e);
    if (code == 0)
        code = show(o, file, false, e);
    if (o->file == NULL)
        unlink(temporary);
    return code;
}

/* A look now and then, until Ctrl-C. */
static int watch(const options *o, error *e)
{
    struct pollfd stop = {cli_open_stop_descriptor(NULL), POLLIN, 0};
    bool clears = isatty(STDOUT_FILENO) && o->show.format == THREADS_SHOW_WORDS;
    int code;

    do {
        if (clears)
            printf("\033[H\033[2J");
        code = look_once(o, e);
        fflush(stdout);
    } while (code == 0 && poll(&stop, 1, o->watch_ms) == 0);
    close(stop.fd);
    return code;
}

int verb_threads(int argc, char **argv)
{
    options o;
    error e;
    int code;

    error_clear(&e);
    if (parse(argc, argv, &o, &e) != 0)
        return cli_fail(&e);
    if (text_ends_with(o.target, ".clarinet"))
        code = show(&o, o.target, o.watch_ms != 0, &e);
    else
        code = o.watch_ms != 0 ? watch(&o, &e) : look_once(&o, &e);
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
