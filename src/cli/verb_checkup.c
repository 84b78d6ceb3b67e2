/*
 * clarinet checkup: all low-cost profilers at once, then what is wrong, in words.
 *
 * One recording is made, read back, and judged by the rules of analysis/findings; the recording and
 * its page stay. What is printed goes to stdout, in run mode (but for --json) to stderr, because
 * stdout is the program's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/findings.h"
#include "base/buffer.h"
#include "base/os.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/bad_option.h"
#include "cli/checkup_growth.h"
#include "cli/checkup_heap.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/file_name.h"
#include "cli/library.h"
#include "cli/way.h"
#include "diagnostics/processes.h"
#include "report/checkup.h"
#include "session/low_cost.h"
#include "session/session.h"

enum { STANDARD_SECONDS = 10, BAR = 20, MOST_QUICK_MS = 100 };
/* Between two looks at a heap that grows: a fifth of the recording, but from 2 to 10 s. */
enum { GROWTH_PART = 5, LEAST_GROWTH_MS = 2000, MOST_GROWTH_MS = 10000 };

typedef struct {
    catalogue_selection selection;
    session_options session;
    findings_limits limits;
    const char *target;   /* PID or name; NULL in run mode */
    char *const *command; /* NULL when attaching */
    const char *format;   /* text, md, json */
    const char *json_file;
    const char *baseline;
    const char *also; /* profilers besides; NULL = none */
    bool no_heap;     /* not even a quick look */
    bool heap;        /* a snapshot of the heap at the end */
    bool has_fail_on;
    findings_severity fail_on;
    char page[512];
    char recording[520];
    char snapshot[530];                 /* the heap's; "" = none was taken, or none stays */
    bool has_heap;                      /* one was taken: */
    model heap_model;                   /* … what it says */
    checkup_types types;                /* … its largest types */
    checkup_growth growth;              /* where memory grows */
    const diagnostics_process *process; /* while a snapshot of it may be taken; else NULL */
    buffer library;
    buffer typed;
    buffer looking; /* "cpu, wall, …" */
} request;

static bool is_terminal;

static void show_progress(void *context, const session_progress *p)
{
    const request *q = context;
    double elapsed = (double)p->elapsed_ns / 1e9;
    double whole = (double)p->duration_ns / 1e9;
    char bar[BAR + 1];
    int done = whole > 0 ? (int)(BAR * elapsed / whole) : 0;

    if (!is_terminal)
        return;
    done = done > BAR ? BAR : done;
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)done);
    bar[BAR] = '\0';
    if (!p->started)
        cli_show_line("waiting for the program…");
    else if (p->stopping)
        cli_show_line("thinking…");
    else if (whole > 0)
        cli_show_line("[%s] %.0f of %.0f s · looking at %s", bar, elapsed, whole,
                      buffer_text(&q->looking));
    else
        cli_show_line("%.0f s · looking at %s · Ctrl-C stops", elapsed, buffer_text(&q->looking));
}

static int take_option(request *q, int option, error *e)
{
    switch (option) {
    case 'd':
        if (catalogue_parse_duration(optarg, &q->session.duration_ns, e) != 0)
            return e->code;
        return q->session.duration_ns != 0
                   ? 0
                   : error_set(e, ERROR_USAGE, "a duration of 0 sees nothing");
    case 'o':
        if (snprintf(q->page, sizeof q->page, "%s", optarg) >= (int)sizeof q->page)
            return error_set(e, ERROR_USAGE, "the file's name is too long");
        return 0;
    case 'f':
        q->format = optarg;
        if (text_equal(optarg, "text") || text_equal(optarg, "md") || text_equal(optarg, "json"))
            return 0;
        error_set(e, ERROR_USAGE, "there is no format '%s'", optarg);
        return error_advise(e, "formats: text, md, json; html is written in any case (-o)");
    case 'j':
        q->format = "json";
        q->json_file = optarg;
        return 0;
    case 'F':
        q->has_fail_on = true;
        if (findings_parse_severity(optarg, &q->fail_on))
            return 0;
        return error_set(e, ERROR_USAGE, "--fail-on wants info, warning or critical, not '%s'",
                         optarg);
    case 'b':
        q->baseline = optarg;
        return 0;
    case 'a':
        q->also = optarg;
        return 0;
    case 'h':
        q->heap = true;
        return 0;
    case 'H':
        q->no_heap = true;
        return 0;
    default: /* t */
        return findings_limits_read(&q->limits, optarg, e);
    }
}

