/*
 * tasks: the tasks and async methods of a heap snapshot that are not done, chained by what goes on
 * when they are: logical stacks, from what is really waited for up to the method that nobody
 * awaits. Equal chains are one group with a count.
 *
 * Fields are found by their names, which the recording has. A runtime whose fields have other names
 * gives no chains, never wrong ones.
 *
 * Thread rules: a view is not changed once made, but for tasks_compare; the heap must stay.
 */
#ifndef CLARINET_ANALYSIS_TASKS_H
#define CLARINET_ANALYSIS_TASKS_H

#include "analysis/heap.h"

/* X(identifier, word, what a chain waits for) */
#define TASKS_WAIT_LIST(X)                                                                         \
    X(TASKS_TIMER, "timer", "a timer")                                                             \
    X(TASKS_CANCELLATION, "cancellation", "a cancellation")                                        \
    X(TASKS_SOCKET, "socket", "a socket")                                                          \
    X(TASKS_CHANNEL, "channel", "a channel")                                                       \
    X(TASKS_SEMAPHORE, "semaphore", "a semaphore")                                                 \
    X(TASKS_PROMISE, "promise", "a TaskCompletionSource")                                          \
    X(TASKS_SOURCE, "source", "a value task source")                                               \
    X(TASKS_TASK, "task", "a task")                                                                \
    X(TASKS_DELEGATE, "delegate", "a delegate that runs now")                                      \
    X(TASKS_QUEUED, "queued", "a worker of the thread pool")                                       \
    X(TASKS_RUNNING, "running", "nothing: it runs, or is about to")                                \
    X(TASKS_NOT_STARTED, "not_started", "somebody to start it")                                    \
    X(TASKS_CYCLE, "cycle", "each other, for ever: a deadlock")                                    \
    X(TASKS_UNKNOWN, "unknown", "something that is not known")

typedef enum {
#define X(identifier, word, text) identifier,
    TASKS_WAIT_LIST(X)
#undef X
} tasks_wait;

/* Who goes on when the outermost task of a chain is done. */
typedef enum {
    TASKS_NOBODY,      /* it was started and left, or somebody keeps it to look at it later */
    TASKS_THREAD,      /* a thread blocks on it */
    TASKS_CALLBACK,    /* a delegate */
    TASKS_ONE_ANOTHER, /* the innermost task of the chain, which is a ring */
} tasks_end;

/* One task of a chain, or several equal ones in a row: recursion. */
typedef struct {
    uint32_t type;  /* string: its class */
    uint32_t frame; /* of the await, with its line; 0 = no async method */
    int32_t state;  /* number of the await; below 0: it does not wait for one */
    bool has_line;  /* the frame is that of the await and not only of the method */
    uint32_t times; /* in a row */
} tasks_step;

typedef struct {
    tasks_wait wait;
    tasks_end end;
    uint32_t type;       /* string: the class of what is waited for; 0 = not known */
    size_t first, count; /* steps, the innermost first */
    size_t ring;         /* so many of them, the first ones, await each other; 0 = none */
    uint64_t chains;     /* equal ones */
    uint64_t tasks;      /* in these chains and in none before: all groups' are `incomplete` */
    uint64_t lost;       /* of these: nothing but the waiters refers to the source */
    uint64_t stuck;      /* of these: the same before; of the later view of tasks_compare */
    uint64_t due_ms;     /* of a timer: the longest time it was set to; 0 = not known */
    uint64_t least_ms;   /* and the shortest */
    uint64_t age_ms;     /* of a timer: how long ago the first was set; 0 = not known */
    uint64_t example;    /* address of the innermost task of one of them */
    uint64_t hash;
} tasks_group;

/* A task that no async method, thread or callback waits for: kept by somebody, for later. */
static inline bool tasks_is_unawaited(const tasks_group *g)
{
    return g->count == 0 && g->end == TASKS_NOBODY && g->wait <= TASKS_TASK;
}

/* The thread pool as its own fields have it. */
typedef struct {
    bool is_known;
    uint64_t minimum, maximum; /* workers */
    uint64_t existing, working;
    uint64_t before;       /* existing at the earlier look of tasks_compare */
    uint64_t queued;       /* items in the queues that all workers share */
    uint64_t queued_local; /* in the workers' own */
} tasks_pool;

typedef struct {
    const heap *h;
    tasks_step *steps;
    size_t step_count, step_capacity;
    tasks_group *groups; /* most chains first */
    size_t group_count, group_capacity;
    uint64_t incomplete, complete; /* tasks */
    uint64_t chains;
    uint64_t chains_left_out; /* beyond the limit */
    uint64_t rings;           /* of tasks that await each other */
    uint64_t runtime_async;   /* tasks of async methods that the runtime itself suspends */
    uint64_t not_checked;     /* for being lost */
    tasks_pool pool;
    bool has_values; /* the snapshot has what tasks are told by */
    bool was_compared;
    table_u64 identities; /* chains by their innermost task, group and place */
} tasks_view;

int tasks_make(const heap *h, tasks_view *view, error *e);
void tasks_free(tasks_view *view);
/* Counts the chains of `later` that were the same in `earlier`. */
void tasks_compare(tasks_view *later, const tasks_view *earlier);

const char *tasks_wait_word(tasks_wait wait);
const char *tasks_wait_text(tasks_wait wait);
/* "Shop.Orders.PlaceAsync", "Task.WhenAll", or the class. */
void tasks_step_text(const tasks_view *view, const tasks_step *step, buffer *out);

#endif
