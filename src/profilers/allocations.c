/*
 * allocations: what the program allocates, by type and stack.
 *
 * Small objects are sampled by the runtime. From .NET 10 on every byte has the same chance, so an
 * object of n bytes is seen with the chance 1 - exp(-n / 102400) and stands for one over that
 * chance. Before, the runtime tells of the object that passes each 100 KiB or so; it stands for the
 * bytes since the last one. Large objects are told one by one, by another callback, and counted
 * exactly.
 *
 * When more samples come than `rate`, a random part of them is kept, and each stands for as many
 * more: the estimate stays without bias. The own thread halves or doubles that part as it sees how
 * many come.
 *
 * With `exact`, in a program that the tool started, every object is counted instead
 * (allocations_exact.h). Which objects are alive at the end: allocations_live.h.
 *
 * Thread rules: engine.h. What callbacks share is atomic; the rest belongs to the own thread.
 */
#include "agent/agent.h"
#include "agent/snapshot.h"
#include "base/memory.h"
#include "base/os.h"
#include "clr/allocation_events.h"
#include "profilers/allocations_exact.h"
#include "profilers/allocations_live.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_allocations,
    LOSS_RING = 0,
    LOSS_NO_STACK = 1,
    LOSS_NO_PLACE = 2,
    LOSS_NOT_HELD = 3,
    EVENT_TICK = 10,
    EVENT_SAMPLED = 303,
    HEAP_LARGE = 1,
    HEAP_PINNED = 2,
    KIND_SAMPLED = 0,
    KIND_TICK = 1,
    KIND_LARGE = 2,
    KIND_EXACT = 3,  /* `count` objects */
    RECORD_HELD = 4, /* no row: only for what is alive at the end */
    RECORD_PLACE = 5,
    LARGE = 85000,
    MOST_SHIFT = 20,
    SAMPLING_MAJOR = 10, /* the first .NET that samples by itself */
};

enum { TABLES_ALLOCATIONS(TABLES_CELL) COLUMNS };

static const recording_column ALLOCATION_COLUMNS[COLUMNS] = {TABLES_ALLOCATIONS(TABLES_COLUMN)};
static const recording_table TABLES[] = {
    {"allocations", "allocations", ALLOCATION_COLUMNS, COLUMNS},
    {"live", "allocations", ALLOCATION_COLUMNS, COLUMNS},
};
_Static_assert((int)COLUMNS == ALLOCATIONS_COLUMNS && (int)BYTES == ALLOCATIONS_BYTES &&
                   (int)KIND == ALLOCATIONS_KIND,
               "allocations_live.h keeps rows");
static const char LOSSES[] = "ring full\0"
                             "stack not available\0"
                             "object counted without type and stack: more than 32,767 of them\0"
                             "object counted, but not followed to the end: ring full\0";
static const events_wish WISHES[] = {
    {EVENTS_RUNTIME, EVENTS_KEYWORD_ALLOCATION_SAMPLING, 4, NULL},
    {EVENTS_RUNTIME, EVENTS_KEYWORD_GC, 5, NULL}, /* before .NET 10 */
};

/* In the ring; `frames` addresses follow. */
typedef struct {
    uint64_t time;
    uintptr_t type;
    uint64_t size;
    uint64_t amount;       /* of a tick: bytes since the last one */
    ObjectHandleID handle; /* 0 = none; allocations_live.h */
    uint64_t draw;
    uint32_t thread;
    uint16_t frames;
    uint8_t cut;
    uint8_t shift; /* one of 2^shift was kept */
} allocation;

