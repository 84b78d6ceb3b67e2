/*
 * command: a session of a program that the server starts itself (`--allow-commands`): a child of
 * this same program, `clarinet record … -- CMD…`, in a process group of its own. The program
 * belongs to the session: when that ends it is asked to end, and after five seconds made to.
 * Thread rules: any thread; one call runs one session.
 */
#ifndef CLARINET_SERVER_COMMAND_H
#define CLARINET_SERVER_COMMAND_H

#include <jansson.h>

#include "base/error.h"
#include "catalogue/catalogue.h"
#include "session/session.h"

typedef struct {
    const char *program; /* this one */
    const json_t *words; /* of the command: an array of texts */
    const catalogue_selection *selection;
    const char *file; /* the recording */
    uint64_t duration_ns;
    int stop; /* readable = end it */
    void (*progress)(void *context, const session_progress *progress);
    void *context;
} command_options;

/* Returns when the program has ended. 0 when there is a recording. */
int command_record(const command_options *options, session_progress *total, error *e);

#endif
