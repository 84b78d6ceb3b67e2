/*
 * trace_memory: where the probes' memory comes from. A thread's part is mapped at its first probe
 * and given back when the thread is gone; blocks of counters and histograms come from pools that
 * last for the session; frames of deep recursion are mapped as they are needed.
 *
 * Invariant: a call can always be counted. A thread that gets no block of its own counts in the
 * method's shared one; a block that gets no histogram keeps the times of its first calls only; a
 * call so deep that there is no frame for it is counted without its time.
 *
 * Functions for probes lock nothing and call nothing of the runtime.
 */
#ifndef CLARINET_PROFILERS_TRACE_MEMORY_H
#define CLARINET_PROFILERS_TRACE_MEMORY_H

#include <pthread.h>

#include "profilers/trace_counters.h"

/* What a thread knows of itself: its trace_thread, and its number. Keys, because the library must
 * have no thread-local variables: glibc brings the tables of every thread up to date after a
 * library with some came or went, and a signal just then makes the thread lose its variables of
 * other libraries, the runtime's too. */
typedef struct {
    pthread_key_t part, number;
} trace_memory_keys;

extern trace_memory_keys trace_keys; /* there from trace_memory_open on */

/* ---- own thread ---- */

/* What trace_memory_open takes, as it may become resident. */
ptrdiff_t trace_memory_bytes(void);
/* Takes the keys and the pools and chooses the clock; false without memory or when the process has
 * no more keys. Again: nothing. */
bool trace_memory_open(trace_counters *c);
/* A new session: all pools are free. */
void trace_memory_begin(trace_counters *c);
/* Gives back memory of threads that are gone and of sessions that are over. */
void trace_memory_sweep(trace_counters *c, bool all);
/* Gives back everything: only when no probe can run any more. */
void trace_memory_close(trace_counters *c);

/* ---- probes ---- */

/* The parts of threads by where the processor's thread register points, which is quicker than a
 * key. A place belongs to one thread from its first probe to its end; threads that find theirs
 * taken use the key. */
typedef struct {
    atomic_uintptr_t thread; /* 0 = free */
    trace_thread *part;      /* only for that thread */
} trace_memory_place;

enum { TRACE_PLACES = 1024, TRACE_PLACE_SHIFT = 12 };
extern trace_memory_place trace_places[TRACE_PLACES];

static inline trace_memory_place *trace_memory_place_of(uintptr_t thread)
{
    return &trace_places[(thread >> TRACE_PLACE_SHIFT) % TRACE_PLACES];
}

static inline uintptr_t trace_memory_register(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

/* This thread's part; NULL = it has none yet. */
static inline trace_thread *trace_memory_own(void)
{
    uintptr_t thread = trace_memory_register();
    const trace_memory_place *place = trace_memory_place_of(thread);

    if (__builtin_expect(atomic_load_explicit(&place->thread, memory_order_relaxed) == thread, 1))
        return place->part;
    return pthread_getspecific(trace_keys.part);
}

/* Makes it, in the list of all; NULL without memory. */
trace_thread *trace_memory_thread(trace_counters *c);
/* The number of this thread. */
uint32_t trace_memory_thread_number(void);
/* A new block for this method; NULL when the pool is used up. */
trace_block *trace_memory_make_block(trace_counters *c, trace_thread *t, uint32_t method);
/* Gives a block a histogram with the few times that it has kept, or marks it as without one. */
void trace_memory_histogram(trace_counters *c, trace_block *b);
/* The method's shared block. */
trace_block *trace_memory_shared(trace_counters *c, uint32_t method);
/* The frame of the call at t->depth, beyond TRACE_DEPTH; NULL, and noted in the thread, when
 * there is none. */
trace_frame *trace_memory_deep_frame(trace_counters *c, trace_thread *t);
/* The same for a depth that has its frame already; NULL when it has none. */
trace_frame *trace_memory_find_deep(const trace_thread *t, uint32_t depth);

/* How many traced calls inside each other this thread's stack bears: so many that what they take
 * more is a small part of it. */
uint32_t trace_memory_timed_calls(trace_thread *t);

static inline trace_frame *trace_memory_frame(const trace_thread *t, uint32_t depth)
{
    if (__builtin_expect(depth < TRACE_DEPTH, 1))
        return (trace_frame *)&t->frames[depth];
    return trace_memory_find_deep(t, depth);
}

/* The thread's block of this method; NULL = count in the shared one. */
static inline trace_block *trace_memory_block(trace_counters *c, trace_thread *t, uint32_t method)
{
    uint32_t entry = t->blocks[method];
    uint32_t number = entry & 0xFFFFFF;

    if (entry >> 24 != t->session || number == 0)
        return trace_memory_make_block(c, t, method);
    return number <= TRACE_BLOCKS ? &c->pool[number - 1] : NULL;
}

/* Its number + 1, for a frame; 0 = there is none. */
static inline uint16_t trace_memory_block_number(const trace_thread *t, uint32_t method)
{
    uint32_t number = t->blocks[method] & 0xFFFFFF;

    return number <= TRACE_BLOCKS ? (uint16_t)number : 0;
}

/* The frames know blocks of a session before, which are others' now. */
void trace_memory_forget_blocks(trace_thread *t);

#endif
