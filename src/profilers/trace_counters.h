/*
 * trace_counters: what the probes of traced methods do. They are called straight from jitted code
 * while the thread stays in cooperative mode: no lock, no runtime call, no wait.
 *
 * Every thread has a stack of the traced calls it is in, and for each method it has called a block
 * of counters that only it writes; the agent's own thread reads them and adds up. Times are ticks
 * of trace_clock. Where the memory comes from, and what is given up when there is none, is
 * trace_memory's: a call is always counted, its time may not be.
 *
 * Invariant: the methods and the trace_counters never move and are never freed once a probe may
 * have been compiled with their address, because old code can run at any later time.
 */
#ifndef CLARINET_PROFILERS_TRACE_COUNTERS_H
#define CLARINET_PROFILERS_TRACE_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/condition.h"

enum {
    TRACE_METHODS = 1 << 18, /* at most */
    TRACE_DEPTH = 512,       /* traced calls inside each other before a thread needs more memory */
    TRACE_SHALLOW = 128,     /* calls inside each other that fit on any stack */
    TRACE_SEGMENTS = 16,     /* of more memory, each as large as all before: 33 million calls */
    TRACE_SUB_BITS = 3,      /* 8 buckets for each power of two: 6 % */
    TRACE_LOWEST = 4,        /* times below 2^4 ticks share the first bucket */
    TRACE_OCTAVES = 36,
    TRACE_BUCKETS = TRACE_OCTAVES << TRACE_SUB_BITS,
    TRACE_FEW = 8, /* times that a block keeps itself, before it gets a histogram */
    TRACE_BLOCKS = 1 << 15,
    TRACE_HISTOGRAMS = 6000,
    TRACE_DEEP_BYTES = 8 << 20, /* of all threads' segments together */
    TRACE_VALUES = 8 << 10,     /* bytes of values that a thread keeps for its running calls */
    TRACE_STRING_UNITS = 100,   /* of a text value; the rest is cut */
    TRACE_ITEMS = 10,           /* of an array or span that are shown */
    TRACE_RESULT = 255,         /* the number of the result among the arguments */
    TRACE_FIRST_FIELD = 192,    /* the number of a struct's first field, after the struct */
    TRACE_EXCEPTIONS = 8,       /* of a thread that are under way inside each other */
};

/* Kinds of values: elements of signatures (cil/signature.h), and these value types. */
enum {
    TRACE_KIND_NULL = 0x7F,
    TRACE_KIND_GUID = 0x80,
    TRACE_KIND_DATE_TIME,
    TRACE_KIND_TIME_SPAN,
    TRACE_KIND_DATE_ONLY,
    TRACE_KIND_TIME_ONLY,
    TRACE_KIND_DATE_TIME_OFFSET, /* a DateTime of Greenwich, and i32 minutes */
    TRACE_KIND_CUT_STRING,       /* a string that goes on */
    TRACE_KIND_DECIMAL,
    TRACE_KIND_ITEMS,   /* of an array or span: what they are (u8), how many (u32), the first */
    TRACE_KIND_SHAPE,   /* no value: the address of the shape of the next one */
    TRACE_KIND_UNKNOWN, /* its object's class is not known yet */
};

/* What a session wants to see of single calls of a method. */
enum {
    TRACE_WISH_ENTRY = 1,     /* when it is entered */
    TRACE_WISH_EXIT = 2,      /* when it is left */
    TRACE_WISH_EXCEPTION = 4, /* when an exception leaves it */
    TRACE_WISH_LOG_ENTRY = 8, /* a line of text when it is entered */
    TRACE_WISH_LOG_EXIT = 16, /* when it is left */
};

typedef struct trace_counters trace_counters;
struct ring;

struct trace_plan;
struct trace_capture;

/* What a probe would have to know to go on: how a path goes on in objects of this class. */
typedef struct {
    const struct trace_capture *capture;
    uintptr_t class_id; /* with 1 added: in variables of this type */
    uint32_t rest;      /* where the rest of the path begins */
} trace_question;

