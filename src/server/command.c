/* command: see command.h. */
#include "server/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "server/sessions_private.h"

enum { SAID = 4096, TURN_MS = 200 };
static const uint64_t SECOND = 1000000000;
static const uint64_t GRACE = 5; /* seconds to end by itself */

/* The child's command line; texts that were made for it are freed with it. */
typedef struct {
    char **words;
    size_t count, capacity;
    bool failed;
} line;

static void add(line *l, const char *word)
{
    char *copy = memory_copy_text(word);

    if (l->count + 2 > l->capacity) {
        size_t wish = l->capacity * 2 + 64;
        char **more = memory_resize(l->words, wish * sizeof *more);

        if (more != NULL) {
            l->words = more;
            l->capacity = wish;
        }
    }
    if (copy == NULL || l->count + 2 > l->capacity) {
        memory_free(copy);
        l->failed = true;
        return;
    }
    l->words[l->count++] = copy;
    l->words[l->count] = NULL;
}

static void line_free(line *l)
{
    for (size_t i = 0; i < l->count; i++)
        memory_free(l->words[i]);
    memory_free(l->words);
}

/* "--set cpu.interval=10ms" for everything that has a value. */
static void add_settings(line *l, const catalogue_selection *selection)
{
    json_t *described = sessions_describe_selection(selection);
    size_t i;
    json_t *item;

    json_array_foreach(described, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *key;
        json_t *value;

        json_object_foreach(json_object_get(item, "parameters"), key, value)
        {
            char text[CATALOGUE_MAX_TEXT + 128];

            if (json_is_string(value) && json_string_length(value) == 0)
                continue;
            if (json_is_string(value))
                snprintf(text, sizeof text, "%s.%s=%s", name, key, json_string_value(value));
            else if (json_is_boolean(value))
                snprintf(text, sizeof text, "%s.%s=%s", name, key,
                         json_is_true(value) ? "true" : "false");
            else
                snprintf(text, sizeof text, "%s.%s=%lld", name, key,
                         (long long)json_integer_value(value));
            add(l, "--set");
            add(l, text);
        }
    }
    json_decref(described);
}

static void make_line(line *l, const command_options *o)
{
    buffer names = BUFFER_EMPTY;
    char duration[32];
    size_t i;
    json_t *word;

    for (size_t k = 0; k < o->selection->count; k++)
        buffer_format(&names, "%s%s", k == 0 ? "" : ",", o->selection->items[k].profiler->name);
    snprintf(duration, sizeof duration, "%llums", (unsigned long long)(o->duration_ns / 1000000));
    add(l, o->program);
    add(l, "record");
    add(l, "-p");
    add(l, buffer_text(&names));
    add_settings(l, o->selection);
    add(l, "-d");
    add(l, duration);
    add(l, "-o");
    add(l, o->file);
    add(l, "--");
    json_array_foreach(o->words, i, word) add(l, json_string_value(word));
    l->failed = l->failed || buffer_failed(&names);
    buffer_free(&names);
}

/* In a group of its own: what ends it must not end the server. */
static int begin(const line *l, int said, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int failed;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, said, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    failed = posix_spawn(child, l->words[0], &actions, &attributes, l->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

/* Keeps the end of what is said; false once nobody can say anything any more. */
static bool hear(int from, buffer *said)
{
    char piece[1024];
    ssize_t got = read(from, piece, sizeof piece);

    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        return false;
    if (got > 0 && said->length + (size_t)got > SAID)
        buffer_clear(said);
    if (got > 0)
        buffer_append(said, piece, (size_t)got);
    return true;
}

typedef struct {
    pid_t child;
    uint64_t started; /* the recording; 0 = not yet */
    uint64_t asked;   /* to end; 0 = not yet */
    bool killed;
} state;

static void tell(const command_options *o, state *s, session_progress *total)
{
    struct stat status;
    uint64_t now = os_monotonic_ns();

    if (stat(o->file, &status) == 0 && status.st_size > 0) {
        total->started = true;
        total->bytes = (uint64_t)status.st_size;
        if (s->started == 0)
            s->started = now;
    }
    if (s->started != 0)
        total->elapsed_ns = now - s->started < o->duration_ns ? now - s->started : o->duration_ns;
    total->duration_ns = o->duration_ns;
    o->progress(o->context, total);
}

/* The time is over, or somebody stops it: TERM goes on to the program, KILL to all of them. */
static void end_in_time(const command_options *o, state *s, bool stopped)
{
    uint64_t now = os_monotonic_ns();

    if (s->asked == 0 &&
        (stopped || (s->started != 0 && now - s->started > o->duration_ns + SECOND))) {
        s->asked = now;
        kill(s->child, SIGTERM);
    } else if (s->asked != 0 && !s->killed && now - s->asked > GRACE * SECOND) {
        s->killed = true;
        kill(-s->child, SIGKILL);
    }
}

static bool has_ended(pid_t child)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

static void wait_for(const command_options *o, state *s, int from, buffer *said,
                     session_progress *total)
{
    bool is_open = true;

    while (!has_ended(s->child)) {
        struct pollfd waits[] = {{.fd = is_open ? from : -1, .events = POLLIN},
                                 {.fd = s->asked == 0 ? o->stop : -1, .events = POLLIN}};

        poll(waits, 2, TURN_MS);
        if (waits[0].revents != 0)
            is_open = hear(from, said);
        tell(o, s, total);
        end_in_time(o, s, waits[1].revents != 0);
    }
    while (is_open && hear(from, said) && said->length != 0) {
        struct pollfd more = {.fd = from, .events = POLLIN};

        if (poll(&more, 1, 0) <= 0)
            break;
    }
    kill(-s->child, SIGKILL); /* what it started and left behind; its number is still its own */
    while (waitpid(s->child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* The tool's own words are the reason: "clarinet: message\n  advice". */
static int understand(const buffer *said, error *e)
{
    const char *text = buffer_text(said);
    const char *at = strstr(text, "clarinet: ");
    const char *message = at == NULL ? text : at + strlen("clarinet: ");
    size_t length = strcspn(message, "\n");
    const char *advice = message + length;

    error_set(e, ERROR_RUNTIME, "%.*s", length == 0 ? 29 : (int)length,
              length == 0 ? "the command could not be run" : message);
    advice += strspn(advice, "\n ");
    if (*advice != '\0')
        error_advise(e, "%.*s", (int)strcspn(advice, "\n"), advice);
    return e->code;
}

int command_record(const command_options *options, session_progress *total, error *e)
{
    line l = {0};
    buffer said = BUFFER_EMPTY;
    state s = {0};
    struct stat status;
    int pipes[2];
    int failed;

    memset(total, 0, sizeof *total);
    make_line(&l, options);
    if (l.failed || pipe2(pipes, O_CLOEXEC) != 0) {
        line_free(&l);
        return error_set(e, ERROR_MEMORY, "no memory for the command");
    }
    failed = begin(&l, pipes[1], &s.child);
    close(pipes[1]);
    line_free(&l);
    if (failed == 0) {
        fcntl(pipes[0], F_SETFL, O_NONBLOCK);
        wait_for(options, &s, pipes[0], &said, total);
    }
    close(pipes[0]);
    if (failed != 0)
        error_set_errno(e, ERROR_IO, failed, "the command could not be started");
    else if (stat(options->file, &status) != 0 || status.st_size == 0)
        understand(&said, e);
    else
        total->bytes = (uint64_t)status.st_size;
    buffer_free(&said);
    return e->code;
}
