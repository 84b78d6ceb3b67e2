/*
 * sampling: stacks of running threads, taken by signals; what the profilers cpu and wall share, and
 * contention for the holders of locks, and pauses for threads that were slow to stop.
 *
 * The way of a sample: a timer or the sampler thread sends a signal; the handler copies the
 * registers and the top of the stack into a ring, one system call, and returns. The agent's own
 * thread takes the copy out, walks it with rules it works out once per address, turns addresses
 * into frames and frames into a stack id, and writes the row. Nothing is walked, looked up or
 * resolved in the handler, so an address met for the first time is walked as exactly as one met
 * a thousand times.
 *
 * What signals touch (threads, alternate stacks, this state) is never freed and the library stays
 * mapped once a signal was armed: a late signal must find its handler.
 *
 * Thread rules: functions marked SIGNAL_SAFE anywhere; sampling_on_… on threads of the target;
 * the rest on the agent's own thread.
 */
#ifndef CLARINET_AGENT_SAMPLING_H
#define CLARINET_AGENT_SAMPLING_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "agent/agent.h"
#include "agent/lock.h"
#include "agent/ring.h"
#include "stackwalk/stackwalk.h"

enum {
    SAMPLING_THREADS = 8192,
    SAMPLING_RED_ZONE = 128,        /* bytes under rsp that a leaf may use */
    SAMPLING_FIRST_COPY = 64 << 10, /* bytes of stack copied of a thread not met before */
    SAMPLING_LARGEST_COPY = 256 << 10,
    SAMPLING_RING = 2 << 20,
    SAMPLING_MAX_DEPTH = 4096,
};

/* Who asked for a sample; the last two: contention, of the thread that holds a lock, and pauses, of
 * the one that was slow to stop. */
typedef enum {
    SAMPLING_CPU,
    SAMPLING_WALL,
    SAMPLING_HOLDER,
    SAMPLING_LATE,
    SAMPLING_KINDS
} sampling_kind;

/* Where on its stack a thread had boxes of methods that were resumed (sampling_chain.h), each by
 * its outermost and its innermost word; first 0 = none. Written by the own thread. */
enum { CHAIN_PLACES = 4 };
typedef struct {
    struct {
        atomic_uintptr_t first, last;
    } places[CHAIN_PLACES];
    unsigned oldest;
    unsigned turn; /* of the handler */
} chain_memory;

/* Where a thread has waited (sampling_still.c). Written by the own thread: the stack pointer last.
 */
enum { STILL_PLACES = 4 };
typedef struct {
    atomic_uintptr_t stack; /* 0 = none */
    uint64_t registers[STACKWALK_REGISTERS];
} still_place;
typedef struct {
    still_place places[STILL_PLACES];
    atomic_uint learned; /* so far */
} still_places;

