/*
 * contention: every wait for a lock that another thread holds, from the runtime's own events; on
 * request also waits for events, semaphores and other handles.
 *
 * Both events of a wait come on the waiting thread. At its start the thread gets a place in a small
 * table and, within the allowance of thread and lock type, a record with its stack goes into the
 * ring: the stack is taken while the thread has to wait anyway, not while it holds the lock. At the
 * end a second record says how long it was. Beyond the allowance the wait is counted and timed by
 * type only, so totals are exact at any rate. A wait that has not ended when the recording ends is
 * written with what it has lasted so far.
 *
 * The type of a monitor is read from the object's header: the runtime raises that event in
 * cooperative mode, where no object moves. System.Threading.Lock raises it from managed code by a
 * call that lets collections happen: nothing of the object is read then. The two are told apart by
 * the lock's id, which is an address for a monitor and a small handle for a Lock.
 *
 * The thread that holds the lock is asked for its stack by the sampler's signal when a wait with a
 * stack begins. Who stood still since the last time is not woken; its row says how long it stood.
 *
 * Thread rules: engine.h. What callbacks share is atomic; the rest belongs to the own thread.
 */
#include <pthread.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/sampling.h"
#include "agent/snapshot.h"
#include "agent/tally.h"
#include "base/memory.h"
#include "base/os.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_contention,
    LOSS_RING = 0,
    LOSS_PLACES,
    LOSS_TYPES,
    LOSS_BEGAN_BEFORE,
    LOSS_NO_STACK,
    LOSS_HOLDER = SAMPLING_LOST_HOLDER,
    LOSS_INTERRUPTED,
    RECORD_START = 0,
    RECORD_STOP = 1,
    RECORD_STOOD = 2,
    EVENT_CONTENTION_START = 81,
    EVENT_CONTENTION_STOP = 91,
    EVENT_WAIT_START = 301,
    EVENT_WAIT_STOP = 302,
    KIND_MONITOR = 0,
    KIND_LOCK = 1,
    KIND_HANDLE = 2,
    KIND_MONITOR_WAIT = 3,
    FLAG_COUNTED = 1, /* `count` waits without stack; beyond the allowance */
    FLAG_OPEN = 2,    /* not over: the weight is what it has lasted so far */
    FLAG_REST = 4,    /* what an open wait lasted longer; its count is 0 */
    FAMILY_LOCK = 0,  /* of a place's key: a thread may have one of each */
    FAMILY_WAIT = 1,
    PLACES = 2048,
    PROBES = 32,
    OPEN = 4096,
    LARGEST_HANDLE = 1 << 30,
};

/* Small instead of fast: what the own thread does. */
#define SELDOM __attribute__((cold))

enum { TABLES_WAITS(TABLES_CELL) COLUMNS };
enum { TABLES_HOLDERS(TABLES_CELL) HOLDER_COLUMNS };

static const recording_column WAIT_COLUMNS[COLUMNS] = {TABLES_WAITS(TABLES_COLUMN)};
static const recording_column HOLDERS[HOLDER_COLUMNS] = {TABLES_HOLDERS(TABLES_COLUMN)};
static const recording_table TABLES[] = {
    {"waits", "contention", WAIT_COLUMNS, COLUMNS},
    {"holders", "contention", HOLDERS, HOLDER_COLUMNS},
};
static const char LOSSES[] = "ring full\0"
                             "wait not timed: more than 2048 threads waited at once\0"
                             "wait not counted: more than 1024 lock types\0"
                             "wait not counted: it began before the recording\0"
                             "stack not available\0"
                             "stack of a holder not taken, or incomplete\0"
                             "wait not timed: it was interrupted\0";
static const events_wish WISHES[] = {
    {EVENTS_RUNTIME, EVENTS_KEYWORD_CONTENTION, 4, NULL},
    {EVENTS_RUNTIME, EVENTS_KEYWORD_WAIT_HANDLE, 5, NULL}, /* only on request */
};

/* In the ring; `frames` addresses follow. */
typedef struct {
    uint64_t sequence;
    uint64_t time;
    uintptr_t subject;
    uint32_t thread;
    uint32_t owner;
    uint32_t place;
    uint16_t frames;
    uint16_t cut;
} wait_start;

typedef struct {
    uint64_t sequence;
    uint64_t time;
    uint64_t duration; /* 0 = the event does not say */
    uintptr_t subject;
} wait_stop;