static int parse(int argc, char **argv, request *q, error *e)
{
    static const char LETTERS[] = "d:o:f:";
    static const struct option OPTIONS[] = {{"duration", required_argument, NULL, 'd'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"json", optional_argument, NULL, 'j'},
                                            {"fail-on", required_argument, NULL, 'F'},
                                            {"baseline", required_argument, NULL, 'b'},
                                            {"thresholds", required_argument, NULL, 't'},
                                            {"also", required_argument, NULL, 'a'},
                                            {"heap", no_argument, NULL, 'h'},
                                            {"no-heap", no_argument, NULL, 'H'},
                                            {NULL, 0, NULL, 0}};
    int end = cli_find_command(argc, argv);
    int option;
    int code = 0;

    q->format = "text";
    opterr = 0;
    optind = 1;
    while (code == 0 && (option = getopt_long(end, argv, LETTERS, OPTIONS, NULL)) != -1)
        code = option == '?' ? bad_option("checkup", LETTERS, OPTIONS, argv, e)
                             : take_option(q, option, e);
    if (code != 0)
        return code;
    if (optind + 1 < end || (optind < end && end < argc)) {
        error_set(e, ERROR_USAGE, "more than one target: %s and %s", argv[optind],
                  optind + 1 < end ? argv[optind + 1] : "a command");
        return error_advise(e, "a command and its arguments stand after --");
    }
    if (end + 1 < argc)
        q->command = argv + end + 1;
    else if (optind < end)
        q->target = argv[optind];
    if (q->command == NULL && q->target == NULL) {
        error_set(e, ERROR_USAGE, "nobody to look at");
        return error_advise(e, "name a PID or a process (`clarinet ps`), or a command after --");
    }
    if (q->heap && q->command != NULL) {
        error_set(e, ERROR_USAGE, "--heap is for a process that runs, not for a command");
        return error_advise(e, "start the command, then check its PID");
    }
    return 0;
}

/* A PID or a name of a process is none, whatever lies in the folder under that name. */
static bool is_recording(const char *target)
{
    struct stat status;

    return (strchr(target, '/') != NULL || text_ends_with(target, ".clarinet") ||
            text_ends_with(target, ".nettrace") || text_ends_with(target, ".gcdump") ||
            text_ends_with(target, ".pb.gz") || text_ends_with(target, ".pprof")) &&
           stat(target, &status) == 0 && S_ISREG(status.st_mode);
}

/* What is there already, or is to be had in another way, is named. */
static int add_more(request *q, error *e)
{
    const char *name = q->also;

    for (size_t length; *name != '\0'; name += length + (name[length] == ',')) {
        char one[64];

        length = strcspn(name, ",");
        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : 0), name);
        if (catalogue_selected_by_name(&q->selection, one) != NULL) {
            error_set(e, ERROR_USAGE, "a checkup records %s in any case", one);
            return error_advise(e, "--also is for others; it always has %s",
                                buffer_text(&q->looking));
        }
        if (text_equal(one, "heap")) {
            error_set(e, ERROR_USAGE, "a snapshot of the heap comes with --heap, not with --also");
            return error_advise(e, "as in: clarinet checkup --heap PID");
        }
    }
    buffer_format(&q->looking, ", %s", q->also);
    return catalogue_add_list(&q->selection, q->also, e);
}

static int choose_profilers(request *q, error *e)
{
    if (q->command == NULL && q->session.duration_ns == 0)
        q->session.duration_ns = STANDARD_SECONDS * UINT64_C(1000000000);
    if (session_select_low_cost(&q->selection, &q->looking, e) != 0)
        return e->code;
    return q->also == NULL ? 0 : add_more(q, e);
}

/* The page's name, and the recording's beside it. */
static void name_files(request *q, const char *name, int process_id)
{
    size_t length;

    if (q->page[0] == '\0')
        file_name_make(q->page, sizeof q->page, name, process_id, ".html");
    length = strlen(q->page);
    if (text_ends_with(q->page, ".html"))
        length -= strlen(".html");
    snprintf(q->recording, sizeof q->recording, "%.*s.clarinet", (int)length, q->page);
    q->session.file = q->recording;
}

