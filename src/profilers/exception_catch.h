/*
 * exception_catch: which exceptions of a thread are on their way to a catcher. The runtime says
 * that one was found and that one is entered, but not for which exception: it is the thread's
 * latest one that is not caught yet. A filter may throw and catch on its own in between, and what
 * it does not catch is dropped with it; a finally block that runs on the way may do the same, but
 * what it does not catch takes the place of the exception on whose way it was. So exceptions are
 * kept on a small stack per thread, with a mark for each filter that runs.
 *
 * An entry is ended when its fate was told; it stays until the next event that is not of its own
 * unwinding. An entry is doubtful when one above it was caught: the block that it was thrown in may
 * have been left by it.
 *
 * Exceptions that are only counted are kept (number 0) where something lies below them.
 *
 * Thread rules: any thread, for itself, without locks. Zeroed memory is an empty one. A thread that
 * threw nothing for a long time may lose its place to another: then its catch is not known.
 */
#ifndef CLARINET_PROFILERS_EXCEPTION_CATCH_H
#define CLARINET_PROFILERS_EXCEPTION_CATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CATCH_THREADS = 1024, CATCH_DEPTH = 16 };

typedef struct {
    atomic_uint_fast64_t number;  /* of the recorded exception, 0 = only counted, or a mark */
    _Atomic uintptr_t block;      /* where the last finally block on its way ran; 0 = none did */
    _Atomic uintptr_t outermost;  /* FunctionID of the thread's outermost frame, 0 = not known */
    atomic_uint frames_to_go;     /* of that function; 0 = not asked yet */
    atomic_uint level;            /* depth at which this was put */
    atomic_uint tick;             /* of the throw */
    atomic_bool searched_through; /* the search has entered the last frame */
    atomic_bool found;            /* a catcher was found: it is on its way there */
    atomic_bool ended;
    atomic_bool uncaught; /* and how: nobody catches it */
    atomic_bool doubtful;
} catch_entry;

typedef struct {
    _Atomic uintptr_t thread; /* 0 = free */
    atomic_uint used;         /* tick of the last throw */
    atomic_uint depth;
    catch_entry entries[CATCH_DEPTH];
} catch_thread;

typedef struct {
    atomic_int_fast64_t busy; /* threads that have entries */
    catch_thread threads[CATCH_THREADS];
} exception_catch;

/* Empties all places. */
void catch_reset(exception_catch *c);
/* The thread's place; NULL when it has none. */
catch_thread *catch_find(exception_catch *c, uintptr_t thread);
/* The same, made if need be; NULL when there is none to be had. */
catch_thread *catch_find_or_make(exception_catch *c, uintptr_t thread, unsigned tick);
void catch_push(exception_catch *c, catch_thread *t, uint64_t number, uintptr_t outermost,
                unsigned tick);
void catch_push_mark(exception_catch *c, catch_thread *t);
/* The latest one; NULL when there is none, or it is a mark. */
catch_entry *catch_top(catch_thread *t);
/* Takes the latest one off; its number, 0 when nothing is known of it. */
uint64_t catch_pop(exception_catch *c, catch_thread *t);
/* Takes the latest one off if its fate was told. */
void catch_drop_ended(exception_catch *c, catch_thread *t);
/* Takes everything off down to the latest mark, and the mark; without a mark nothing. */
void catch_pop_mark(exception_catch *c, catch_thread *t);
/* Whether a filter runs below the latest one: what leaves it goes no further. */
bool catch_is_in_filter(const catch_thread *t);

#endif
