/*
 * clarinet launch: runs a program under a CLR profiler library.
 *
 * The runtime is given the gate (src/gate) instead of the library: it keeps the profiler out of the
 * dotnet CLI and MSBuild, and reports what happened in each process. Everything that can be checked
 * is checked before the program starts, because the runtime is silent about a profiler that does
 * not load. Our own words go to stderr; the exit code and signals are the program's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/dotnet_host.h"
#include "base/text.h"
#include "clarinet/profiler.h"
#include "cli/cli.h"
#include "cli/library.h"
#include "cli/program.h"
#include "diagnostics/profiler_file.h"
#include "diagnostics/refusal.h"
#include "session/place.h"

/* The profiler of examples/hello. */
static const char HELLO_LIBRARY[] = "libclarinet_hello.so";
static const char HELLO_CLSID[] = CLARINET_HELLO_CLSID; /* from its source, by CMake */
static const char GATE_LIBRARY[] = "libclarinet_gate.so";

enum { VARIABLES_MAX = 64, VARIABLES_OWN = 8, POLL_MS = 250, INSIDE_MAX = 16 };

typedef struct {
    const char *profiler;
    const char *clsid;
    bool sdk;
    const char *variables[VARIABLES_MAX];
    size_t variable_count;
    char **command; /* closed by NULL */
} launch_options;

typedef struct {
    launch_options options;
    GUID clsid;
    buffer library; /* absolute path of the profiler */
    buffer gate;    /* absolute path of the gate */
    char folder[96];
    int lock; /* held on it while we are at work */
    char report[112];
    size_t report_read; /* bytes of the report that were dealt with */
    unsigned loaded, failed, skipped;
    long explained;          /* the process whose profiler's Initialize was told last */
    long inside[INSIDE_MAX]; /* processes whose profiler is in its Initialize; 0 = none */
} launch;

static int parse_options(int argc, char **argv, launch_options *options, error *e);
static int check_before(launch *l, error *e);
static int make_report(launch *l, error *e);
static int start(launch *l, program *p, error *e);
static void read_report(launch *l);
static void sum_up(const launch *l);

int verb_launch(int argc, char **argv)
{
    launch l = {0};
    program p;
    error e;
    int code = 0;

    if (parse_options(argc, argv, &l.options, &e) != 0 || check_before(&l, &e) != 0 ||
        make_report(&l, &e) != 0 || start(&l, &p, &e) != 0) {
        code = cli_fail(&e);
    } else {
        while (!program_wait(&p, POLL_MS))
            read_report(&l);
        read_report(&l);
        sum_up(&l);
    }
    if (l.report[0] != '\0') {
        unlink(l.report);
        rmdir(l.folder);
        close(l.lock);
    }
    buffer_free(&l.library);
    buffer_free(&l.gate);
    return code != 0 ? code : program_finish(&p);
}

/* --- options --- */

static int usage(error *e, const char *text, const char *what)
{
    error_set(e, ERROR_USAGE, "%s%s", text, what);
    error_advise(e, "`clarinet launch --help` tells its options");
    return ERROR_USAGE;
}

static int add_variable(launch_options *options, const char *text, error *e)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text)
        return usage(e, "--env wants NAME=VALUE, not ", text);
    if (options->variable_count + VARIABLES_OWN >= VARIABLES_MAX)
        return usage(e, "too many --env options", "");
    options->variables[options->variable_count++] = text;
    return 0;
}

static int parse_options(int argc, char **argv, launch_options *options, error *e)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        int code = 0;

        if (strcmp(argv[i], "--sdk") == 0) {
            options->sdk = true;
            continue;
        }
        if (strcmp(argv[i], "--profiler") != 0 && strcmp(argv[i], "--clsid") != 0 &&
            strcmp(argv[i], "--env") != 0)
            return usage(e, "launch does not know ", argv[i]);
        if (value == NULL)
            return usage(e, "a value is missing after ", argv[i]);
        if (strcmp(argv[i], "--profiler") == 0)
            options->profiler = value;
        else if (strcmp(argv[i], "--clsid") == 0)
            options->clsid = value;
        else
            code = add_variable(options, value, e);
        if (code != 0)
            return code;
        i++;
    }
    i += i < argc && strcmp(argv[i], "--") == 0;
    if (i >= argc)
        return usage(e, "there is no command to run", "");
    if ((options->profiler == NULL) != (options->clsid == NULL))
        return usage(e, "--profiler and --clsid belong together", "");
    options->command = argv + i;
    return 0;
}

/* --- before the program starts --- */

/* The value a variable will have for the program. */
static const char *variable_of(const launch_options *options, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = options->variable_count; i-- > 0;) {
        if (strncmp(options->variables[i], name, length) == 0 &&
            options->variables[i][length] == '=')
            return options->variables[i] + length + 1;
    }
    return getenv(name);
}