typedef struct {
    atomic_uint depth;
    atomic_uint shift;
    atomic_uint_fast64_t seen; /* samples so far; also what the random part is drawn from */
    /* of ticks at large pinned objects: what small ones were before them, for the next tick */
    atomic_uint_fast64_t pinned_left;
    /* own thread */
    uint64_t rate;
    uint64_t seen_before;
    uint64_t looked_ns;
    bool ticks;
    bool no_handles;
    allocations_live live;
    allocations_exact exact;
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static void put(agent *a, state *s, unsigned kind, const allocation *what, ObjectHandleID handle)
{
    uint32_t depth = atomic_load_explicit(&s->depth, memory_order_relaxed);
    size_t reserved = sizeof(allocation) + depth * sizeof(uintptr_t);
    /* what is only followed leaves half of the ring to what counts */
    bool has_room = kind != RECORD_HELD || ring_fill(&a->events) < a->events.size / 2;
    allocation *record = has_room ? ring_reserve(&a->events, reserved) : NULL;
    bool cut = false;

    if (record == NULL) {
        agent_lose(a, SELF, kind == RECORD_HELD ? LOSS_NOT_HELD : LOSS_RING, 1);
        if (handle != 0)
            clr_info_destroy_handle(&a->info, handle);
        return;
    }
    *record = *what;
    record->handle = handle;
    record->time = os_monotonic_ns();
    record->thread = (uint32_t)os_thread_id();
    record->frames = (uint16_t)snapshot_take(&a->info, (uintptr_t *)(record + 1), depth, &cut);
    record->cut = cut;
    agent_commit(a, SELF, record, reserved, kind,
                 sizeof *record + record->frames * sizeof(uintptr_t));
}

/* A random number for each sample: its lower half decides what is kept of them. */
static uint64_t draw_next(state *s)
{
    return table_hash_u64(atomic_fetch_add_explicit(&s->seen, 1, memory_order_relaxed) + 1) >> 8;
}

/* Large objects are told one by one, those that the program pins when it makes them too: their
 * samples do not count. */
static bool is_told_apart(state *s, uint32_t heap, allocation *what)
{
    if (heap != HEAP_PINNED)
        return heap == HEAP_LARGE;
    if (what->size < LARGE) {
        what->amount += atomic_exchange_explicit(&s->pinned_left, 0, memory_order_relaxed);
        return false;
    }
    if (what->amount > what->size)
        atomic_fetch_add_explicit(&s->pinned_left, what->amount - what->size, memory_order_relaxed);
    return true;
}

static void on_event(agent *a, const events_event *event)
{
    state *s = state_of(a);
    reader r = event->data;
    allocation what = {0};
    ObjectID object;
    uint32_t heap;
    uint64_t draw;
    size_t units;

    if (event->provider != EVENTS_RUNTIME ||
        (event->id != EVENT_TICK && event->id != EVENT_SAMPLED))
        return;
    if (event->id == EVENT_TICK)
        reader_u32(&r);
    heap = reader_u32(&r);
    reader_u16(&r);
    if (event->id == EVENT_TICK)
        what.amount = reader_u64(&r);
    what.type = (uintptr_t)reader_u64(&r);
    events_read_text(&r, &units);
    if (event->id == EVENT_TICK)
        reader_u32(&r);
    object = (ObjectID)reader_u64(&r);
    what.size = reader_u64(&r);
    if (reader_failed(&r) || is_told_apart(s, heap, &what))
        return;
    what.shift = (uint8_t)atomic_load_explicit(&s->shift, memory_order_relaxed);
    draw = draw_next(s);
    if ((draw & ((UINT64_C(1) << what.shift) - 1)) != 0)
        return;
    what.draw = draw >> MOST_SHIFT;
    put(a, s, event->id == EVENT_TICK ? KIND_TICK : KIND_SAMPLED, &what,
        allocations_live_hold(a, &s->live, object, what.draw));
}

void allocations_on_object(agent *a, ObjectID object, ClassID class_id)
{
    state *s = state_of(a);
    allocation what = {.type = class_id};
    ObjectHandleID handle;
    size_t size = 0;

    if (CLR_OK(clr_info_get_object_size2(&a->info, object, &size)))
        what.size = size;
    /* Where another profiler asks for every object, the runtime tells them all to this one too. */
    if (what.size < LARGE && !atomic_load_explicit(&s->exact.wanted, memory_order_relaxed))
        return;
    what.draw = draw_next(s) >> MOST_SHIFT;
    handle = allocations_live_hold(a, &s->live, object, what.draw);
    if (what.size >= LARGE) {
        put(a, s, KIND_LARGE, &what, handle);
        return;
    }
    if (handle != 0)
        put(a, s, RECORD_HELD, &what, handle);
    if (!allocations_exact_count(a, &s->exact, SELF, RECORD_PLACE, class_id, what.size,
                                 atomic_load_explicit(&s->depth, memory_order_relaxed)))
        agent_lose(a, SELF, LOSS_NO_PLACE, 1);
}

/* ---- on the own thread ---- */

static uint64_t bytes_of(unsigned kind, const allocation *record)
{
    if (kind == KIND_LARGE || kind == RECORD_HELD || record->size == 0)
        return record->size;
    if (kind == KIND_TICK)
        return record->amount << record->shift;
    return (uint64_t)((double)record->size * (double)(UINT64_C(1) << record->shift) /
                          allocation_chance((double)record->size / ALLOCATION_MEAN_DISTANCE) +
                      0.5);
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    const allocation *record = payload;
    uint64_t cells[COLUMNS] = {0};

    (void)length;
    if (kind == RECORD_PLACE) {
        allocations_exact_take(a, &state_of(a)->exact, payload);
        return;
    }
    cells[TIME] = record->time;
    cells[THREAD] = record->thread;
    cells[BYTES] = bytes_of(kind, record);
    cells[SIZE] = record->size;
    cells[KIND] = kind == RECORD_HELD ? KIND_LARGE : kind;
    if (record->type != 0)
        cells[TYPE] = names_of_class(&a->names, record->type);
    if (record->frames == 0)
        agent_lose(a, SELF, LOSS_NO_STACK, kind != RECORD_HELD);
    else
        cells[STACK] = names_stack_of(&a->names, (const uintptr_t *)(record + 1), record->frames,
                                      true, record->cut != 0);
    if (kind != RECORD_HELD)
        agent_row(a, SELF, 0, cells);
    if (record->handle != 0)
        allocations_live_keep(a, &state_of(a)->live, record->handle, record->draw, cells);
}

static void tell_exact(agent *a, uint32_t type, uint32_t stack, uint64_t count, uint64_t bytes)
{
    uint64_t cells[COLUMNS] = {0};

    cells[TIME] = os_monotonic_ns();
    cells[STACK] = stack;
    cells[TYPE] = type;
    cells[BYTES] = bytes;
    cells[SIZE] = bytes / count;
    cells[KIND] = KIND_EXACT;
    cells[COUNT] = count;
    agent_row(a, SELF, 0, cells);
}

/* Keeps a larger or smaller part of the samples, by how many came since the last look. */
static void drain(agent *a, bool last)
{
    enum { LOOK_NS = 100000000 };
    state *s = state_of(a);
    uint64_t now = os_monotonic_ns();
    uint64_t seen = atomic_load(&s->seen);
    uint64_t per_second;
    unsigned shift = 0;

    allocations_exact_drain(a, &s->exact, last, tell_exact);
    if (last)
        allocations_live_tell(a, &s->live, SELF);
    if (last || now - s->looked_ns < LOOK_NS)
        return;
    per_second = (seen - s->seen_before) * 1000000000 / (now - s->looked_ns);
    while (shift < MOST_SHIFT && per_second >> shift > s->rate)
        shift++;
    atomic_store(&s->shift, shift);
    s->seen_before = seen;
    s->looked_ns = now;
}

static int start(agent *a, error *e)
{
    state *s = state_of(a);
    clr_runtime runtime;

    if (s == NULL)
        s = memory_allocate_array(1, sizeof *s);
    if (s == NULL)
        return engine_no_memory(SELF, e);
    a->engines[SELF].state = s;
    s->ticks = clr_get_runtime(&a->info, &runtime) != S_OK || runtime.major < SAMPLING_MAJOR;
    s->looked_ns = os_monotonic_ns();
    s->seen_before = atomic_load(&s->seen);
    atomic_store(&s->shift, 0);
    return 0;
}

static void configure(agent *a)
{
    state *s = state_of(a);
    const catalogue_selected *user;
    uint64_t depth = 1;
    size_t position = 0;
    bool live = false;
    bool exact = false;

    s->rate = 1;
    while ((user = agent_user(a, SELF, &position)) != NULL) {
        uint64_t rate = catalogue_number(user, "rate");
        uint64_t frames = catalogue_number(user, "depth");

        s->rate = rate > s->rate ? rate : s->rate;
        depth = frames > depth ? frames : depth;
        exact = exact || catalogue_number(user, "exact") != 0;
        live = live || catalogue_number(user, "live") != 0;
    }
    atomic_store(&s->depth, (unsigned)depth);
    allocations_exact_want(&s->exact, exact && a->by_start);
    s->no_handles = !allocations_live_want(a, &s->live, live);
}

static bool is_exact(agent *a)
{
    return atomic_load(&state_of(a)->exact.wanted);
}

static uint32_t further_mask(agent *a)
{
    return is_exact(a) ? COR_PRF_MONITOR_OBJECT_ALLOCATED | COR_PRF_ENABLE_OBJECT_ALLOCATED : 0;
}

static bool has_table(const catalogue_selected *user, size_t table)
{
    return table == 0 || catalogue_number(user, "live") != 0;
}

static void stop(agent *a)
{
    state *s = state_of(a);

    allocations_live_want(a, &s->live, false);
    allocations_live_forget(a, &s->live);
    allocations_exact_want(&s->exact, false);
    allocations_exact_forget(&s->exact);
}

static void destroy(agent *a)
{
    memory_free(state_of(a)->live.objects);
    memory_free(state_of(a)->exact.places);
    memory_free(state_of(a));
    a->engines[SELF].state = NULL;
}

static size_t count_wishes(agent *a)
{
    return is_exact(a) ? 0 : state_of(a)->ticks ? 2 : 1;
}

static const char *note(agent *a)
{
    if (state_of(a)->no_handles)
        return "which objects stay alive is not told: no memory for it";
    return state_of(a)->ticks && !is_exact(a)
               ? "sampled by the runtime's ticks: rough for types that come in step "
                 "with them (.NET 10 and later sample at random)"
               : "";
}

const engine ENGINE_allocations = {
    .name = "allocations",
    .mask_low = COR_PRF_ENABLE_STACK_SNAPSHOT,
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE | COR_PRF_HIGH_MONITOR_LARGEOBJECT_ALLOCATED,
    .further_mask = further_mask,
    .wishes = WISHES,
    .wish_count = sizeof WISHES / sizeof *WISHES,
    .count_wishes = count_wishes,
    .tables = TABLES,
    .table_count = sizeof TABLES / sizeof *TABLES,
    .has_table = has_table,
    .losses = LOSSES,
    .start = start,
    .stop = stop,
    .destroy = destroy,
    .configure = configure,
    .record = take_record,
    .drain = drain,
    .note = note,
    .on_event = on_event,
};
