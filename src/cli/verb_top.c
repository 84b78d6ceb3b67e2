/*
 * clarinet top PID: a live view of a process in the whole terminal. Records with several profilers
 * and shows the last 5 seconds, once a second; nothing is kept on disk.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "cli/top_screen.h"
#include "cli/top_window.h"
#include "diagnostics/processes.h"
#include "session/session.h"

#define SPAN_NS    UINT64_C(5000000000)
#define REFRESH_NS UINT64_C(1000000000)

typedef struct {
    int process_id;
    char title[256];
    top_terminal terminal;
    top_choice choice;
    top_window window;
    top_vitals vitals;
    model model; /* of the moment that is shown */
    bool has_model;
    top_summary summary;   /* of it */
    uint64_t refreshed_ns; /* 0 = never */
    uint64_t cpu_ticks;    /* at that time */
    uint64_t cpu_ns;
    buffer picture;
    error trouble;
} top;

static bool on_chunk(void *context, const recording_chunk *chunk)
{
    top *t = context;

    top_window_feed(&t->window, chunk, os_monotonic_ns());
    return false;
}

/* Processor time, threads and memory, as the kernel counts them. */
static void look_at_process(top *t, uint64_t now)
{
    enum { USER_TIME = 11, SYSTEM_TIME = 12, THREADS = 17, PAGES = 21, FIELDS };
    uint64_t fields[FIELDS] = {0};
    buffer text = BUFFER_EMPTY;
    char path[64];
    char *at;

    snprintf(path, sizeof path, "/proc/%d/stat", t->process_id);
    if (os_read_file(path, 0, &text, NULL) != 0 ||
        (at = strrchr(buffer_text(&text), ')')) == NULL) {
        buffer_free(&text);
        return;
    }
    at += 2; /* the state follows */
    for (size_t i = 0; i < FIELDS && at != NULL; i++) {
        fields[i] = strtoull(at, NULL, 10);
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    buffer_free(&text);
    if (t->cpu_ns != 0 && now > t->cpu_ns)
        t->vitals.cpu_percent = 100.0 *
                                (double)(fields[USER_TIME] + fields[SYSTEM_TIME] - t->cpu_ticks) /
                                (double)sysconf(_SC_CLK_TCK) / ((double)(now - t->cpu_ns) / 1e9);
    t->cpu_ns = now;
    t->cpu_ticks = fields[USER_TIME] + fields[SYSTEM_TIME];
    t->vitals.threads = (double)fields[THREADS];
    t->vitals.memory = (double)fields[PAGES] * (double)sysconf(_SC_PAGESIZE);
}

static void forget_model(top *t)
{
    top_summary_free(&t->summary);
    if (t->has_model)
        model_free(&t->model);
    t->has_model = false;
}

static void refresh(top *t, uint64_t now)
{
    uint64_t watched = t->window.first_ns == 0 ? 0 : now - t->window.first_ns;
    model fresh;

    look_at_process(t, now);
    if (top_window_load(&t->window, now, SPAN_NS, &fresh, &t->trouble) != 0)
        return;
    forget_model(t);
    t->model = fresh;
    t->has_model = true;
    watched = watched > SPAN_NS ? SPAN_NS : watched < REFRESH_NS ? REFRESH_NS : watched;
    top_summary_init(&t->summary, &t->model, (double)watched / 1e9);
    top_vitals_take(&t->summary, &t->vitals, &t->trouble);
}

static void draw(top *t)
{
    const top_view *view = &TOP_VIEWS[t->choice.view];
    top_rows rows = {0};

    if (t->summary.process != NULL)
        view->fill(&t->summary, &rows, &t->trouble);
    top_rows_arrange(&rows, view, t->choice.filter, t->choice.sort);
    top_screen_draw(&t->terminal, &t->choice, t->title, &t->vitals, &rows, &t->picture);
    top_terminal_show(&t->picture);
    top_rows_free(&rows);
}

static void on_progress(void *context, const session_progress *progress)
{
    top *t = context;
    uint64_t now = os_monotonic_ns();
    bool changed = top_terminal_resized(&t->terminal);
    int key;

    while ((key = top_terminal_key(&t->terminal)) != TOP_KEY_NONE) {
        top_choose(&t->choice, key);
        changed = true;
    }
    if (t->choice.is_over && !progress->stopping)
        kill(getpid(), SIGINT); /* as Ctrl-C does: the session waits for it */
    if (!t->choice.is_paused && now - t->refreshed_ns >= REFRESH_NS) {
        refresh(t, now);
        t->refreshed_ns = now;
        changed = true;
    }
    if (changed)
        draw(t);
}

static int select_profilers(catalogue_selection *selection, error *e)
{
    static const char *const NAMES[] = {"cpu",         "gc",       "exceptions", "contention",
                                        "allocations", "counters", "http"};
    int code = 0;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES && code == 0; i++)
        code = catalogue_add(selection, NAMES[i], e);
    return code;
}