/* A thread that may be signalled. The handler finds it through the signal's value, or by its id. */
typedef struct {
    atomic_int thread;                      /* OS id; 0 = free */
    atomic_int timer;                       /* the kernel's id; -1 = none */
    atomic_uint copy_limit[SAMPLING_KINDS]; /* bytes of stack to copy at most */
    atomic_bool managed;                    /* known to the runtime */
    atomic_bool born;                       /* we saw it start */
    atomic_bool ticked;                     /* a sample of cpu was taken of it */
    atomic_uint_fast64_t lifetime_ns;       /* its processor time when it ended */
    atomic_bool ending;                     /* the runtime said so; then it has a name … */
    atomic_bool renamed;                    /* since it was judged and its name told */
    atomic_uint pending;        /* who asked for a sample that was not taken yet: a bit each */
    atomic_int collecting;      /* runs a garbage collection */
    atomic_uint sent_flags;     /* of wall: what was so when its signal was sent */
    atomic_uint bare_failures;  /* of wall: walks by those two registers alone, in a row */
    atomic_uintptr_t stack_end; /* above the outermost frame, once a walk got there; 0 = not yet */
    /* The part of its own stack that whole walks have been through: as long as the thread lives it
     * can be read without asking the kernel. The end is set once; the start only ever falls. */
    atomic_uintptr_t readable_from; /* 0 = not known */
    atomic_uintptr_t readable_end;
    atomic_uintptr_t alternate; /* our alternate stack; 0 = none */
    atomic_uintptr_t replaced;  /* the runtime's, which ours stands in for */
    atomic_size_t replaced_size;
    atomic_uint_fast64_t taken; /* samples so far, lost ones too */
    /* When it was last seen to take signals, and to block them for good (sampling_deaf.c). */
    atomic_uint_fast64_t heard_at_ns;
    atomic_uint_fast64_t deaf_ns;
    atomic_uint_fast64_t asked_taken; /* samples taken when the kernel was asked last */
    chain_memory chain;
    /* Own thread only. */
    uint32_t start_frame;   /* outermost managed frame; 0 = not known */
    uint32_t start_tries;   /* … to find it under a stack deeper than its copy, … */
    uint64_t start_next_ns; /* … and when to try again */
    uint32_t cpu_stack;     /* its last stack under cpu */
    uint64_t cpu_time_ns;   /* when that was */
    uint64_t sampled_ns;    /* processor time in rows so far */
    uint64_t heard_taken;   /* samples taken, … */
    uint64_t heard_ns;      /* … and its CPU clock, when the last was seen to come; 0 = not yet */
    bool seen;              /* in the last listing */
    bool gone;              /* ending, and the kernel knows it no more: it leaves no more samples */
    /* By the filters of cpu and wall, a bit each: left out, and whether that was looked at. */
    uint8_t unwanted;
    uint8_t judged;
    uint32_t last_stack; /* of wall: what it showed last, and in which state */
    uint32_t last_state;
    uint64_t row_end_ns; /* of its last row of wall */
    /* Between the own thread and the sampler of wall. */
    atomic_bool last_blocked;          /* its last sample stood at a system call */
    atomic_uintptr_t stood_at;         /* … with this stack pointer; 0 = not known */
    atomic_int unread;                 /* samples of wall in the ring, not walked yet */
    atomic_uint_fast64_t period_ns;    /* time that the sample under way stands for */
    atomic_uint_fast64_t late_for;     /* the suspension that it was slow to stop for */
    atomic_uint_fast64_t idle_ns;      /* idle time since, not yet in a row */
    atomic_uint_fast64_t idle_from_ns; /* when that began */
    atomic_uint_fast64_t clock_ns;     /* its CPU clock when the last signal had been handled */
    still_places still;
    /* As the holder of a lock. */
    atomic_uint_fast64_t asked_ns;      /* when a waiter last asked for its stack */
    atomic_uint_fast64_t held_clock_ns; /* its CPU clock when that had been taken; 0 = it was not */
    uint32_t held_stack;                /* own thread: the stack … */
    uint64_t held_ns;                   /* … and when it was seen */
    /* Sampler only. */
    uint64_t visited_ns;    /* when last looked at */
    uint64_t next_ns;       /* when to look again */
    uint64_t signalled_ns;  /* when last signalled … */
    uint64_t sent_ns;       /* … and when that was sent, perhaps once more */
    uint64_t seen_clock_ns; /* its CPU clock at the last look */
    uint64_t still_ns;      /* … where it was seen to stand since the last signal; 0 = not yet */
    uint32_t pause;         /* intervals between looks while idle */
    bool bare;              /* it was seen in a call that a signal would end … */
    uint8_t spared;         /* … and so often awake since, without getting one */
} sampling_thread;

