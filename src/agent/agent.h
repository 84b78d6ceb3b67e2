/*
 * agent: the root of libclarinet.so. One struct holds everything; there is no other mutable state
 * in the library (base/memory's backend pointer apart, which points into it).
 *
 * Threads: the runtime's (callbacks), and one of our own (`clarinet`) that talks to the tool, takes
 * records out of the ring, resolves names and encodes. The own thread alone touches clients, names
 * and engines' session state, so none of that has a lock.
 */
#ifndef CLARINET_AGENT_AGENT_H
#define CLARINET_AGENT_AGENT_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/arena.h"
#include "agent/counterweight.h"
#include "agent/engine.h"
#include "agent/names.h"
#include "agent/output.h"
#include "agent/ring.h"
#include "clarinet/profiler.h"
#include "control/control.h"

enum {
    AGENT_CLIENTS = CONTROL_MOST_SESSIONS,
    AGENT_RING_SIZE = 1 << 20,
    AGENT_TICK_MS = 100,         /* rounds of the own thread while something records */
    AGENT_LONGEST_TICK_MS = 500, /* … while every engine can wait */
    AGENT_NEWS_ROUNDS = 10,      /* events have their round at once, so often in a second */
    AGENT_SOON_MS = 5,           /* after that as often this long after them */
    AGENT_STORM_MS = 50,         /* and then this long */
    AGENT_FORGET_MS = 1000,      /* between two times that names of gone methods are forgotten */
    AGENT_WRITER_MS = 50,        /* a hurried round waits so long for a record half written */
    AGENT_UNLOAD_MS = 2000,      /* an assembly waits so long until nobody asks about its code */
    AGENT_GRACE_MS = 2000,       /* for the tool to say hello, to start, to take the last records */
    AGENT_ALONE_MS = 1500, /* for the tool to connect; with the runtime's detaching under 2 s */
    AGENT_FIRST_SLAB = 16 << 10,
};

/* How the wait of start mode ended. */
typedef enum {
    AGENT_STARTED = 1,   /* a session has started */
    AGENT_START_REFUSED, /* the tool has turned us away */
    AGENT_START_LATE,    /* neither in time: the program runs, a session may still come */
} agent_start;

typedef enum {
    CLIENT_FREE = 0,
    CLIENT_GREETING, /* connected, has not said hello */
    CLIENT_READY,
    CLIENT_RECORDING,
    CLIENT_LEAVING, /* told goodbye or refused: closes when everything is sent */
} client_state;

/* One connected tool. */
typedef struct {
    client_state state;
    int descriptor;
    uint64_t deadline_ns; /* of greeting and leaving */
    catalogue_selection *selection;
    uint64_t engines; /* bit i: ENGINES[i] runs for it */
    bool is_stopping; /* the last round for it */
    uint64_t lost_before[ENGINE_COUNT][ENGINE_MAX_LOSSES];
    uint64_t lost_reported[ENGINE_COUNT][ENGINE_MAX_LOSSES];
    uint64_t dropped_reported;
    uint64_t rows_told;
    uint64_t refused_before; /* allocations that the cap refused, at its start */
    uint64_t refused_reported;
    uint64_t unasked_before; /* names that were not asked for, at its start */
    uint64_t unasked_reported;
    uint64_t replaced_before; /* event sessions, at its start */
    uint64_t replaced_reported;
    recording_cost cost_before; /* of earlier sessions */
    buffer received;
    output out;
} client;

/* Where the agent can be reached. */
typedef struct {
    char folder[256]; /* "" = none */
    int listener;     /* -1 = none */
    int folder_descriptor;
    uint8_t token[CONTROL_TOKEN_SIZE];
    char library[64]; /* name of our own file in the folder, removed at the end; "" = not there */
} endpoint;

typedef enum {
    AGENT_IDLE = 0,  /* nothing loaded, or let go again */
    AGENT_RUNNING,   /* the own thread runs */
    AGENT_DETACHING, /* the runtime was asked to let go */
    AGENT_ENDING,    /* the process ends: the last round */
    AGENT_ENDED,     /* the runtime must not be called any more */
} agent_phase;

struct agent {
    arena memory;
    alignas(16) uint8_t first_slab[AGENT_FIRST_SLAB];
    clr_profiler profilers[3]; /* beside another profiler; in the main place; the counterweight */
    counterweight counterweight;
    bool in_main_place;
    bool by_start;
    atomic_bool attach_complete; /* the runtime is done with attaching us */
    clr_info info;
    atomic_int phase;
    atomic_int started;  /* an agent_start: start mode holds the program while it is 0 */
    atomic_int finished; /* the own thread has sent its last */
    pthread_t thread;
    bool has_thread;
    bool thread_is_known; /* InitializeCurrentThread was called */
    int own_thread_id;
    int wake; /* eventfd */
    atomic_bool waking;
    atomic_bool has_news; /* woken by agent_wake, not by a ring that fills */
    atomic_bool news_told;
    uint64_t soon_ns;       /* a round before the next tick; 0 = none */
    uint64_t news_since_ns; /* rounds for news are counted by the second */
    unsigned news_rounds;
    atomic_int hurries; /* rounds asked for by agent_hurry */
    atomic_int hurried; /* and made */
    atomic_int asks; /* sessions for which the own thread may ask about code: also at their end */
    atomic_uint unloads; /* modules that went */
    unsigned unloads_met;
    atomic_bool made_went; /* a method made at run time */
    uint64_t forgot_ns;    /* when the names of such were forgotten */
    atomic_uint tick;      /* counts rounds; callbacks refill their allowances by it */
    ring events;
    events pipe;
    names names;
    thread_names_ended ended[THREAD_NAMES_ENDED];
    endpoint endpoint;
    client clients[AGENT_CLIENTS];
    atomic_uint active; /* a bit for each engine that is called */
    engine_slot engines[ENGINE_COUNT];
    struct sampling *sampling;    /* what cpu and wall share (sampling.h) */
    struct sampling_code *code;   /* what addresses are, while somebody walks */
    uint32_t mask_low, mask_high; /* in force */
    atomic_bool mask_deferred;    /* Initialize is running and will set the mask itself */
    bool stays;                   /* the runtime refused to detach */
    uint64_t next_tick_ns;
    uint64_t next_cost_ns;
    bool has_served;         /* a session before */
    uint64_t alone_since_ns; /* no client since; 0 = there is one */
};

