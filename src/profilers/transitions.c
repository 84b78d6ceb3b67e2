/*
 * transitions: calls from managed into native code and back, by function, with their number and
 * time. The runtime tells both ends of each only to who asks when it starts.
 *
 * A thread's calls that are under way stand on a stack of its own; a call's time goes to its
 * function without that of the crossings inside of it. What a function gathered is written every
 * half second.
 *
 * Thread rules: engine.h. A thread's stack is touched by that thread only, after it has claimed it.
 */
#include <pthread.h>

#include "agent/agent.h"
#include "agent/tally.h"
#include "base/memory.h"
#include "base/os.h"

enum {
    SELF = ENGINE_INDEX_transitions,
    LOSS_FUNCTIONS = 1,
    LOSS_THREADS,
    TO_NATIVE = 0,
    TO_MANAGED = 1,
    SET = 2, /* in a key, so that it is not 0 */
    THREADS = 1024,
    PROBES = 32,
    DEPTH = 32,
    EVERY_NS = 500000000,
};

enum { TIME, METHOD, DIRECTION, COUNT, WEIGHT, COLUMNS };

static const recording_column TRANSITION_COLUMNS[COLUMNS] = {
    {RECORDING_TIME, "time", ""},         {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_U64, "direction", ""},     {RECORDING_U64, "count", ""},
    {RECORDING_DURATION, "weight", "ns"},
};
static const recording_table TABLES[] = {
    {"transitions", "transitions", TRANSITION_COLUMNS, COLUMNS}};
static const char LOSSES[] =
    "ring full\0"
    "call not counted: more than 1024 functions\0"
    "call not timed: more than 1024 threads, or more than 32 calls inside each other\0";

typedef struct {
    uintptr_t key; /* function and direction */
    uint64_t begin;
    uint64_t inside; /* of crossings inside of it */
} crossing;

typedef struct {
    _Atomic uintptr_t thread; /* 0 = free */
    unsigned depth;
    crossing under_way[DEPTH];
} thread_stack;

typedef struct {
    tally counted;
    thread_stack threads[THREADS];
    uint64_t told_ns; /* own thread */
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static thread_stack *stack_of(state *s, bool claims)
{
    uintptr_t self = (uintptr_t)pthread_self();
    size_t at = (size_t)table_hash_u64(self);

    for (unsigned pass = 0; pass < (claims ? 2u : 1u); pass++) {
        for (size_t i = 0; i < PROBES; i++) {
            thread_stack *t = &s->threads[(at + i) & (THREADS - 1)];
            uintptr_t is = atomic_load_explicit(&t->thread, memory_order_relaxed);

            if (is == self ||
                (pass == 1 && is == 0 && atomic_compare_exchange_strong(&t->thread, &is, self)))
                return t;
        }
    }
    return NULL;
}

static void enter(agent *a, FunctionID function, unsigned direction)
{
    state *s = state_of(a);
    thread_stack *t = stack_of(s, true);

    if (!tally_add(&s->counted, function | SET | direction, 1, 0))
        agent_lose(a, SELF, LOSS_FUNCTIONS, 1);
    if (t == NULL || t->depth == DEPTH) {
        agent_lose(a, SELF, LOSS_THREADS, 1);
        return;
    }
    t->under_way[t->depth++] = (crossing){function | SET | direction, os_monotonic_ns(), 0};
}

/* What was begun after it and never ended was left by an exception. */
static void leave(agent *a, FunctionID function, unsigned direction)
{
    state *s = state_of(a);
    thread_stack *t = stack_of(s, false);
    uint64_t now = os_monotonic_ns();

    for (unsigned i = t == NULL ? 0 : t->depth; i > 0; i--) {
        const crossing *c = &t->under_way[i - 1];
        uint64_t length = now - c->begin;

        if (c->key != (function | SET | direction))
            continue;
        tally_add(&s->counted, c->key, 0, length > c->inside ? length - c->inside : 0);
        t->depth = i - 1;
        if (t->depth != 0)
            t->under_way[t->depth - 1].inside += length;
        else
            atomic_store_explicit(&t->thread, 0, memory_order_release);
        return;
    }
}

void transitions_cross(agent *a, FunctionID function, bool to_native, bool is_call)
{
    if (!agent_is_active(a, SELF))
        return;
    if (is_call)
        enter(a, function, to_native ? TO_NATIVE : TO_MANAGED);
    else
        leave(a, function, to_native ? TO_MANAGED : TO_NATIVE);
}

/* ---- on the own thread ---- */

static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    uint64_t now = os_monotonic_ns();
    uint64_t cells[COLUMNS] = {[TIME] = now};
    uintptr_t key;

    if ((!last && now - s->told_ns < EVERY_NS && !agent_is_hurried(a)) || !agent_enter_runtime(a))
        return;
    s->told_ns = now;
    for (unsigned i = 0; i < TALLY_KEYS; i++) {
        if (!tally_take(&s->counted, i, &key, &cells[COUNT], &cells[WEIGHT]))
            continue;
        cells[DIRECTION] = key & 1;
        cells[METHOD] = key > 7 ? names_of_function(&a->names, key & ~(uintptr_t)7) : 0;
        agent_row(a, SELF, 0, cells);
    }
}

static int start(agent *a, error *e)
{
    if (state_of(a) == NULL)
        a->engines[SELF].state = memory_allocate_array(1, sizeof(state));
    if (state_of(a) == NULL)
        return engine_no_memory(SELF, e);
    tally_reset(&state_of(a)->counted);
    return 0;
}

const engine ENGINE_transitions = {
    .name = "transitions",
    .mask_low = COR_PRF_MONITOR_CODE_TRANSITIONS,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .start = start,
    .drain = drain,
};