/* One record of the ring. */
typedef struct {
    uint64_t time_ns;
    uint32_t slot; /* index of the thread */
    int32_t thread;
    uint32_t weight;    /* ticks this sample stands for */
    uint16_t kind;      /* sampling_kind */
    uint16_t flags;     /* SAMPLING_… below */
    uint64_t period_ns; /* of wall */
    uint64_t cpu_ns;    /* the thread's CPU clock, where it was read; 0 = not */
    uint64_t registers[STACKWALK_REGISTERS];
    uint64_t stack_address;
    uint64_t stack_length;
    /* Inside another signal handler: the stack that it interrupted, behind the first. */
    uint64_t outer_address;
    uint64_t outer_length;
    uint64_t chain_length; /* bytes of chain_entry behind both (sampling_chain.h) */
    uint8_t stack[];
} sampling_capture;

enum {
    SAMPLING_ON_ALTERNATE = 1, /* interrupted inside another signal handler */
    SAMPLING_IN_COLLECTION = 2,
    SAMPLING_STILL = 8,     /* taken without a signal */
    SAMPLING_STOPPING = 16, /* taken, or asked for, while threads are stopped for a collection */
    SAMPLING_READY = 32,    /* the thread ran when the signal was sent, or waited for a processor */
    SAMPLING_BARE = 64,     /* only instruction and stack pointer are known */
    SAMPLING_LOADS_TYPE = 4, /* no sample: the stack of a class that was loaded */
};

/* Losses that cpu and wall share; the engines' loss names start with these. */
#define SAMPLING_LOSS_LIST(X)                                                                      \
    X(SAMPLING_LOST_RING, "ring full")                                                             \
    X(SAMPLING_LOST_COPY, "stack could not be read")                                               \
    X(SAMPLING_LOST_TIMER, "no timer for a thread")                                                \
    X(SAMPLING_LOST_THREAD, "too many threads")                                                    \
    X(SAMPLING_LOST_SIGNAL, "signal could not be sent")                                            \
    X(SAMPLING_LOST_DEAF, "thread blocks the signal")                                              \
    X(SAMPLING_BROKEN_RULE, "stack incomplete: no unwind rule")                                    \
    X(SAMPLING_BROKEN_CODE, "stack incomplete: address outside known code")                        \
    X(SAMPLING_BROKEN_COPY, "stack incomplete: longer than its copy")                              \
    X(SAMPLING_BROKEN_CHAIN, "stack incomplete: broken frame chain")                               \
    X(SAMPLING_IN_SIGNAL, "stack incomplete: inside another signal handler")

enum {
#define X(name, text) name,
    SAMPLING_LOSS_LIST(X)
#undef X
        SAMPLING_LOSSES
};

/* The first real-time signal that neither the C library nor the runtime uses. */
enum { SAMPLING_REAL_TIME = 40 };

/* What the handler sees. Static, never freed. */
typedef struct {
    atomic_bool armed;
    atomic_int inside;    /* handlers running */
    atomic_bool stopping; /* the runtime stops threads for a collection */
    atomic_bool held;     /* a sample was taken that a record waits for, and not walked yet */
    atomic_int number;    /* the signal; 0 = there is none */
    atomic_uint_fast64_t armed_ns; /* when its handler was last put there */
    bool own_profile_signal;       /* the program uses SIGPROF itself */
    const char *refusal;           /* why there is no signal, of the program; NULL = there is one */
    struct sigaction previous;
    int process;
    int memory; /* /proc/self/mem, where process_vm_readv is not allowed; -1 = not needed */
    ring captures;
    uint64_t clock_cost_ns; /* of reading a thread's CPU clock */
    atomic_uint_fast64_t handler_ns;
    atomic_uint_fast64_t handler_calls;
    atomic_uint_fast64_t lost[SAMPLING_KINDS][SAMPLING_LOSSES];
    lock_word guard;           /* of thread slots; never taken in a handler */
    atomic_uint endings;       /* threads that said they end and were not reaped yet */
    atomic_uint changes;       /* of the set of threads */
    atomic_int own_threads[2]; /* OS ids of the agent's threads: never sampled */
    atomic_uint_fast64_t sampler_cpu_ns;
    uint64_t interval_ns[SAMPLING_KINDS]; /* 0 = not wanted */
    bool monotonic;                       /* timers on the wall clock: for tests */
    atomic_uint_fast64_t random;
    atomic_int owners[SAMPLING_THREADS]; /* OS ids again, dense: quick to look through */
    atomic_uint_fast64_t used[SAMPLING_THREADS / 64]; /* the slots that have an owner, a bit each */
    /* The sampler of wall, while no thread is due for a while: rung for a new thread. */
    atomic_int bell;
    atomic_bool dozes;
    sampling_thread threads[SAMPLING_THREADS];
} sampling_shared;

