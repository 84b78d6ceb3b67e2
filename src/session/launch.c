/*
 * launch: starts a command with the agent in every .NET process of it, and records them all.
 *
 * The agents connect to a socket in a folder of ours that the environment names. Variables that an
 * APM has set are added to, not replaced. The command keeps our terminal, streams, signals and
 * process group; it runs to its end whatever happens to the recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/dotnet_host.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "control/control.h"
#include "diagnostics/procfs.h"
#include "session/admission.h"
#include "session/counter_sources.h"
#include "session/description.h"
#include "session/newcomers.h"
#include "session/place.h"
#include "session/recorder.h"
#include "session/session.h"

/* For processes that outlive the command: a child that is about to end is recorded to its end, but
 * a daemon never ends, and the recording belongs to the command. */
enum { LATE_MS = 5000 };

extern char **environ;

typedef struct {
    buffer texts[7];
    size_t count;
    bool sdk;
    char token[2 * CONTROL_TOKEN_SIZE + 1];
    char **variables; /* environ with ours added; the texts are borrowed */
} environment;

static int listen_in(place *p, int *listener, error *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", p->path,
                 CONTROL_SOCKET_NAME) >= (int)sizeof address.sun_path) {
        close(made);
        return error_set(e, ERROR_LIMIT, "the path %s is too long for a socket", p->path);
    }
    if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(made, 64) != 0) {
        int number = errno;

        if (made >= 0)
            close(made);
        return error_set_errno(e, ERROR_IO, number, "cannot listen in %s", p->path);
    }
    *listener = made;
    return 0;
}

static void set_variable(environment *v, const char *name, const char *format, const char *a,
                         const char *b, const char *c)
{
    buffer *text = &v->texts[v->count++];

    buffer_format(text, "%s=", name);
    buffer_format(text, format, a, b, c);
}

static bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Whether the .NET SDK itself does what the command asks for: `dotnet build`, the compiler. */
static bool means_sdk(char *const *command)
{
    buffer arguments = BUFFER_EMPTY;
    bool answer;

    command += dotnet_host_skip_prefixes(command);
    if (command[0] == NULL)
        return false;
    for (size_t i = 0; command[i] != NULL; i++)
        buffer_append(&arguments, command[i], strlen(command[i]) + 1);
    answer = dotnet_host_means_sdk(command[0], (const char *)arguments.data, arguments.length,
                                   file_exists);
    buffer_free(&arguments);
    return answer;
}

static int build_environment(environment *v, const place *p, const uint8_t *token, bool main_place,
                             bool sdk, error *e)
{
    const char *others = getenv("CORECLR_NOTIFICATION_PROFILERS");
    char library[PLACE_PATH + 80];
    const char *enabled = getenv("CORECLR_ENABLE_PROFILING");
    char end[64];
    size_t kept = 0;
    size_t old = 0;

    memset(v, 0, sizeof *v);
    v->sdk = sdk;
    control_format_token(token, v->token);
    snprintf(library, sizeof library, "%s/%s", p->path, p->library);
    if (others == NULL)
        others = "";
    if (main_place && getenv("CORECLR_PROFILER") != NULL) {
        error_set(e, ERROR_BUSY, "another profiler is set: CORECLR_PROFILER=%s",
                  getenv("CORECLR_PROFILER"));
        return error_advise(e, "unset CORECLR_ENABLE_PROFILING for this run"), ERROR_BUSY;
    }
    if (main_place) {
        set_variable(v, "CORECLR_ENABLE_PROFILING", "%s%s%s", "1", "", "");
        set_variable(v, "CORECLR_PROFILER", "%s%s%s", CONTROL_CLSID_MAIN, "", "");
        set_variable(v, "CORECLR_PROFILER_PATH", "%s%s%s", library, "", "");
    } else {
        /* the list must end with a semicolon, or its last entry is not loaded */
        snprintf(end, sizeof end, "=%s;", CONTROL_CLSID_BESIDE);
        set_variable(v, "CORECLR_ENABLE_NOTIFICATION_PROFILERS", "%s%s%s", "1", "", "");
        v->texts[v->count].length = 0;
        buffer_format(&v->texts[v->count++], "CORECLR_NOTIFICATION_PROFILERS=%s%s%s%s", others,
                      others[0] == '\0' || text_ends_with(others, ";") ? "" : ";", library, end);
        /* where the main profiler declines, ours hears nothing without the other */
        if (enabled != NULL && strcmp(enabled, "1") == 0)
            buffer_format(&v->texts[v->count - 1], "%s=%s;", library, CONTROL_CLSID_COUNTERWEIGHT);
    }
    buffer_format(&v->texts[v->count++], "%s=%s/%s", CONTROL_VARIABLE_CONNECT, p->path,
                  CONTROL_SOCKET_NAME);
    buffer_format(&v->texts[v->count++], "%s=%s", CONTROL_VARIABLE_TOKEN, v->token);
    buffer_format(&v->texts[v->count++], "%s=%d", CONTROL_VARIABLE_SDK, sdk ? 1 : 0);
    while (environ[old] != NULL)
        old++;
    v->variables = memory_allocate_array(old + v->count + 1, sizeof *v->variables);
    if (v->variables == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the environment");
    for (size_t i = 0; i < old; i++) {
        bool replaced = false;

        for (size_t k = 0; k < v->count; k++) {
            size_t name = strcspn(buffer_text(&v->texts[k]), "=") + 1;

            replaced = replaced || strncmp(environ[i], buffer_text(&v->texts[k]), name) == 0;
        }
        if (!replaced)
            v->variables[kept++] = environ[i];
    }
    for (size_t k = 0; k < v->count; k++)
        v->variables[kept++] = (char *)v->texts[k].data;
    return 0;
}

static void free_environment(environment *v)
{
    for (size_t i = 0; i < v->count; i++)
        buffer_free(&v->texts[i]);
    memory_free(v->variables);
}

/* fork and exec; a failed exec is told through a pipe. */
static int spawn(char *const *command, const environment *v, pid_t *child, error *e)
{
    int ends[2];
    int number = 0;
    sigset_t none;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot make a pipe"),
               error_advise(e, "raise the limit of open files: `ulimit -n 1024`; %s was not run",
                            command[0]);
    *child = fork();
    if (*child == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGXFSZ, SIG_DFL);
        environ = v->variables;
        execvp(command[0], command);
        number = errno;
        (void)!write(ends[1], &number, sizeof number);
        _exit(127);
    }
    close(ends[1]);
    if (*child < 0)
        error_set_errno(e, ERROR_IO, errno, "cannot start %s", command[0]);
    else if (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number) {
        waitpid(*child, NULL, 0);
        error_set_errno(e, ERROR_NOT_FOUND, number, "cannot start %s", command[0]);
        error_advise(e, "name a program as the shell would find it, after --");
        *child = -1;
    }
    close(ends[0]);
    return *child < 0 ? e->code : 0;
}

