/*
 * clarinet tasks PID | FILE: which async methods and tasks are not done, who awaits whom, and what
 * they really wait for. Takes a heap snapshot with values and a look at the threads; with -d two of
 * them, to tell what is stuck.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/bad_option.h"
#include "cli/cli.h"
#include "cli/take.h"
#include "cli/tasks_show.h"
#include "session/session.h"

enum { ROWS = 30, ALL = 1000000 };

typedef struct {
    const char *target;
    const char *file;  /* -o; NULL = a temporary one */
    uint64_t apart_ns; /* -d; 0 = one look */
    tasks_show_options show;
} options;

/* A look, loaded. */
typedef struct {
    model m;
    heap h;
    tasks_view tasks;
    threads_view threads;
    bool has_threads;
} look;

static int parse_option(int option, options *o, error *e)
{
    uint64_t top;

    switch (option) {
    case 'j':
        o->show.json = true;
        return 0;
    case 'F':
        o->show.filter = optarg;
        return 0;
    case 'o':
        o->file = optarg;
        return 0;
    case 'd':
        return catalogue_parse_duration(optarg, &o->apart_ns, e);
    default: /* t */
        if (!text_to_u64(optarg, &top) || top == 0 || top > ALL)
            return error_set(e, ERROR_USAGE, "--top wants a number from 1 to %d, not '%s'", ALL,
                             optarg);
        o->show.top = (size_t)top;
        return 0;
    }
}

static int parse(int argc, char **argv, options *o, error *e)
{
    static const char LETTERS[] = "o:d:";
    static const struct option OPTIONS[] = {
        {"json", no_argument, NULL, 'j'},         {"filter", required_argument, NULL, 'F'},
        {"output", required_argument, NULL, 'o'}, {"duration", required_argument, NULL, 'd'},
        {"top", required_argument, NULL, 't'},    {NULL, 0, NULL, 0}};
    int option, code;

    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL)) != -1) {
        code = option == '?' ? bad_option("tasks", LETTERS, OPTIONS, argv, e)
                             : parse_option(option, o, e);
        if (code != 0)
            return code;
    }
    if (optind + 1 != argc) {
        error_set(e, ERROR_USAGE, "tasks needs one process or one recording");
        return error_advise(e, "name a PID or a process: clarinet ps");
    }
    o->target = argv[optind];
    if (o->show.top == 0)
        o->show.top = o->show.json ? ALL : ROWS;
    return 0;
}

/* ---- reading ---- */

static void look_free(look *l)
{
    if (l->has_threads)
        threads_free(&l->threads);
    tasks_free(&l->tasks);
    heap_free(&l->h);
    model_free(&l->m);
}

static int look_load(look *l, const char *file, error *e)
{
    const model_process *p;
    error none;
    int code = model_load_path(file, 0, &l->m, e);

    if (code != 0)
        return code;
    p = heap_find(&l->m);
    if (p == NULL) {
        error_set(e, ERROR_NOT_FOUND, "there is no heap snapshot in %s", file);
        code = error_advise(e, "take one with: clarinet tasks PID -o FILE");
    } else {
        code = heap_open(&l->m, p, &l->h, e);
    }
    if (code == 0)
        code = tasks_make(&l->h, &l->tasks, e);
    if (code == 0 && !l->tasks.has_values) {
        error_set(e, ERROR_NOT_FOUND, "the heap snapshot in %s has no values of tasks", file);
        code = error_advise(e, "take one with: clarinet tasks PID -o FILE");
    }
    if (code != 0) {
        look_free(l);
        return code;
    }
    error_clear(&none);
    l->has_threads = threads_make(&l->m, p, &l->threads, &none) == 0;
    return 0;
}

/* ---- taking ---- */

static int take(const options *o, const char *file, bool is_kept, error *e)
{
    static catalogue_selection selection;
    session_options session = {0};
    int code = take_select_heap(&selection, "threads,heap", e);

    if (code != 0)
        return code;
    session.selection = &selection;
    session.file = file;
    session.short_lived = !is_kept;
    session.command = "clarinet tasks";
    session.stop = cli_open_stop_descriptor(NULL);
    session.enough = take_whole_snapshot;
    return take_look_at(&session, o->target, e);
}

/* A snapshot that is not whole most often means that the process ended meanwhile: say so then. One
 * that is there and does not cooperate has threads that can be seen all the same. */
static void tell_why(const char *target, error *e)
{
    diagnostics_process process;
    char advice[sizeof e->advice];
    error none;

    error_clear(&none);
    if (diagnostics_find_process(target, &process, &none) != 0) {
        error_set(e, ERROR_GONE, "process %s ended while clarinet looked at it", target);
        return;
    }
    snprintf(advice, sizeof advice, "%s", e->advice);
    error_advise(e, "%s%s`clarinet threads %d` shows its threads without its help", advice,
                 advice[0] == '\0' ? "" : "; ", process.process_id);
    diagnostics_process_free(&process);
}

/* One look through a file that is kept only where the user named it. */
static int look_through_file(const options *o, const char *kept, look *l, error *e)
{
    char temporary[512];
    int code = kept != NULL ? 0 : take_temporary(temporary, sizeof temporary, e);
    const char *file = kept != NULL ? kept : temporary;

    if (code != 0)
        return code;
    code = take(o, file, kept != NULL, e);
    if (code == 0)
        code = look_load(l, file, e);
    if (kept == NULL)
        take_forget(temporary);
    if (code == ERROR_NOT_FOUND || code == ERROR_CORRUPT || code == ERROR_RUNTIME ||
        code == ERROR_TIMEOUT || code == ERROR_BUSY || code == ERROR_UNSUPPORTED)
        tell_why(o->target, e);
    return code;
}

static int look_and_show(const options *o, look *now, look *before, error *e)
{
    diagnostics_process process;
    struct pollfd stop;
    int code = diagnostics_find_process(o->target, &process, e);

    if (code != 0)
        return code;
    diagnostics_process_free(&process);
    if (o->apart_ns != 0) {
        /* Objects that have been through two collections stay where they are: the first one is that
         * of a look which nothing else is done with. */
        code = look_through_file(o, NULL, before, e);
        if (code == 0) {
            look_free(before);
            code = look_through_file(o, NULL, before, e);
        }
        if (code != 0)
            return code;
        stop = (struct pollfd){cli_open_stop_descriptor(NULL), POLLIN, 0};
        poll(&stop, 1, (int)(o->apart_ns / 1000000));
    }
    code = look_through_file(o, o->file, now, e);
    if (code == 0 && o->apart_ns != 0)
        tasks_compare(&now->tasks, &before->tasks);
    if (o->apart_ns != 0)
        look_free(before);
    return code;
}

/* A number is a process; anything else that can be opened is a file. */
static bool is_file(const char *name)
{
    struct stat status;
    uint64_t number;

    return !text_to_u64(name, &number) && stat(name, &status) == 0 && !S_ISDIR(status.st_mode);
}

int verb_tasks(int argc, char **argv)
{
    static options o;
    static look now, before;
    error e;
    int code;

    error_clear(&e);
    code = parse(argc, argv, &o, &e);
    if (code != 0)
        return cli_fail(&e);
    o.show.apart = (double)o.apart_ns / 1e9;
    code = is_file(o.target) ? look_load(&now, o.target, &e) : look_and_show(&o, &now, &before, &e);
    if (code == 0) {
        code = tasks_show(&now.tasks, now.has_threads ? &now.threads : NULL, &o.show, &e);
        look_free(&now);
    }
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