static int watch(top *t, const diagnostics_process *process, session_result *result, error *e)
{
    catalogue_selection selection = {0};
    session_options session = {0};
    buffer library = BUFFER_EMPTY;
    char nowhere[64];
    int descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int code = select_profilers(&selection, e);

    /* By way of the descriptor: nobody can remove that by accident. */
    snprintf(nowhere, sizeof nowhere, "/proc/self/fd/%d", descriptor);
    if (code == 0 && descriptor < 0)
        code = error_set(e, ERROR_IO, "/dev/null cannot be opened");
    if (code == 0)
        code = library_find(LIBRARY_AGENT, &library, e);
    if (code == 0)
        code = top_terminal_open(&t->terminal, e);
    if (code == 0) {
        draw(t);
        session.selection = &selection;
        session.library = buffer_text(&library);
        session.file = nowhere;
        session.command = "clarinet top";
        session.stop = cli_open_stop_descriptor(NULL);
        session.progress = on_progress;
        session.enough = on_chunk;
        session.context = t;
        code = session_record_process(&session, process, result, e);
        top_terminal_close(&t->terminal);
    }
    if (descriptor >= 0)
        close(descriptor);
    buffer_free(&library);
    return code;
}

static int parse(int argc, char **argv, const char **target, error *e)
{
    static const struct option OPTIONS[] = {{NULL, 0, NULL, 0}};

    opterr = 0;
    optind = 1;
    if (getopt_long(argc, argv, "", OPTIONS, NULL) != -1)
        return error_set(e, ERROR_USAGE, "top does not know the option %s", argv[optind - 1]);
    if (optind + 1 != argc) {
        error_set(e, ERROR_USAGE, "top needs one process");
        return error_advise(e, "name a PID or a process: clarinet ps");
    }
    *target = argv[optind];
    return 0;
}

int verb_top(int argc, char **argv)
{
    top t = {.vitals = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}};
    diagnostics_process process;
    session_result result = {0};
    const char *target = NULL;
    error e;
    int code;

    error_clear(&e);
    code = parse(argc, argv, &target, &e);
    if (code == 0)
        code = diagnostics_find_process(target, &process, &e);
    if (code == 0) {
        t.process_id = process.process_id;
        snprintf(t.title, sizeof t.title, "clarinet top: %s (pid %d)  .NET %s", process.name,
                 process.process_id, process.runtime_version);
        code = watch(&t, &process, &result, &e);
        if (code == 0 && result.trouble.code != 0) {
            e = result.trouble;
            code = e.code;
        } else if (code == 0 && text_equal(result.reason, "target exited")) {
            printf("%s (pid %d) has ended.\n", process.name, process.process_id);
        }
        diagnostics_process_free(&process);
    }
    forget_model(&t);
    top_window_free(&t.window);
    buffer_free(&t.picture);
    return code == 0 ? CLI_DONE : cli_fail(&e);
}