extern sampling_shared sampling_state;

/* What the runtime does while a sample is taken: flags of the capture. */
SIGNAL_SAFE static inline uint16_t sampling_runtime_flags(const sampling_thread *t)
{
    bool collects = atomic_load_explicit(&t->collecting, memory_order_relaxed) > 0;
    bool stops = atomic_load_explicit(&sampling_state.stopping, memory_order_relaxed);

    return (uint16_t)((collects ? SAMPLING_IN_COLLECTION : 0) | (stops ? SAMPLING_STOPPING : 0));
}

/* ---- sampling_signal.c ---- */

/* Chooses the signal and installs the handler; keeps the library mapped from now on. Where there is
 * no signal only what stands still is sampled, and `refusal` says why. */
int sampling_arm(error *e);
/* Takes back signals that threads have not taken yet, and waits until no handler runs. false: one
 * still does (then the ring must stay). */
bool sampling_disarm(void);
/* Whether somebody has asked for a sample that the thread has not taken yet. */
static inline bool sampling_is_asked(const sampling_thread *t, sampling_kind kind)
{
    return (atomic_load_explicit(&t->pending, memory_order_acquire) >> kind & 1) != 0;
}
/* Asks a thread for a sample, and sends it the signal; false when it is gone, or could not be sent,
 * which is counted. */
bool sampling_send(sampling_thread *t, sampling_kind kind);
/* The managed thread that alone runs or waits for a processor, besides the calling one; NULL =
 * there is none, there are several, or the threads were too many to be looked at until
 * `deadline_ns`. */
sampling_thread *sampling_find_running(uint64_t deadline_ns);
/* For a thread that waits for this one: has its stack taken, unless somebody asked a moment ago.
 * True: it has stood still since its stack was last taken, and is left alone. */
bool sampling_ask_holder(int os_thread);
/* Whether the handler is still ours; the program may have installed another one. */
bool sampling_is_installed(void);
/* Takes another signal where the program has put its own handler in the place of ours: the own
 * thread asks now and then. */
void sampling_keep_signal(void);
/* Copies memory that may end anywhere: the bytes that were there. */
SIGNAL_SAFE size_t sampling_read_memory(uint8_t *to, uintptr_t from, size_t length);
/* Bytes of the thread's own stack worth copying from `from` up. */
SIGNAL_SAFE size_t sampling_copy_length(const sampling_thread *t, sampling_kind kind,
                                        uintptr_t from);

/* ---- sampling_deaf.c ---- */

/* What the kernel says of a thread. */
typedef struct {
    uint64_t blocked;  /* the signals that it blocks, a bit each, … */
    uint64_t pending;  /* … and those that were sent to it and not taken yet */
    uint64_t switches; /* how often it went to sleep */
    bool runs;         /* or waits for a processor */
    bool compiles;     /* it is the runtime's, for compiling in the background */
} sampling_status;
sampling_status sampling_status_of(int os_thread);
/* Whether a thread would not take the signal now, as far as was seen a moment ago. */
bool sampling_is_deaf(sampling_thread *t);
/* Takes the timers of threads that block the signal by now, and gives them back; counts what is
 * burned without samples. `taken`: the program has taken the signal away from all of them. */
void sampling_threads_hear(bool taken);

/* ---- sampling_still.c ---- */

/* Takes a sample of a thread that waits where it has waited before, or in a call that a signal
 * would end, and whose CPU clock stands at `clock`; false: it takes a signal to know. `busy`: it
 * has run most of the time. */