static bool has_exited(pid_t child, int *status)
{
    pid_t ended = waitpid(child, status, WNOHANG);

    /* no such child: the kernel reaps for us (SIGCHLD is ignored), and nobody knows the code */
    if (ended != child && !(ended < 0 && errno == ECHILD))
        return false;
    return true;
}

/* Names who is recorded still. */
static void note_left(const recorder *r, session_result *result)
{
    buffer cmdline = BUFFER_EMPTY;
    size_t length = 0;
    char name[64];

    for (size_t i = 0; i < r->peer_count; i++) {
        const peer *p = r->peers[i];

        buffer_clear(&cmdline);
        if (p->phase != PEER_RECORDING || length + sizeof name + 16 > sizeof result->left ||
            procfs_read(p->process_id, "cmdline", 65536, &cmdline) != 0)
            continue;
        description_name(&cmdline, name, sizeof name);
        length += (size_t)snprintf(result->left + length, sizeof result->left - length, "%s%s (%d)",
                                   length == 0 ? "" : ", ", name, p->process_id);
    }
    buffer_free(&cmdline);
}

static bool has_connected(void *context, int process_id)
{
    return admission_knows(context, process_id);
}

/*
 * A command's options->stop is a signalfd. TERM and HUP are for the program, as without us: in a
 * container we may be the first process, which alone is told to end. The terminal's own reach the
 * program anyhow. Ctrl-C is for the recording.
 */
static bool pass_on(const recorder *r)
{
    struct signalfd_siginfo info;

    if (read(r->options->stop, &info, sizeof info) != (ssize_t)sizeof info ||
        (info.ssi_signo != SIGTERM && info.ssi_signo != SIGHUP))
        return false;
    if (info.ssi_code <= 0)
        kill(r->command, (int)info.ssi_signo);
    r->result->told_to_end = true;
    return true;
}

/* The recording is over, the program is not: what it ends with is ours. */
static int wait_for_command(const recorder *r, int watched)
{
    struct pollfd polled[2] = {{watched, POLLIN, 0}, {r->options->stop, POLLIN, 0}};
    int status = 0;

    while (!has_exited(r->command, &status)) {
        poll(polled, 2, watched >= 0 ? -1 : 100);
        if (polled[1].revents != 0)
            pass_on(r);
    }
    return status;
}

