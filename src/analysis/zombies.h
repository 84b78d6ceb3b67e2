/*
 * zombies: threads that are of no use any more, by several looks at all threads.
 *
 * Leaking: more and more threads begin at one place and none of them ends. Stuck: blocked for ever
 * on something that nobody can signal. Idle: the same stack and no processor time in every look.
 * The thread pool, the main thread, the runtime's own threads, those of the framework (timers, the
 * event loops of sockets, loggers) and those that wait for input are never idle or stuck here: to
 * wait is what they are for.
 *
 * Thread rules: never changed once made; the view and its model must stay.
 */
#ifndef CLARINET_ANALYSIS_ZOMBIES_H
#define CLARINET_ANALYSIS_ZOMBIES_H

#include "analysis/threads_heap.h"

typedef enum { ZOMBIES_LEAKING, ZOMBIES_STUCK, ZOMBIES_IDLE } zombies_kind;

/* Why threads are blocked for ever. The last one is suspected: something that no object refers to
 * may still be kept by native code. */
typedef enum {
    ZOMBIES_NO_CAUSE,
    ZOMBIES_OWNER_ENDED,
    ZOMBIES_DEADLOCK,
    ZOMBIES_UNREACHABLE
} zombies_cause;

/* A place that started threads of a group. */
typedef struct {
    uint32_t stack; /* of the thread that called Thread.Start */
    uint32_t frame; /* its innermost one of the program's own, if there is one */
    size_t count;
} zombies_starter;

typedef struct {
    zombies_kind kind;
    zombies_cause cause;
    uint32_t start; /* frame: the method they began in; 0 = no managed one */
    uint32_t stack; /* of the first */
    threads_state state;
    uint32_t type;    /* string: of what they wait for; 0 = not known */
    size_t before;    /* of a leak: how many there were at the first look */
    uint64_t *os_ids; /* of the last look */
    size_t count, capacity;
    zombies_starter *starters; /* of a leak, as far as it was seen; most threads first */
    size_t starter_count, starter_capacity;
} zombies_group;

typedef struct {
    zombies_group *groups; /* by kind, the largest first */
    size_t count, capacity;
    size_t looks;
    uint64_t observed_ns; /* from the first look to the last */
    size_t workers_added; /* of the thread pool: there at the last look and not at the first */
} zombies;

/* `view` is the last look of its recording; `known` of a snapshot before it, or NULL. */
int zombies_find(const threads_view *view, const threads_heap *known, zombies *z, error *e);
void zombies_free(zombies *z);
/* "leaking", "stuck", "idle". */
const char *zombies_kind_name(zombies_kind kind);
/* In a few words; "" where there is no cause. */
const char *zombies_cause_text(zombies_cause cause);
/* Workers that the thread pool added a second; 0 with one look. */
double zombies_workers_a_second(const zombies *z);
/* How many threads are of a kind. */
size_t zombies_threads(const zombies *z, zombies_kind kind);

/* ---- between the files of zombies ---- */

/* zombies_starts.c; false = no memory. */
bool zombies_find_starters(const threads_view *view, zombies *z);

#endif