/* What a probe gets: the identity of its method. */
typedef struct trace_method {
    trace_counters *counters;
    uint32_t index;
    uint32_t owner;      /* of the steps of an async method: that method's index; else its own */
    uint32_t wishes;     /* TRACE_WISH_… */
    atomic_int deep;     /* TRACE_DEEP_…: its recursion needs the stack (trace_deep.h) */
    atomic_uint running; /* of async calls as a whole: how many are under way, … */
    atomic_uint peak;    /* … and how many were at once. Else: seen by the own thread. */
    struct trace_method *whole; /* of the steps of an async method: its calls as a whole */
    _Atomic(const struct trace_plan *) plan; /* of such a whole: its values */
} trace_method;

/* A single call, or a moment of one. */
typedef struct {
    uint64_t start, time; /* ticks */
    uint64_t class_id;    /* of the exception that left it; 0 = none, or not known */
    uint32_t method;      /* index */
    uint32_t thread_id;
    uint32_t depth;   /* traced calls around it */
    uint16_t moments; /* TRACE_WISH_…: what this is for */
    bool failed;
    bool whole; /* an async call until it was complete */
} trace_event;

typedef struct {
    uint64_t calls, failures, total, self, maximum;
    uint64_t inverted_minimum; /* so that 0 is "none yet" */
    uint64_t completions;      /* of async methods */
    uint32_t method;           /* index */
    uint32_t next;             /* block of the same thread; number + 1 */
    uint32_t histogram;        /* number + 1; TRACE_NO_HISTOGRAM = there was none to have */
    uint16_t kept;             /* of the few */
    uint16_t few[TRACE_FEW];   /* buckets of the first calls */
} trace_block;

enum { TRACE_NO_HISTOGRAM = 1 << 30 };

typedef struct {
    uint32_t buckets[TRACE_BUCKETS];
} trace_histogram;

typedef struct {
    const trace_method *method;
    uint64_t start;
    uint64_t inside; /* ticks of traced calls made by this one */
    uint32_t values; /* where its values begin */
    uint32_t node;   /* of the call tree, number + 1 */
    int32_t task;    /* of a later step of an async method: identity of the call */
    uint8_t step;    /* of a step: TRACE_STEP_… */
    uint16_t block;  /* the thread's of this method, number + 1; 0 = not looked up yet */
} trace_frame;

enum { TRACE_STEP_FIRST = 1, TRACE_STEP_DONE = 2, TRACE_STEP_BLIND = 4 /* has no task to read */ };

typedef struct trace_thread {
    struct trace_thread *next;
    uint32_t thread_id;
    uint32_t session;
    uint32_t depth;
    uint32_t first_block; /* number + 1 */
    bool retired;         /* its thread is gone; own thread's */
    uint32_t values_used;
    uint32_t untimed_from; /* calls from this depth on have no frame; 0 = all have one */
    uint32_t exception_count;
    uint32_t asked;         /* questions that the call entered last has waited for */
    trace_question missing; /* capture NULL = nothing is */
    uint32_t timed_calls;   /* inside each other, then recursion goes on in old code; 0 = unknown */
    uint32_t deep_waits;    /* in this session, for probes to be taken out */
    uint32_t root;          /* of the call tree: node of the first outermost call, number + 1 */
    uintptr_t exceptions[TRACE_EXCEPTIONS]; /* classes of those under way, the last one on top */
    uintptr_t caught;                       /* class of the one that was caught last */
    trace_frame *segments[TRACE_SEGMENTS];  /* NULL = not needed yet */
    trace_frame frames[TRACE_DEPTH];
    uint8_t values[TRACE_VALUES];   /* per value: number, kind, u16 length, bytes */
    uint32_t blocks[TRACE_METHODS]; /* session << 24 | number + 1 */
} trace_thread;