/* Records until all processes of the command have ended or the recording has. */
static void record(recorder *r, const environment *v, pid_t child, int *status)
{
    int watched = (int)syscall(SYS_pidfd_open, child, 0);
    uint64_t end_ns = 0;
    bool running = true;

    for (;;) {
        recorder_round(r, running ? watched : -1);
        if (running && has_exited(child, status)) {
            running = false;
            end_ns = os_monotonic_ns() + (uint64_t)LATE_MS * 1000000;
        }
        if (r->stopping && recorder_is_done(r))
            break;
        if (!running && recorder_is_done(r) &&
            (os_monotonic_ns() >= end_ns ||
             !newcomers_expected(CONTROL_VARIABLE_TOKEN, v->token, v->sdk, has_connected, r)))
            break;
        if (!running && !r->stopping && r->options->duration_ns == 0 &&
            os_monotonic_ns() >= end_ns) {
            note_left(r, r->result);
            recorder_stop(r, "command ended");
        }
    }
    recorder_finish_listening(r);
    if (running)
        *status = wait_for_command(r, watched);
    if (watched >= 0)
        close(watched);
}

static void note_nothing(const session_options *options, char *const *command,
                         session_result *result)
{
    error *e = &result->trouble;

    if (result->total.started || e->code != 0)
        return;
    error_set(e, ERROR_NOT_FOUND, "no .NET process of the command could be recorded");
    if (result->total.not_recorded != 0) {
        error_set(e, ERROR_LIMIT, "there was no room to record the command's processes (%zu)",
                  result->total.not_recorded);
        error_advise(e, "each needs two file descriptors: `ulimit -n 1024` gives more");
        return;
    }
    if (result->total.not_started != 0) {
        error_set(e, ERROR_TIMEOUT,
                  "the command's .NET process ended or went on before the recording could begin");
        error_advise(e, "a program waits 2 seconds for clarinet when it starts: was clarinet "
                        "stopped, or the machine too busy? Run it again");
        return;
    }
    if (options->sdk || options->no_sdk_option || means_sdk(command))
        error_advise(e, "is it a .NET program (.NET 8 or later), with DOTNET_EnableDiagnostics not "
                        "0?");
    else
        error_advise(e, "is it a .NET program (.NET 8 or later), with DOTNET_EnableDiagnostics not "
                        "0? The dotnet CLI, MSBuild and the compiler are left out: `clarinet "
                        "record --sdk` records them too");
}

/* While the runtime starts, its main thread makes the sources of both and can lock up with the
 * thread that publishes counters, also when meters come first (docs/profilers/counters.md). */
static int check_meters(const catalogue_selection *selection, error *e)
{
    for (size_t i = 0; i < selection->count; i++) {
        const catalogue_selected *item = &selection->items[i];

        if (!text_equal(item->profiler->name, "counters") ||
            catalogue_text(item, "meters")[0] == '\0')
            continue;
        error_set(e, ERROR_UNSUPPORTED, "meters are read of running processes only");
        return error_advise(e, "start it, then name its PID instead: clarinet ps; or leave "
                               "counters.meters out"),
               ERROR_UNSUPPORTED;
    }
    return 0;
}

static int record_selected(const session_options *options, char *const *command,
                           session_result *result, error *e)
{
    recorder *r = recorder_create(options, result, e);
    environment v;
    place p = {.descriptor = -1};
    bool main_place = false;
    pid_t child = -1;
    int status = 0;
    int code;

    if (r == NULL)
        return error_prefix(e, "%s was not run", command[0]);
    memset(&v, 0, sizeof v);
    for (size_t i = 0; i < options->selection->count; i++)
        main_place =
            main_place || (options->selection->items[i].profiler->where & CATALOGUE_MAIN) != 0;
    code = os_random(r->token, sizeof r->token) == 0 ? place_make_own(options->library, &p, e)
                                                     : error_set(e, ERROR_IO, "no random numbers");
    if (code == 0)
        code = listen_in(&p, &r->listener, e);
    if (code == 0)
        code =
            build_environment(&v, &p, r->token, main_place, options->sdk || means_sdk(command), e);
    if (code == 0)
        code = spawn(command, &v, &child, e);
    r->command = child;
    r->pass_on = pass_on;
    if (code == 0)
        record(r, &v, child, &status);
    free_environment(&v);
    place_remove_own(&p);
    if (code == 0)
        note_nothing(options, command, result);
    if (code != 0 || !result->total.started)
        recorder_abandon(r);
    else
        recorder_close(r);
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->exit_code = result->signal != 0 ? 128 + result->signal : WEXITSTATUS(status);
    return code;
}

int session_record_command(const session_options *options, char *const *command,
                           session_result *result, error *e)
{
    session_options own = *options;
    catalogue_selection *with = NULL;
    int code = check_meters(options->selection, e);

    if (code == 0)
        code = counter_sources_of_command(options->selection, command, &with, e);
    if (code != 0)
        return error_prefix(e, "%s was not run", command[0]);
    if (with != NULL)
        own.selection = with;
    code = record_selected(&own, command, result, e);
    memory_free(with);
    return code;
}
