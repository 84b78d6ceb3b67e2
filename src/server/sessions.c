/* sessions: see sessions.h. sessions_disk.c has the folder. */
#include "server/sessions.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "server/child.h"
#include "server/command.h"
#include "server/sessions_private.h"
#include "session/session.h"

enum { MAX_RUNNING = 16 };

static const char *const STATUS_NAMES[] = {"starting", "running", "analysing",
                                           "done",     "failed",  "cancelled"};

const char *session_status_name(session_status status)
{
    return STATUS_NAMES[status];
}

bool session_status_parse(const char *text, session_status *status)
{
    for (size_t i = 0; i < sizeof STATUS_NAMES / sizeof *STATUS_NAMES; i++) {
        if (text_equal(text, STATUS_NAMES[i])) {
            *status = (session_status)i;
            return true;
        }
    }
    return false;
}

/* ---- the list; all of it under s->lock ----------------------------------------------------- */

kept_session *sessions_lookup(sessions *s, const char *id)
{
    for (kept_session *x = s->first; x != NULL; x = x->next)
        if (!x->removed && text_equal(x->id, id))
            return x;
    return NULL;
}

static void touch(sessions *s, kept_session *x)
{
    x->version = ++s->version;
    pthread_cond_broadcast(&s->changed);
}

static void set_status(sessions *s, kept_session *x, session_status status)
{
    x->status = status;
    if (status >= SESSION_DONE)
        x->ended_ns = os_realtime_ns();
    touch(s, x);
}

static void release(sessions *s, kept_session *x)
{
    if (--x->holders != 0)
        return;
    for (kept_session **at = &s->first; *at != NULL; at = &(*at)->next) {
        if (*at == x) {
            *at = x->next;
            break;
        }
    }
    sessions_free_one(x);
}

void sessions_insert(sessions *s, kept_session *x)
{
    kept_session **at = &s->first;

    x->holders = 1;
    while (*at != NULL && (*at)->created_ns > x->created_ns) /* newest first */
        at = &(*at)->next;
    x->next = *at;
    *at = x;
    touch(s, x);
}

void sessions_free_one(kept_session *x)
{
    if (x->stop >= 0)
        close(x->stop);
    if (x->has_process)
        diagnostics_process_free(&x->process);
    memory_free(x->selection);
    json_decref(x->command);
    json_decref(x->profilers);
    json_decref(x->tags);
    json_decref(x->counts);
    memory_free(x->name);
    memory_free(x->runtime);
    memory_free(x);
}

/* ---- running one ---------------------------------------------------------------------------- */

static void on_progress(void *context, const session_progress *progress)
{
    kept_session *x = context;
    sessions *s = x->owner;

    pthread_mutex_lock(&s->lock);
    x->progress = *progress;
    if (progress->started && x->status == SESSION_STARTING)
        x->status = SESSION_RUNNING;
    if (os_monotonic_ns() - x->told_ns >= UINT64_C(400000000)) {
        x->told_ns = os_monotonic_ns();
        touch(s, x);
    }
    pthread_mutex_unlock(&s->lock);
}

/* The findings, by a child; how many there are of each severity goes into the list. */
static int analyse(sessions *s, kept_session *x, error *e)
{
    char recording[SESSIONS_PATH];
    char findings[SESSIONS_PATH];
    const char *const arguments[] = {"checkup", "--json", recording, NULL};
    json_t *counts = NULL;
    int code;

    sessions_path(s, x->id, "recording.clarinet", recording);
    sessions_path(s, x->id, "findings.json", findings);
    code = child_run_to_file(s->program, arguments, findings, e);
    if (code == 0)
        counts = sessions_count_findings(findings, x, &s->lock);
    pthread_mutex_lock(&s->lock);
    json_decref(x->counts);
    x->counts = counts;
    pthread_mutex_unlock(&s->lock);
    return code;
}

static void finish(sessions *s, kept_session *x, session_status status, const error *e)
{
    pthread_mutex_lock(&s->lock);
    if (e != NULL && e->code != 0)
        x->trouble = *e;
    set_status(s, x, status);
    pthread_mutex_unlock(&s->lock);
    sessions_save(s, x);
    sessions_apply_limits(s);
    malloc_trim(0); /* a server that has nothing to do is small */
    pthread_mutex_lock(&s->lock);
    s->running--;
    pthread_cond_broadcast(&s->changed);
    release(s, x);
    pthread_mutex_unlock(&s->lock);
}

