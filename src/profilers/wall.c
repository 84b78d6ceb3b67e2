/*
 * wall: what all managed threads do, running or blocked, with the state of each.
 *
 * A sampler thread looks at every thread's CPU clock. Only a thread whose clock has moved since its
 * last sample is signalled; one that stands still is never woken again: the time it waits is added
 * to its last stack. (A blocked call that signals interrupt again and again may never end: a socket
 * receive with a timeout starts anew each time.) One that waits where it has waited before needs no
 * signal either (sampling_still.c). Threads that stay idle are looked at less often.
 *
 * Thread rules: sample_all and below on the sampler thread; the rest on the agent's own.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "agent/native_stack.h"
#include "agent/sampling.h"
#include "base/memory.h"
#include "base/os.h"

enum {
    REFUSED_NS = 100000000, /* until a thread that can take no signal is tried again */
    MOVED_NS = 40000,       /* the way back from the handler takes some of it … */
    WOKEN_NS = 2000,        /* … but once the clock was seen to stand, any move is the thread's */
    LOOK_AGAIN_NS = 250000000, /* after a signal, for so little */
    LONGEST_PAUSE = 8,         /* intervals between two looks at an idle thread */
    ROW_AFTER_NS = 1000000000, /* idle time is written at least this often */
    STACK_SIZE = 256 << 10,
    MOST_UNDER_WAY = 64,      /* signals that threads have not taken yet, … */
    TAKEN_BY_NS = 1000000000, /* … of those that may still come to it */
    MOST_SPARED = 3,          /* looks at a thread that is awake between calls that signals end */
    CROWDED_NS = 1000000,     /* until the sampler goes on, after too many */
};

typedef struct {
    pthread_t thread;
    atomic_bool stopping;
    bool running;
    size_t count;     /* of `slots` */
    unsigned changes; /* sampling_state.changes when they were listed */
    uint64_t listed_ns;
    uint64_t begin_ns;  /* when the sampler began */
    uint64_t armed_ns;  /* sampling_state.armed_ns, when last looked at */
    size_t next;        /* of `slots`, to be looked at next */
    unsigned under_way; /* signals that may not have been taken yet, at most */
    bool all_seen;      /* every thread that was there at the beginning was looked at */
    unsigned slots[SAMPLING_THREADS]; /* managed threads, by slot */
} wall;

static const recording_table TABLES[] = {
    {"samples", "wall", SAMPLING_COLUMNS, SAMPLING_COLUMN_COUNT},
};
/* ---- sampler thread ---- */

static void list_slots(wall *w)
{
    unsigned changes = atomic_load(&sampling_state.changes);
    uint64_t now = os_monotonic_ns();

    /* A thread may turn out to be managed after its slot was made: look again now and then. */
    if (changes == w->changes && now - w->listed_ns < 500000000u)
        return;
    w->changes = changes;
    w->listed_ns = now;
    w->count = 0;
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        if (atomic_load(&sampling_state.threads[i].managed))
            w->slots[w->count++] = (unsigned)i;
    }
}

/* Adds time that the thread stood still to what the own thread will write. */
static void add_idle(sampling_thread *t, uint64_t from, uint64_t duration)
{
    if (atomic_load_explicit(&t->idle_ns, memory_order_acquire) == 0)
        atomic_store_explicit(&t->idle_from_ns, from, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->idle_ns, duration, memory_order_release);
}

/* A clock that has stood since the last signal and moves again: the thread woke for a moment, and
 * may wait elsewhere now. */
static bool has_woken(sampling_thread *t, uint64_t clock, uint64_t now)
{
    bool stands = t->still_ns == 0 && clock == t->seen_clock_ns;
    uintptr_t before = atomic_load(&t->stood_at), at = before;

    if (stands)
        t->still_ns = clock;
    t->seen_clock_ns = clock;
    /* It may have moved before that was seen: the kernel is asked once. Where it does not tell (of
     * a process that may not be looked into), a signal each time would end waits. */
    if (stands && before != 0 && atomic_load(&t->last_blocked))
        at = native_stack_place((uint32_t)atomic_load(&t->thread)).stack;
    if (at != before && at != 0)
        return true;
    return t->still_ns != 0 && clock > t->still_ns + WOKEN_NS &&
           now - t->signalled_ns >= LOOK_AGAIN_NS;
}

/* The next look at a thread after `pause` intervals or fewer: those that are looked at as rarely
 * are looked at together, and the sampler can sleep in between. */
static uint64_t due(uint64_t now, uint64_t begin, uint64_t interval, unsigned pause)
{
    uint64_t step = pause * interval;

    return begin + ((now - begin) / step + 1) * step - interval / 2;
}