/* A holder that has not moved since its stack was taken. */
typedef struct {
    uint64_t time;
    uint32_t thread;
} stood;

/* A thread that waits now. Only that thread writes what is behind the key. */
typedef struct {
    _Atomic uintptr_t key;         /* thread | family; 0 = free */
    atomic_uint_fast64_t sequence; /* 0 = not recorded, only counted */
    uint64_t time;
    uintptr_t subject; /* class of the object, or a KIND_… when there is none */
} place;

typedef struct {
    uint64_t sequence;
    uint32_t place;
    bool is_split; /* a part was written already */
    uint64_t cells[COLUMNS];
} open_wait;

typedef struct {
    allowance allowed;
    tally counted;
    atomic_uint depth;
    atomic_bool waits;
    atomic_bool holders;
    atomic_uint_fast64_t sequence;
    atomic_uint reach; /* the most probes that a claim took */
    place places[PLACES];
    /* own thread */
    open_wait *open;
    size_t open_count;
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static place *place_at(state *s, uintptr_t key, unsigned probe)
{
    return &s->places[((size_t)table_hash_u64(key) + probe) & (PLACES - 1)];
}

/* Looks as far as any place was ever given: with few threads, that is at one place. */
static place *find_place(state *s, uintptr_t key)
{
    unsigned reach = atomic_load_explicit(&s->reach, memory_order_relaxed);

    for (unsigned i = 0; i < reach; i++) {
        place *p = place_at(s, key, i);

        if (atomic_load_explicit(&p->key, memory_order_relaxed) == key)
            return p;
    }
    return NULL;
}

static place *claim_place(state *s, uintptr_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        place *p = place_at(s, key, i);
        unsigned reach = atomic_load_explicit(&s->reach, memory_order_relaxed);
        uintptr_t there = atomic_load_explicit(&p->key, memory_order_relaxed);

        if (there != 0 || !atomic_compare_exchange_strong(&p->key, &there, key))
            continue;
        while (reach <= i && !atomic_compare_exchange_weak(&s->reach, &reach, i + 1)) {
        }
        return p;
    }
    return NULL;
}

static void record_start(agent *a, state *s, place *p, uint32_t owner)
{
    uint32_t depth = atomic_load_explicit(&s->depth, memory_order_relaxed);
    size_t reserved = sizeof(wait_start) + depth * sizeof(uintptr_t);
    wait_start *record = agent_reserve(a, SELF, reserved);
    bool cut = false;

    if (record == NULL)
        return;
    record->sequence = atomic_fetch_add_explicit(&s->sequence, 1, memory_order_relaxed) + 1;
    record->time = p->time;
    record->subject = p->subject;
    record->thread = (uint32_t)os_thread_id();
    record->owner = owner;
    record->place = (uint32_t)(p - s->places);
    record->frames = (uint16_t)snapshot_take(&a->info, (uintptr_t *)(record + 1), depth, &cut);
    record->cut = cut;
    atomic_store_explicit(&p->sequence, record->sequence, memory_order_relaxed);
    agent_commit(a, SELF, record, reserved, RECORD_START,
                 sizeof *record + record->frames * sizeof(uintptr_t));
}

static void ask_holder(agent *a, uint32_t owner)
{
    stood *record;

    if (!sampling_ask_holder((int)owner))
        return;
    record = agent_reserve(a, SELF, sizeof *record);
    if (record == NULL)
        return;
    *record = (stood){os_monotonic_ns(), owner};
    agent_commit(a, SELF, record, sizeof *record, RECORD_STOOD, sizeof *record);
}

static void begin(agent *a, state *s, unsigned family, uintptr_t subject, uint32_t owner)
{
    uintptr_t thread = (uintptr_t)pthread_self();
    place *p = find_place(s, thread | family);

    if (p != NULL) /* of a wait that Thread.Interrupt ended: the runtime does not tell it */
        agent_lose(a, SELF, LOSS_INTERRUPTED, 1);
    else
        p = claim_place(s, thread | family);
    if (p == NULL) {
        agent_lose(a, SELF, LOSS_PLACES, 1);
        return;
    }
    atomic_store_explicit(&p->sequence, 0, memory_order_relaxed);
    p->subject = subject;
    /* what is only counted needs no clock: the end of a wait for a lock says how long it was */
    if (!allowance_take(a, &s->allowed, thread ^ subject * 31)) {
        p->time = family == FAMILY_WAIT ? os_monotonic_ns() : 0;
        return;
    }
    p->time = os_monotonic_ns();
    if (owner != 0 && atomic_load_explicit(&s->holders, memory_order_relaxed))
        ask_holder(a, owner);
    record_start(a, s, p, owner);
}

