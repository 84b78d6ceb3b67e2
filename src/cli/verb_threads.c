/*
 * clarinet threads PID: what every thread does now, and who waits for whom. Takes one look with the
 * profiler `threads` into a recording of its own, which is kept only with -o; several with -d, to
 * tell who did nothing; from outside when the process does not cooperate. Of a recording that is
 * there already it shows the looks.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/threads.h"
#include "analysis/zombies.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/bad_option.h"
#include "cli/cli.h"
#include "cli/file_name.h"
#include "cli/take.h"
#include "cli/threads_show.h"
#include "diagnostics/processes.h"
#include "diagnostics/procfs.h"
#include "report/json.h"
#include "session/core_look.h"
#include "session/outside.h"
#include "session/session.h"

static const uint64_t LOOK_NS = 250000000; /* the look comes within the first tenth of a second */
static const uint64_t PATIENCE_NS = 5000000000; /* with a runtime that is being suspended */
enum { LOOKS = 8, SHORTEST_INTERVAL_MS = 100, DOUBTED = 64, DOUBT_MS = 120 };

typedef struct {
    const char *target;
    const char *file; /* -o; NULL = a temporary one */
    int watch_ms;     /* --watch; 0 = once */
    uint64_t span_ns; /* -d: several looks over this time; 0 = one */
    bool outside;     /* --outside: without the runtime's help */
    bool core;        /* --core: the target is a core dump */
    bool heap;        /* --heap: a snapshot of the heap before the look */
    int alive;        /* the process that was looked at, if its threads have our numbers; else 0 */
    threads_show_options show;
} options;

/* ---- the look ---- */

static int set_interval(catalogue_selection *selection, uint64_t span_ns, error *e)
{
    uint64_t ms = span_ns / LOOKS / 1000000u;
    char interval[32];

    snprintf(interval, sizeof interval, "%llums",
             (unsigned long long)(ms < SHORTEST_INTERVAL_MS ? SHORTEST_INTERVAL_MS : ms));
    return catalogue_set(selection, "threads", "interval", interval, e);
}

static int look_inside(const options *o, const diagnostics_process *process, const char *file,
                       error *e)
{
    static catalogue_selection selection;
    session_options session = {0};
    int code;

    memset(&selection, 0, sizeof selection);
    code = catalogue_add(&selection, "threads", e);
    if (code == 0 && o->span_ns != 0)
        code = set_interval(&selection, o->span_ns, e);
    if (code != 0)
        return code;
    session.selection = &selection;
    session.file = file;
    session.short_lived = o->file == NULL;
    session.command = "clarinet threads";
    session.duration_ns = LOOK_NS + o->span_ns;
    session.stop = o->span_ns == 0 ? -1 : cli_open_stop_descriptor(NULL);
    return take_look(&session, process, e);
}

/* Before the look, because the collection that comes with a snapshot moves objects. Those that have
 * been through two collections stay where they are: the first one is that of a snapshot which is
 * written over. */
