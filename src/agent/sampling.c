/* sampling: what the profilers cpu, wall, contention and pauses share, on the agent's own thread.
 * See sampling.h. */
#include "agent/sampling.h"

#include <stdio.h>
#include <string.h>

#include "agent/gone.h"
#include "agent/sampling_chain.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "recording/tables.h"

enum { LIST_EVERY_MS = 1000, HEAR_EVERY_MS = 200, WALK_EVERY_MS = 450, NAME_TRIES = 20 };

struct sampling {
    bool users[SAMPLING_KINDS];
    sampling_settings settings[SAMPLING_KINDS];
    sampling_walker *walker;
    uint64_t listed_ns;
    uint64_t heard_ns;
    uint64_t walked_ns;
    uint64_t lost_before[SAMPLING_KINDS][SAMPLING_LOSSES];
    uint64_t captures;  /* taken so far */
    unsigned learnt;    /* times that it was tried to learn where threads' names are */
    uint64_t missed_ns; /* burned by short-lived threads that no sample met */
    /* Both as they were at the last tick. */
    uint64_t captures_before;
    unsigned changes_before; /* of sampling_state.changes */
    unsigned changes_walked; /* … when samples were last walked */
    char note[256];
};

static const uint8_t ENGINE_OF[SAMPLING_KINDS] = {ENGINE_INDEX_cpu, ENGINE_INDEX_wall,
                                                  ENGINE_INDEX_contention, ENGINE_INDEX_pauses};
/* The one loss of a kind that has no others; 0 = it has all of sampling's. */
static const uint8_t LOST_AS[SAMPLING_KINDS] = {0, 0, SAMPLING_LOST_HOLDER, SAMPLING_LOST_LATE};

const recording_column SAMPLING_COLUMNS[SAMPLING_COLUMN_COUNT] = {TABLES_SAMPLES(TABLES_COLUMN)};

const char SAMPLING_LOSS_NAMES[] =
#define X(name, text) text "\0"
    SAMPLING_LOSS_LIST(X)
#undef X
    ;

static bool has_users(const struct sampling *s)
{
    return s != NULL && memchr(s->users, true, sizeof s->users) != NULL;
}

/* Slots outlive sessions; the ids in them do not. */
static void forget_ids(void)
{
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];

        t->start_frame = t->start_tries = t->cpu_stack = t->last_stack = t->held_stack = 0;
        atomic_store(&t->held_clock_ns, 0);
        atomic_store(&t->pending, 0);
        /* by now another thread may have this id */
        atomic_store(&t->readable_from, 0);
        atomic_store(&t->readable_end, 0);
        atomic_store(&t->stack_end, 0);
        t->sampled_ns = t->heard_ns = t->start_next_ns = 0;
        memset(&t->still, 0, sizeof t->still);
        atomic_store(&t->born, false);
        atomic_store(&t->collecting, 0);
    }
}

/* A handler that is still running needs the ring, and somebody to mend its loads: then both stay,
 * for the next time. */
static void let_go(agent *a)
{
    if (!sampling_disarm())
        return;
    sampling_fault_disarm();
    ring_destroy(&sampling_state.captures);
    arena_charge(&a->memory, -(ptrdiff_t)SAMPLING_RING);
}