/* The earlier checkup must not be lost to this one. */
static int check_files(const request *q, error *e)
{
    char snapshot[sizeof q->snapshot] = "";
    const char *const written[] = {q->recording, q->page, q->json_file, snapshot};
    int code = 0;

    file_name_of_snapshot(q->recording, snapshot, sizeof snapshot);
    for (size_t i = 0; i < sizeof written / sizeof *written && code == 0; i++)
        code = file_name_check_apart(q->baseline, written[i], e);
    return code;
}

static int write_page(const request *q, const model *m, const findings *found, error *e)
{
    report_options options = {
        .limits = &q->limits, .found = found, .snapshot = q->has_heap ? &q->heap_model : NULL};
    int descriptor = open(q->page, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    sink out;
    int code;

    if (descriptor < 0) {
        error_set_errno(e, ERROR_IO, errno, "cannot write %s", q->page);
        return error_advise(e, "choose another place with -o");
    }
    sink_init(&out, descriptor);
    code = report_write(m, report_find_format("html"), &options, &out, e);
    sink_free(&out);
    if (close(descriptor) != 0 && code == 0)
        code = error_set_errno(e, ERROR_IO, errno, "cannot write %s", q->page);
    return code;
}

static int take_off_baseline(const request *q, findings *found, error *e)
{
    char snapshot[600];
    findings known;
    model before;
    int code;

    if (q->baseline == NULL)
        return 0;
    code = input_load(q->baseline, &before, e);
    if (code != 0)
        return code;
    code = findings_look(&before, &q->limits, &known, e);
    file_name_of_snapshot(q->baseline, snapshot, sizeof snapshot);
    if (code == 0 && q->has_heap && access(snapshot, R_OK) == 0)
        code = checkup_heap_judge(snapshot, &before, &q->limits, &known, NULL, NULL, e);
    model_free(&before);
    if (code == 0)
        findings_subtract(found, &known);
    findings_free(&known);
    return code;
}

static int print(const request *q, const model *m, const findings *found, error *e)
{
    bool is_json = text_equal(q->format, "json");
    int descriptor = q->command != NULL && !is_json ? STDERR_FILENO : STDOUT_FILENO;
    checkup c = {
        .m = m,
        .list = found,
        .limits = &q->limits,
        .only_new = q->baseline != NULL,
        .colour = cli_has_colour(descriptor == STDOUT_FILENO ? stdout : stderr),
        .page = q->page[0] == '\0' ? NULL : q->page,
        .recording = q->recording,
        .snapshot = q->snapshot[0] == '\0' ? NULL : q->snapshot,
        .types = &q->types,
    };
    sink out;
    int code;

    if (q->json_file != NULL)
        descriptor = open(q->json_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot write %s", q->json_file);
    fflush(NULL);
    sink_init(&out, descriptor);
    code = is_json                       ? checkup_write_json(&c, &out, e)
           : text_equal(q->format, "md") ? checkup_write_markdown(&c, &out, e)
                                         : checkup_write_text(&c, &out, e);
    sink_free(&out);
    if (q->json_file != NULL)
        close(descriptor);
    return code;
}

/* A program that has ended meanwhile, or was let go by Ctrl-C, has none; unasked also one that it
 * would hold up. */
static bool wants_heap(const request *q, const model *m, const findings *found)
{
    struct pollfd stop = {q->session.stop, POLLIN, 0};
    double quick_ms;

    if (q->process == NULL || (q->no_heap && !q->heap) || poll(&stop, 1, 0) > 0)
        return false;
    if (q->heap)
        return true;
    quick_ms = checkup_heap_quick_ms(m, found, q->process->runtime_version);
    return quick_ms >= 0 && quick_ms < MOST_QUICK_MS;
}

static int take(const request *q, checkup_heap_kind kind, error *e)
{
    session_options session = q->session;
    session_result result = {0};
    int code;

    if (is_terminal)
        cli_show_line("looking at the heap…");
    session.file = q->snapshot;
    code = checkup_heap_take(&session, q->process, kind, &result, e);
    if (code == 0 && result.trouble.code != 0) {
        *e = result.trouble;
        code = e->code;
    }
    return code;
}

/* Takes it into q->snapshot and reads it. */
static int take_snapshot(request *q, checkup_heap_kind kind, const model *m, findings *found,
                         error *e)
{
    int code = take(q, kind, e);

    if (code != 0) {
        q->snapshot[0] = '\0';
        return code;
    }
    code = checkup_heap_judge(q->snapshot, m, &q->limits, found, &q->types, &q->heap_model, e);
    q->has_heap = code == 0;
    return code;
}

/* The one that was asked for stays, beside the recording. False: it could not be taken. */
static bool take_whole_heap(request *q, const model *m, findings *found)
{
    error e;

    error_clear(&e);
    file_name_of_snapshot(q->recording, q->snapshot, sizeof q->snapshot);
    if (take_snapshot(q, CHECKUP_HEAP_WHOLE, m, found, &e) == 0)
        return true;
    fputs(is_terminal ? "\r\033[K" : "", stderr);
    cli_fail(&e);
    return q->snapshot[0] != '\0';
}

/* A file that nobody sees becomes q->snapshot. False: there is none. */
static bool open_unseen(request *q, int *descriptor)
{
    *descriptor = memfd_create("clarinet-heap", MFD_CLOEXEC);
    if (*descriptor >= 0)
        snprintf(q->snapshot, sizeof q->snapshot, "/proc/self/fd/%d", *descriptor);
    return *descriptor >= 0;
}

static void close_unseen(request *q, int descriptor)
{
    q->snapshot[0] = '\0';
    close(descriptor);
}

/* A look that nobody asked for leaves no file, and is left out when it is not whole. */
static void take_unasked_heap(request *q, checkup_heap_kind kind, const model *m, findings *found)
{
    int descriptor;
    error e;

    error_clear(&e);
    if (!open_unseen(q, &descriptor))
        return;
    take_snapshot(q, kind, m, found, &e);
    close_unseen(q, descriptor);
}

/* The first look at a heap that grows; then time passes. False: the second can't be compared. */
static bool begin_growth(request *q)
{
    struct pollfd stop = {q->session.stop, POLLIN, 0};
    uint64_t wait_ms = q->session.duration_ns / GROWTH_PART / 1000000;
    int descriptor;
    error e;
    bool begun;

    error_clear(&e);
    if (!open_unseen(q, &descriptor))
        return false;
    begun = take(q, CHECKUP_HEAP_ROOTS, &e) == 0 &&
            checkup_growth_begin(&q->growth, q->snapshot, &e) == 0;
    close_unseen(q, descriptor);
    wait_ms = wait_ms < LEAST_GROWTH_MS ? LEAST_GROWTH_MS : wait_ms;
    wait_ms = wait_ms > MOST_GROWTH_MS ? MOST_GROWTH_MS : wait_ms;
    if (begun && is_terminal)
        cli_show_line("memory grows: looking again in %.0f s…", (double)wait_ms / 1000);
    return begun && poll(&stop, 1, (int)wait_ms) == 0;
}

/* False: a snapshot that was asked for could not be taken. */
static bool look_at_heap(request *q, const model *m, findings *found)
{
    bool is_taken = true;
    bool grows;

    if (!wants_heap(q, m, found))
        return true;
    grows = checkup_growth_is_asked(found) && begin_growth(q);
    if (q->heap)
        is_taken = take_whole_heap(q, m, found);
    else
        take_unasked_heap(q, grows ? CHECKUP_HEAP_ROOTS : CHECKUP_HEAP_QUICK, m, found);
    if (q->has_heap && grows)
        checkup_growth_tell(&q->growth, &q->heap_model, found);
    else if (q->has_heap)
        checkup_heap_tell_largest(found, &q->types);
    checkup_growth_free(&q->growth);
    return is_taken;
}

/* Reads the recording, judges, writes and prints. Returns the exit code so far. */
static int judge(request *q, int otherwise, error *e)
{
    findings found = {0};
    model m;
    int code = input_load(q->recording, &m, e);

    if (code != 0)
        return cli_fail(e);
    code = findings_look(&m, &q->limits, &found, e);
    if (code == 0 && !look_at_heap(q, &m, &found))
        otherwise = CLI_FAILED;
    if (code == 0 && q->page[0] != '\0' && write_page(q, &m, &found, e) != 0) {
        /* what was found is told all the same */
        cli_fail(e);
        unlink(q->page);
        q->page[0] = '\0';
        otherwise = q->command == NULL ? CLI_FAILED : otherwise;
        error_clear(e);
    }
    if (code == 0)
        code = take_off_baseline(q, &found, e);
    if (is_terminal)
        fputs("\r\033[K", stderr);
    if (code == 0)
        code = print(q, &m, &found, e);
    if (code == 0 && q->has_fail_on && findings_count(&found, q->fail_on) != 0)
        otherwise = CLI_FINDINGS;
    findings_free(&found);
    checkup_heap_free(&q->types);
    if (q->has_heap)
        model_free(&q->heap_model);
    model_free(&m);
    return code != 0 ? cli_fail(e) : otherwise;
}

static void tell_trouble(const session_result *result)
{
    if (is_terminal)
        fputs("\r\033[K", stderr);
    way_tell(result);
    if (result->trouble.code != 0)
        cli_fail(&result->trouble);
}

/* A recording that was made before: judged again; a page only when it is asked for. */
static int examine_file(request *q, error *e)
{
    if (snprintf(q->recording, sizeof q->recording, "%s", q->target) >= (int)sizeof q->recording)
        error_set(e, ERROR_USAGE, "the file's name is too long");
    else if (q->session.duration_ns != 0)
        error_set(e, ERROR_USAGE, "%s is a recording: -d is for a process", q->target);
    else if (q->heap)
        error_set(e, ERROR_USAGE, "%s is a recording: --heap is for a process", q->target);
    else if (file_name_check_apart(q->recording, q->page, e) == 0 &&
             file_name_check_apart(q->recording, q->json_file, e) == 0 &&
             file_name_check_apart(q->baseline, q->page, e) == 0 &&
             file_name_check_apart(q->baseline, q->json_file, e) == 0)
        return judge(q, CLI_DONE, e);
    return cli_fail(e);
}

static int examine_process(request *q, error *e)
{
    diagnostics_process process;
    session_result result;
    int code = diagnostics_find_process(q->target, &process, e);

    if (code != 0)
        return cli_fail(e);
    name_files(q, process.name, process.process_id);
    code = check_files(q, e);
    if (code == 0)
        code = session_pace_low_cost(&q->selection, process.process_id, q->session.duration_ns, e);
    if (code == 0 && is_terminal)
        cli_show_line("attaching to %s (%d)…", process.name, process.process_id);
    if (code == 0)
        code = session_record_process(&q->session, &process, &result, e);
    if (code == 0) {
        tell_trouble(&result);
        if (result.trouble.code == 0 && (!result.through_port || q->heap))
            q->process = &process;
        code = judge(q, result.trouble.code == 0 ? CLI_DONE : CLI_FAILED, e);
        q->process = NULL;
    } else {
        if (is_terminal)
            fputs("\r\033[K", stderr);
        code = cli_fail(e);
    }
    diagnostics_process_free(&process);
    return code;
}

static int examine_command(request *q, error *e)
{
    session_result result;

    name_files(q, q->command[0], os_process_id());
    if (check_files(q, e) != 0 ||
        session_pace_low_cost(&q->selection, 0, q->session.duration_ns, e) != 0 ||
        session_record_command(&q->session, q->command, &result, e) != 0)
        return cli_fail(e);
    tell_trouble(&result);
    if (!result.total.started)
        return result.exit_code;
    return judge(q, result.exit_code, e);
}

int verb_checkup(int argc, char **argv)
{
    static request q; /* large; the one of this process */
    error e;
    int code;

    error_clear(&e);
    findings_limits_init(&q.limits);
    code = parse(argc, argv, &q, &e);
    if (code == 0 && q.target != NULL && is_recording(q.target))
        return examine_file(&q, &e);
    if (code == 0)
        code = choose_profilers(&q, &e);
    if (code == 0)
        code = way_choose(&q.session.way, q.command != NULL, &e);
    if (code == 0)
        code = library_find(LIBRARY_AGENT, &q.library, &e);
    if (code != 0)
        return cli_fail(&e);
    cli_append_typed(&q.typed, "clarinet", argc, argv);
    is_terminal = isatty(STDERR_FILENO) != 0;
    q.session.selection = &q.selection;
    q.session.library = buffer_text(&q.library);
    q.session.command = buffer_text(&q.typed);
    q.session.progress = show_progress;
    q.session.context = &q;
    q.session.stop = cli_open_stop_descriptor(NULL);
    code = q.command != NULL ? examine_command(&q, &e) : examine_process(&q, &e);
    buffer_free(&q.library);
    buffer_free(&q.typed);
    buffer_free(&q.looking);
    return code;
}