bool sampling_still_take(sampling_thread *t, uint64_t clock, uint64_t now, uint64_t period,
                         bool busy);
/* What a thread waits for in one of the system calls that end with a signal; 0 = another call. */
uint32_t sampling_still_state(long call);
/* Keeps the registers of a thread that waits, or (not whole) forgets that place. */
void sampling_still_learn(sampling_thread *t, const sampling_capture *c, bool whole);

/* ---- sampling_fault.c ---- */

/* Stands before the runtime's SIGSEGV handler; before the first signal is sent. */
void sampling_fault_arm(void);
void sampling_fault_disarm(void);

/* ---- sampling_stacks.c: alternate stacks ---- */

/* Keeps some ready; own thread. */
void sampling_stacks_fill(void);
SIGNAL_SAFE uintptr_t sampling_stacks_take(void);
void sampling_stacks_give(uintptr_t stack);
enum { SAMPLING_STACK_SIZE = 64 << 10 };
/* Bytes of them that were ever handed out, for the account of memory. */
size_t sampling_stacks_used(void);

/* ---- sampling_threads.c ---- */

/* Where a thread's slot is looked for, and in how many places from there on. */
enum { SAMPLING_PROBES = 64 };
static inline bool sampling_is_unwanted(const sampling_thread *t, sampling_kind kind)
{
    return (t->unwanted >> kind & 1) != 0;
}

/* The first slot from `slot` on that has an owner; SAMPLING_THREADS = there is none. */
size_t sampling_next_slot(size_t slot);

SIGNAL_SAFE static inline unsigned sampling_first_slot(int os_thread)
{
    return (unsigned)os_thread * 2654435761u % SAMPLING_THREADS;
}

/* The slot of a thread: only found, made when it is new, or made for one that has just started.
 * NULL when there is none (left). Any thread. */
typedef enum { SAMPLING_FIND, SAMPLING_MEET, SAMPLING_BEAR } sampling_wish;
sampling_thread *sampling_thread_at(int os_thread, sampling_wish wish);
/* The running thread's. */
SIGNAL_SAFE sampling_thread *sampling_own_slot(void);
/* Lists the process's threads: new ones get slots (and timers), gone ones lose theirs. */
void sampling_threads_list(void);
/* What is still to be written of a thread that has gone. */
typedef struct {
    int thread;
    uint32_t stack; /* 0 = no sample met it, though it lived for longer than a tick */
    uint64_t time_ns;
    uint64_t weight_ns;
    uint64_t life_ns; /* all it burned */
} sampling_rest;
/* Looks which threads have gone; false: none. */
bool sampling_threads_find_gone(void);
/* Frees the slots of those that were found and whose samples have been taken out of the ring, of at
 * most `room`; returns how many left a rest. */
size_t sampling_threads_reap(sampling_rest *rests, size_t room);
/* Asks the runtime for its threads and marks them. */
void sampling_threads_mark_managed(agent *a);
/* Sets, changes or (interval 0) deletes the timers of all threads. */
void sampling_timers_set(uint64_t interval_ns, bool monotonic);
void sampling_timer_drop(sampling_thread *t);
/* The guard is held. None for a thread that blocks the signal. */
void sampling_timer_arm(sampling_thread *t);
/* Lets the filters look again at threads that have got another name. */
void sampling_threads_judge_again(agent *a);
void sampling_on_thread_named(agent *a, ThreadID thread, uint32_t count, const WCHAR *name);
void sampling_on_thread_assigned(agent *a, ThreadID thread, uint32_t os_thread);
void sampling_on_thread_destroyed(agent *a, ThreadID thread);
/* The kernel's tick: CPU timers are looked at that often. */
uint64_t sampling_tick_ns(void);
/* A thread's CPU clock in ns; 0 when it is gone. */
uint64_t sampling_thread_clock(int os_thread);

/* ---- sampling_walk.c ---- */