static int take_snapshot(const options *o, const diagnostics_process *process, const char *file,
                         error *e)
{
    static catalogue_selection selection;
    session_options session = {0};
    int code = take_select_heap(&selection, "heap", e);

    if (code != 0)
        return code;
    session.selection = &selection;
    session.file = file;
    session.short_lived = o->file == NULL;
    session.command = "clarinet threads --heap";
    session.stop = cli_open_stop_descriptor(NULL);
    session.enough = take_whole_snapshot;
    code = take_look(&session, process, e);
    return code != 0 ? code : take_look(&session, process, e);
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

/* A collection for somebody else's snapshot of the heap keeps a look out for as long as it takes:
 * it is tried again until it is likely that the runtime cannot be suspended at all. */
static int look_until_seen(const options *o, const diagnostics_process *process, const char *file,
                           error *e)
{
    uint64_t end = os_monotonic_ns() + PATIENCE_NS;
    int code;

    for (;;) {
        code = look_inside(o, process, file, e);
        if (code != 0)
            return code;
        code = check_look(file, e);
        if (code != ERROR_TIMEOUT || os_monotonic_ns() >= end)
            return code;
    }
}

/* Failures of a process that does not cooperate; not those of our own side. */
static bool may_look_from_outside(int code)
{
    return code == ERROR_TIMEOUT || code == ERROR_RUNTIME || code == ERROR_BUSY ||
           code == ERROR_UNSUPPORTED || code == ERROR_NOT_FOUND;
}

/* A look from outside has no snapshot: what was begun of one, or stands there from before, does not
 * belong to it. */
static void drop_snapshot(const options *o, char *snapshot)
{
    if (o->heap && o->file != NULL)
        unlink(snapshot);
    take_forget(snapshot);
}

static int look_into_file(options *o, const char *file, char *snapshot, error *e)
{
    diagnostics_process process;
    char reason[sizeof e->message] = "as was asked for with --outside";
    int code =
        o->core ? core_look(o->target, file, e) : diagnostics_find_process(o->target, &process, e);

    if (code != 0 || o->core)
        return code;
    if (!o->outside && process.attachable) {
        code = o->heap ? take_snapshot(o, &process, snapshot, e) : 0;
        if (code == 0)
            code = look_until_seen(o, &process, file, e);
        if (code == 0 && process.inner_pid == process.process_id)
            o->alive = process.process_id;
        snprintf(reason, sizeof reason, "%s", e->message);
    } else if (!o->outside) {
        code = diagnostics_require_attachable(&process, e);
        snprintf(reason, sizeof reason, "%s", process.reason);
    }
    if (o->outside || may_look_from_outside(code)) {
        drop_snapshot(o, snapshot);
        code = outside_look(&process, reason, file, e);
    }
    diagnostics_process_free(&process);
    return code;
}

/* How often the thread went to sleep and was woken, in all its life. */
static uint64_t switches_of(int process_id, uint64_t os_id, buffer *scratch)
{
    char name[64];
    unsigned long long count = 0;
    const char *line;

    snprintf(name, sizeof name, "task/%llu/status", (unsigned long long)os_id);
    if (procfs_read(process_id, name, 16384, scratch) != 0)
        return 0;
    line = strstr(buffer_text(scratch), "\nvoluntary_ctxt_switches:");
    return line != NULL && sscanf(line, "\nvoluntary_ctxt_switches: %llu", &count) == 1 ? count : 0;
}

static uint64_t switches_of_cycle(const threads_view *v, const threads_cycle *c, int process_id)
{
    buffer scratch = BUFFER_EMPTY;
    uint64_t sum = 0;

    for (size_t i = 0; i < c->count; i++)
        sum += switches_of(process_id, v->entries[c->members[i]].os_id, &scratch);
    buffer_free(&scratch);
    return sum;
}

/* Threads that wait for ever are not woken. A cycle whose members are was open again: their waits
 * have a time limit that the stack does not tell. A chain whose thread is was none, nor was a cycle
 * that was only suspected, if no time limit opened it. */
static void doubt_cycles(threads_view *v, int process_id)
{
    uint64_t before[DOUBTED], of_chains[DOUBTED];
    size_t count = v->cycle_count < DOUBTED ? v->cycle_count : (size_t)DOUBTED;
    size_t chains = v->chain_count < DOUBTED ? v->chain_count : (size_t)DOUBTED;
    buffer scratch = BUFFER_EMPTY;

    if (process_id == 0 || (v->cycle_count == 0 && v->chain_count == 0))
        return;
    for (size_t i = 0; i < count; i++)
        before[i] = switches_of_cycle(v, &v->cycles[i], process_id);
    for (size_t i = 0; i < chains; i++)
        of_chains[i] = switches_of(process_id, v->entries[v->chains[i].entry].os_id, &scratch);
    os_sleep_ms(DOUBT_MS);
    for (size_t i = chains; i-- > 0;)
        if (of_chains[i] != switches_of(process_id, v->entries[v->chains[i].entry].os_id, &scratch))
            memmove(&v->chains[i], &v->chains[i + 1], (--v->chain_count - i) * sizeof *v->chains);
    buffer_free(&scratch);
    for (size_t i = count; i-- > 0;) {
        threads_cycle *c = &v->cycles[i];

        if ((c->endless && !c->suspected) || before[i] == switches_of_cycle(v, c, process_id))
            continue;
        if (c->suspected && !c->limited)
            threads_drop_cycle(v, i);
        else
            c->suspected = c->limited = true;
    }
}

/* What was asked for and is not there is told, after what else there is to see. */
static int check_match(const options *o, const threads_view *v, error *e)
{
    if (o->watch_ms != 0 || threads_show_has_match(v, &o->show))
        return 0;
    if (o->show.thread != 0)
        error_set(e, ERROR_NOT_FOUND, "there is no thread %llu%s%s",
                  (unsigned long long)o->show.thread,
                  o->show.filter == NULL ? "" : " that matches ",
                  o->show.filter == NULL ? "" : o->show.filter);
    else
        error_set(e, ERROR_NOT_FOUND, "no thread matches %s", o->show.filter);
    return error_advise(e,
                        "--flat lists all of them, with names and methods (* and ? are wildcards)");
}

/* A look by its number; 0 = the last one, with what all of them say. */
static int show_look(const options *o, const model *m, uint64_t look, const heap *h, error *e)
{
    threads_show_options show = o->show;
    threads_view view;
    threads_heap of_heap = {0};
    zombies found = {0};
    int code = threads_make_look(m, &m->processes[0], look, &view, e);

    if (code != 0)
        return code;
    if (look == 0)
        doubt_cycles(&view, o->alive);
    if (h != NULL) {
        code = threads_heap_make(&view, h, &of_heap, e);
        show.heap = &of_heap;
    }
    if (look == 0 && code == 0) {
        code = zombies_find(&view, show.heap, &found, e);
        show.zombies = &found;
    }
    if (code == 0) {
        threads_show(&view, &show);
        code = check_match(o, &view, e);
    }
    zombies_free(&found);
    threads_heap_free(&of_heap);
    threads_free(&view);
    return code;
}

/* The last look, with what the snapshot adds. */
static int show_with_snapshot(const options *o, const model *m, const char *snapshot, error *e)
{
    const model_process *p;
    heap h;
    model n;
    int code = model_load_path(snapshot, 0, &n, e);

    if (code != 0)
        return code;
    p = heap_find(&n);
    code = p == NULL ? error_set(e, ERROR_NOT_FOUND, "there is no heap snapshot in %s", snapshot)
                     : heap_open(&n, p, &h, e);
    if (code == 0) {
        code = show_look(o, m, 0, &h, e);
        heap_free(&h);
    }
    model_free(&n);
    return code;
}

/* The last look of a recording, or each one with --watch. */
static int show(const options *o, const char *file, const char *snapshot, bool every, error *e)
{
    model m;
    int code = model_load_path(file, 0, &m, e);

    if (code != 0)
        return code;
    if (m.process_count == 0)
        code = error_set(e, ERROR_NOT_FOUND, "the recording holds no process");
    else if (snapshot != NULL && access(snapshot, R_OK) == 0)
        code = show_with_snapshot(o, &m, snapshot, e);
    else if (!every)
        code = show_look(o, &m, 0, NULL, e);
    for (uint64_t i = 1; code == 0 && every && i <= threads_last_look(&m, &m.processes[0]); i++)
        code = show_look(o, &m, i, NULL, e);
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
    error ignored;

    error_clear(&ignored);
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
    case 'C':
        o->core = true;
        return true;
    case 'h':
        o->heap = true;
        return true;
    case 'O':
        o->outside = true;
        return true;
    case 'w':
        return parse_watch(optarg, o);
    case 'd':
        return catalogue_parse_duration(optarg, &o->span_ns, &ignored) == 0 && o->span_ns != 0;
    case 't':
        return text_to_u64(optarg, &o->show.thread);
    default:
        return false;
    }
}