struct trace_counters {
    atomic_bool active;
    atomic_uint session; /* 1 to 255 */
    bool counter;        /* the processor's counter is the clock */
    trace_block *pool;
    trace_histogram *histograms;
    trace_block
        *shared; /* by method: what threads without a block of their own count, atomically */
    atomic_uint pool_used, histograms_used;
    atomic_uint shared_end; /* one past the highest index in use */
    atomic_uint deep_bytes;
    _Atomic(trace_thread *) threads;
    atomic_uint thread_count;
    atomic_uint_fast64_t lost_depth; /* calls counted but not timed: too deep */
    atomic_uint_fast64_t lost_threads;
    atomic_uint_fast64_t lost_rate; /* single calls beyond the rate */
    atomic_bool deep_asked;         /* some method's probes are to be taken out */
    void (*wake)(void *context);    /* the own thread, at once; from a probe */
    void *wake_context;
    /* Single calls with their values; NULL = not wanted. Called in the probe: must not wait. */
    void (*sink)(void *context, const trace_event *event, const uint8_t *values, size_t length);
    void *sink_context;
    uint64_t slower_than;             /* ticks */
    const condition *condition;       /* NULL = none */
    uint8_t numbers[CONDITION_TERMS]; /* of the values that its terms mean */
    atomic_int allowance; /* calls that may still go to the sink; refilled by the own thread */
    uint32_t string_length, string_start; /* offsets in a String object */
    struct trace_tree *tree;              /* NULL = no call tree is wanted */
    struct trace_classes *classes;        /* NULL = objects' own classes are not asked for */
    struct trace_async *async;            /* async calls that are under way; NULL = not measured */
    struct trace_exceptions *exceptions;  /* failures by type; NULL = not counted */
    /* Calls as spans (trace_spans.h); NULL = not wanted. */
    struct ring *span_ring;
    atomic_uint_fast64_t last_span;
    atomic_intptr_t span_local; /* handle of the AsyncLocal; 0 = not made yet */
    /* clock, own thread */
    uint64_t first_ticks, first_ns;
    double event_tick_ns; /* of single calls: one rate for all, so that they stay in order */
};

/* A new session: everything at 0. Then probes count until trace_counters_stop. */
void trace_counters_start(trace_counters *c);
void trace_counters_stop(trace_counters *c);

/* The probes: addresses that go into jitted code. */
void trace_enter(const trace_method *method);
/* Of a method that calls itself: 1 = it is so deep that it must go on in its old code, and is
 * counted without a time and without its end. */
int64_t trace_enter_deep(const trace_method *method);
void trace_leave(const trace_method *method);
void trace_fail(const trace_method *method); /* left by an exception */
/* What a call into C costs by itself: does nothing. For the benchmark. */
void trace_nothing(const trace_method *method);

/* This thread's part; NULL = it has met no probe yet. */
trace_thread *trace_this_thread(void);
/* Is this thread counting in this session? */
bool trace_is_counting(const trace_counters *c, const trace_thread *t);
/* The frame of the call that runs now, if it is one of this method. */
trace_frame *trace_running_frame(trace_thread *t, const trace_method *m);
/* A call is complete: counts and, if it is one of those wanted, hands it on. */
void trace_count(trace_counters *c, trace_thread *t, const trace_method *m, uint64_t time,
                 uint64_t inside, uint64_t failed);
/* A call whose time is not known. */
void trace_count_untimed(trace_counters *c, trace_thread *t, const trace_method *m,
                         uint64_t failed);
/* One more of a method's completions (or calls begun, see trace_async). */
void trace_count_completion(trace_counters *c, trace_thread *t, const trace_method *m);
void trace_count_failure(trace_counters *c, trace_thread *t, const trace_method *m);
uint64_t trace_now(const trace_counters *c);

/* Adds up one method over all threads. Own thread. */
typedef struct {
    uint64_t calls, failures, total, self, minimum, maximum, completions;
    uint32_t threads; /* that called it */
    uint32_t active;  /* calls that are running */
    uint64_t buckets[TRACE_BUCKETS];
} trace_sum;
/* Calls `block` for each block of the session and `running` for calls that are running: `count`
 * of the same method inside each other. */
void trace_counters_each(trace_counters *c, void *context,
                         void (*block)(void *context, const trace_block *block),
                         void (*running)(void *context, uint32_t method, uint32_t count));
/* Only the latter. */
void trace_counters_each_running(trace_counters *c, void *context,
                                 void (*running)(void *context, uint32_t method, uint32_t count));
/* Adds a block's times to `buckets`. Fewer than its calls when it had no histogram. */
void trace_counters_times(const trace_counters *c, const trace_block *b, uint64_t *buckets);

/* Ticks to nanoseconds, as measured since the session's start. */
double trace_tick_ns(const trace_counters *c);
/* The same without a session: looks at both clocks for a moment. */
double trace_measure_tick_ns(const trace_counters *c);
/* The lower bound of a bucket, in ticks. */
uint64_t trace_bucket_ticks(unsigned bucket);

#endif