/* The first look at a thread stands for the interval before it; of those that were there when the
 * sampler began, for all the time since. */
static void visit(wall *w, sampling_thread *t, uint64_t now, uint64_t interval)
{
    int os_thread = atomic_load(&t->thread);
    uint64_t handled = atomic_load(&t->clock_ns), clock, since = t->visited_ns;
    uint64_t begin = w->begin_ns;
    bool moved, unread, busy, first = since == 0;
    unsigned pause;

    t->next_ns = due(now, begin, interval, LONGEST_PAUSE);
    if (os_thread == 0 || sampling_is_unwanted(t, SAMPLING_WALL))
        return;
    clock = sampling_thread_clock(os_thread);
    if (clock == 0)
        return;
    if (since == 0)
        since = now - begin < interval || (!w->all_seen && !atomic_load(&t->born)) ? begin
                                                                                   : now - interval;
    moved = first || clock > handled + MOVED_NS;
    /* Where it stood is not known before its last sample was walked: look again later. A thread
     * that waits must not be signalled only because we are slow. */
    unread = !moved && !sampling_is_asked(t, SAMPLING_WALL) && atomic_load(&t->unread) > 0;
    moved = (!unread && has_woken(t, clock, now)) || moved;
    /* Read once: a new thread may get the slot meanwhile, which sets it to 0. */
    pause = *(volatile uint32_t *)&t->pause;
    pause = moved || pause == 0 ? 1 : pause < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
    t->pause = pause;
    t->next_ns = due(now, begin, interval, pause);
    if (unread)
        return;
    t->visited_ns = now;
    if (sampling_is_asked(t, SAMPLING_WALL)) {
        /* The last signal has not been taken yet: nothing is known but that time passes. The
         * program may have thrown it away, where it ignored that signal for a moment. */
        atomic_fetch_add(&t->period_ns, now - since);
        if (now - t->sent_ns >= TAKEN_BY_NS || t->sent_ns < w->armed_ns) {
            t->sent_ns = now;
            sampling_send(t, SAMPLING_WALL);
        }
        return;
    }
    /* It stood still after a sample that showed it running: once more, to see where it stands. */
    if (!moved && atomic_load(&t->last_blocked)) {
        add_idle(t, since, now - since);
        return;
    }
    busy = !first && clock - handled >= (now - since) / 4 * 3;
    if (sampling_still_take(t, clock, now, now - since, busy)) {
        /* Without a handler the clock is the thread's own. */
        t->signalled_ns = now;
        t->still_ns = t->seen_clock_ns = clock;
        atomic_store(&t->clock_ns, clock);
        return;
    }
    /* It is awake for a moment, and the signal might come when it is back in such a call. */
    if (t->bare && !busy && (atomic_load(&t->sent_flags) & SAMPLING_READY) != 0 &&
        t->spared++ < MOST_SPARED) {
        t->visited_ns = first ? 0 : since;
        return;
    }
    t->spared = 0;
    atomic_store(&t->period_ns, now - since);
    t->signalled_ns = t->sent_ns = now;
    t->still_ns = t->seen_clock_ns = 0;
    atomic_store(&t->clock_ns, clock);
    w->under_way++;
    if (!sampling_send(t, SAMPLING_WALL)) {
        atomic_store(&t->clock_ns, handled); /* it is still to be seen where it went */
        t->next_ns = now + REFUSED_NS;
    }
}

/*
 * Whether the ring might not hold what more signals bring. Threads take them when they come to run,
 * all at once perhaps, and the own thread may come to run after them. One that does not take its
 * signal for long is not waited for.
 */
static bool is_crowded(wall *w, uint64_t now)
{
    if (ring_fill(&sampling_state.captures) >= SAMPLING_RING / 2)
        return true;
    if (w->under_way < MOST_UNDER_WAY)
        return false;
    w->under_way = 0;
    for (size_t i = 0; i < w->count; i++) {
        const sampling_thread *t = &sampling_state.threads[w->slots[i]];

        w->under_way += sampling_is_asked(t, SAMPLING_WALL) && now - t->signalled_ns < TAKEN_BY_NS;
    }
    return w->under_way >= MOST_UNDER_WAY;
}

/* Looks at the threads that are due; false: there were too many, and the rest come next. Where the
 * handler is back those that were refused need not wait. */
