/*
 * pauses: every suspension of the runtime, with its reason, how long the threads took to stop, how
 * long they stood, and, where stopping was slow, the thread that came last and its stack.
 *
 * The suspending thread reports start, all stopped, and all running again; one suspension is under
 * way at a time. Other threads report themselves when they meet it. One that does so later than
 * `slow` after the start puts its return addresses into the ring. The one that did so nearest to
 * the moment when all had stopped is the one the others waited for. A thread tells the runtime
 * that it stops before it tells us, and may get no processor in between: so the row of a slow
 * suspension is held back for a while.
 *
 * The place where it stopped is not on the chain of frame pointers: a signal came in there, or the
 * runtime's helper that it runs into there keeps no frame, but has the return address among what it
 * saved. So the words behind the innermost frames come along.
 *
 * One that gets no processor after it let the others go on (8.0: whoever it woke takes its place)
 * reports itself when all is over, or the runtime does not tell. So whoever suspends looks for it,
 * when all have stopped late and nobody has reported itself: the one managed thread that wants a
 * processor. A signal takes its stack as soon as it runs. One that stopped because it went to wait
 * is not seen then: while a stopping goes on for long, the own thread looks too.
 *
 * Thread rules: engine.h. What callbacks share is atomic; the rest belongs to the own thread.
 */
#include <string.h>
#include <ucontext.h>

#include "agent/agent.h"
#include "agent/gone.h"
#include "agent/sampling.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "profilers/exception_stack.h"
#include "stackwalk/peek.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_pauses,
    RECORD_PAUSE = 0,
    RECORD_LATE = 1,
    DEPTH = 128,
    LATE = 64, /* of one suspension */
    GAPS = 8,  /* frames whose words come along */
    WORDS = 16,
    HELD_NS = 300000000,
};

enum { TABLES_PAUSES(TABLES_CELL) COLUMNS };

static const recording_column PAUSE_COLUMNS[COLUMNS] = {TABLES_PAUSES(TABLES_COLUMN)};
static const recording_table TABLES[] = {{"pauses", "pauses", PAUSE_COLUMNS, COLUMNS}};
static const char LOSSES[] = "ring full\0"
                             "stack of a slow thread not taken, or incomplete\0";

typedef struct {
    uint64_t number;
    uint64_t begin;
    uint64_t suspended;
    uint64_t end;
    uint32_t thread;
    uint32_t reason;
} pause_record;

/* In the ring; `frames` addresses follow. */
typedef struct {
    uint64_t number; /* of the suspension it met */
    uint64_t time;
    uint32_t thread;
    uint16_t frames;
    uint8_t cut;
    uint8_t signal; /* + 1: the frame that a signal made; the address behind it was interrupted */
    uintptr_t links[GAPS]; /* to the next frame */
    uintptr_t gaps[GAPS][WORDS];
} late_record;

typedef struct {
    uint64_t number;
    uint64_t time;
    uint32_t thread;
    uint32_t stack;
    bool found; /* because it had not reported itself */
} late;

