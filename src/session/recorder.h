/*
 * recorder: the part of a session that both kinds share: links to agents, the file, the time.
 * Private to src/session.
 */
#ifndef CLARINET_SESSION_RECORDER_H
#define CLARINET_SESSION_RECORDER_H

#include <sys/types.h>

#include "recording/writer.h"
#include "session/link.h"
#include "session/session.h"
#include "session/symbolize.h"

/* Links: processes that are recorded at once; who has ended makes room for another. */
enum { RECORDER_MAX_LINKS = 256, RECORDER_TICK_MS = 200 };

typedef enum {
    PEER_ANNOUNCING, /* connected to us, has not said who it is */
    PEER_GREETING,   /* hello sent */
    PEER_STARTING,   /* start sent */
    PEER_RECORDING,
    PEER_STOPPING, /* stop sent */
    PEER_LEAVING,  /* the agent has gone: does the process end? The link is the process's own */
    PEER_DONE,
} peer_phase;

/* One process of the recording. */
typedef struct {
    peer_phase phase;
    session_link link;
    uint32_t index;       /* in the recording */
    int process_id;       /* as we see it; 0 = not known */
    uint64_t stop_ns;     /* when the agent stopped, since its start; 0 = it has not said */
    uint64_t start_ticks; /* when that process started: another may get its number */
    uint64_t rows;        /* as the agent counts, … */
    uint64_t told_ns;     /* … when it last said */
    uint64_t lost;
    uint64_t started_ns;
    uint64_t gone_ns;     /* when the connection ended; 0 = it did not end by itself */
    uint64_t deadline_ns; /* of every phase; of recording only until there is enough */
    uint64_t stopped_ns;  /* since when it is seen to be stopped; 0 = it is not */
    const char *end;      /* why it ended; NULL = it did not */
    symbolizer *symbols;
} peer;

typedef struct recorder {
    const session_options *options;
    session_result *result;
    recording_writer *writer;
    peer *peers[RECORDER_MAX_LINKS];
    size_t peer_count;
    size_t admitted;    /* connections that were taken, ended ones too */
    uint64_t gone_rows; /* of peers that have ended */
    uint64_t gone_lost;
    const char *gone_end; /* why the first of them ended; NULL = none did */
    buffer known;         /* ints: processes that connected and are no peers any more */
    uint32_t next_index;
    int listener; /* -1 = none */
    int spare;    /* given up for a moment to refuse somebody when there is no other; -1 = none */
    uint8_t token[CONTROL_TOKEN_SIZE];
    uint64_t origin_ns;
    uint64_t started_ns; /* of the first process; 0 = none yet */
    uint64_t ended_ns;   /* of the last one */
    uint64_t next_status_ns;
    uint64_t turned_ns; /* when the last wait was over */
    uint64_t missed_ns; /* how long this process did not come to read, when it was too long */
    uint64_t missed_until_ns;
    bool stopping;
    const char *reason; /* why everything stops */
    /* A command's: options->stop can be read; true when that is not for the recording. */
    bool (*pass_on)(const struct recorder *r);
    int command; /* its process id */
} recorder;

/* Makes the file with the recording's own information. NULL on failure, with *e. */
recorder *recorder_create(const session_options *options, session_result *result, error *e);
/* Adds a connection. `welcomed`: it was greeted already. NULL when there is no memory. */
peer *recorder_add(recorder *r, session_link link, bool welcomed, int process_id);
/* Sends START to a greeted peer. */
void recorder_start(recorder *r, peer *p);
/* Writes what the tool knows about a process. */
void recorder_describe(recorder *r, peer *p);
/* One round: waits up to a tick for something to happen and does it. `extra` (-1 = none) is one
 * more descriptor that ends the wait. */
void recorder_round(recorder *r, int extra);
/* Everything has ended or everything is told to stop and has. */
bool recorder_is_done(const recorder *r);
/* Whole chunks that the tool made itself while recording; they are shown to who looks on. */
void recorder_append_own(recorder *r, const buffer *chunks);
/* Begins the end: STOP to all. */
void recorder_stop(recorder *r, const char *reason);
/* No further processes are taken. */
void recorder_finish_listening(recorder *r);
/* Ends and closes the file, frees the recorder. The first trouble goes to result->trouble. */
void recorder_close(recorder *r);
/* Frees and removes the file: nothing was recorded. */
void recorder_abandon(recorder *r);

#endif
