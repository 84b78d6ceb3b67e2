/*
 * place: the agent's private folder in a target, seen from outside: where its socket, its token
 * and the library file are.
 *
 * The folder has the name clarinet-UID-PID-START (ids as the target sees them) in the target's
 * temporary folder, /tmp or /dev/shm, whichever works first; mode 0700, owned by the target's
 * user. Everything is done through descriptors opened inside the target's root without following
 * links, because others may write to those folders.
 */
#ifndef CLARINET_SESSION_PLACE_H
#define CLARINET_SESSION_PLACE_H

#include "base/error.h"
#include "diagnostics/processes.h"

enum { PLACE_NAME = 96, PLACE_PATH = 256 };

typedef struct {
    int descriptor;         /* of the folder; -1 = none */
    char path[PLACE_PATH];  /* as the target sees it */
    char name[PLACE_NAME];  /* its last part */
    char library[64];       /* the library file's name in it */
    uint32_t inner_user_id; /* the same as the process itself sees it, in its user namespace */
    uint32_t user_id;       /* who must own everything */
    uint32_t group_id;
} place;

/* Finds the folder of a resident agent; ERROR_NOT_FOUND when there is none to be trusted. */
int place_find(const diagnostics_process *process, place *p, error *e);
/* Makes (or takes over) the folder and copies the library there under a name made of its content.
 * ERROR_PERMISSION and friends tell which folders were tried and why they do not do. */
int place_make(const diagnostics_process *process, const char *library, place *p, error *e);
/* Makes a folder for this user alone in TMPDIR, /tmp or /dev/shm, whichever does and takes `bytes`;
 * `for_code`: where libraries can be loaded from. The error tells why each does not. */
int place_make_folder(const char *prefix, bool for_code, size_t bytes, char *path, size_t room,
                      error *e);
/* Locks such a folder for as long as the descriptor, which it returns, is open (-1 = cannot be
 * opened), and removes those beside it whose tool was killed: old ones that nobody has locked. Its
 * prefix and the names in it must be known there. */
int place_hold_folder(const char *path);
/* A folder of our own for a program that we start: the library in it, nothing else. */
int place_make_own(const char *library, place *p, error *e);
/* Removes our own folder with what is in it. */
void place_remove_own(place *p);
void place_close(place *p);

/* Removes folders of processes that are gone beside `p`. Best effort. */
void place_sweep(const diagnostics_process *process, const place *p);

/* Reads the token of a resident agent. */
int place_read_token(const place *p, uint8_t *token, error *e);
/* Connects to the agent's socket; the peer must be `process_id` (0 = any) of the right user.
 * ERROR_BUSY: as many as may wait to be accepted do so already. */
int place_connect(const place *p, int process_id, int *descriptor, error *e);

#endif