/* Where there is no signal the rest of the recording goes on, and the note tells. */
int sampling_open(agent *a, sampling_kind kind, error *e)
{
    int code = 0;

    if (a->sampling == NULL)
        a->sampling = memory_allocate_array(1, sizeof *a->sampling);
    if (!has_users(a->sampling)) {
        atomic_store(&sampling_state.own_threads[0], a->own_thread_id);
        if (a->sampling != NULL && a->sampling->walker == NULL)
            a->sampling->walker = sampling_walker_create(a);
        if (a->sampling == NULL || a->sampling->walker == NULL) {
            code = error_set(e, ERROR_MEMORY, "the agent has no memory left");
        } else if (sampling_state.captures.data == NULL) {
            if (arena_charge(&a->memory, SAMPLING_RING) != 0)
                code = error_set(e, ERROR_LIMIT, "no memory for the ring of samples");
            else if ((code = ring_create(&sampling_state.captures, SAMPLING_RING, a->wake, e)) != 0)
                arena_charge(&a->memory, -(ptrdiff_t)SAMPLING_RING);
            gone_watch(GONE_FROM_SAMPLES, &sampling_state.captures);
        } else {
            ring_record late; /* of the time before */

            while (ring_next(&sampling_state.captures, &late))
                ring_release(&sampling_state.captures);
        }
        if (code == 0)
            code = sampling_arm(e);
        if (code != 0) {
            if (sampling_state.captures.data != NULL)
                let_go(a);
            sampling_destroy(a);
            return code;
        }
        forget_ids();
        sampling_walk_start(a->sampling->walker);
        a->sampling->missed_ns = a->sampling->learnt = 0;
        sampling_threads_list();
        sampling_threads_mark_managed(a);
        sampling_fault_arm();
        a->sampling->listed_ns = os_monotonic_ns();
        for (unsigned k = 0; k < SAMPLING_KINDS; k++) {
            for (unsigned i = 0; i < SAMPLING_LOSSES; i++)
                a->sampling->lost_before[k][i] = atomic_load(&sampling_state.lost[k][i]);
        }
    }
    a->sampling->users[kind] = true;
    return 0;
}

void sampling_close(agent *a, sampling_kind kind)
{
    struct sampling *s = a->sampling;

    if (s == NULL || !s->users[kind])
        return;
    s->users[kind] = false;
    if (kind == SAMPLING_CPU)
        sampling_timers_set(0, sampling_state.monotonic);
    sampling_state.interval_ns[kind] = 0;
    if (!has_users(s))
        let_go(a);
}

void sampling_forget(agent *a)
{
    if (a->sampling == NULL || has_users(a->sampling))
        return;
    sampling_walker_free(a->sampling->walker);
    a->sampling->walker = NULL; /* the next one to sample makes it */
}

void sampling_destroy(agent *a)
{
    if (a->sampling == NULL || has_users(a->sampling))
        return;
    sampling_forget(a);
    memory_free(a->sampling);
    a->sampling = NULL;
}

const sampling_settings *sampling_settings_of(agent *a, sampling_kind kind)
{
    return &a->sampling->settings[kind];
}

void sampling_configure_asked(agent *a, sampling_kind kind, unsigned max_depth)
{
    a->sampling->settings[kind] = (sampling_settings){.max_depth = max_depth, .async = true};
}

void sampling_configure(agent *a, sampling_kind kind, unsigned engine_index)
{
    sampling_settings made = {.interval_ns = UINT64_MAX};
    const catalogue_selected *user;
    size_t position = 0, users = 0;

    while ((user = agent_user(a, engine_index, &position)) != NULL) {
        uint64_t interval = catalogue_number(user, "interval");
        unsigned depth = (unsigned)catalogue_number(user, "max_depth");

        made.interval_ns = interval < made.interval_ns ? interval : made.interval_ns;
        made.max_depth = depth > made.max_depth ? depth : made.max_depth;
        made.native = made.native || catalogue_number(user, "native") != 0;
        made.async = made.async || catalogue_number(user, "async") != 0;
        if (kind == SAMPLING_CPU)
            made.monotonic = made.monotonic || catalogue_number(user, "clock") == 1;
        /* Sessions with different filters share all threads. */
        if (users++ == 0)
            snprintf(made.threads, sizeof made.threads, "%s", catalogue_text(user, "threads"));
        else if (strcmp(made.threads, catalogue_text(user, "threads")) != 0)
            made.threads[0] = '\0';
    }
    if (users == 0)
        return;
    if (strcmp(made.threads, "*") == 0)
        made.threads[0] = '\0';
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];

        t->judged &= (uint8_t) ~(1u << kind);
        t->unwanted &= (uint8_t) ~(1u << kind);
    }
    a->sampling->settings[kind] = made;
    sampling_state.interval_ns[kind] = made.interval_ns;
    if (kind == SAMPLING_CPU)
        sampling_timers_set(made.interval_ns, made.monotonic);
}

