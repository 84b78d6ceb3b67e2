/*
 * program: see program.h. Signals: what the terminal sends (Ctrl-C) goes to the whole group and so
 * to the program already; we only stay alive. What a process sends to us is passed on. One program
 * at a time: the handler needs its process id.
 */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

static const int PASSED_ON[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

static volatile sig_atomic_t signal_target;

static void pass_on(int number, siginfo_t *info, void *context)
{
    int saved = errno;

    (void)context;
    if (signal_target > 0 && info->si_code <= 0)
        kill((pid_t)signal_target, number);
    errno = saved;
}

static bool is_runnable(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool program_resolve(const char *command, char *path, size_t room)
{
    const char *folders = getenv("PATH");

    if (strchr(command, '/') != NULL) {
        snprintf(path, room, "%s", command);
        return is_runnable(path);
    }
    while (folders != NULL && *folders != '\0') {
        int length = (int)strcspn(folders, ":");

        snprintf(path, room, "%.*s%s%s", length, folders, length == 0 ? "" : "/", command);
        if (is_runnable(path))
            return true;
        folders += length;
        folders += *folders == ':';
    }
    return false;
}

/* In the child; only returns when it failed. Ignored signals stay ignored, as under nohup. */
static int run_in_child(char *const *argv, const char *const *variables, const char *const *removed)
{
    for (; removed != NULL && *removed != NULL; removed++)
        unsetenv(*removed);
    for (; variables != NULL && *variables != NULL; variables++) {
        if (putenv((char *)*variables) != 0)
            return errno;
    }
    execvp(argv[0], argv);
    return errno;
}

/* From now on the signals are passed on; one that is ignored stays so. */
static void take_signals(pid_t process_id)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};

    signal_target = process_id;
    for (size_t i = 0; i < sizeof PASSED_ON / sizeof *PASSED_ON; i++) {
        struct sigaction old;

        if (sigaction(PASSED_ON[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(PASSED_ON[i], &action, NULL);
    }
}

int program_start(program *p, char *const *argv, const char *const *variables,
                  const char *const *removed, error *e)
{
    int ends[2], number = 0;
    sigset_t all, before;
    long n;

    memset(p, 0, sizeof *p);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot make a pipe");
    /* A signal between fork and take_signals waits, so that it is not lost on the program. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    p->process_id = fork();
    if (p->process_id == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        number = run_in_child(argv, variables, removed);
        if (write(ends[1], &number, sizeof number) < 0)
            _exit(126);
        _exit(127);
    }
    if (p->process_id > 0)
        take_signals(p->process_id);
    else
        number = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (p->process_id < 0) {
        close(ends[0]);
        return error_set_errno(e, ERROR_IO, number, "cannot start a process");
    }
    while ((n = read(ends[0], &number, sizeof number)) < 0 && errno == EINTR) {
    }
    close(ends[0]);
    if (n <= 0)
        return 0; /* exec closed the pipe */
    program_wait(p, -1);
    error_set_errno(e, number == ENOENT ? ERROR_NOT_FOUND : ERROR_IO, number, "cannot run %s",
                    argv[0]);
    error_advise(e, "the command stands after `--`, as it would be typed without clarinet");
    return number == ENOENT ? ERROR_NOT_FOUND : ERROR_IO;
}

/* Until the program ends or the time is over; -1 waits for the end. */
static void wait_for_end(const program *p, int timeout_ms)
{
    int descriptor = (int)syscall(SYS_pidfd_open, p->process_id, 0);
    struct pollfd waiting = {descriptor, POLLIN, 0};

    if (descriptor < 0) { /* a kernel before 5.3 */
        os_sleep_ms(timeout_ms < 0 || timeout_ms > 50 ? 50 : (unsigned)timeout_ms);
        return;
    }
    poll(&waiting, 1, timeout_ms);
    close(descriptor);
}

bool program_wait(program *p, int timeout_ms)
{
    uint64_t deadline = os_monotonic_ns() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000;

    while (!p->ended) {
        pid_t done = waitpid(p->process_id, &p->status, WNOHANG);
        uint64_t now = os_monotonic_ns();

        if (done == p->process_id || (done < 0 && errno != EINTR)) {
            p->ended = true;
            signal_target = 0;
        } else if (timeout_ms < 0) {
            wait_for_end(p, -1);
        } else if (now >= deadline) {
            return false;
        } else {
            wait_for_end(p, (int)((deadline - now) / 1000000 + 1));
        }
    }
    return true;
}

int program_finish(const program *p)
{
    struct rlimit none = {0, 0};

    if (WIFEXITED(p->status))
        return WEXITSTATUS(p->status);
    if (!WIFSIGNALED(p->status))
        return 1;
    fflush(NULL);
    setrlimit(RLIMIT_CORE, &none); /* the program's core dump is the one that counts */
    signal(WTERMSIG(p->status), SIG_DFL);
    raise(WTERMSIG(p->status));
    return 128 + WTERMSIG(p->status);
}
