/* child: see child.h. */
#include "server/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

enum { AT_ONCE = 2, LONGEST_MS = 600000, SAID = 2048 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int running;

static void enter(void)
{
    pthread_mutex_lock(&lock);
    while (running == AT_ONCE)
        pthread_cond_wait(&freed, &lock);
    running++;
    pthread_mutex_unlock(&lock);
}

static void leave(void)
{
    pthread_mutex_lock(&lock);
    running--;
    pthread_cond_signal(&freed);
    pthread_mutex_unlock(&lock);
}

/* Reads what the child says until it closes its end; kills it when that takes too long. */
static void listen_to(pid_t child, int from, char said[SAID])
{
    uint64_t deadline = os_monotonic_ns() + LONGEST_MS * UINT64_C(1000000);
    size_t length = 0;

    for (;;) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        uint64_t now = os_monotonic_ns();
        char rest[512];
        ssize_t got;

        if (now >= deadline) {
            kill(child, SIGKILL);
            break;
        }
        if (poll(&wait, 1, (int)((deadline - now) / 1000000) + 1) <= 0)
            continue;
        got = read(from, rest, sizeof rest);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (length + (size_t)got < SAID) { /* the beginning says it */
            memcpy(said + length, rest, (size_t)got);
            length += (size_t)got;
        }
    }
    said[length] = '\0';
}

/* "clarinet: message\n  advice" as an error again. */
static int understand(const char *said, int status, error *e)
{
    bool usage = WIFEXITED(status) && WEXITSTATUS(status) == 2;
    const char *message = strncmp(said, "clarinet: ", 10) == 0 ? said + 10 : said;
    size_t length = strcspn(message, "\n");
    const char *advice = message + length;

    if (WIFSIGNALED(status))
        return error_set(e, ERROR_RUNTIME, "the analysis ended by signal %d", WTERMSIG(status));
    error_set(e, usage ? ERROR_USAGE : ERROR_CORRUPT, "%.*s", length == 0 ? 32 : (int)length,
              length == 0 ? "the analysis failed" : message);
    advice += strspn(advice, "\n ");
    if (*advice != '\0')
        error_advise(e, "%.*s", (int)strcspn(advice, "\n"), advice);
    return e->code;
}

int child_run(const char *program, const char *const *arguments, int output, error *e)
{
    char *argv[CHILD_MAX_ARGUMENTS + 2] = {(char *)(uintptr_t)program};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    char said[SAID];
    int pipes[2];
    pid_t child;
    int status = 0;
    int failed;

    for (size_t i = 0; arguments[i] != NULL && i < CHILD_MAX_ARGUMENTS; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return error_set_errno(e, ERROR_IO, errno, "the analysis could not begin");
    enter();
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    failed = posix_spawn(&child, program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pipes[1]);
    if (failed == 0) {
        listen_to(child, pipes[0], said);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(pipes[0]);
    leave();
    if (failed != 0)
        return error_set_errno(e, ERROR_IO, failed, "the analysis could not begin");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : understand(said, status, e);
}

int child_run_to_file(const char *program, const char *const *arguments, const char *path, error *e)
{
    char part[600];
    int code;
    int output;

    if (snprintf(part, sizeof part, "%s.XXXXXX", path) >= (int)sizeof part)
        return error_set(e, ERROR_LIMIT, "the folder's name is too long");
    output = mkostemp(part, O_CLOEXEC);
    if (output < 0)
        return error_set_errno(e, ERROR_IO, errno, "cannot write %s", path);
    code = child_run(program, arguments, output, e);
    if (close(output) != 0 && code == 0)
        code = error_set_errno(e, ERROR_IO, errno, "cannot write %s", path);
    if (code == 0 && rename(part, path) != 0)
        code = error_set_errno(e, ERROR_IO, errno, "cannot write %s", path);
    if (code != 0)
        unlink(part);
    return code;
}