/* ---- for engines: callbacks (any thread) ---- */

/* Room for a record of this engine, or NULL: then it is counted as loss 0 ("ring full"). */
SIGNAL_SAFE void *agent_reserve(agent *a, unsigned engine_index, size_t length);
/* `kind` is 0 to 63, the engine's own. */
SIGNAL_SAFE void agent_commit(agent *a, unsigned engine_index, void *payload, size_t reserved,
                              unsigned kind, size_t length);
/* Lets the own thread look now instead of at its next tick; at most once per tick. */
SIGNAL_SAFE void agent_wake(agent *a);
/* The same, but once per round: for what must not be lost when the program dies. */
SIGNAL_SAFE void agent_tell_news(agent *a);
/* Has everything so far sent now and waits until it is, at most so long; false = it is not. For the
 * last moments of a program, or of an assembly, only. */
bool agent_hurry(agent *a, unsigned milliseconds);
/* Own thread: something comes in, so the next tick is no further away than in a busy time. */
void agent_tick_soon(agent *a);
SIGNAL_SAFE static inline void agent_lose(agent *a, unsigned engine_index, unsigned reason,
                                          uint64_t count)
{
    atomic_fetch_add_explicit(&a->engines[engine_index].lost[reason], count, memory_order_relaxed);
}
/* Own thread: this round is waited for, and nothing may be put off. */
static inline bool agent_is_hurried(agent *a)
{
    return atomic_load(&a->hurries) != atomic_load(&a->hurried);
}
static inline bool agent_is_active(agent *a, unsigned engine_index)
{
    return (atomic_load_explicit(&a->active, memory_order_acquire) & 1u << engine_index) != 0;
}

/* ---- for engines: own thread ---- */

/* Writes a row to every session that runs this engine. */
void agent_row(agent *a, unsigned engine_index, unsigned table, const uint64_t *cells);
/* Corrects the number of records that is shown to people: a row that stands for many, or that takes
 * the place of another. */
void agent_count_rows(agent *a, unsigned engine_index, int64_t more);
/* The session of an engine that has one at a time; NULL = none. */
client *agent_client_of(agent *a, unsigned engine_index);
/* The parameters of the sessions that run this engine, one after the other; *position starts at
 * 0; NULL at the end. */
const catalogue_selected *agent_user(agent *a, unsigned engine_index, size_t *position);
/* Makes the own thread known to the runtime; call before asking the runtime for names. */
bool agent_enter_runtime(agent *a);
/* Asks the runtime for the events of all active engines; 0 or an error. */
int agent_apply_mask(agent *a, error *e);
/* Takes everything out of the ring, drains the engines, gathers and sends. */
void agent_round(agent *a, bool last);
/* The first half of a round: ring and engines, nothing is sent. */
void agent_collect(agent *a, bool last);

/* ---- between the agent's files ---- */

/* thread.c: the own thread. */
int agent_start_thread(agent *a, error *e);
/* lifecycle.c: engines on and off. */
int agent_start_client(agent *a, client *c, error *e);
void agent_stop_client(agent *a, client *c);
/* client.c */
void client_open(agent *a, int descriptor);
client *client_connect(agent *a, const char *path, const uint8_t *token);
void client_receive(agent *a, client *c);
void client_flush(agent *a, client *c);
void client_report(agent *a, client *c, bool with_cost);
/* Answers STATUS; also said unasked, at the end. */
void client_tell_state(agent *a, client *c);
void client_close(agent *a, client *c);
size_t client_count(const agent *a);
/* endpoint.c */
int endpoint_open(agent *a, const char *folder, const uint8_t *token, error *e);
int endpoint_open_own(agent *a, error *e);
int endpoint_listen(agent *a, error *e);
int endpoint_accept(agent *a);
/* Whether a peer with this user id may talk to the agent at all. */
bool endpoint_admits(uint32_t user_id);
void endpoint_close(agent *a);
/* callbacks.c */
extern const clr_profiler_callbacks AGENT_CALLBACKS;
/* agent.c */
HRESULT agent_on_initialize(void *context, const clr_info *info);
HRESULT agent_on_attach(void *context, const clr_info *info, void *data, uint32_t length);
void agent_on_attach_complete(void *context);
void agent_on_detached(void *context);
void agent_on_shutdown(void *context);
void agent_on_notification_only(void *context, BOOL *answer);

#endif
