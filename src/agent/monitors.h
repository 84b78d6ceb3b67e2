/*
 * monitors: who waits for a monitor and who owns it, read from the runtime's own memory, also for
 * locks that were taken before we came.
 *
 * Nothing is assumed about a runtime's version: the sync table is found among the runtime's
 * variables by checking every live entry against its object's header, and the place of the blocking
 * record in a native thread by finding records that fit. Fixed numbers only tell where to look
 * first. Every read goes through the kernel, so that a wrong pointer is an answer, not a crash.
 *
 * Thread rules: the agent's own thread, best while the runtime is suspended (then a waiter and its
 * owner are of one moment).
 */
#ifndef CLARINET_AGENT_MONITORS_H
#define CLARINET_AGENT_MONITORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clarinet/clarinet.h"

enum { MONITORS_MOST = 16384 };

typedef struct {
    uintptr_t variable;     /* of the runtime, that holds the table's address; kept once found */
    uintptr_t table;        /* of sync blocks; 0 = not found, or no monitor was ever contended */
    uintptr_t *blocks;      /* by index: SyncBlock address, 0 = none */
    uintptr_t *objects;     /* by index */
    size_t count;           /* indexes read, with 0 */
    size_t blocking_offset; /* in the native thread; 0 = not found; kept once found */
} monitors;

typedef struct {
    ThreadID id;
    uintptr_t stack; /* its stack pointer while it waits in the kernel; 0 = it does not */
} monitors_thread;

typedef struct {
    bool is_waiting;      /* for a monitor */
    bool is_monitor_wait; /* Monitor.Wait rather than Monitor.Enter */
    int32_t timeout_ms;   /* -1 = none */
    uintptr_t object;
    ClassID class_id;   /* of the object; 0 = not known */
    uint32_t owner;     /* OS thread id; 0 = nobody */
    uint32_t waiters;   /* threads waiting to enter */
    uint32_t waited_ms; /* since the present row of waiting began; 0 = not known */
} monitors_wait;

/* Looks through the runtime's memory; false without memory. What is not found stays 0. `m` is all
 * zeroes before the first time; what it learned shortens the next. */
bool monitors_open(monitors *m, const clr_info *info, const monitors_thread *threads, size_t count);
void monitors_close(monitors *m);
/* What a thread waits for; is_waiting false when it waits for no monitor. */
void monitors_look(const monitors *m, ThreadID thread, monitors_wait *wait);

#endif
