/*
 * trace_counters: what the probes of traced methods do. They are called straight from jitted code
 * while the thread stays in cooperative mode: no lock, no runtime call, no wait.
 *
 * Every thread has a stack of the traced calls it is in, and for each method it has called a block
 * of counters that only it writes; the agent's own thread reads them and adds up. Times are ticks
 * of the processor's clock. A thread's memory is mapped at its first probe and given back when the
 * thread is gone; blocks come from one pool and last for the session.
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

enum {
    TRACE_METHODS = 1 << 18, /* at most */
    TRACE_DEPTH = 512,       /* traced calls of one thread inside each other */
    TRACE_SUB_BITS = 3,      /* 8 buckets for each power of two: 6 % */
    TRACE_LOWEST = 4,        /* times below 2^4 ticks share the first bucket */
    TRACE_OCTAVES = 36,
    TRACE_BUCKETS = TRACE_OCTAVES << TRACE_SUB_BITS,
    TRACE_POOL_BYTES = 10 << 20,
    TRACE_VALUES = 8 << 10,   /* bytes of values that a thread keeps for its running calls */
    TRACE_STRING_UNITS = 100, /* of a text value; the rest is cut */
    TRACE_RESULT = 255,       /* the number of the result among the arguments */
};

/* Kinds of values: elements of signatures (cil/signature.h), and these value types. */
enum {
    TRACE_KIND_NULL = 0x7F,
    TRACE_KIND_GUID = 0x80,
    TRACE_KIND_DATE_TIME,
    TRACE_KIND_TIME_SPAN,
    TRACE_KIND_CUT_STRING, /* a string that goes on */
};

typedef struct trace_counters trace_counters;

/* What a probe gets: the identity of its method. */
typedef struct {
    trace_counters *counters;
    uint32_t index;
} trace_method;

typedef struct {
    uint64_t calls, failures, total, self, minimum, maximum;
    uint64_t completions; /* of async methods */
    uint32_t method;      /* index */
    uint32_t next;        /* block of the same thread; number + 1 */
    uint32_t buckets[TRACE_BUCKETS];
} trace_block;

typedef struct {
    const trace_method *method;
    uint64_t start;
    uint64_t inside; /* ticks of traced calls made by this one */
    uint32_t values; /* where its values begin */
} trace_frame;

typedef struct trace_thread {
    struct trace_thread *next;
    uint32_t thread_id;
    uint32_t session;
    uint32_t depth;
    uint32_t first_block; /* number + 1 */
    bool retired;         /* its thread is gone; own thread's */
    uint32_t values_used;
    trace_frame frames[TRACE_DEPTH];
    uint8_t values[TRACE_VALUES];   /* per value: number, kind, u16 length, bytes */
    uint32_t blocks[TRACE_METHODS]; /* session << 24 | number + 1 */
} trace_thread;

struct trace_counters {
    atomic_bool active;
    atomic_uint session; /* 1 to 255 */
    trace_block *pool;
    uint32_t pool_size;
    atomic_uint pool_used;
    _Atomic(trace_thread *) threads;
    atomic_uint thread_count;
    atomic_uint_fast64_t lost_blocks; /* calls not counted: the pool is used up */
    atomic_uint_fast64_t lost_depth;  /* calls not counted: too deep */
    atomic_uint_fast64_t lost_threads;
    /* Single calls with their values; NULL = not wanted. Called in the probe: must not wait. */
    void (*sink)(void *context, const trace_method *method, const trace_thread *thread,
                 uint64_t start, uint64_t time, bool failed, const uint8_t *values, size_t length);
    void *sink_context;
    uint64_t slower_than; /* ticks */
    atomic_int allowance; /* calls that may still go to the sink; refilled by the own thread */
    uint32_t string_length, string_start; /* offsets in a String object */
    /* clock, own thread */
    uint64_t first_ticks, first_ns;
};

/* Takes the pool; false without memory. */
bool trace_counters_open(trace_counters *c);
/* A new session: everything at 0. Then probes count until trace_counters_stop. */
void trace_counters_start(trace_counters *c);
void trace_counters_stop(trace_counters *c);
/* Gives back memory of threads that are gone and of sessions that are over. Own thread. */
void trace_counters_sweep(trace_counters *c, bool all);

/* The probes: addresses that go into jitted code. */
void trace_enter(const trace_method *method);
void trace_leave(const trace_method *method);
void trace_fail(const trace_method *method); /* left by an exception */
/* Of the steps of an async method: left with this state of its state machine (-2: it is complete);
 * and its exception is being handed to its task. */
void trace_leave_step(const trace_method *method, int64_t state);
void trace_fail_step(const trace_method *method);

/* A value of the method that was just entered, or its result just before it is left: `what` is
 * its number and kind << 8, `address` where it lies. */
void trace_value(const trace_method *method, int64_t what, int64_t address);

/* Adds up one method over all threads. Own thread. */
typedef struct {
    uint64_t calls, failures, total, self, minimum, maximum, completions;
    uint32_t threads; /* that called it */
    uint32_t active;  /* calls that are running */
    uint64_t buckets[TRACE_BUCKETS];
} trace_sum;
/* Calls `visit` for each block of the session and each running call. */
void trace_counters_each(trace_counters *c, void *context,
                         void (*block)(void *context, const trace_block *block),
                         void (*running)(void *context, uint32_t method));

/* Ticks to nanoseconds, as measured since the session's start. */
double trace_tick_ns(const trace_counters *c);
/* The same without a session: looks at both clocks for a moment. */
double trace_measure_tick_ns(void);
/* The lower bound of a bucket, in ticks. */
uint64_t trace_bucket_ticks(unsigned bucket);

#endif
