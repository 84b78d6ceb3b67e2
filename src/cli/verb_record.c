/* clarinet record: one recording of a process or of a command, with any set of profilers. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/os.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "cli/bad_option.h"
#include "cli/cli.h"
#include "cli/file_name.h"
#include "cli/library.h"
#include "cli/way.h"
#include "diagnostics/processes.h"
#include "session/session.h"

typedef struct {
    catalogue_selection selection;
    session_options session;
    const char *target;   /* PID or name; NULL in run mode */
    char *const *command; /* NULL when attaching */
    char file[512];
    bool streams; /* the recording goes to standard output */
    buffer library;
    buffer typed;
} request;

static bool terminal;

/* 1,234,567 for people. */
static const char *grouped(uint64_t value, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *out = text;

    for (int i = 0; i < length; i++) {
        if (i != 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

static const char *sized(uint64_t bytes, char text[32])
{
    if (bytes >= 1000000)
        snprintf(text, 32, "%.1f MB", (double)bytes / 1e6);
    else
        snprintf(text, 32, "%.1f KB", (double)bytes / 1e3);
    return text;
}

static void show_progress(void *context, const session_progress *p)
{
    char rows[32];
    char lost[32];
    double elapsed = (double)p->elapsed_ns / 1e9;

    (void)context;
    if (!terminal)
        return;
    if (!p->started)
        cli_show_line("waiting for the program…");
    else if (p->stopping)
        cli_show_line("stopping…");
    else if (p->duration_ns != 0)
        cli_show_line("%.0f s left · %s records · %s lost",
                      p->elapsed_ns >= p->duration_ns ? 0 : (double)p->duration_ns / 1e9 - elapsed,
                      grouped(p->rows, rows), grouped(p->lost, lost));
    else
        cli_show_line("%.0f s · %s records · %s lost · Ctrl-C stops and keeps all", elapsed,
                      grouped(p->rows, rows), grouped(p->lost, lost));
}

/* -o -: the recording goes to standard output, if that is ours and no terminal. */
static int choose_stream(request *q, error *e)
{
    if (q->command != NULL) {
        error_set(e, ERROR_USAGE, "standard output belongs to the command");
        return error_advise(e, "name a file, as in -o out.clarinet"), ERROR_USAGE;
    }
    if (isatty(STDOUT_FILENO)) {
        error_set(e, ERROR_USAGE, "a recording cannot be shown on a terminal");
        return error_advise(e, "name a file with -o, or pipe it, as in `| clarinet report -`"),
               ERROR_USAGE;
    }
    q->streams = true;
    strcpy(q->file, "/dev/stdout");
    signal(SIGPIPE, SIG_IGN); /* a reader that leaves is an error to be told */
    return 0;
}

static int parse(int argc, char **argv, request *q, error *e)
{
    static const char LETTERS[] = "p:d:o:";
    static const struct option OPTIONS[] = {{"profilers", required_argument, NULL, 'p'},
                                            {"duration", required_argument, NULL, 'd'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"set", required_argument, NULL, 's'},
                                            {"sdk", no_argument, NULL, 'S'},
                                            {NULL, 0, NULL, 0}};
    const char *settings[64];
    size_t setting_count = 0;
    int end = cli_find_command(argc, argv);
    int option;
    int code = 0;

    opterr = 0;
    optind = 1;
    while (code == 0 && (option = getopt_long(end, argv, LETTERS, OPTIONS, NULL)) != -1) {
        if (option == 'p') {
            code = catalogue_add_list(&q->selection, optarg, e);
        } else if (option == 'd') {
            code = catalogue_parse_duration(optarg, &q->session.duration_ns, e);
            if (code == 0 && q->session.duration_ns == 0)
                code = error_set(e, ERROR_USAGE, "a duration of 0 records nothing");
        } else if (option == 'o') {
            if (snprintf(q->file, sizeof q->file, "%s", optarg) >= (int)sizeof q->file)
                code = error_set(e, ERROR_USAGE, "the file's name is too long");
        } else if (option == 's' && setting_count < 64) {
            settings[setting_count++] = optarg;
        } else if (option == 's') {
            code = error_set(e, ERROR_USAGE, "--set is given more than 64 times");
        } else if (option == 'S') {
            q->session.sdk = true;
        } else {
            code = bad_option("record", LETTERS, OPTIONS, argv, e);
        }
    }
    if (code == 0 && q->selection.count == 0) {
        code = error_set(e, ERROR_USAGE, "no profiler is chosen");
        error_advise(e, "choose with -p, as in -p exceptions; `clarinet profilers` lists them");
    }
    for (size_t i = 0; i < setting_count && code == 0; i++)
        code = catalogue_set_text(&q->selection, settings[i], e);
    if (code != 0)
        return code;
    if (optind + 1 < end || (optind < end && end < argc)) {
        error_set(e, ERROR_USAGE, "more than one target: %s and %s", argv[optind],
                  optind + 1 < end ? argv[optind + 1] : "a command");
        return error_advise(e, "a command and its arguments stand after --"), ERROR_USAGE;
    }
    if (end + 1 < argc)
        q->command = argv + end + 1;
    else if (optind < end)
        q->target = argv[optind];
    if (q->command == NULL && q->target == NULL) {
        error_set(e, ERROR_USAGE, "nothing to record");
        return error_advise(e, "name a PID or a process (`clarinet ps`), or a command after --"),
               ERROR_USAGE;
    }
    if (q->session.sdk && q->command == NULL)
        return error_set(e, ERROR_USAGE, "--sdk is for a command after --");
    return text_equal(q->file, "-") ? choose_stream(q, e) : 0;
}

/* An empty recording is no failure, but nobody should have to guess. */
static void tell_nothing(const request *q, const session_result *result)
{
    catalogue_selection selection = q->selection;

    if (result->through_port && catalogue_selected_by_name(&selection, "heap") != NULL)
        fputs("  nothing came: the runtime sent no snapshot of the heap through its port in that "
              "time\n",
              stderr);
    else if (result->total.lost != 0)
        fputs("  nothing came, but there was something: the report tells why it was lost\n",
              stderr);
    else
        fputs("  nothing came: what was asked for did not happen in that time\n", stderr);
}

static void tell_result(const request *q, const session_result *result)
{
    const session_progress *total = &result->total;
    char rows[32];
    char lost[32];
    char bytes[32];
    buffer name = BUFFER_EMPTY;

    if (terminal)
        fputs("\r\033[K", stderr);
    if (result->trouble.code != 0)
        cli_fail(&result->trouble);
    if (!total->started)
        return;
    way_tell(result);
    way_tell_left_out(result);
    if (result->left[0] != '\0')
        fprintf(stderr,
                "the command has ended, what it started still runs: %s\n"
                "  -d records it for as long as you say, or record it by its PID\n",
                result->left);
    fprintf(stderr, "%s %s record%s in %.1f s (%s)", result->is_cut ? "seen:" : "recorded",
            grouped(total->rows, rows), total->rows == 1 ? "" : "s",
            (double)total->elapsed_ns / 1e9, result->reason);
    if (total->processes > 1)
        fprintf(stderr, " from %zu processes", total->processes);
    if (total->lost != 0)
        fprintf(stderr, ", %s lost", grouped(total->lost, lost));
    fprintf(stderr, ", %s%s\n", sized(total->bytes, bytes),
            result->is_cut ? " of them are in the file" : "");
    if (total->rows == 0)
        tell_nothing(q, result);
    if (total->not_recorded != 0)
        fprintf(stderr,
                "%zu more process%s not recorded: at most 256 are recorded at once, and as "
                "many as `ulimit -n` has room for (two descriptors each)\n",
                total->not_recorded, total->not_recorded == 1 ? " was" : "es were");
    file_name_append_quoted(&name, q->file);
    if (!q->streams)
        fprintf(stderr, "%s\n\nnext: clarinet report %s -f md\n", q->file, buffer_text(&name));
    buffer_free(&name);
}

static int record_process(request *q, error *e)
{
    diagnostics_process process;
    session_result result;
    int code = diagnostics_find_process(q->target, &process, e);

    if (code != 0)
        return cli_fail(e);
    if (q->file[0] == '\0')
        file_name_make(q->file, sizeof q->file, process.name, process.process_id, ".clarinet");
    q->session.file = q->file;
    if (terminal)
        cli_show_line("attaching to %s (%d)…", process.name, process.process_id);
    code = session_record_process(&q->session, &process, &result, e);
    diagnostics_process_free(&process);
    if (code != 0) {
        if (terminal)
            fputs("\r\033[K", stderr);
        return cli_fail(e);
    }
    tell_result(q, &result);
    return result.trouble.code == 0 ? CLI_DONE : CLI_FAILED;
}

static int record_command(request *q, error *e)
{
    session_result result;

    if (q->file[0] == '\0')
        file_name_make(q->file, sizeof q->file, q->command[0], os_process_id(), ".clarinet");
    q->session.file = q->file;
    if (session_record_command(&q->session, q->command, &result, e) != 0)
        return cli_fail(e);
    tell_result(q, &result);
    return result.exit_code;
}

int verb_record(int argc, char **argv)
{
    static request q; /* large; the one of this process */
    sigset_t before;
    error e;
    int code;

    error_clear(&e);
    code = parse(argc, argv, &q, &e);
    if (code == 0)
        code = way_choose(&q.session.way, q.command != NULL, &e);
    if (code == 0)
        code = library_find(LIBRARY_AGENT, &q.library, &e);
    if (code != 0)
        return cli_fail(&e);
    cli_append_typed(&q.typed, "clarinet", argc, argv);
    terminal = isatty(STDERR_FILENO) != 0;
    q.session.selection = &q.selection;
    q.session.library = buffer_text(&q.library);
    q.session.command = buffer_text(&q.typed);
    q.session.progress = show_progress;
    q.session.stop = cli_open_stop_descriptor(&before);
    code = q.command != NULL ? record_command(&q, &e) : record_process(&q, &e);
    buffer_free(&q.library);
    buffer_free(&q.typed);
    return code;
}
