/*
 * session: makes one recording, of a running process or of a command with all its .NET processes.
 *
 * Chunks of the agents are appended to the file as they come, at least every quarter of a second,
 * so the file is good up to the last moment whatever happens to either side. Nothing is printed
 * here. Thread rules: a session belongs to one thread; several sessions may run at once.
 */
#ifndef CLARINET_SESSION_SESSION_H
#define CLARINET_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "catalogue/catalogue.h"
#include "diagnostics/processes.h"
#include "recording/decode.h"

typedef struct {
    bool started;         /* at least one process records, or has recorded */
    bool stopping;        /* waiting for the last records */
    uint64_t elapsed_ns;  /* since the first one started */
    uint64_t duration_ns; /* 0 = no end set */
    uint64_t rows;        /* recorded */
    uint64_t lost;        /* not recorded, whatever the reason */
    uint64_t bytes;       /* of the file */
    size_t processes;     /* that have recorded */
    size_t not_recorded;  /* that connected and were turned away: no room */
    size_t not_started;   /* that connected and were gone before they recorded */
    const error
        *port_reason; /* through the port: why, code 0 = it was asked for; NULL = it is not */
} session_progress;

/* How the events come out of a running process. */
typedef enum {
    SESSION_BY_AGENT,  /* by the library in it, or not at all */
    SESSION_BY_EITHER, /* the same, and where it cannot be loaded through the diagnostics port */
    SESSION_BY_PORT,   /* through the port */
} session_way;

typedef struct {
    const catalogue_selection *selection;
    const char *library;  /* path of libclarinet.so */
    const char *file;     /* the recording */
    const char *command;  /* as the person typed it; goes into the recording */
    uint64_t duration_ns; /* 0 = until the target ends, or until stopped */
    session_way way;      /* of a running process */
    bool sdk;             /* a command's: the .NET SDK's own processes too */
    bool no_sdk_option;   /* the verb has no --sdk to advise */
    bool tells_way;       /* the verb itself says when it goes through the port */
    bool short_lived;     /* read once and deleted: packing it would be a waste of time */
    /* A descriptor; readable = stop and keep all; -1 = none. Of a command's a signalfd: TERM and
     * HUP are passed on to the command, and the recording ends with it. */
    int stop;
    /* Called a few times a second; may be NULL. */
    void (*progress)(void *context, const session_progress *progress);
    /* Called for every chunk of an agent; through the port only for counters and their strings, as
     * they come, which a short-lived recording then has no more. True: nothing more is wanted,
     * stop. May be NULL. */
    bool (*enough)(void *context, const recording_chunk *chunk);
    void *context;
} session_options;

typedef struct {
    session_progress total;
    const char *reason;   /* why it ended, as in the recording's END */
    int exit_code;        /* of the command: 128 + the signal when one ended it */
    int signal;           /* that ended the command; 0 = none */
    bool told_to_end;     /* TERM or HUP came and was passed on to the command */
    char left[160];       /* processes of the command that outlived it and the recording, by name */
    bool through_port;    /* and not by the agent; then: */
    char missing[160];    /* profilers that do not work that way, by name; "" = none */
    error way_reason;     /* why; code 0 = it was asked for */
    char stream[4096];    /* the events as they came, kept where the file could not take all */
    char meter_note[320]; /* what was left out of the meters; "" = nothing was */
    bool is_cut;          /* the file could not take all */
    error trouble;        /* code 0, or what went wrong while recording; the file is good still */
} session_result;

/* Attaches and records. On failure no file is left. */
int session_record_process(const session_options *options, const diagnostics_process *process,
                           session_result *result, error *e);
/* Starts the command and records every .NET process of it, but for the .NET SDK's own (the CLI,
 * MSBuild, the compiler) unless they are asked for or the command means them (`dotnet build`). The
 * command runs to its end whatever happens to the recording. Fails only when the command could not
 * be started; result->trouble tells when there was nothing to record. */
int session_record_command(const session_options *options, char *const *command,
                           session_result *result, error *e);

#endif