static int check_switches(const launch_options *options, error *e)
{
    static const char *const SWITCHES[] = {"DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics",
                                           "DOTNET_EnableDiagnostics_Profiler",
                                           "COMPlus_EnableDiagnostics_Profiler"};

    for (size_t i = 0; i < sizeof SWITCHES / sizeof *SWITCHES; i++) {
        const char *value = variable_of(options, SWITCHES[i]);

        if (value != NULL && strcmp(value, "0") == 0) {
            error_set(e, ERROR_UNSUPPORTED, "%s=0 keeps profilers out of the program", SWITCHES[i]);
            error_advise(e, "unset it, or add --env %s=1", SWITCHES[i]);
            return ERROR_UNSUPPORTED;
        }
    }
    return 0;
}

static int find_libraries(launch *l, error *e)
{
    const char *profiler = l->options.profiler;
    int code = library_find(GATE_LIBRARY, &l->gate, e);
    char *absolute;

    if (code != 0)
        return code;
    if (profiler == NULL) {
        l->options.clsid = HELLO_CLSID;
        return library_find(HELLO_LIBRARY, &l->library, e);
    }
    absolute = realpath(profiler, NULL);
    buffer_append_text(&l->library, absolute == NULL ? profiler : absolute);
    free(absolute);
    return 0;
}

/* The architecture of what is meant by a command like `nice -n 5 dotnet app.dll`, else that of the
 * command itself. */
static uint16_t machine_of(char *const *command, const char *path)
{
    const char *meant = command[dotnet_host_skip_prefixes(command)];
    char file[512];

    return profiler_file_machine_of(
        meant != NULL && program_resolve(meant, file, sizeof file) ? file : path);
}

static int check_before(launch *l, error *e)
{
    char path[512];
    profiler_file file = {0};
    int code;

    if (!program_resolve(l->options.command[0], path, sizeof path)) {
        if (strchr(l->options.command[0], '/') != NULL && access(path, F_OK) == 0)
            code = error_set(e, ERROR_PERMISSION, "%s is no program that can be run", path);
        else
            code = error_set(e, ERROR_NOT_FOUND, "there is no program %s", l->options.command[0]);
        error_advise(e, "the command stands after `--`, as it would be typed without clarinet");
        return code;
    }
    if ((code = find_libraries(l, e)) != 0)
        return code;
    if (!clr_guid_parse(l->options.clsid, &l->clsid)) {
        code = error_set(e, ERROR_USAGE, "'%s' is not a CLSID", l->options.clsid);
        error_advise(e, "it looks like {xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}");
        return code;
    }
    if ((code = check_switches(&l->options, e)) != 0)
        return code;
    code = profiler_file_check(buffer_text(&l->library), machine_of(l->options.command, path),
                               &file, e);
    if (code == 0 && !file.needs_musl)
        code = profiler_file_try(buffer_text(&l->library), &l->clsid, e);
    return code;
}

/* --- the program --- */

