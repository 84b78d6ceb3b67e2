/*
 * sessions: the recordings that the server makes and keeps.
 *
 * Each has a folder FOLDER/ID with session.json, recording.clarinet and what was made of it. A
 * session is starting, running, analysing, then done, failed or cancelled; what was not ended when
 * a server stopped is failed for the next one, with its recording as far as it goes.
 * Thread rules: any thread; everything handed out is a copy.
 */
#ifndef CLARINET_SERVER_SESSIONS_H
#define CLARINET_SERVER_SESSIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "catalogue/catalogue.h"
#include "diagnostics/processes.h"

enum { SESSIONS_ID = 32, SESSIONS_PATH = 512 };

typedef struct sessions sessions;

typedef struct {
    const char *folder;
    const char *library;
    const char *program;
    uint64_t keep_bytes; /* 0 = no limit */
    uint64_t keep_ns;
} sessions_options;

/* Makes the folder (0700), locks it and reads what is in it; ERROR_BUSY when another server has it.
 */
int sessions_open(const sessions_options *options, sessions **out, error *e);
/* Where this server is found, for who is refused the folder. */
void sessions_tell_address(sessions *s, const char *address);
/* Stops what runs; it is analysed and kept. */
void sessions_stop_all(sessions *s);
/* The same, waits for it, frees. */
void sessions_close(sessions *s);

/* Begins a session; takes `process` over, whatever comes of it. */
int sessions_start(sessions *s, diagnostics_process *process, catalogue_selection *selection,
                   uint64_t duration_ns, json_t *tags, char id[SESSIONS_ID], error *e);
/* The same of a command, an array of texts: see command.h. */
int sessions_start_command(sessions *s, json_t *command, catalogue_selection *selection,
                           uint64_t duration_ns, json_t *tags, char id[SESSIONS_ID], error *e);
/* A recording made elsewhere: `file` is moved in. */
int sessions_add_file(sessions *s, const char *file, const char *name, char id[SESSIONS_ID],
                      error *e);
/* A folder and file for somebody's upload, made empty; the caller removes what it does not add. */
int sessions_make_upload(sessions *s, char *path, size_t room, int *descriptor, error *e);

/* NULL when there is none. The caller owns it. */
json_t *sessions_describe(sessions *s, const char *id);
/* Newest first; those that contain `search` (NULL = all) in their name, tags, profilers or id. */
json_t *sessions_list(sessions *s, const char *search);
/* Waits until the session is another than at `seen` (0 = none seen) or `timeout_ms` have passed;
 * returns what to give as `seen` next, 0 when there is no such session (any more). */
uint64_t sessions_wait(sessions *s, const char *id, uint64_t seen, unsigned timeout_ms,
                       bool *ended);

/* ERROR_NOT_FOUND, or 0; one that has ended stays as it is. */
int sessions_stop(sessions *s, const char *id, bool cancel, error *e);
int sessions_remove(sessions *s, const char *id, error *e);
int sessions_set_tags(sessions *s, const char *id, json_t *tags, error *e);

/* The session's folder and whether it has ended; ERROR_NOT_FOUND. */
int sessions_find(sessions *s, const char *id, char *folder, size_t room, bool *ended, error *e);

#endif
