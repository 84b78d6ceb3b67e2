/*
 * trace_classes: what the tracer knows of the classes of objects that it met on the way to a value,
 * and how a probe asks for one that is new.
 *
 * A probe may not call the runtime, so it asks the agent's own thread: it notes what is missing,
 * and a second probe, which runs like any call into native code (the runtime may collect
 * meanwhile), waits until it is there, at most a moment. That happens once for each class and path.
 *
 * Invariant: what was found is never changed or freed while a library's code may read it; an
 * unloaded module makes all of it void, because classes' numbers may come again. Only the own
 * thread adds.
 */
#ifndef CLARINET_PROFILERS_TRACE_CLASSES_H
#define CLARINET_PROFILERS_TRACE_CLASSES_H

#include <stdatomic.h>

#include "profilers/trace_counters.h"
#include "profilers/trace_plan.h"

enum { TRACE_CLASSES = 2048, TRACE_CLASS_WINDOW = 64, TRACE_QUESTIONS = 16 };

typedef struct {
    atomic_uintptr_t capture; /* 0 = free */
    uintptr_t class_id;       /* with 1 added: for a variable of this type */
    uint32_t rest;
    uint32_t epoch;
    const trace_shape *shape; /* kind 0 = there is no such value */
} trace_class;

typedef struct {
    atomic_int state; /* TRACE_QUESTION_… */
    trace_question what;
} trace_asked;

typedef struct trace_classes {
    atomic_uint epoch; /* of what is valid */
    atomic_uint used;
    trace_asked asked[TRACE_QUESTIONS];
    trace_class items[TRACE_CLASSES];
} trace_classes;

/* ---- probes ---- */
/* NULL = not known yet. */
const trace_shape *trace_classes_find(trace_classes *k, const trace_question *what);

/* ---- code in which the thread may wait: addresses that go into jitted code ---- */
/* Waits for what this thread has noted as missing. 1 = it came: look again. */
int64_t trace_await_class(const trace_method *method);

/* ---- own thread ---- */
trace_classes *trace_classes_create(void);
/* Answers all that was asked. */
void trace_classes_answer(trace_classes *k, const clr_info *info, const char *redact);
/* Were objects asked for what the capture means, and had none of them it? */
bool trace_classes_lack(trace_classes *k, const struct trace_capture *capture);
/* ---- any thread ---- */
void trace_classes_forget(trace_classes *k);

#endif