const char *sampling_note(agent *a)
{
    struct sampling *s = a->sampling;

    if (s == NULL)
        return "";
    if (sampling_state.refusal != NULL)
        snprintf(s->note, sizeof s->note, "running threads were not sampled: it %s",
                 sampling_state.refusal);
    else if (sampling_state.own_profile_signal)
        snprintf(s->note, sizeof s->note, "the program uses SIGPROF itself; we use signal %d",
                 atomic_load(&sampling_state.number));
    else
        return "";
    return s->note;
}

const char *sampling_note_of_cpu(agent *a)
{
    struct sampling *s = a->sampling;
    uint64_t tick_ns = sampling_tick_ns();
    size_t length = strlen(sampling_note(a));

    if (s == NULL)
        return "";
    s->note[length] = '\0';
    if (!s->settings[SAMPLING_CPU].monotonic && s->settings[SAMPLING_CPU].interval_ns < tick_ns)
        snprintf(s->note + length, sizeof s->note - length,
                 "%sthe kernel looks at CPU timers every %u us, so samples come that far apart",
                 length > 0 ? "; " : "", (unsigned)(tick_ns / 1000));
    return s->note;
}

void sampling_cost(uint64_t *sampler_ns, uint64_t *handler_ns, uint64_t *handler_calls)
{
    *sampler_ns = atomic_load(&sampling_state.sampler_cpu_ns);
    *handler_ns = atomic_load(&sampling_state.handler_ns);
    *handler_calls = atomic_load(&sampling_state.handler_calls);
}

/* The runtime calls these on the thread that collects. */
static void mark_collecting(bool starts)
{
    sampling_thread *t = sampling_thread_at(os_thread_id(), SAMPLING_FIND);

    if (t != NULL)
        atomic_store(&t->collecting, starts ? 1 : 0);
}

void sampling_on_collection_started(agent *a)
{
    (void)a;
    mark_collecting(true);
}

void sampling_on_collection_finished(agent *a)
{
    (void)a;
    mark_collecting(false);
}

/* ---- draining ---- */

static bool is_wanted(agent *a, sampling_thread *t, sampling_kind kind)
{
    const char *pattern = a->sampling->settings[kind].threads;
    uint8_t bit = (uint8_t)(1u << kind);
    uint64_t os_thread = (uint64_t)atomic_load(&t->thread);
    char name[THREAD_NAMES_KERNEL];
    buffer whole = BUFFER_EMPTY;

    if (pattern[0] == '\0')
        return true;
    if ((t->judged & bit) != 0)
        return !sampling_is_unwanted(t, kind);
    if (thread_names_kernel(os_thread, name) == 0)
        return false;
    thread_names_append(&a->names.threads, agent_enter_runtime(a) ? &a->info : NULL, os_thread,
                        name, &whole);
    t->judged |= bit;
    if (!text_matches(buffer_text(&whole), pattern))
        t->unwanted |= bit;
    buffer_free(&whole);
    if (sampling_is_unwanted(t, SAMPLING_CPU))
        sampling_timer_drop(t);
    return !sampling_is_unwanted(t, kind);
}

static void count_end(agent *a, sampling_kind kind, const sampling_capture *c, stackwalk_end end)
{
    unsigned reason;

    if (end == STACKWALK_COMPLETE || end == STACKWALK_TRUNCATED || (c->flags & SAMPLING_STILL) != 0)
        return;
    if ((c->flags & SAMPLING_ON_ALTERNATE) != 0)
        reason = SAMPLING_IN_SIGNAL;
    else if (end == STACKWALK_NO_RULE)
        reason = SAMPLING_BROKEN_RULE;
    else if (end == STACKWALK_UNKNOWN_CODE)
        reason = SAMPLING_BROKEN_CODE;
    else if (end == STACKWALK_NOT_COPIED)
        reason = SAMPLING_BROKEN_COPY;
    else
        reason = SAMPLING_BROKEN_CHAIN;
    if (LOST_AS[kind] != 0)
        reason = LOST_AS[kind];
    agent_lose(a, ENGINE_OF[kind], reason, c->weight);
}

