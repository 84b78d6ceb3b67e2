/* watch: see watch.h. */
#include "server/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "server/machine.h"
#include "server/push.h"
#include "session/low_cost.h"

enum {
    MOST = 32,             /* processes */
    TICK_MS = 1000,        /* between two readings */
    LIST_TICKS = 2,        /* between two listings */
    WAITING = 64,          /* sessions to be pushed */
    LINE = 4096,           /* of a counter */
    QUIET_SECONDS = 60,    /* after a trigger, before the next one of the same process */
    LAST_PUSH_SECONDS = 2, /* for one that is under way when the server ends */
};

typedef struct {
    int process_id; /* 0 = free */
    uint64_t start_ticks;
    bool is_seen;
    char name[128];
    char session[SESSIONS_ID]; /* under way; "" = none */
    uint64_t next_ns;          /* of the next regular one */
    uint64_t quiet_until_ns;
    uint64_t cpu_ticks, read_ns;
    watch_pulse pulse;
    pid_t counters; /* the child that tells of failed requests; 0 = none */
    int from;       /* … its words; -1 */
    size_t length;
    char line[LINE];
    uint64_t failed;
    bool has_failed;
} watched;

struct watch {
    const watch_options *options;
    sessions *kept;
    const char *program;
    int ending; /* eventfd */
    pthread_t watcher, pusher;
    bool has_watcher, has_pusher;
    watched processes[MOST];
    atomic_uint_fast64_t counts[WATCH_COUNTS];
    /* Under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    bool is_over;
    size_t waiting;
    char ids[WAITING][SESSIONS_ID];
};

/* ---- failed requests: `clarinet counters` tells a line for each value ---- */

static void begin_counters(watch *w, watched *p)
{
    char pid[16];
    char *argv[] = {(char *)(uintptr_t)w->program, "counters", pid, "-f", "csv", "-i", "1s", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int pipes[2];

    if (w->options->rules.errors <= 0 || p->counters != 0 || pipe2(pipes, O_CLOEXEC) != 0)
        return;
    snprintf(pid, sizeof pid, "%d", p->process_id);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (posix_spawn(&p->counters, w->program, &actions, &attributes, argv, environ) != 0)
        p->counters = 0;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pipes[1]);
    if (p->counters == 0) {
        close(pipes[0]);
        return;
    }
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    p->from = pipes[0];
    p->length = 0;
    p->has_failed = false;
}

static void end_counters(watched *p)
{
    if (p->counters == 0)
        return;
    close(p->from);
    kill(p->counters, SIGTERM);
    while (waitpid(p->counters, NULL, 0) < 0 && errno == EINTR)
        ;
    p->counters = 0;
    p->from = -1;
}

/* "1.034,Microsoft.AspNetCore.Hosting,failed-requests,level,3,": those that ended with 5xx. */
static void take_line(watched *p, const char *line)
{
    static const char WANTED[] = ",Microsoft.AspNetCore.Hosting,failed-requests,";
    const char *at = strstr(line, WANTED);
    const char *value = at == NULL ? NULL : strchr(at + sizeof WANTED - 1, ',');
    double failed = value == NULL ? -1 : strtod(value + 1, NULL);

    if (!(failed >= 0 && failed < (double)UINT64_MAX)) /* nor is it a number for sure */
        return;
    p->failed = (uint64_t)failed;
    p->has_failed = true;
}

static void read_counters(watched *p)
{
    ssize_t got;

    while (p->counters != 0 &&
           (got = read(p->from, p->line + p->length, sizeof p->line - 1 - p->length)) != 0) {
        char *begin = p->line, *end;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return;
        p->length += (size_t)got;
        p->line[p->length] = '\0';
        for (; (end = strchr(begin, '\n')) != NULL; begin = end + 1) {
            *end = '\0';
            take_line(p, begin);
        }
        p->length -= (size_t)(begin - p->line);
        if (p->length == sizeof p->line - 1) /* a line that never ends is none of ours */
            p->length = 0;
        memmove(p->line, begin, p->length);
    }
    end_counters(p); /* it has ended; the next listing begins another one */
}

/* ---- processes ---- */

static bool is_wanted(const watch *w, const diagnostics_process *process)
{
    uint64_t number;

    if (!process->attachable || process->process_id == 0)
        return false;
    if (text_to_u64(w->options->name, &number))
        return number == (uint64_t)process->process_id;
    return text_matches(process->name, w->options->name);
}

static watched *find(watch *w, const diagnostics_process *process)
{
    watched *free_place = NULL;

    for (size_t i = 0; i < MOST; i++) {
        watched *p = &w->processes[i];

        if (p->process_id == process->process_id && p->start_ticks == process->start_ticks)
            return p;
        if (p->process_id == 0 && free_place == NULL)
            free_place = p;
    }
    if (free_place != NULL) {
        memset(free_place, 0, sizeof *free_place);
        free_place->from = -1;
        free_place->process_id = process->process_id;
        free_place->start_ticks = process->start_ticks;
        snprintf(free_place->name, sizeof free_place->name, "%s", process->name);
    }
    return free_place;
}

static void list(watch *w)
{
    diagnostics_process_list all;
    error e;

    error_clear(&e);
    if (diagnostics_list_processes(0, &all, &e) != 0)
        return;
    for (size_t i = 0; i < MOST; i++)
        w->processes[i].is_seen = false;
    for (size_t i = 0; i < all.count; i++) {
        watched *p = is_wanted(w, &all.items[i]) ? find(w, &all.items[i]) : NULL;

        if (p == NULL)
            continue;
        p->is_seen = true;
        begin_counters(w, p);
    }
    diagnostics_process_list_free(&all);
    for (size_t i = 0; i < MOST; i++) {
        watched *p = &w->processes[i];

        if (p->process_id != 0 && !p->is_seen && p->session[0] == '\0') {
            end_counters(p);
            p->process_id = 0;
        }
    }
}

/* ---- sessions ---- */

static bool begin_session(watch *w, watched *p, const char *trigger)
{
    static catalogue_selection selection; /* large; this thread's only */
    diagnostics_process process;
    char pid[16];
    json_t *tags;
    bool done;
    error e;

    error_clear(&e);
    memset(&selection, 0, sizeof selection);
    snprintf(pid, sizeof pid, "%d", p->process_id);
    if (session_select_low_cost(&selection, NULL, &e) != 0 ||
        session_pace_low_cost(&selection, p->process_id, w->options->length_ns, &e) != 0 ||
        diagnostics_find_process(pid, &process, &e) != 0)
        return false;
    tags = trigger == NULL ? json_pack("[s]", "watch") : json_pack("[s, s]", "trigger", trigger);
    done = sessions_start(w->kept, &process, &selection, w->options->length_ns, tags, p->session,
                          &e) == 0;
    json_decref(tags);
    if (!done)
        p->session[0] = '\0';
    else
        atomic_fetch_add(&w->counts[trigger == NULL ? WATCH_REGULAR : WATCH_TRIGGERED], 1);
    return done;
}

static void queue_push(watch *w, const char *id)
{
    if (!w->options->pushes_pprof && !w->options->pushes_otlp && !w->options->pushes_profiles)
        return;
    pthread_mutex_lock(&w->lock);
    if (w->waiting == WAITING)
        atomic_fetch_add(&w->counts[WATCH_NOT_PUSHED], 1);
    else
        memcpy(w->ids[w->waiting++], id, SESSIONS_ID);
    pthread_cond_signal(&w->arrived);
    pthread_mutex_unlock(&w->lock);
}

/* Whether none is under way any more. */
static bool is_idle(watch *w, watched *p)
{
    bool ended = false;

    if (p->session[0] == '\0')
        return true;
    if (sessions_wait(w->kept, p->session, 0, 0, &ended) != 0 && !ended)
        return false;
    if (ended)
        queue_push(w, p->session);
    p->session[0] = '\0';
    return true;
}

static void read_values(watched *p, watch_values *values)
{
    uint64_t ticks = machine_cpu_ticks(p->process_id), now = os_monotonic_ns();
    double share = 0;

    *values = (watch_values){.cpu_percent = -1,
                             .memory_bytes = machine_memory(p->process_id),
                             .failed = p->failed,
                             .has_failed = p->has_failed};
    if (p->read_ns != 0 && now > p->read_ns && ticks >= p->cpu_ticks) {
        share = (double)(ticks - p->cpu_ticks) / (double)sysconf(_SC_CLK_TCK) /
                ((double)(now - p->read_ns) / 1e9);
        values->cpu_percent = 100 * share / (double)sysconf(_SC_NPROCESSORS_ONLN);
    }
    p->cpu_ticks = ticks;
    p->read_ns = now;
}

static void visit(watch *w, watched *p)
{
    watch_values values;
    const char *trigger;
    uint64_t now;
    bool idle = is_idle(w, p);

    read_counters(p);
    read_values(p, &values);
    now = p->read_ns;
    trigger = watch_judge(&w->options->rules, &p->pulse, &values, now);
    if (!idle || !p->is_seen)
        return;
    if (trigger != NULL && now >= p->quiet_until_ns && begin_session(w, p, trigger)) {
        p->quiet_until_ns = now + QUIET_SECONDS * UINT64_C(1000000000);
    } else if (w->options->every_ns != 0 && now >= p->next_ns) {
        p->next_ns = now + w->options->every_ns; /* also after one that could not begin */
        begin_session(w, p, NULL);
    }
}

static void *keep_watch(void *context)
{
    watch *w = context;

    for (unsigned tick = 0;; tick++) {
        struct pollfd ending = {.fd = w->ending, .events = POLLIN};

        if (tick % LIST_TICKS == 0)
            list(w);
        for (size_t i = 0; i < MOST; i++)
            if (w->processes[i].process_id != 0)
                visit(w, &w->processes[i]);
        if (poll(&ending, 1, TICK_MS) > 0)
            return NULL;
    }
}

/* ---- pushing ---- */

/* From then on nothing but the watch itself may be touched: see watch_close. */
static bool is_over(watch *w)
{
    bool over;

    pthread_mutex_lock(&w->lock);
    over = w->is_over;
    pthread_mutex_unlock(&w->lock);
    return over;
}

static void push_one(watch *w, const char *id)
{
    char folder[SESSIONS_PATH];
    json_t *session = sessions_describe(w->kept, id);
    double elapsed = json_number_value(json_object_get(session, "elapsed"));
    const char *name = json_string_value(json_object_get(session, "name"));
    push_session s = {
        .program = w->program,
        .folder = folder,
        .name = name == NULL || name[0] == '\0' ? "dotnet" : name,
        .process_id = (int)json_integer_value(json_object_get(session, "processId")),
        .until_ns = os_realtime_ns(),
    };
    bool ended, is_done;
    error e;

    error_clear(&e);
    s.from_ns = s.until_ns - (uint64_t)(elapsed * 1e9);
    is_done = text_equal(json_string_value(json_object_get(session, "status")), "done");
    if (is_done && sessions_find(w->kept, id, folder, sizeof folder, &ended, &e) == 0) {
        int failed = 0;

        if (w->options->pushes_pprof)
            failed = push_pprof(&w->options->pprof, &s, &e);
        if (!is_over(w) && w->options->pushes_profiles) {
            http_address to = w->options->profiles;

            if (push_otlp_profile(&to, &s, &e) != 0)
                failed = e.code;
        }
        if (!is_over(w) && w->options->pushes_otlp) {
            http_address to = w->options->otlp; /* the options may go while it is sent */

            if (push_otlp(&to, &s, &e) != 0)
                failed = e.code;
        }
        atomic_fetch_add(&w->counts[failed == 0 ? WATCH_PUSHED : WATCH_NOT_PUSHED], 1);
    }
    json_decref(session);
}

static void *keep_pushing(void *context)
{
    watch *w = context;
    char id[SESSIONS_ID];

    for (;;) {
        pthread_mutex_lock(&w->lock);
        while (w->waiting == 0 && !w->is_over)
            pthread_cond_wait(&w->arrived, &w->lock);
        if (w->is_over) {
            pthread_mutex_unlock(&w->lock);
            return NULL;
        }
        memcpy(id, w->ids[0], SESSIONS_ID);
        memmove(w->ids[0], w->ids[1], --w->waiting * sizeof w->ids[0]);
        pthread_mutex_unlock(&w->lock);
        push_one(w, id);
    }
}

/* ---- the whole ---- */

int watch_open(const watch_options *options, sessions *kept, const char *program, watch **out,
               error *e)
{
    watch *w = memory_allocate_array(1, sizeof *w);

    if (w == NULL)
        return error_set(e, ERROR_MEMORY, "no memory to watch processes");
    w->options = options;
    w->kept = kept;
    w->program = program;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->arrived, NULL);
    w->ending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->has_pusher = w->ending >= 0 && pthread_create(&w->pusher, NULL, keep_pushing, w) == 0;
    w->has_watcher = w->has_pusher && pthread_create(&w->watcher, NULL, keep_watch, w) == 0;
    if (!w->has_watcher) {
        watch_close(w);
        return error_set(e, ERROR_MEMORY, "no thread to watch processes");
    }
    *out = w;
    return 0;
}

