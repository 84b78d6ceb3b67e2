/*
 * clarinet threads PID: what every thread does now, and who waits for whom. Takes one look with the
 * profiler `threads` into a recording of its own, which is kept only with -o.
 */
#include <getopt.h>
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
#include "cli/library.h"
#include "cli/threads_show.h"
#include "diagnostics/processes.h"
#include "report/json.h"
#include "session/session.h"

static const uint64_t LOOK_NS = 250000000; /* the look comes within the first tenth of a second */

typedef struct {
    const char *target;
    const char *file; /* -o; NULL = a temporary one */
    threads_show_options show;
} options;

/* ---- the look ---- */

static int take_look(const options *o, const char *file, error *e)
{
    static catalogue_selection selection;
    diagnostics_process process;
    session_options session;
    session_result result;
    buffer library = BUFFER_EMPTY;
    int code = diagnostics_find_process(o->target, &process, e);

    if (code != 0)
        return code;
    memset(&session, 0, sizeof session);
    code = catalogue_add(&selection, "threads", e);
    if (code == 0)
        code = library_find(LIBRARY_AGENT, &library, e);
    if (code == 0) {
        session.selection = &selection;
        session.library = buffer_text(&library);
        session.file = file;
        session.command = "clarinet threads";
        session.duration_ns = LOOK_NS;
        session.stop = -1;
        code = session_record_process(&session, &process, &result, e);
        if (code == 0 && result.trouble.code != 0) {
            *e = result.trouble;
            code = e->code;
        }
    }
    diagnostics_process_free(&process);
    buffer_free(&library);
    return code;
}

static int show(const options *o, const char *file, error *e)
{
    threads_view view;
    model m;
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return code;
    code = m.process_count == 0 ? error_set(e, ERROR_NOT_FOUND, "the recording holds no process")
                                : threads_make(&m, &m.processes[0], &view, e);
    if (code == 0) {
        threads_show(&view, &o->show);
        threads_free(&view);
    }
    model_free(&m);
    return code;
}

static int parse(int argc, char **argv, options *o, error *e)
{
    static const struct option OPTIONS[] = {
        {"json", no_argument, NULL, 'j'},         {"flat", no_argument, NULL, 'l'},
        {"filter", required_argument, NULL, 'F'}, {"thread", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
    int option;

    memset(o, 0, sizeof *o);
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "o:", OPTIONS, NULL)) != -1) {
        if (option == 'j')
            o->show.as_json = true;
        else if (option == 'l')
            o->show.flat = true;
        else if (option == 'F')
            o->show.filter = optarg;
        else if (option == 'o')
            o->file = optarg;
        else if (option != 't' || !text_to_u64(optarg, &o->show.thread)) {
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

int verb_threads(int argc, char **argv)
{
    char temporary[] = "/tmp/clarinet-threads-XXXXXX";
    const char *file;
    options o;
    error e;
    int descriptor;
    int code;

    error_clear(&e);
    if (parse(argc, argv, &o, &e) != 0)
        return cli_fail(&e);
    file = o.file;
    if (file == NULL) {
        descriptor = mkstemp(temporary);
        if (descriptor < 0) {
            error_set(&e, ERROR_IO, "no temporary file can be made in /tmp");
            error_advise(&e, "name a file with -o");
            return cli_fail(&e);
        }
        close(descriptor);
        file = temporary;
    }
    code = take_look(&o, file, &e);
    if (code == 0)
        code = show(&o, file, &e);
    if (o.file == NULL)
        unlink(temporary);
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