static void finish(agent *a, state *s, unsigned family, uint64_t duration)
{
    place *p = find_place(s, (uintptr_t)pthread_self() | family);
    uint64_t sequence;
    wait_stop *record = NULL;

    if (p == NULL) {
        if (family == FAMILY_LOCK)
            agent_lose(a, SELF, LOSS_BEGAN_BEFORE, 1);
        return;
    }
    sequence = atomic_load_explicit(&p->sequence, memory_order_relaxed);
    if (sequence != 0)
        record = agent_reserve(a, SELF, sizeof *record);
    if (record != NULL) {
        *record = (wait_stop){sequence, os_monotonic_ns(), duration, p->subject};
        agent_commit(a, SELF, record, sizeof *record, RECORD_STOP, sizeof *record);
    } else if (!tally_add(&s->counted, p->subject + 1, sequence == 0,
                          duration == 0 && p->time != 0 ? os_monotonic_ns() - p->time : duration)) {
        agent_lose(a, SELF, LOSS_TYPES, 1);
    }
    atomic_store_explicit(&p->sequence, 0, memory_order_relaxed);
    atomic_store_explicit(&p->key, 0, memory_order_release);
}

static void on_contention_start(agent *a, state *s, reader *r)
{
    uint8_t flags = reader_u8(r);
    uint64_t lock;
    uint64_t object;
    uint64_t owner;
    uintptr_t subject = KIND_LOCK;

    reader_u16(r);
    lock = reader_u64(r);
    object = reader_u64(r);
    owner = reader_u64(r);
    if (reader_failed(r) || flags != 0)
        return; /* a lock of the runtime itself */
    if (lock > LARGEST_HANDLE) {
        subject = 0;
        if (object != 0)
            memcpy(&subject, (const void *)(uintptr_t)object, sizeof subject);
        subject &= ~(uintptr_t)7; /* the collector's marks */
    }
    begin(a, s, FAMILY_LOCK, subject, (uint32_t)owner);
}

static void on_wait_start(agent *a, state *s, reader *r)
{
    uint8_t source = reader_u8(r);

    /* who waits for a lock waits for a handle inside: that is the same wait */
    if (find_place(s, (uintptr_t)pthread_self() | FAMILY_LOCK) == NULL)
        begin(a, s, FAMILY_WAIT, source == 1 ? KIND_MONITOR_WAIT : KIND_HANDLE, 0);
}

static void on_event(agent *a, const events_event *event)
{
    state *s = state_of(a);
    reader r = event->data;

    if (event->provider != EVENTS_RUNTIME)
        return;
    switch (event->id) {
    case EVENT_CONTENTION_START:
        on_contention_start(a, s, &r);
        break;
    case EVENT_CONTENTION_STOP:
        if (reader_u8(&r) == 0) {
            double duration;

            reader_u16(&r);
            duration = reader_f64(&r);
            finish(a, s, FAMILY_LOCK, duration > 0 && duration < 1e18 ? (uint64_t)duration : 0);
        }
        break;
    case EVENT_WAIT_START:
        if (atomic_load_explicit(&s->waits, memory_order_relaxed))
            on_wait_start(a, s, &r);
        break;
    case EVENT_WAIT_STOP:
        finish(a, s, FAMILY_WAIT, 0);
        break;
    default:
        break;
    }
}

/* ---- on the own thread ---- */

SELDOM static void put_subject(agent *a, uintptr_t subject, uint64_t *cells)
{
    cells[KIND] = subject <= KIND_MONITOR_WAIT ? subject : KIND_MONITOR;
    if (subject == KIND_LOCK)
        cells[TYPE] = names_intern_text(&a->names, "System.Threading.Lock");
    else if (subject == KIND_HANDLE)
        cells[TYPE] = names_intern_text(&a->names, "(wait handle)");
    else if (subject == KIND_MONITOR_WAIT)
        cells[TYPE] = names_intern_text(&a->names, "(Monitor.Wait)");
    else if (subject != 0)
        cells[TYPE] = names_of_class(&a->names, subject);
}