static int make_report(launch *l, error *e)
{
    enum { LINES = 64 << 10 }; /* the gate writes one for each process */
    int code = place_make_folder("clarinet-launch-", false, LINES, l->folder, sizeof l->folder, e);
    int descriptor;

    if (code != 0)
        return code;
    l->lock = place_hold_folder(l->folder);
    snprintf(l->report, sizeof l->report, "%s/report", l->folder);
    descriptor = open(l->report, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot make %s", l->report);
    close(descriptor);
    return 0;
}

static int start(launch *l, program *p, error *e)
{
    /* The runtime prefers these to CORECLR_PROFILER_PATH. */
    static const char *const REMOVED[] = {"CORECLR_PROFILER_PATH_64", "CORECLR_PROFILER_PATH_32",
                                          "CORECLR_PROFILER_PATH_ARM64",
                                          "CORECLR_PROFILER_PATH_ARM32", NULL};
    static const char *const FORMATS[] = {"CORECLR_PROFILER_PATH=%s", "CLARINET_GATE_LIBRARY=%s",
                                          "CLARINET_GATE_REPORT=%s", "CORECLR_PROFILER=%s"};
    char clsid[CLR_GUID_TEXT];
    const char *values[4] = {buffer_text(&l->gate), buffer_text(&l->library), l->report, clsid};
    buffer texts[4] = {0};
    launch_options *options = &l->options;
    int code = 0;

    clr_guid_format(&l->clsid, clsid);
    options->variables[options->variable_count++] = "CORECLR_ENABLE_PROFILING=1";
    options->variables[options->variable_count++] =
        options->sdk ? "CLARINET_GATE_SDK=1" : "CLARINET_GATE_SDK=0";
    for (size_t i = 0; i < 4; i++) {
        buffer_append(&texts[i], FORMATS[i], strlen(FORMATS[i]) - 2);
        buffer_append_text(&texts[i], values[i]);
        if (buffer_failed(&texts[i]))
            code = error_set(e, ERROR_MEMORY, "no memory for the environment");
        options->variables[options->variable_count++] = buffer_text(&texts[i]);
    }
    options->variables[options->variable_count] = NULL;
    if (code == 0)
        code = program_start(p, options->command, options->variables, REMOVED, e);
    for (size_t i = 0; i < 4; i++)
        buffer_free(&texts[i]);
    return code;
}

/* --- what the gate reported --- */

static void explain_failure(const launch *l, const char *process, const char *text)
{
    error e;

    if (text_starts_with(text, "0x")) {
        refusal_set(&e, (uint32_t)strtoul(text, NULL, 16), "%s does not offer the class %s",
                    buffer_text(&l->library), l->options.clsid);
        fprintf(stderr, "clarinet: process %s runs without the profiler: %s\n  %s\n", process,
                e.message, e.advice);
    } else {
        fprintf(stderr, "clarinet: process %s runs without the profiler: %s\n", process, text);
    }
}

static void explain_initialize(const char *process, uint32_t result)
{
    char name[CLR_HRESULT_TEXT];

    if (result == (uint32_t)CORPROF_E_PROFILER_CANCEL_ACTIVATION)
        fprintf(stderr,
                "clarinet: process %s runs without the profiler: its Initialize asked not to be "
                "activated (%s)\n  that is the profiler's own choice; its log may say why\n",
                process, clr_hresult_name((HRESULT)result, name));
    else
        fprintf(stderr,
                "clarinet: process %s runs without the profiler: its Initialize returned %s "
                "(0x%08x)\n  the profiler's own log may say why\n",
                process, clr_hresult_name((HRESULT)result, name), (unsigned)result);
}

/* The first of these process ids becomes another one: 0 is a free place. */
static void replace_inside(launch *l, long process, long by)
{
    for (size_t i = 0; i < INSIDE_MAX; i++) {
        if (l->inside[i] == process) {
            l->inside[i] = by;
            return;
        }
    }
}

static void take_line(launch *l, char *line)
{
    char *kind = strchr(line, '\t');
    char *text = kind == NULL ? NULL : strchr(kind + 1, '\t');

    if (text == NULL)
        return;
    *kind++ = '\0';
    *text++ = '\0';
    if (strcmp(kind, "loaded") == 0) {
        l->loaded++;
    } else if (strcmp(kind, "skipped") == 0) {
        l->skipped++;
    } else if (strcmp(kind, "failed") == 0) {
        l->failed++;
        explain_failure(l, line, text);
    } else if (strcmp(kind, "entered") == 0) {
        replace_inside(l, 0, strtol(line, NULL, 10));
    } else if (strcmp(kind, "initialize") == 0) {
        uint32_t result = (uint32_t)strtoul(text, NULL, 16);

        replace_inside(l, strtol(line, NULL, 10), 0);
        if ((HRESULT)result >= 0)
            return;
        l->failed++;
        l->explained = strtol(line, NULL, 10);
        explain_initialize(line, result);
    } else if (strcmp(kind, "unloaded") == 0 && l->explained != strtol(line, NULL, 10)) {
        l->failed++;
        fprintf(stderr,
                "clarinet: process %s runs without the profiler: it was loaded, but the runtime "
                "let it go: it lacks ICorProfilerCallback2, or its Initialize returned an error\n"
                "  the profiler's own log may say why\n",
                line);
    }
}

static void read_report(launch *l)
{
    char text[4096];
    int descriptor = open(l->report, O_RDONLY | O_CLOEXEC);
    char *line = text, *end;
    long n;

    if (descriptor < 0)
        return;
    n = pread(descriptor, text, sizeof text - 1, (off_t)l->report_read);
    close(descriptor);
    if (n <= 0)
        return;
    text[n] = '\0';
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        l->report_read += (size_t)(end + 1 - line);
        take_line(l, line);
    }
}

static void sum_up(const launch *l)
{
    for (size_t i = 0; i < INSIDE_MAX; i++) {
        if (l->inside[i] != 0 && kill((pid_t)l->inside[i], 0) != 0)
            fprintf(stderr,
                    "clarinet: process %ld ended while the profiler's Initialize ran\n"
                    "  it crashed there or ended the program; a debugger or the profiler's own log "
                    "may say why\n",
                    l->inside[i]);
    }
    if (l->loaded > 0 || l->failed > 0)
        return;
    if (l->skipped > 0)
        fprintf(stderr, "clarinet: only the .NET SDK's own tools ran, and they are left alone\n"
                        "  --sdk puts them under the profiler too\n");
    else
        fprintf(stderr, "clarinet: no .NET runtime asked for the profiler\n"
                        "  is it a .NET program? Native AOT programs and those that clear their "
                        "environment load no profiler\n");
}