static bool look(wall *w, uint64_t now, uint64_t interval)
{
    uint64_t armed = atomic_load(&sampling_state.armed_ns);
    bool again = armed != w->armed_ns;

    w->armed_ns = armed;
    for (size_t i = 0; i < w->count; i++, w->next++) {
        sampling_thread *t;

        w->next = w->next < w->count ? w->next : 0;
        t = &sampling_state.threads[w->slots[w->next]];
        if (now < t->next_ns && !again)
            continue;
        if (is_crowded(w, now))
            return false;
        visit(w, t, now, interval);
    }
    w->all_seen = true;
    return true;
}

/* The next time at which a thread is due, never long after the listing of threads. */
static uint64_t find_next(const wall *w, uint64_t now, uint64_t interval)
{
    uint64_t soonest = now + LONGEST_PAUSE * interval, begin = w->begin_ns;

    for (size_t i = 0; i < w->count; i++) {
        uint64_t next = sampling_state.threads[w->slots[i]].next_ns;

        soonest = next < soonest ? next : soonest;
    }
    soonest = soonest > now ? soonest : now + 1;
    return begin + ((soonest - begin - 1) / interval + 1) * interval;
}

/* Sleeps while no thread is due for several intervals: until then, or until there is a new one, or
 * the end. True: there is a new one, which is looked at as if we had been awake. */
static bool doze(wall *w, int bell, uint64_t until)
{
    uint64_t now = os_monotonic_ns(), left = until > now ? until - now : 0;
    struct timespec limit = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};

    atomic_store(&sampling_state.dozes, true);
    if (atomic_load(&sampling_state.changes) == w->changes)
        lock_wait(&sampling_state.bell, bell, &limit);
    if (atomic_exchange(&sampling_state.dozes, false) &&
        atomic_load(&sampling_state.changes) == w->changes)
        return false;
    w->listed_ns = 0;
    return true;
}

static void *run(void *argument)
{
    wall *w = argument;
    uint64_t earlier = atomic_load(&sampling_state.sampler_cpu_ns); /* of samplers before this */

    prctl(PR_SET_NAME, "clarinet-wall", 0, 0, 0);
    atomic_store(&sampling_state.own_threads[1], os_thread_id());
    w->begin_ns = os_monotonic_ns();
    for (;;) {
        uint64_t interval = sampling_state.interval_ns[SAMPLING_WALL], now = os_monotonic_ns();
        int bell = atomic_load(&sampling_state.bell); /* before the look: stop rings after it */
        struct timespec until;
        uint64_t next;
        bool all;

        if (atomic_load(&w->stopping))
            break;
        if (interval == 0)
            interval = 10000000;
        list_slots(w);
        all = look(w, now, interval);
        atomic_store(&sampling_state.sampler_cpu_ns, earlier + os_thread_cpu_ns());
        next = all ? find_next(w, now, interval) : os_monotonic_ns() + CROWDED_NS;
        if (next > now + interval && all) {
            if (!doze(w, bell, next))
                continue;
            now = os_monotonic_ns();
            next = w->begin_ns + ((now - w->begin_ns) / interval + 1) * interval;
        }
        until = (struct timespec){(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return NULL;
}

/* ---- own thread ---- */

static int start_sampler(wall *w, error *e)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    code = pthread_create(&w->thread, &attributes, run, w);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return error_set_errno(e, ERROR_IO, code, "no thread for the sampler");
    w->running = true;
    return 0;
}

static int start(agent *a, error *e)
{
    wall *w = a->engines[ENGINE_INDEX_wall].state;
    int code;

    if (w == NULL) {
        w = memory_allocate_array(1, sizeof *w);
        if (w == NULL)
            return error_set(e, ERROR_MEMORY, "the agent has no memory left");
        a->engines[ENGINE_INDEX_wall].state = w;
    }
    code = sampling_open(a, SAMPLING_WALL, e);
    if (code != 0)
        return code;
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];

        t->visited_ns = t->next_ns = 0;
        t->signalled_ns = t->still_ns = t->seen_clock_ns = t->row_end_ns = 0;
        t->last_stack = 0;
        atomic_store(&t->idle_ns, 0);
        atomic_fetch_and(&t->pending, ~(1u << SAMPLING_WALL));
        atomic_store(&t->unread, 0);
        atomic_store(&t->last_blocked, false);
    }
    memset(w, 0, sizeof *w);
    return start_sampler(w, e);
}

static void configure(agent *a)
{
    sampling_configure(a, SAMPLING_WALL, ENGINE_INDEX_wall);
}

static void stop(agent *a)
{
    wall *w = a->engines[ENGINE_INDEX_wall].state;

    if (w->running) {
        atomic_store(&w->stopping, true);
        atomic_fetch_add(&sampling_state.bell, 1);
        lock_wake(&sampling_state.bell, 1);
        pthread_join(w->thread, NULL);
        w->running = false;
    }
    sampling_close(a, SAMPLING_WALL);
}