SELDOM static void put_counted(agent *a, uintptr_t subject, uint64_t count, uint64_t sum)
{
    uint64_t cells[COLUMNS] = {0};

    cells[TIME] = os_monotonic_ns();
    cells[WEIGHT] = sum;
    cells[FLAGS] = FLAG_COUNTED;
    cells[COUNT] = count;
    put_subject(a, subject, cells);
    agent_row(a, SELF, 0, cells);
}

static void drop_open(state *s, size_t index)
{
    s->open_count--;
    memmove(&s->open[index], &s->open[index + 1], (s->open_count - index) * sizeof *s->open);
}

/* Writes what waits have lasted so far and keeps the rest for their end. A wait whose thread no
 * longer waits lost its second record to a full ring; its time is in the counts by type. One whose
 * thread has ended was interrupted. */
SELDOM static void split_open(agent *a, state *s)
{
    uint64_t now = os_monotonic_ns();

    for (size_t i = s->open_count; i > 0; i--) {
        open_wait *w = &s->open[i - 1];
        bool is_over = atomic_load(&s->places[w->place].sequence) != w->sequence;

        if (!is_over && sampling_thread_clock((int)w->cells[THREAD]) == 0) {
            is_over = true;
            agent_lose(a, SELF, LOSS_INTERRUPTED, 1);
        }
        w->cells[WEIGHT] = is_over || now < w->cells[TIME] ? 0 : now - w->cells[TIME];
        w->cells[FLAGS] |= is_over ? 0 : FLAG_OPEN;
        agent_row(a, SELF, 0, w->cells);
        w->is_split = true;
        w->cells[TIME] = now;
        w->cells[COUNT] = 0;
        w->cells[FLAGS] = FLAG_REST;
        if (is_over)
            drop_open(s, i - 1);
    }
}

SELDOM static void take_start(agent *a, state *s, const wait_start *record)
{
    open_wait *w;

    if (s->open_count == OPEN)
        split_open(a, s);
    if (s->open_count == OPEN)
        drop_open(s, 0);
    w = &s->open[s->open_count++];
    memset(w, 0, sizeof *w);
    w->sequence = record->sequence;
    w->place = record->place;
    w->cells[TIME] = record->time;
    w->cells[THREAD] = record->thread;
    w->cells[OWNER] = record->owner;
    w->cells[COUNT] = 1;
    put_subject(a, record->subject, w->cells);
    if (record->frames == 0)
        agent_lose(a, SELF, LOSS_NO_STACK, 1);
    else
        w->cells[STACK] = names_stack_of(&a->names, (const uintptr_t *)(record + 1), record->frames,
                                         true, record->cut != 0);
}

static void take_stop(agent *a, state *s, const wait_stop *record)
{
    for (size_t i = s->open_count; i > 0; i--) {
        open_wait *w = &s->open[i - 1];

        if (w->sequence != record->sequence)
            continue;
        w->cells[WEIGHT] = record->time > w->cells[TIME] ? record->time - w->cells[TIME] : 0;
        if (!w->is_split && record->duration != 0)
            w->cells[WEIGHT] = record->duration;
        agent_row(a, SELF, 0, w->cells);
        drop_open(s, i - 1);
        return;
    }
    put_counted(a, record->subject, 0, record->duration); /* its start was written already */
}

SELDOM static void put_holder(agent *a, uint64_t time, uint64_t since, int thread, uint32_t stack)
{
    uint64_t cells[HOLDER_COLUMNS] = {time, (uint64_t)thread, stack, time - since};

    if (stack != 0 && time >= since)
        agent_row(a, SELF, 1, cells);
}

void contention_take_holder(agent *a, const sampling_capture *c, uint32_t stack)
{
    sampling_thread *t = &sampling_state.threads[c->slot % SAMPLING_THREADS];

    t->held_stack = stack;
    t->held_ns = c->time_ns;
    put_holder(a, c->time_ns, c->time_ns, c->thread, stack);
}

SELDOM static void take_stood(agent *a, const stood *record)
{
    const sampling_thread *t;

    sampling_drain(a, false); /* what was taken before */
    t = sampling_thread_at((int)record->thread, SAMPLING_FIND);
    if (t != NULL)
        put_holder(a, record->time, t->held_ns, (int)record->thread, t->held_stack);
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    (void)length;
    if (kind == RECORD_STOOD) {
        take_stood(a, payload);
        return;
    }
    if (kind == RECORD_START)
        take_start(a, state_of(a), payload);
    else
        take_stop(a, state_of(a), payload);
}