/* Attaches, or starts the command. */
static int record(sessions *s, kept_session *x, const char *file, session_result *result, error *e)
{
    session_options options = {
        .selection = x->selection,
        .library = s->library,
        .file = file,
        .command = "clarinet serve",
        .duration_ns = x->duration_ns,
        .stop = x->stop,
        .progress = on_progress,
        .context = x,
    };
    command_options command = {
        .program = s->program,
        .words = x->command,
        .selection = x->selection,
        .file = file,
        .duration_ns = x->duration_ns,
        .stop = x->stop,
        .progress = on_progress,
        .context = x,
    };

    if (x->command == NULL)
        return session_record_process(&options, &x->process, result, e);
    memset(result, 0, sizeof *result);
    return command_record(&command, &result->total, e);
}

static void *run(void *context)
{
    kept_session *x = context;
    sessions *s = x->owner;
    char file[SESSIONS_PATH];
    session_result result;
    bool cancelled;
    error e;

    error_clear(&e);
    sessions_path(s, x->id, "recording.clarinet", file);
    if (record(s, x, file, &result, &e) != 0) {
        finish(s, x, x->cancelled ? SESSION_CANCELLED : SESSION_FAILED, &e);
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    x->progress = result.total;
    x->has_recording = !x->cancelled;
    cancelled = x->cancelled;
    if (!cancelled)
        set_status(s, x, SESSION_ANALYSING);
    pthread_mutex_unlock(&s->lock);
    if (cancelled) {
        unlink(file);
        finish(s, x, SESSION_CANCELLED, NULL);
        return NULL;
    }
    if (analyse(s, x, &e) != 0)
        finish(s, x, SESSION_FAILED, &e);
    else
        finish(s, x, SESSION_DONE, &result.trouble);
    return NULL;
}

static int start_thread(sessions *s, kept_session *x, error *e)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int failed;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_mutex_lock(&s->lock);
    s->running++;
    x->holders++;
    pthread_mutex_unlock(&s->lock);
    failed = pthread_create(&thread, &attributes, run, x);
    pthread_attr_destroy(&attributes);
    if (failed == 0)
        return 0;
    error_set_errno(e, ERROR_MEMORY, failed, "the session could not begin");
    finish(s, x, SESSION_FAILED, e);
    return e->code;
}

static kept_session *make(sessions *s, error *e)
{
    kept_session *x = memory_allocate_array(1, sizeof *x);
    uint32_t random = 0;
    time_t now = time(NULL);
    struct tm parts;

    if (x == NULL) {
        error_set(e, ERROR_MEMORY, "no memory for a session");
        return NULL;
    }
    x->owner = s;
    x->stop = -1;
    x->created_ns = os_realtime_ns();
    os_random(&random, sizeof random);
    gmtime_r(&now, &parts);
    snprintf(x->id, sizeof x->id, "%04d%02d%02d-%02d%02d%02d-%08x", (parts.tm_year + 1900) % 10000,
             (parts.tm_mon + 1) % 100, parts.tm_mday % 100, parts.tm_hour % 100, parts.tm_min % 100,
             parts.tm_sec % 100, random);
    if (sessions_make_folder(s, x->id, e) != 0) {
        memory_free(x);
        return NULL;
    }
    return x;
}

static bool is_full(sessions *s, error *e)
{
    size_t running;

    pthread_mutex_lock(&s->lock);
    running = s->running;
    pthread_mutex_unlock(&s->lock);
    if (running < MAX_RUNNING)
        return false;
    error_set(e, ERROR_LIMIT, "%d sessions run already", MAX_RUNNING);
    error_advise(e, "wait for one to end, or stop one");
    return true;
}

/* The rest of a new session, whose target is there already; frees it when it cannot begin. */
static int start(sessions *s, kept_session *x, catalogue_selection *selection, uint64_t duration_ns,
                 json_t *tags, char id[SESSIONS_ID], error *e)
{
    x->duration_ns = duration_ns;
    x->selection = memory_allocate(sizeof *selection);
    x->profilers = sessions_describe_selection(selection);
    x->tags = json_incref(tags);
    x->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (x->selection == NULL || x->name == NULL || x->runtime == NULL || x->stop < 0) {
        sessions_remove_folder(s, x->id);
        sessions_free_one(x);
        return error_set(e, ERROR_MEMORY, "no memory for a session");
    }
    *x->selection = *selection;
    memcpy(id, x->id, SESSIONS_ID);
    pthread_mutex_lock(&s->lock);
    sessions_insert(s, x);
    pthread_mutex_unlock(&s->lock);
    sessions_save(s, x);
    return start_thread(s, x, e);
}