static int parse(int argc, char **argv, options *o, error *e)
{
    static const char LETTERS[] = "o:f:d:";
    static const struct option OPTIONS[] = {
        {"json", no_argument, NULL, 'j'},         {"flat", no_argument, NULL, 'l'},
        {"filter", required_argument, NULL, 'F'}, {"thread", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'}, {"format", required_argument, NULL, 'f'},
        {"watch", optional_argument, NULL, 'w'},  {"duration", required_argument, NULL, 'd'},
        {"outside", no_argument, NULL, 'O'},      {"heap", no_argument, NULL, 'h'},
        {"core", no_argument, NULL, 'C'},         {NULL, 0, NULL, 0}};
    int option;

    memset(o, 0, sizeof *o);
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL)) != -1) {
        if (option == '?')
            return bad_option("threads", LETTERS, OPTIONS, argv, e);
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
    o->show.wants_more = o->span_ns != 0 || o->heap;
    if ((o->span_ns != 0 || o->heap || (o->core && o->watch_ms != 0)) &&
        (o->outside || o->core || o->watch_ms != 0)) {
        error_set(e, ERROR_USAGE, "-d, --heap and --watch do not go with --outside or --core");
        return error_advise(e, "leave one of them out");
    }
    return 0;
}

/* The names of the files of a look; temporary ones where the user named none. */
static int name_files(const options *o, char *file, char *snapshot, size_t room, error *e)
{
    int code = 0;

    snapshot[0] = '\0';
    if (o->file == NULL)
        code = take_temporary(file, room, e);
    else if (snprintf(file, room, "%s", o->file) >= (int)room)
        code = error_set(e, ERROR_USAGE, "the file's name is too long");
    if (code == 0 && o->heap && o->file != NULL)
        file_name_of_snapshot(file, snapshot, room + 16);
    else if (code == 0 && o->heap)
        code = take_temporary(snapshot, room, e);
    return code;
}