SELDOM static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    uintptr_t key;
    uint64_t count;
    uint64_t sum;

    if (!agent_enter_runtime(a))
        return;
    if (atomic_load(&s->holders))
        sampling_drain(a, last);
    for (unsigned i = 0; i < TALLY_KEYS; i++)
        if (tally_take(&s->counted, i, &key, &count, &sum))
            put_counted(a, key - 1, count, sum);
    if (last)
        split_open(a, s);
}

SELDOM static int start(agent *a, error *e)
{
    state *s = state_of(a);

    if (s == NULL) {
        s = memory_allocate_array(1, sizeof *s);
        if (s != NULL)
            s->open = memory_allocate_array(OPEN, sizeof *s->open);
        if (s == NULL || s->open == NULL) {
            memory_free(s);
            return engine_no_memory(SELF, e);
        }
        a->engines[SELF].state = s;
    }
    allowance_reset(&s->allowed);
    tally_reset(&s->counted);
    for (size_t i = 0; i < PLACES; i++)
        atomic_store(&s->places[i].key, 0);
    atomic_store(&s->reach, 0);
    s->open_count = 0;
    return 0;
}

/* Without the signal, locks are recorded without their holders' stacks. */
SELDOM static void configure_holders(agent *a, state *s, bool wanted, uint64_t depth)
{
    error e;

    if (wanted && !atomic_load(&s->holders)) {
        if (sampling_open(a, SAMPLING_HOLDER, &e) != 0)
            agent_lose(a, SELF, LOSS_HOLDER, 1);
        else
            atomic_store(&s->holders, true);
    } else if (!wanted && atomic_exchange(&s->holders, false)) {
        sampling_close(a, SAMPLING_HOLDER);
    }
    if (atomic_load(&s->holders))
        sampling_configure_asked(a, SAMPLING_HOLDER, (unsigned)depth);
}

SELDOM static void configure(agent *a)
{
    state *s = state_of(a);
    const catalogue_selected *user;
    uint64_t stacks = 1;
    uint64_t depth = 1;
    bool waits = false;
    bool holders = false;
    size_t position = 0;

    while ((user = agent_user(a, SELF, &position)) != NULL) {
        uint64_t wanted = catalogue_number(user, "stacks");
        uint64_t frames = catalogue_number(user, "depth");

        stacks = wanted > stacks ? wanted : stacks;
        depth = frames > depth ? frames : depth;
        waits = waits || catalogue_number(user, "waits") != 0;
        holders = holders || catalogue_number(user, "holders") != 0;
    }
    allowance_set(&s->allowed, stacks);
    atomic_store(&s->depth, (unsigned)depth);
    atomic_store(&s->waits, waits);
    configure_holders(a, s, holders, depth);
}

static bool has_table(const catalogue_selected *user, size_t table)
{
    return table == 0 || catalogue_number(user, "holders") != 0;
}

static size_t count_wishes(agent *a)
{
    return atomic_load(&state_of(a)->waits) ? 2 : 1;
}

SELDOM static const char *note(agent *a)
{
    COR_PRF_RUNTIME_TYPE type;
    uint16_t instance, major = 0, minor, build, fix;

    if (atomic_load(&state_of(a)->waits) &&
        clr_info_get_runtime_information(&a->info, &instance, &type, &major, &minor, &build, &fix,
                                         0, NULL, NULL) == S_OK &&
        major < 9)
        return "waits for handles are told by .NET 9 and later only";
    return "";
}

SELDOM static void stop(agent *a)
{
    state_of(a)->open_count = 0;
    configure_holders(a, state_of(a), false, 0);
}

SELDOM static void destroy(agent *a)
{
    sampling_destroy(a);
    memory_free(state_of(a)->open);
    memory_free(state_of(a));
    a->engines[SELF].state = NULL;
}

const engine ENGINE_contention = {
    .name = "contention",
    .mask_low = COR_PRF_ENABLE_STACK_SNAPSHOT,
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE,
    .wishes = WISHES,
    .wish_count = sizeof WISHES / sizeof *WISHES,
    .count_wishes = count_wishes,
    .tables = TABLES,
    .table_count = sizeof TABLES / sizeof *TABLES,
    .has_table = has_table,
    .losses = LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .record = take_record,
    .drain = drain,
    .destroy = destroy,
    .note = note,
    .on_event = on_event,
};