static void put_cpu_row(agent *a, uint64_t time, int thread, uint32_t stack, uint64_t weight)
{
    uint64_t cells[5] = {time, (uint64_t)thread, stack, weight, RECORDING_STATE_RUNNING};

    agent_row(a, ENGINE_INDEX_cpu, 0, cells);
}

static void take_capture(agent *a, const sampling_capture *c)
{
    struct sampling *s = a->sampling;
    sampling_kind kind = c->kind < SAMPLING_KINDS ? (sampling_kind)c->kind : SAMPLING_CPU;
    const sampling_settings *settings = &s->settings[kind];
    sampling_thread *t = &sampling_state.threads[c->slot % SAMPLING_THREADS];
    sampling_result result;
    uint64_t weight;

    if (!s->users[kind] || !is_wanted(a, t, kind))
        return;
    result = sampling_walk(s->walker, c, settings);
    count_end(a, kind, c, result.end);
    if (kind == SAMPLING_WALL) {
        wall_take(a, c, &result);
        return;
    }
    if (kind == SAMPLING_HOLDER) {
        contention_take_holder(a, c, result.stack);
        return;
    }
    if (kind == SAMPLING_LATE) {
        pauses_take_late(a, c, result.stack);
        return;
    }
    /* The first sample of a thread that we saw start stands for all it burned so far. */
    weight = c->weight * settings->interval_ns;
    if (atomic_load(&t->born) && t->sampled_ns == 0 && c->cpu_ns != 0 && !settings->monotonic)
        weight = c->cpu_ns;
    if (atomic_load(&t->thread) == c->thread) {
        t->cpu_stack = result.stack;
        t->cpu_time_ns = c->time_ns;
        t->sampled_ns += weight;
    }
    put_cpu_row(a, c->time_ns, c->thread, result.stack, weight);
}

/* The sampler of wall waits for what the walk of its last sample told. */
static void note_read(const sampling_capture *c)
{
    sampling_thread *t = &sampling_state.threads[c->slot % SAMPLING_THREADS];

    if (c->kind == SAMPLING_WALL && atomic_load(&t->unread) > 0)
        atomic_fetch_sub(&t->unread, 1);
}

/* A busy kernel may run a thread of some milliseconds without any tick meeting it. What such
 * threads burned is counted to the next ones that lived as short and were met: the sum is right,
 * and the stacks are those of their like. */
static void put_rest(agent *a, const sampling_rest *rest)
{
    enum { MOST = 4, SHORT_NS = 50000000 };
    struct sampling *s = a->sampling;
    uint64_t more = 0;

    if (rest->stack == 0) {
        if (rest->life_ns <= SHORT_NS && s->settings[SAMPLING_CPU].threads[0] == '\0')
            s->missed_ns += rest->weight_ns;
        return;
    }
    if (rest->life_ns <= SHORT_NS)
        more = s->missed_ns < MOST * rest->life_ns ? s->missed_ns : MOST * rest->life_ns;
    s->missed_ns -= more;
    if (rest->weight_ns + more != 0)
        put_cpu_row(a, rest->time_ns, rest->thread, rest->stack, rest->weight_ns + more);
}

/* What handlers and callbacks counted goes to the engines' counters. */
static void move_losses(agent *a)
{
    for (unsigned k = 0; k < SAMPLING_KINDS; k++) {
        for (unsigned i = 0; i < SAMPLING_LOSSES; i++) {
            uint64_t now = atomic_load(&sampling_state.lost[k][i]);
            uint64_t *before = &a->sampling->lost_before[k][i];

            if (now != *before)
                agent_lose(a, ENGINE_OF[k], LOST_AS[k] != 0 ? LOST_AS[k] : i, now - *before);
            *before = now;
        }
    }
}

/* Threads that come and go need slots and alternate stacks; a ring that fills wakes us itself.
 * Asked once a tick for each kind: what the first of them hears counts. */