/* Also when nobody has asked yet how. */
static bool has_ended(int process_id)
{
    buffer stat = BUFFER_EMPTY;
    const char *state = NULL;
    bool ended = procfs_read(process_id, "stat", 4096, &stat) != 0;

    if (!ended)
        state = strrchr(buffer_text(&stat), ')');
    ended = ended || (state != NULL && (state[2] == 'Z' || state[2] == 'X'));
    buffer_free(&stat);
    return ended;
}

/* One look into a file, which is then shown. */
static int look_once(options *o, error *e)
{
    enum { ROOM = 512 };
    char file[ROOM], snapshot[ROOM + 16];
    int code = name_files(o, file, snapshot, ROOM, e);

    if (code != 0)
        return code;
    code = look_into_file(o, file, snapshot, e);
    if (code == 0)
        code = show(o, file, snapshot[0] != '\0' ? snapshot : NULL, false, e);
    if (code == 0 && o->alive != 0 && o->span_ns != 0 && has_ended(o->alive))
        fprintf(stderr,
                "clarinet: process %d ended while clarinet looked at it: this is what was seen "
                "before\n",
                o->alive);
    if (o->file == NULL) {
        take_forget(file);
        take_forget(snapshot);
    }
    return code;
}

/* A look now and then, until Ctrl-C. */
static int watch(options *o, error *e)
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

/* A recording, and the snapshot beside it when there is one. */
static int show_file(const options *o, error *e)
{
    char snapshot[600];

    file_name_of_snapshot(o->target, snapshot, sizeof snapshot);
    return show(o, o->target, o->watch_ms == 0 ? snapshot : NULL, o->watch_ms != 0, e);
}

int verb_threads(int argc, char **argv)
{
    options o;
    error e;
    int code;

    error_clear(&e);
    if (parse(argc, argv, &o, &e) != 0)
        return cli_fail(&e);
    if (!o.core && text_ends_with(o.target, ".clarinet"))
        code = show_file(&o, &e);
    else
        code = o.watch_ms != 0 ? watch(&o, &e) : look_once(&o, &e);
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
