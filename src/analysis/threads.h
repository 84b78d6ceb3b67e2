/*
 * threads: what every thread did at one look of the profiler `threads`: its state, what it waits
 * for, and the cycles in which threads wait for each other.
 *
 * States: a monitor and its owner are read from the runtime; the other waits are told by the
 * innermost methods of the stack. A cycle is reported only from owners that were read, never from
 * names. Thread rules: a view is never changed once made.
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
    X(THREADS_SEMAPHORE, "waiting for a semaphore")                                                \
    X(THREADS_EVENT, "waiting for an event")                                                       \
    X(THREADS_TASK, "waiting for a task")                                                          \
    X(THREADS_JOIN, "joining a thread")                                                            \
    X(THREADS_SLEEP, "sleeping")                                                                   \
    X(THREADS_IO, "in input or output")                                                            \
    X(THREADS_POOL_IDLE, "idle pool worker")                                                       \
    X(THREADS_NATIVE, "in native code")

typedef enum {
#define X(identifier, name) identifier,
    THREADS_STATE_LIST(X)
#undef X
        THREADS_STATE_COUNT
} threads_state;

typedef struct {
    uint64_t os_id;
    uint64_t managed_id;
    uint32_t name;  /* string; 0 = none */
    uint32_t stack; /* model index; 0 = no managed frame */
    threads_state state;
    uint64_t cpu_ns;
    uint64_t object;      /* of the monitor; 0 = none */
    uint32_t object_type; /* string */
    uint64_t owner;       /* OS id; 0 = nobody, or not known */
    uint64_t waiters;
    uint64_t waited_ns; /* 0 = not known */
} threads_entry;

/* A cycle: `count` entries (indexes), each waiting for the next, the last for the first. */
typedef struct {
    size_t *members;
    size_t count;
} threads_cycle;

typedef struct {
    const model *model;
    const model_process *process;
    threads_entry *entries; /* by OS id */
    size_t count;
    threads_cycle *cycles;
    size_t cycle_count;
    uint64_t suspension_ns;
} threads_view;

/* The last look in the recording of this process; ERROR_NOT_FOUND when there is none. */
int threads_make(const model *m, const model_process *process, threads_view *view, error *e);
void threads_free(threads_view *view);

const char *threads_state_name(threads_state state);
/* The entry with this OS id, or NULL. */
const threads_entry *threads_by_id(const threads_view *view, uint64_t os_id);

#endif