unsigned sampling_longest_wait_ms(agent *a)
{
    enum { FEW = 8, SOME_MS = 250 };
    unsigned changes = atomic_load(&sampling_state.changes);
    struct sampling *s = a->sampling;
    bool changed, few;

    if (s == NULL)
        return AGENT_TICK_MS;
    changed = changes != s->changes_before;
    few = s->captures - s->captures_before < FEW;
    s->changes_before = changes;
    s->captures_before = s->captures;
    return changed ? AGENT_TICK_MS : few ? AGENT_LONGEST_TICK_MS : SOME_MS;
}

/*
 * Whether samples can wait: most of what a walk costs is to have its tables in the processor's
 * caches again, so many are walked at once. Not where threads come and go, whose end is told after
 * their samples, nor where somebody waits for all that there is, nor stacks that belong to other
 * records: of holders, and of threads that were slow to stop.
 */
static bool may_wait(agent *a, uint64_t now)
{
    struct sampling *s = a->sampling;

    return !atomic_load(&sampling_state.held) &&
           now - s->walked_ns < (uint64_t)WALK_EVERY_MS * 1000000 &&
           s->changes_walked == atomic_load(&sampling_state.changes) &&
           ring_fill(&sampling_state.captures) < SAMPLING_RING / 4 && !agent_is_hurried(a);
}

/* All that was there at the beginning: what the sampler puts there meanwhile could keep us for as
 * long as it has threads to look at, and nobody would be heard. */
static void walk_all(agent *a)
{
    uint64_t end = atomic_load(&sampling_state.captures.head);
    ring_record record;

    gone_from(GONE_FROM_SAMPLES);
    while (atomic_load(&sampling_state.captures.tail) < end &&
           ring_next(&sampling_state.captures, &record)) {
        const sampling_capture *c = record.payload;

        if (record.length >= sizeof *c &&
            c->stack_length + c->outer_length + c->chain_length <= record.length - sizeof *c) {
            if ((c->flags & SAMPLING_LOADS_TYPE) != 0) {
                sampling_walk_loading(a->sampling->walker, c);
            } else {
                take_capture(a, c);
                note_read(c);
            }
        }
        a->sampling->captures++;
        ring_release(&sampling_state.captures);
    }
    gone_from(GONE_FROM_NOW);
}

/* What threads that have gone burned after their last sample, which may have come after the walks
 * of this round: a slot that is used again knows nothing of the thread before. */
static void reap(agent *a)
{
    sampling_rest rests[64];
    size_t count;

    if (!sampling_threads_find_gone())
        return;
    walk_all(a);
    if (a->sampling->users[SAMPLING_WALL])
        wall_flush_ended(a);
    do {
        count = sampling_threads_reap(rests, 64);
        for (size_t i = 0; i < count; i++)
            put_rest(a, &rests[i]);
    } while (count == 64);
}

void sampling_drain(agent *a, bool last)
{
    uint64_t now = os_monotonic_ns();

    if (!has_users(a->sampling))
        return;
    sampling_stacks_fill();
    sampling_keep_signal();
    if (last || now - a->sampling->heard_ns >= (uint64_t)HEAR_EVERY_MS * 1000000) {
        a->sampling->heard_ns = now;
        sampling_threads_hear(false);
    }
    if (!last && may_wait(a, now))
        return;
    a->sampling->walked_ns = now;
    /* When a program starts under us its threads are not there yet. */
    if (a->names.threads.handle_offset == 0 && a->sampling->learnt++ < NAME_TRIES)
        sampling_threads_mark_managed(a);
    atomic_store(&sampling_state.held, false);
    a->sampling->changes_walked = atomic_load(&sampling_state.changes);
    walk_all(a);
    reap(a);
    move_losses(a);
    if (now - a->sampling->listed_ns >= (uint64_t)LIST_EVERY_MS * 1000000) {
        a->sampling->listed_ns = now;
        sampling_threads_list();
        sampling_threads_judge_again(a);
        sampling_chain_forget();
    } else if (last) {
        sampling_threads_judge_again(a);
    }
}
