/*
 * threads: what every thread did at one look of the profiler `threads`: its state, what it waits
 * for, and the cycles in which threads wait for each other.
 *
 * Owners of monitors, locks, reader-writer locks, joined threads, running tasks and static
 * constructors are read from the runtime; a cycle of such waits is a deadlock. Semaphores, mutexes
 * and events keep no owner: a cycle through one of these is only suspected. Thread rules: a view
 * is never changed once made.
 */
#ifndef CLARINET_ANALYSIS_THREADS_H
#define CLARINET_ANALYSIS_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model.h"

/* X(identifier, name) */
#define THREADS_STATE_LIST(X)                                                                      \
    X(THREADS_RUNNING, "running")                                                                  \
    X(THREADS_MONITOR, "waiting for a monitor")                                                    \
    X(THREADS_MONITOR_WAIT, "in Monitor.Wait")                                                     \
    X(THREADS_LOCK, "waiting for a Lock")                                                          \
    X(THREADS_READER_WRITER, "waiting for a reader-writer lock")                                   \
    X(THREADS_SEMAPHORE, "waiting for a semaphore")                                                \
    X(THREADS_MUTEX, "waiting for a mutex")                                                        \
    X(THREADS_EVENT, "waiting for an event")                                                       \
    X(THREADS_TASK, "waiting for a task")                                                          \
    X(THREADS_JOIN, "joining a thread")                                                            \
    X(THREADS_CLASS, "waiting for a static constructor")                                           \
    X(THREADS_FINALIZERS, "waiting for finalizers")                                                \
    X(THREADS_SLEEP, "sleeping")                                                                   \
    X(THREADS_IO, "in input or output")                                                            \
    X(THREADS_POOL_IDLE, "idle pool worker")                                                       \
    X(THREADS_NATIVE, "in native code")                                                            \
    X(THREADS_BLOCKED, "blocked in the kernel")

typedef enum {
#define X(identifier, name) identifier,
    THREADS_STATE_LIST(X)
#undef X
        THREADS_STATE_COUNT
} threads_state;

typedef enum { THREADS_UNKNOWN, THREADS_NO, THREADS_YES } threads_answer;

typedef struct {
    uint64_t os_id;
    uint64_t managed_id;
    uint64_t native;       /* the runtime's address of it; 0 = it does not know the thread */
    uint64_t native_state; /* the first and the third word of it; 0 = not known */
    threads_answer background;
    uint32_t name;  /* string; 0 = none */
    uint32_t stack; /* model index; 0 = no managed frame */
    threads_state state;
    uint64_t cpu_ns;
    uint64_t object;      /* that it waits for; 0 = not known */
    uint32_t object_type; /* string */
    uint64_t owner;       /* OS id; 0 = nobody, or not known */
    bool owner_inferred;  /* not read */
    bool owner_ended;     /* who has it is known to be gone, but not which OS id it had */
    uint32_t field;       /* string: static, that holds what it waits for; 0 = not known */
    uint64_t waiters;
    uint64_t waited_ns; /* 0 = not known */
} threads_entry;

/* Does a wait give up after a time? */
typedef enum { THREADS_LIMIT_UNKNOWN, THREADS_ENDLESS, THREADS_LIMITED } threads_limit;

/* One thread cannot go on before another one does. Indexes of entries. */
typedef struct {
    size_t from, to;
    bool inferred;
    threads_limit limit;
} threads_edge;

/* A cycle: `count` entries (indexes), each waiting for the next, the last for the first. One alone
 * waits for itself. */
typedef struct {
    size_t *members;
    size_t count;
    bool suspected; /* one of its owners is inferred, or it may open again: */
    bool limited;   /* a wait has a time limit */
    bool endless;   /* none has: all of its waits are known to go on for ever */
    bool rested;    /* none of its threads has run since the last look but one before */
} threads_cycle;

/* A task that a thread blocks on, or that such a one awaits. */
typedef struct {
    uint64_t object;
    uint32_t type;    /* string */
    bool is_done;     /* what awaits it could go on */
    char method[320]; /* the async method; "" = none */
} threads_step;

enum { THREADS_STEPS = 24 };

/* A thread blocks on a task whose next step needs a thread that is blocked. */
typedef struct {
    size_t entry;
    bool by_pool; /* every worker of the pool blocks; else the step is this thread's own */
    size_t count;
    threads_step steps[THREADS_STEPS];
} threads_chain;