int sessions_start(sessions *s, diagnostics_process *process, catalogue_selection *selection,
                   uint64_t duration_ns, json_t *tags, char id[SESSIONS_ID], error *e)
{
    kept_session *x = is_full(s, e) ? NULL : make(s, e);

    if (x == NULL) {
        diagnostics_process_free(process);
        return e->code;
    }
    x->process = *process;
    x->has_process = true;
    x->process_id = process->process_id;
    x->name = memory_copy_text(process->name);
    x->runtime = memory_copy_text(process->runtime_version);
    return start(s, x, selection, duration_ns, tags, id, e);
}

int sessions_start_command(sessions *s, json_t *command, catalogue_selection *selection,
                           uint64_t duration_ns, json_t *tags, char id[SESSIONS_ID], error *e)
{
    kept_session *x = is_full(s, e) ? NULL : make(s, e);
    buffer name = BUFFER_EMPTY;
    size_t i;
    json_t *word;

    if (x == NULL)
        return e->code;
    json_array_foreach(command, i, word) if (name.length + json_string_length(word) < 120)
        buffer_format(&name, "%s%s", name.length == 0 ? "" : " ", json_string_value(word));
    x->command = json_incref(command);
    x->name = memory_copy_text(buffer_text(&name));
    x->runtime = memory_copy_text("");
    buffer_free(&name);
    return start(s, x, selection, duration_ns, tags, id, e);
}

/* The folder's name says nothing to who sent the file. */
static int tell_of_upload(const char *recording, const char *name, error *e)
{
    char rest[sizeof e->message];

    if (!text_starts_with(e->message, recording))
        return e->code;
    snprintf(rest, sizeof rest, "%s", e->message + strlen(recording));
    error_set(e, e->code, "%.120s%s", name, rest);
    return error_advise(e, "a recording, a .nettrace, a .gcdump or a pprof profile is taken");
}

int sessions_add_file(sessions *s, const char *file, const char *name, char id[SESSIONS_ID],
                      error *e)
{
    char recording[SESSIONS_PATH];
    struct stat status;
    kept_session *x = make(s, e);
    int code;

    if (x == NULL)
        return e->code;
    x->uploaded = true;
    x->has_recording = true;
    x->status = SESSION_DONE;
    x->ended_ns = x->created_ns;
    x->name = memory_copy_text(name);
    x->runtime = memory_copy_text("");
    x->profilers = json_array();
    x->tags = json_array();
    sessions_path(s, x->id, "recording.clarinet", recording);
    code = rename(file, recording) == 0
               ? 0
               : error_set_errno(e, ERROR_IO, errno, "the upload could not be kept");
    if (code == 0)
        code = analyse(s, x, e);
    if (code == 0 && stat(recording, &status) == 0)
        x->progress.bytes = (uint64_t)status.st_size;
    if (code != 0) {
        sessions_remove_folder(s, x->id);
        sessions_free_one(x);
        return tell_of_upload(recording, name, e);
    }
    memcpy(id, x->id, SESSIONS_ID);
    pthread_mutex_lock(&s->lock);
    sessions_insert(s, x);
    pthread_mutex_unlock(&s->lock);
    sessions_save(s, x);
    sessions_apply_limits(s);
    return 0;
}

/* ---- asking and ending ---------------------------------------------------------------------- */

json_t *sessions_describe(sessions *s, const char *id)
{
    kept_session *x;
    json_t *object = NULL;

    pthread_mutex_lock(&s->lock);
    x = sessions_lookup(s, id);
    if (x != NULL)
        object = sessions_to_json(x);
    pthread_mutex_unlock(&s->lock);
    return object;
}

json_t *sessions_list(sessions *s, const char *search)
{
    json_t *array = json_array();

    pthread_mutex_lock(&s->lock);
    for (kept_session *x = s->first; x != NULL; x = x->next)
        if (!x->removed && sessions_matches(x, search))
            json_array_append_new(array, sessions_to_json(x));
    pthread_mutex_unlock(&s->lock);
    return array;
}