/* Parameters in force of one kind. */
typedef struct {
    uint64_t interval_ns;
    unsigned max_depth;
    bool native;
    bool async; /* continuations under their logical callers */
    bool monotonic;
    char threads[CATALOGUE_MAX_TEXT]; /* pattern of names; "" = all */
} sampling_settings;

typedef struct sampling_walker sampling_walker;

typedef struct {
    uint32_t stack;    /* id; 0 = none */
    stackwalk_end end; /* why the walk ended */
    unsigned depth;
    bool blocked;   /* the leaf stands at a system call */
    bool resumed;   /* it has methods that may have been resumed after an await */
    uint32_t state; /* RECORDING_STATE_… by what the stack waits for */
} sampling_result;

sampling_walker *sampling_walker_create(agent *a);
void sampling_walker_free(sampling_walker *w);
/* Walks a capture and names its frames. */
sampling_result sampling_walk(sampling_walker *w, const sampling_capture *c,
                              const sampling_settings *settings);

/* Learns from a capture that is no sample (sampling_types.h). */
void sampling_walk_loading(sampling_walker *w, const sampling_capture *c);
/* A recording begins. */
void sampling_walk_start(sampling_walker *w);

/* ---- sampling.c ---- */

/* The handler, the ring, the list of threads: made by the first kind, gone with the last. */
int sampling_open(agent *a, sampling_kind kind, error *e);
void sampling_close(agent *a, sampling_kind kind);
/* What is taken of holders of locks, or of threads that were slow to stop. */
void sampling_configure_asked(agent *a, sampling_kind kind, unsigned max_depth);
/* Works out the settings of all sessions that run this engine: the finest wins. */
void sampling_configure(agent *a, sampling_kind kind, unsigned engine_index);
const sampling_settings *sampling_settings_of(agent *a, sampling_kind kind);
/* Takes every capture out of the ring and writes rows; looks after threads. */
void sampling_drain(agent *a, bool last);
unsigned sampling_longest_wait_ms(agent *a);
/* Forgets what code is called, when the names are reset. Only while nobody samples. */
void sampling_forget(agent *a);
/* Frees what the own thread holds; signals are off. */
void sampling_destroy(agent *a);
/* What a person should know about how it samples here, on any clock and on CPU clocks; "" =
 * nothing. */
const char *sampling_note(agent *a);
const char *sampling_note_of_cpu(agent *a);
/* CPU time of the sampler, time in handlers, handlers so far. */
void sampling_cost(uint64_t *sampler_ns, uint64_t *handler_ns, uint64_t *handler_calls);

/* What the engines of cpu and wall have alike: columns of their table, names of their losses, and
 * the runtime's callbacks. */
enum { SAMPLING_COLUMN_COUNT = 5 };
extern const recording_column SAMPLING_COLUMNS[SAMPLING_COLUMN_COUNT];
extern const char SAMPLING_LOSS_NAMES[];
void sampling_on_collection_started(agent *a);
void sampling_on_collection_finished(agent *a);
/* sampling_types.c: a class has been loaded. */
void sampling_on_class_loading(agent *a);

/* ---- profilers/contention.c ---- */

/* Its loss for all that goes wrong with a holder's stack. */
enum { SAMPLING_LOST_HOLDER = 5 };
/* The stack of a thread that holds a lock; own thread. */
void contention_take_holder(agent *a, const sampling_capture *c, uint32_t stack);

/* ---- profilers/pauses.c ---- */

/* The same for the thread that was slow to stop. */
enum { SAMPLING_LOST_LATE = 1 };
/* Its stack; own thread. */
void pauses_take_late(agent *a, const sampling_capture *c, uint32_t stack);

/* ---- profilers/wall.c ---- */

/* Writes what is left of threads that have ended; own thread. */
void wall_flush_ended(agent *a);
/* A sample of wall was walked; own thread. */
void wall_take(agent *a, const sampling_capture *c, const sampling_result *result);

#endif
