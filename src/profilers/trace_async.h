/*
 * trace_async: calls of async methods from the call to the completion of their task.
 *
 * A call runs in steps, on different threads. Its first step knows when it began; the step that
 * hands the result (or the exception) to the builder ends it. Between them the call is known by
 * the number of its task: Task.Id, which the runtime gives out when first asked for and keeps in
 * the object. Where nobody has asked yet, a number from a range of our own is put there. Nothing is
 * allocated, no ValueTask is made a Task: a builder keeps its task where it can be read.
 *
 * The first step ends after the task was handed on, so the call may be complete before it: begin
 * and end meet in a table, and whoever comes second counts the call. The table is fixed, without
 * locks: each number has a window of places, and all of them are looked at.
 *
 * When single calls are wanted, the values that the called method took at its entry wait in the
 * same way, in a smaller table; who counts the call adds the result and hands it on.
 */
#ifndef CLARINET_PROFILERS_TRACE_ASYNC_H
#define CLARINET_PROFILERS_TRACE_ASYNC_H

#include "clarinet/calls.h"
#include "profilers/trace_counters.h"

enum {
    TRACE_ASYNC_PLACES = 1 << 16,
    TRACE_ASYNC_WINDOW = 32,
    TRACE_ASYNC_KEPT = 1024, /* calls under way whose values are kept */
    TRACE_ASYNC_KEPT_WINDOW = 8,
    TRACE_ASYNC_VALUES = 480, /* bytes of them */
    TRACE_STATE_NEW = -1,     /* of a state machine that has not run */
    TRACE_BUILDER_INSIDE = 1, /* added to a builder's address: the one meant is inside of it */
};

typedef struct {
    atomic_uint_fast64_t key; /* task << 2 | kind; 0 = free */
    atomic_uint_fast64_t ticks;
} trace_async_place;

/* What else is known of a call when one of its ends was seen. */
typedef struct {
    atomic_uint_fast64_t key; /* as above */
    uint64_t class_id;        /* of the exception that it ends with; 0 = none */
    uint32_t thread_id;       /* where it began */
    uint16_t depth, length;
    uint8_t values[TRACE_ASYNC_VALUES];
} trace_async_kept;

typedef struct trace_async {
    uint32_t id_offset;        /* of the number in a Task object */
    uint32_t inside;           /* of the builder in that of async void; 0 = not known */
    atomic_int numbers;        /* given out */
    atomic_uint_fast64_t lost; /* calls not timed: their window was full */
    trace_async_place places[TRACE_ASYNC_PLACES];
    trace_async_kept kept[TRACE_ASYNC_KEPT];
} trace_async;

/* ---- addresses that go into jitted code; `builder` is where the builder's struct lies, 0 = of
 * a kind whose task cannot be read ---- */
void trace_enter_step(const trace_method *method, int64_t state, int64_t builder);
void trace_leave_step(const trace_method *method, int64_t builder);
/* The result, or the exception, is being handed to the builder. */
void trace_complete_step(const trace_method *method);
void trace_fail_step(const trace_method *method);

/* ---- any thread that may call the runtime ---- */
/* Asks the runtime for what is needed and makes the table; NULL when it does not tell. */
trace_async *trace_async_create(const clr_info *info);
void trace_async_clear(trace_async *a);
void trace_async_free(trace_async *a);

#endif