typedef struct {
    const model *model;
    const model_process *process;
    threads_entry *entries; /* the managed ones first */
    size_t count;
    threads_edge *edges;
    size_t edge_count, edge_capacity;
    threads_cycle *cycles; /* the certain ones first */
    size_t cycle_count;
    threads_chain *chains;
    size_t chain_count, chain_capacity;
    uint64_t suspension_ns;
    const char *outside_reason; /* why the look was taken from outside; NULL = it was not */
    bool is_core;               /* from outside, of a core dump */
    bool is_traced;             /* from outside, while another tracer had the process */
} threads_view;

/* The last look in the recording of this process; ERROR_NOT_FOUND when there is none. */
int threads_make(const model *m, const model_process *process, threads_view *view, error *e);
/* The look of this number, from 1 up; 0 = the last one. */
int threads_make_look(const model *m, const model_process *process, uint64_t look,
                      threads_view *view, error *e);
/* The number of the last look; 0 = there is none. */
uint64_t threads_last_look(const model *m, const model_process *process);
void threads_free(threads_view *view);

const char *threads_state_name(threads_state state);
/* One word for what a thread in this state waits for; NULL = nothing that has an owner. */
const char *threads_state_kind(threads_state state);
/* main, pool, finalizer, gc, runtime, native or thread. */
const char *threads_role(const threads_view *view, const threads_entry *entry);
/* The entry with this OS id, or NULL. */
const threads_entry *threads_by_id(const threads_view *view, uint64_t os_id);
/* How many cycles are certain, or suspected. */
size_t threads_cycles(const threads_view *view, bool suspected);
/* Takes a cycle out that turned out to be none. */
void threads_drop_cycle(threads_view *view, size_t index);

enum { THREADS_SITES = 16 };

/* A place of the program where workers of the thread pool block. */
typedef struct {
    uint32_t frame; /* model index; 0 = no method of the program's own */
    uint32_t type;  /* string: of what the first of them waits for; 0 = not known */
    threads_state state;
    size_t count;
} threads_site;

typedef struct {
    size_t workers, idle, blocked;
    size_t held_up; /* of the blocked ones: only by the owner of a lock, who goes on by himself */
    threads_site sites[THREADS_SITES]; /* most workers first */
    size_t site_count;
} threads_pool;

/* threads_pool.c */
void threads_find_pool(const threads_view *view, threads_pool *pool);
/* A method of the framework, not of the program's own, by its name. */
bool threads_is_framework(const char *method);
/* No worker is left to run what the others wait for. */
bool threads_pool_is_starved(const threads_pool *pool);

enum { THREADS_QUEUES = 32 };

/* Threads before one lock whose owner does not wait itself. */
typedef struct {
    uint64_t object, owner; /* OS id */
    uint32_t type;          /* string */
    bool is_abandoned;      /* the owner has ended */
    size_t waiters;
    const threads_entry *first; /* of them */
} threads_queue;

typedef struct {
    threads_queue items[THREADS_QUEUES];
    size_t count;
} threads_queues;

/* threads_queues.c: abandoned locks, and convoys. */
void threads_find_queues(const threads_view *view, threads_queues *queues);
/* Does it wait for a lock whose owner has ended? */
bool threads_waits_for_ended(const threads_view *view, const threads_entry *entry);

/* ---- between the files of threads ---- */

/* Does the method or a caller of it, up to the outermost, match the pattern? */
bool threads_stack_has(const threads_view *v, uint32_t stack, const char *pattern);
/* Does a waiter give up after a time? By the method that it called, on the stack or in the code. */
threads_limit threads_limit_of(const threads_view *v, const threads_entry *entry);
/* A frame of managed code. */
bool threads_is_managed(const threads_view *v, uint32_t stack);
const char *threads_method_of(const threads_view *v, uint32_t stack);
/* threads_doubt.c: cycles that may open again are only suspected. */
void threads_doubt_cycles(threads_view *v, uint64_t look);
bool threads_add_edge(threads_view *v, size_t from, size_t to, bool inferred);
/* threads_waits.c: what the look copied of the objects that threads wait for. */
int threads_read_waits(threads_view *v, uint64_t look, error *e);
/* threads_gates.c: how long the call waits where a method stands, by its code. */
threads_limit threads_limit_of_call(const threads_view *v, uint32_t stack);
/* threads_gates.c: who has taken what only static fields hold; false when there is no memory. */
bool threads_read_gates(threads_view *v);
/* threads_graph.c: the cycles of the edges. */
int threads_find_cycles(threads_view *v, error *e);

#endif