typedef struct {
    atomic_uint_fast64_t slow;
    /* the suspension under way: written by the thread that suspends, one at a time */
    atomic_uint_fast64_t number;
    atomic_uint_fast64_t begin; /* 0 = none */
    atomic_uint_fast64_t suspended;
    atomic_uint reason;
    atomic_uint_fast64_t over;        /* number of the last one, when it was slow; else 0 */
    atomic_uint_fast64_t reported_ns; /* when somebody last reported itself late */
    atomic_bool looks;                /* for those that do not report themselves */
    /* own thread */
    pause_record held;
    bool is_held;
    late late[LATE];
    size_t late_count;
    uint64_t looked; /* number of the suspension in which a thread was found meanwhile */
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

void pauses_on_started(agent *a, COR_PRF_SUSPEND_REASON reason)
{
    state *s = state_of(a);

    atomic_fetch_add(&s->number, 1);
    atomic_store(&s->reason, (unsigned)reason);
    atomic_store(&s->suspended, 0);
    atomic_store(&s->begin, os_monotonic_ns());
}

/* What a report may be apart from the end of a stopping that took that long. */
static uint64_t grace_of(uint64_t stopping)
{
    return stopping / 4;
}

/* Who stopped last, or is the last to stop, where that one has not reported itself. The program
 * waits for this: it may take an eighth of the time that the stopping took. */
static bool find_unreported(state *s, uint64_t number, uint64_t begin)
{
    uint64_t now = os_monotonic_ns();
    sampling_thread *t;

    if (begin == 0 || now - begin < atomic_load_explicit(&s->slow, memory_order_relaxed) ||
        !atomic_load(&s->looks) || now - atomic_load(&s->reported_ns) <= grace_of(now - begin))
        return false;
    t = sampling_find_running(now + (now - begin) / 8);
    if (t == NULL)
        return false;
    atomic_store(&t->late_for, number);
    return sampling_send(t, SAMPLING_LATE);
}

void pauses_on_finished(agent *a)
{
    state *s = state_of(a);

    atomic_store(&s->suspended, os_monotonic_ns());
    find_unreported(s, atomic_load(&s->number), atomic_load(&s->begin));
}

static bool is_slow(state *s, const pause_record *record)
{
    return record->suspended - record->begin >=
           atomic_load_explicit(&s->slow, memory_order_relaxed);
}

void pauses_on_resumed(agent *a)
{
    state *s = state_of(a);
    uint64_t begin = atomic_exchange(&s->begin, 0), suspended = atomic_load(&s->suspended);
    pause_record *record;

    if (begin == 0)
        return; /* it began before we looked */
    record = agent_reserve(a, SELF, sizeof *record);
    if (record == NULL)
        return;
    record->number = atomic_load(&s->number);
    record->begin = begin;
    record->suspended = suspended != 0 ? suspended : begin;
    record->end = os_monotonic_ns();
    record->thread = (uint32_t)os_thread_id();
    record->reason = atomic_load(&s->reason);
    atomic_store(&s->over, is_slow(s, record) ? record->number : 0);
    agent_commit(a, SELF, record, sizeof *record, RECORD_PAUSE, sizeof *record);
}

/* Where a signal came in, when the frame returns to what ends a signal's handler; else 0. */
static uintptr_t interrupted_at(peek_process *own, uintptr_t frame, uintptr_t address)
{
    uintptr_t place = 0;
#if defined(__x86_64__)
    const ucontext_t *context = (const ucontext_t *)(frame + 2 * sizeof frame);
    uint8_t code[EXCEPTION_SIGNAL_RETURN_BYTES];

    if (!peek_process_read(own, address, code, sizeof code) || !exception_is_signal_return(code) ||
        !peek_process_read(own, (uintptr_t)&context->uc_mcontext.gregs[REG_RIP], &place,
                           sizeof place))
        return 0;
#else
    (void)own;
    (void)frame;
    (void)address;
#endif
    return place;
}

/* Return addresses along the chain of frame pointers, native ones too: the runtime takes no
 * snapshot in this callback. */
static void walk_frames(late_record *record, uintptr_t *addresses)
{
    peek_process own = {os_process_id(), -1};
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    uintptr_t link[2];
    size_t count = 0;

    memset(record->gaps, 0, sizeof record->gaps);
    record->signal = 0;
    while (count + 1 < DEPTH && peek_process_read(&own, frame, link, sizeof link)) {
        uintptr_t between = link[0] > frame ? link[0] - frame - sizeof link : 0;
        uintptr_t place =
            record->signal == 0 && count < GAPS ? interrupted_at(&own, frame, link[1]) : 0;

        if (count < GAPS)
            record->links[count] = link[0];
        if (count < GAPS && between < (1 << 20))
            peek_process_read(&own, frame + sizeof link, record->gaps[count],
                              between < sizeof *record->gaps ? between : sizeof *record->gaps);
        addresses[count++] = link[1];
        if (place != 0) {
            record->signal = (uint8_t)count;
            addresses[count++] = place;
        }
        if (link[0] <= frame)
            break;
        frame = link[0];
    }
    record->frames = (uint16_t)count;
    record->cut = count + 1 >= DEPTH;
}

void pauses_on_thread_suspended(agent *a, ThreadID thread)
{
    state *s = state_of(a);
    uint64_t begin = atomic_load(&s->begin);
    uint64_t number = begin != 0 ? atomic_load(&s->number) : atomic_load(&s->over);
    uint64_t now = os_monotonic_ns();
    size_t reserved = sizeof(late_record) + DEPTH * sizeof(uintptr_t);
    late_record *record;

    (void)thread;
    if (number == 0 ||
        (begin != 0 &&
         (now < begin || now - begin < atomic_load_explicit(&s->slow, memory_order_relaxed))))
        return;
    record = agent_reserve(a, SELF, reserved);
    if (record == NULL)
        return;
    atomic_store(&s->reported_ns, now);
    record->number = number;
    record->time = now;
    record->thread = (uint32_t)os_thread_id();
    walk_frames(record, (uintptr_t *)(record + 1));
    agent_commit(a, SELF, record, reserved, RECORD_LATE,
                 sizeof *record + record->frames * sizeof(uintptr_t));
}

/* ---- on the own thread ---- */

/* What the code around the address is known by; 0 = it is no managed code. */
static uintptr_t function_at(agent *a, uintptr_t address)
{
    FunctionID function = 0;
    gone_method was;
    HRESULT hr;

    if (address == 0)
        return 0;
    if (!names_ask_code(&a->names, address))
        return gone_code_was(address, &was) ? was.start : 0;
    hr = clr_info_get_function_from_ip(&a->info, (const uint8_t *)address, &function);
    names_answered(&a->names);
    return hr == S_OK ? function : 0;
}

/* Looks at a copy: code can go away. */
static bool follows_call(uintptr_t address)
{
    peek_process own = {os_process_id(), -1};
    uint8_t code[EXCEPTION_CALL_BYTES];

    return peek_process_read(&own, address - sizeof code, code, sizeof code) &&
           exception_follows_call((uintptr_t)(code + sizeof code));
}

/* The innermost return address into managed code that a helper of the runtime saved; 0 = none. The
 * helper saves the caller's rbp right below it; other words there are of calls long over. */
static uintptr_t find_saved(agent *a, const late_record *record)
{
    const uintptr_t *addresses = (const uintptr_t *)(record + 1);

    for (size_t i = 0; i < GAPS && i < record->frames && function_at(a, addresses[i]) == 0; i++)
        for (size_t k = 1; k < WORDS; k++)
            if (record->gaps[i][k - 1] == record->links[i] &&
                function_at(a, record->gaps[i][k]) != 0 && follows_call(record->gaps[i][k]))
                return record->gaps[i][k];
    return 0;
}

/* Of the addresses those that are managed code. A method that was replaced on stack has two frames,
 * the outer one of its first code. */
static size_t keep_managed(agent *a, const late_record *record, uintptr_t *kept)
{
    const uintptr_t *addresses = (const uintptr_t *)(record + 1);
    uintptr_t saved = record->signal != 0 ? 0 : find_saved(a, record);
    uintptr_t leaf = function_at(a, saved);
    size_t length = 0;

    if (saved != 0)
        kept[length++] = saved;
    for (size_t i = 0; i < record->frames; i++) {
        uintptr_t function = function_at(a, addresses[i]);

        if (function == 0 || (length == 1 && function == leaf))
            continue;
        leaf = function;
        kept[length++] = addresses[i];
    }
    return length;
}

/* Whether the leaf is a place that a signal came in at, and no return address. */
static bool is_interrupted(const late_record *record, uintptr_t leaf)
{
    return record->signal != 0 && ((const uintptr_t *)(record + 1))[record->signal] == leaf;
}

static late *add_late(state *s)
{
    if (s->late_count == LATE) {
        memmove(&s->late[0], &s->late[1], (LATE - 1) * sizeof *s->late);
        s->late_count--;
    }
    return &s->late[s->late_count++];
}

void pauses_take_late(agent *a, const sampling_capture *c, uint32_t stack)
{
    *add_late(state_of(a)) = (late){c->period_ns, c->time_ns, (uint32_t)c->thread, stack, true};
}

static void take_late(agent *a, state *s, const late_record *record)
{
    uintptr_t managed[DEPTH + 1];
    size_t count = keep_managed(a, record, managed);
    char name[THREAD_NAMES_KERNEL];
    late *l;

    /* A thread of the runtime came back from a wait: only managed code keeps others waiting. One of
     * the program's can have code that keeps no chain of frames. */
    if (count == 0 &&
        (thread_names_kernel(record->thread, name) == 0 || text_starts_with(name, ".NET ")))
        return;
    l = add_late(s);
    *l = (late){record->number, record->time, record->thread, 0, false};
    if (count != 0)
        l->stack = names_stack_of(&a->names, managed, count, !is_interrupted(record, managed[0]),
                                  record->cut != 0);
}

/* The report nearest to the moment when all had stopped; NULL = none. The thread that suspends
 * reports itself too. What comes long after belongs to threads that came back from native code into
 * a standing runtime: they kept nobody waiting. Where none is near, the one that was found, with
 * the stack from within the slow code where there is one. */
static const late *find_last(const state *s, const pause_record *record, uint64_t slow)
{
    uint64_t grace = grace_of(record->suspended - record->begin);
    uint64_t nearest = UINT64_MAX;
    const late *found = NULL, *other = NULL;

    grace = grace > slow ? grace : slow;
    for (size_t i = 0; i < s->late_count; i++) {
        const late *l = &s->late[i];
        bool is_after = l->time > record->suspended;
        uint64_t distance = is_after ? l->time - record->suspended : record->suspended - l->time;

        if (l->number != record->number || l->thread == record->thread)
            continue;
        if (l->found) {
            other = other != NULL && other->thread == l->thread ? other : l;
        } else if (distance < nearest && (!is_after || distance <= grace)) {
            nearest = distance;
            found = l;
        }
    }
    return other == NULL || nearest <= grace ? found : other;
}

static void write_pause(agent *a, state *s, const pause_record *record)
{
    uint64_t cells[COLUMNS] = {0};
    const late *last = is_slow(s, record) ? find_last(s, record, atomic_load(&s->slow)) : NULL;

    cells[TIME] = record->begin;
    cells[THREAD] = record->thread;
    cells[WEIGHT] = record->end - record->begin;
    cells[SUSPENDING] = record->suspended - record->begin;
    cells[REASON] = record->reason;
    if (last != NULL) {
        cells[STACK] = last->stack;
        cells[LAST_THREAD] = last->thread;
        cells[LAST_AFTER] = (last->found ? record->suspended : last->time) - record->begin;
    }
    agent_row(a, SELF, 0, cells);
}

static void write_held(agent *a, state *s)
{
    size_t kept = 0;

    if (!s->is_held)
        return;
    if (atomic_load(&s->looks))
        sampling_drain(a, false); /* the stack of the one that was found may have come */
    s->is_held = false;
    write_pause(a, s, &s->held);
    for (size_t i = 0; i < s->late_count; i++)
        if (s->late[i].number > s->held.number)
            s->late[kept++] = s->late[i];
    s->late_count = kept;
}

static void take_pause(agent *a, state *s, const pause_record *record)
{
    write_held(a, s);
    if (is_slow(s, record)) {
        s->held = *record;
        s->is_held = true;
    } else {
        write_pause(a, s, record);
    }
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    state *s = state_of(a);

    (void)length;
    if (kind == RECORD_PAUSE)
        take_pause(a, s, payload);
    else
        take_late(a, s, payload);
}

/* A stopping that goes on. When another one begins between the two looks, it is too young. */
static void look_meanwhile(state *s)
{
    uint64_t number = atomic_load(&s->number), begin = atomic_load(&s->begin);

    if (number != s->looked && atomic_load(&s->suspended) == 0 && find_unreported(s, number, begin))
        s->looked = number;
}

static void drain(agent *a, bool last)
{
    state *s = state_of(a);

    look_meanwhile(s);
    if (atomic_load(&s->looks))
        sampling_drain(a, last);
    if (s->is_held && (last || os_monotonic_ns() - s->held.end > HELD_NS))
        write_held(a, s);
}

static int start(agent *a, error *e)
{
    state *s = state_of(a);

    if (s == NULL)
        s = memory_allocate_array(1, sizeof *s);
    if (s == NULL)
        return engine_no_memory(SELF, e);
    atomic_store(&s->begin, 0);
    atomic_store(&s->over, 0);
    s->is_held = false;
    s->late_count = 0;
    a->engines[SELF].state = s;
    /* Without the signal, only threads that report themselves are named. */
    atomic_store(&s->looks, sampling_open(a, SAMPLING_LATE, NULL) == 0);
    if (atomic_load(&s->looks))
        sampling_configure_asked(a, SAMPLING_LATE, DEPTH);
    return 0;
}

static void stop(agent *a)
{
    atomic_store(&state_of(a)->looks, false);
    sampling_close(a, SAMPLING_LATE);
}

static void destroy(agent *a)
{
    sampling_destroy(a);
    memory_free(state_of(a));
    a->engines[SELF].state = NULL;
}

static void configure(agent *a)
{
    const catalogue_selected *user;
    uint64_t slow = UINT64_MAX;
    size_t position = 0;

    while ((user = agent_user(a, SELF, &position)) != NULL) {
        uint64_t wanted = catalogue_number(user, "slow");

        slow = wanted < slow ? wanted : slow;
    }
    atomic_store(&state_of(a)->slow, slow);
}

const engine ENGINE_pauses = {
    .name = "pauses",
    .mask_low = COR_PRF_MONITOR_SUSPENDS,
    .mask_high = 0,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .record = take_record,
    .drain = drain,
    .destroy = destroy,
    .on_thread_assigned = sampling_on_thread_assigned,
    .on_thread_destroyed = sampling_on_thread_destroyed,
};
