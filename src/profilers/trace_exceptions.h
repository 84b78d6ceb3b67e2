/*
 * trace_exceptions: which exceptions leave traced methods, by type.
 *
 * The runtime tells on the throwing thread when an exception is thrown and when it is caught; in
 * between it is under way, possibly several inside each other (a finally may throw and catch its
 * own). The one on top is what leaves the methods that end now. Counts are kept in one table by
 * method and class: exceptions are rare and dear, so that atomics do not matter.
 */
#ifndef CLARINET_PROFILERS_TRACE_EXCEPTIONS_H
#define CLARINET_PROFILERS_TRACE_EXCEPTIONS_H

#include "profilers/trace_counters.h"

enum { TRACE_FAILURES = 2048 };

typedef struct {
    atomic_uint_fast64_t key; /* method + 1 (0 = none) and class; 0 = free */
    atomic_uint_fast64_t count;
    uint64_t named; /* own thread: the key that `name` is for; its class may go after that */
    uint32_t name;
    bool leaves; /* its class can be unloaded */
} trace_failure;

typedef struct trace_exceptions {
    trace_failure items[TRACE_FAILURES];
    atomic_uint_fast64_t lost; /* failures whose type was not kept: the table is full */
} trace_exceptions;

/* ---- callbacks of the runtime, on the thread itself ---- */
void trace_exceptions_thrown(trace_counters *c, uintptr_t class_id);
void trace_exceptions_caught(uintptr_t class_id);

/* ---- probes ---- */
/* The class of what is under way on this thread; 0 = nothing is. */
uintptr_t trace_exceptions_current(const trace_thread *t);
/* A call of the method fails with what is under way; or with what was caught last. */
void trace_exceptions_count(trace_counters *c, const trace_thread *t, const trace_method *m);
void trace_exceptions_count_caught(trace_counters *c, const trace_thread *t, const trace_method *m);

/* With one that is known. */
void trace_exceptions_count_class(trace_counters *c, const trace_method *m, uintptr_t class_id);

/* The number of a type, 1 to TRACE_FAILURES: of what is under way on this thread, or of what was
 * caught there last. 0 = not known, or no room. */
uint16_t trace_exceptions_number(trace_counters *c, bool caught);

/* ---- own thread ---- */
void trace_exceptions_clear(trace_exceptions *x);
/* Names the classes that came since, in every round: they may go. `alone`: it has a number. */
void trace_exceptions_name(trace_exceptions *x, void *context,
                           uint32_t (*name_of)(void *context, uintptr_t class_id, bool alone,
                                               bool *leaves));
/* Something is about to be unloaded: what comes to lie where its classes were is another type. */
void trace_exceptions_forget(trace_exceptions *x);
/* The name behind a number; false: it came since the classes were named. */
bool trace_exceptions_named(const trace_exceptions *x, uint16_t number, uint32_t *name);
/* `method` is an index, `name` what its class was given. */
void trace_exceptions_each(const trace_exceptions *x, void *context,
                           void (*visit)(void *context, uint32_t method, uint32_t name,
                                         uint64_t count));

#endif