uint64_t watch_count(const watch *w, watch_what what)
{
    return atomic_load(&w->counts[what]);
}

/* A receiver that swallows what is sent, or a name server that does not answer, can hold the thread
 * for half a minute: nobody who ends the server waits for that. True: the thread is still there. */
static bool leave_pusher(watch *w)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LAST_PUSH_SECONDS;
    if (pthread_timedjoin_np(w->pusher, NULL, &end) == 0)
        return false;
    pthread_detach(w->pusher);
    return true;
}

void watch_close(watch *w)
{
    bool has_left = false;

    if (w->has_watcher) {
        eventfd_write(w->ending, 1);
        pthread_join(w->watcher, NULL);
    }
    if (w->has_pusher) {
        pthread_mutex_lock(&w->lock);
        w->is_over = true;
        pthread_cond_signal(&w->arrived);
        pthread_mutex_unlock(&w->lock);
        has_left = leave_pusher(w);
    }
    for (size_t i = 0; i < MOST; i++)
        end_counters(&w->processes[i]);
    if (w->ending >= 0)
        close(w->ending);
    if (has_left)
        return; /* the thread still needs it; the server ends with the process */
    pthread_cond_destroy(&w->arrived);
    pthread_mutex_destroy(&w->lock);
    memory_free(w);
}