uint64_t sessions_wait(sessions *s, const char *id, uint64_t seen, unsigned timeout_ms, bool *ended)
{
    struct timespec until;
    kept_session *x;
    uint64_t version = 0;
    int failed = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&s->lock);
    while ((x = sessions_lookup(s, id)) != NULL && x->version == seen && failed == 0)
        failed = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    if (x != NULL) {
        version = x->version;
        *ended = x->status >= SESSION_DONE;
    }
    pthread_mutex_unlock(&s->lock);
    return version;
}

static int unknown(const char *id, error *e)
{
    error_set(e, ERROR_NOT_FOUND, "there is no session '%.40s'", id);
    return error_advise(e, "GET /api/sessions lists them");
}

int sessions_stop(sessions *s, const char *id, bool cancel, error *e)
{
    kept_session *x;

    pthread_mutex_lock(&s->lock);
    x = sessions_lookup(s, id);
    if (x != NULL && x->status <= SESSION_RUNNING && x->stop >= 0) {
        x->cancelled = x->cancelled || cancel;
        eventfd_write(x->stop, 1);
    }
    pthread_mutex_unlock(&s->lock);
    return x != NULL ? 0 : unknown(id, e);
}

int sessions_remove(sessions *s, const char *id, error *e)
{
    kept_session *x;

    pthread_mutex_lock(&s->lock);
    x = sessions_lookup(s, id);
    if (x == NULL) {
        pthread_mutex_unlock(&s->lock);
        return unknown(id, e);
    }
    x->removed = true;
    if (x->status <= SESSION_RUNNING && x->stop >= 0) {
        x->cancelled = true;
        eventfd_write(x->stop, 1);
    }
    touch(s, x);
    /* whoever works on it still has its files until it is done */
    while (x->holders > 1)
        pthread_cond_wait(&s->changed, &s->lock);
    sessions_remove_folder(s, x->id);
    release(s, x);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int sessions_set_tags(sessions *s, const char *id, json_t *tags, error *e)
{
    kept_session *x;

    pthread_mutex_lock(&s->lock);
    x = sessions_lookup(s, id);
    if (x != NULL) {
        json_decref(x->tags);
        x->tags = json_incref(tags);
        x->holders++;
        touch(s, x);
    }
    pthread_mutex_unlock(&s->lock);
    if (x == NULL)
        return unknown(id, e);
    sessions_save(s, x);
    pthread_mutex_lock(&s->lock);
    release(s, x);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int sessions_find(sessions *s, const char *id, char *folder, size_t room, bool *ended, error *e)
{
    kept_session *x;

    pthread_mutex_lock(&s->lock);
    x = sessions_lookup(s, id);
    if (x != NULL) {
        snprintf(folder, room, "%s/%s", s->folder, x->id);
        *ended = x->status >= SESSION_DONE;
    }
    pthread_mutex_unlock(&s->lock);
    return x != NULL ? 0 : unknown(id, e);
}

/* ---- the whole ------------------------------------------------------------------------------ */

int sessions_open(const sessions_options *options, sessions **out, error *e)
{
    sessions *s = memory_allocate_array(1, sizeof *s);
    pthread_condattr_t attributes;
    int code;

    if (s == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the sessions");
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&s->lock, NULL);
    s->held = -1;
    s->folder = options->folder;
    s->library = options->library;
    s->program = options->program;
    s->keep_bytes = options->keep_bytes;
    s->keep_ns = options->keep_ns;
    code = sessions_load(s, e);
    if (code != 0) {
        sessions_close(s);
        return code;
    }
    sessions_apply_limits(s);
    *out = s;
    return 0;
}

void sessions_stop_all(sessions *s)
{
    pthread_mutex_lock(&s->lock);
    for (kept_session *x = s->first; x != NULL; x = x->next)
        if (x->status <= SESSION_RUNNING && x->stop >= 0)
            eventfd_write(x->stop, 1);
    pthread_mutex_unlock(&s->lock);
}

void sessions_close(sessions *s)
{
    kept_session *next;

    sessions_stop_all(s);
    pthread_mutex_lock(&s->lock);
    while (s->running != 0)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    for (kept_session *x = s->first; x != NULL; x = next) {
        next = x->next;
        sessions_free_one(x);
    }
    if (s->held >= 0)
        close(s->held);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    memory_free(s);
}