/* Rows of a thread never overlap: a signal may be handled long after it was sent. */
static void put_row(agent *a, sampling_thread *t, uint64_t time, uint64_t weight)
{
    uint64_t start = time < t->row_end_ns ? t->row_end_ns : time;
    uint64_t cells[5] = {start, (uint64_t)atomic_load(&t->thread), t->last_stack, weight,
                         t->last_state};

    if (weight == 0)
        return;
    t->row_end_ns = start + weight;
    agent_row(a, ENGINE_INDEX_wall, 0, cells);
}

/* Writes the idle time that has gathered under the stack that was seen last. */
static void flush_idle(agent *a, sampling_thread *t)
{
    uint64_t from = atomic_load_explicit(&t->idle_from_ns, memory_order_relaxed);
    uint64_t idle = atomic_exchange_explicit(&t->idle_ns, 0, memory_order_acq_rel);

    if (t->last_stack != 0)
        put_row(a, t, from, idle);
}

void wall_flush_ended(agent *a)
{
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        if (atomic_load(&sampling_state.threads[i].ending))
            flush_idle(a, &sampling_state.threads[i]);
    }
}

void wall_take(agent *a, const sampling_capture *c, const sampling_result *result)
{
    sampling_thread *t = &sampling_state.threads[c->slot % SAMPLING_THREADS];

    bool whole = result->end == STACKWALK_COMPLETE;

    if (atomic_load(&t->thread) != c->thread) {
        /* It has gone, and the slot is another's by now, or nobody's. */
        uint64_t cells[5] = {c->time_ns - c->period_ns, (uint64_t)c->thread, result->stack,
                             c->period_ns, result->state};

        if (c->period_ns != 0 && ((c->flags & SAMPLING_STILL) == 0 || whole))
            agent_row(a, ENGINE_INDEX_wall, 0, cells);
        return;
    }
    flush_idle(a, t);
    sampling_still_learn(t, c,
                         whole && result->blocked && !result->resumed &&
                             (c->flags & (SAMPLING_ON_ALTERNATE | SAMPLING_BARE)) == 0);
    if ((c->flags & SAMPLING_STILL) != 0 && !whole) {
        /* It stood elsewhere after all: a signal shall tell where. */
        if ((c->flags & SAMPLING_BARE) != 0)
            atomic_fetch_add(&t->bare_failures, 1);
        atomic_store(&t->last_blocked, false);
        if (t->last_stack != 0)
            put_row(a, t, c->time_ns - c->period_ns, c->period_ns);
        return;
    }
    atomic_store(&t->stood_at,
                 (c->flags & SAMPLING_ON_ALTERNATE) == 0 ? c->registers[STACKWALK_RSP] : 0);
    if ((c->flags & SAMPLING_BARE) != 0)
        atomic_store(&t->bare_failures, 0);
    t->last_stack = result->stack;
    t->last_state = (c->flags & SAMPLING_IN_COLLECTION) != 0 ? RECORDING_STATE_GC : result->state;
    atomic_store(&t->last_blocked, result->blocked);
    put_row(a, t, c->time_ns - c->period_ns, c->period_ns);
}

static void drain(agent *a, bool last)
{
    sampling_drain(a, last);
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];
        uint64_t idle = atomic_load_explicit(&t->idle_ns, memory_order_relaxed);

        if (idle != 0 && (last || idle >= ROW_AFTER_NS))
            flush_idle(a, t);
    }
}

static void destroy(agent *a)
{
    memory_free(a->engines[ENGINE_INDEX_wall].state);
    sampling_destroy(a);
}

const engine ENGINE_wall = {
    .name = "wall",
    .mask_low = COR_PRF_MONITOR_CLASS_LOADS | COR_PRF_MONITOR_SUSPENDS,
    .mask_high = COR_PRF_HIGH_BASIC_GC,
    .tables = TABLES,
    .table_count = 1,
    .losses = SAMPLING_LOSS_NAMES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .drain = drain,
    .longest_wait_ms = sampling_longest_wait_ms,
    .destroy = destroy,
    .note = sampling_note,
    .on_thread_assigned = sampling_on_thread_assigned,
    .on_thread_named = sampling_on_thread_named,
    .on_thread_destroyed = sampling_on_thread_destroyed,
    .on_class_loading = sampling_on_class_loading,
    .on_collection_started = sampling_on_collection_started,
    .on_collection_finished = sampling_on_collection_finished,
};
