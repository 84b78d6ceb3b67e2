/* sessions_private: what sessions.c, sessions_disk.c and sessions_json.c share. */
#ifndef CLARINET_SERVER_SESSIONS_PRIVATE_H
#define CLARINET_SERVER_SESSIONS_PRIVATE_H

#include <pthread.h>

#include "server/sessions.h"
#include "session/session.h"

typedef enum {
    SESSION_STARTING,
    SESSION_RUNNING,
    SESSION_ANALYSING,
    SESSION_DONE, /* from here on nothing changes any more */
    SESSION_FAILED,
    SESSION_CANCELLED,
} session_status;

/* Everything but the first four and `process` is under the owner's lock. */
typedef struct kept_session {
    struct sessions *owner;
    char id[SESSIONS_ID];           /* digits, letters a to f and dashes */
    catalogue_selection *selection; /* NULL when it has not been started by this server */
    uint64_t duration_ns;
    diagnostics_process process;
    bool has_process;
    json_t *command; /* words; NULL = a process was attached to */
    struct kept_session *next;
    unsigned holders; /* the list, its thread, whoever saves it */
    bool removed;     /* from the list, as far as anybody may see */
    bool cancelled;
    bool uploaded;
    bool has_recording;
    session_status status;
    session_progress progress;
    error trouble;
    char *name;    /* of the program, or of the uploaded file */
    char *runtime; /* its version */
    int process_id;
    uint64_t created_ns; /* since 1970 */
    uint64_t ended_ns;
    uint64_t told_ns; /* monotonic: progress was last told */
    uint64_t version; /* another one after each change */
    json_t *profilers;
    json_t *tags;
    json_t *counts; /* findings by severity; NULL = not looked at */
    int stop;       /* eventfd; -1 = none */
} kept_session;

struct sessions {
    const char *folder;
    const char *library;
    const char *program;
    uint64_t keep_bytes;
    uint64_t keep_ns;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    kept_session *first;
    uint64_t version;
    size_t running; /* threads */
    int held;       /* a locked file of the folder: one server at a time; -1 = none */
};

const char *session_status_name(session_status status);
bool session_status_parse(const char *text, session_status *status);

/* Under the lock. */
kept_session *sessions_lookup(sessions *s, const char *id);
void sessions_insert(sessions *s, kept_session *x);
void sessions_free_one(kept_session *x);

/* sessions_json.c; under the lock */
json_t *sessions_to_json(const kept_session *x);
bool sessions_matches(const kept_session *x, const char *search);
json_t *sessions_describe_selection(const catalogue_selection *selection);

/* sessions_disk.c; not under the lock */
void sessions_path(const sessions *s, const char *id, const char *file, char out[SESSIONS_PATH]);
int sessions_make_folder(sessions *s, const char *id, error *e);
void sessions_remove_folder(sessions *s, const char *id);
int sessions_load(sessions *s, error *e);
void sessions_save(sessions *s, kept_session *x);
/* Removes the oldest ended ones that are too many. */
void sessions_apply_limits(sessions *s);
/* Counts by severity out of findings.json; the program's name too, for an uploaded one. */
json_t *sessions_count_findings(const char *path, kept_session *x, pthread_mutex_t *lock);

#endif
