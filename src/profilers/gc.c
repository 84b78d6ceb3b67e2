/*
 * gc: every garbage collection, from the runtime's own events.
 *
 * On the collecting thread an event's few bytes are copied into the ring, with the managed stack
 * where somebody asked for the collection. The own thread puts the events of a collection together:
 * a suspension belongs to the collection that starts inside of it, else to the background one that
 * is under way. A row is written when its collection has ended and the threads run again.
 *
 * Thread rules: engine.h. State is the own thread's.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/snapshot.h"
#include "base/memory.h"
#include "clr/gc_events.h"
#include "base/os.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_gc,
    LOSS_RING = 0,
    LOSS_PARTS = 1,
    MOST_BYTES = 544, /* the parts of a heap's history */
    MOST_FRAMES = 64,
    UNDER_WAY = 4, /* one blocking and one background collection, and those not yet written */
    PENDING = 16,
};

enum { TABLES_COLLECTIONS(TABLES_CELL) COLUMNS };

static const recording_column GC_COLUMNS[COLUMNS] = {TABLES_COLLECTIONS(TABLES_COLUMN)};
static const recording_table TABLES[] = {{"collections", "gc", GC_COLUMNS, COLUMNS}};
static const char *const LOSSES[] = {
    "ring full",
    "collection seen in part only",
};
static const events_wish WISHES[] = {{EVENTS_RUNTIME, EVENTS_KEYWORD_GC, 4, NULL}};

/* In the ring; the event's bytes and then the stack's addresses follow. */
typedef struct {
    uint64_t time;
    uint32_t thread;
    uint16_t id;
    uint16_t length; /* rounded up to 8 in the ring */
    uint16_t frames;
    uint16_t cut;
} gc_event;

typedef struct {
    bool is_used;
    bool has_ended;
    bool has_stats;
    gc_spaces spaces;
    uint64_t cells[COLUMNS];
} collection;

/* Somebody asked for a collection. */
typedef struct {
    uint32_t thread;
    uint32_t stack;
} asked;

typedef struct {
    collection under_way[UNDER_WAY];
    collection *newest; /* started or ended last */
    bool is_suspended;
    uint64_t suspend_begin;
    uint64_t suspend_end;
    asked pending[PENDING]; /* collections asked for and not begun, oldest first */
    size_t pending_count;
    gc_known_sizes sizes;
} state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static bool is_wanted(uint32_t id)
{
    return id == GC_EVENT_START || id == GC_EVENT_END || id == GC_EVENT_RESTART_END ||
           id == GC_EVENT_HEAP_STATS || id == GC_EVENT_SUSPEND_END ||
           id == GC_EVENT_SUSPEND_BEGIN || id == GC_EVENT_TRIGGERED ||
           id == GC_EVENT_HEAP_HISTORY || id == GC_EVENT_GLOBAL_HISTORY;
}

static bool is_asked_for(const events_event *event)
{
    reader r = event->data;

    return event->id == GC_EVENT_TRIGGERED && gc_reason_is_induced(reader_u32(&r));
}

static void on_event(agent *a, const events_event *event)
{
    size_t length = reader_left(&event->data);
    bool with_stack = is_asked_for(event);
    size_t padded;
    size_t reserved;
    gc_event *record;
    bool cut = false;

    if (event->provider != EVENTS_RUNTIME || !is_wanted(event->id))
        return;
    if (length > MOST_BYTES)
        length = MOST_BYTES;
    padded = (length + 7) & ~(size_t)7;
    reserved = sizeof *record + padded + (with_stack ? MOST_FRAMES * sizeof(uintptr_t) : 0);
    record = agent_reserve(a, SELF, reserved);
    if (record == NULL)
        return;
    record->time = os_monotonic_ns();
    record->thread = (uint32_t)os_thread_id();
    record->id = (uint16_t)event->id;
    record->length = (uint16_t)length;
    record->frames = 0;
    memcpy(record + 1, event->data.position, length);
    if (with_stack)
        record->frames = (uint16_t)snapshot_take(
            &a->info, (uintptr_t *)(void *)((uint8_t *)(record + 1) + padded), MOST_FRAMES, &cut);
    record->cut = cut;
    agent_commit(a, SELF, record, reserved, 0,
                 sizeof *record + padded + record->frames * sizeof(uintptr_t));
}

/* ---- on the own thread ---- */

static collection *find_number(state *s, uint64_t number)
{
    for (size_t i = 0; i < UNDER_WAY; i++)
        if (s->under_way[i].is_used && s->under_way[i].cells[NUMBER] == number)
            return &s->under_way[i];
    return NULL;
}

static collection *find_background(state *s)
{
    for (size_t i = 0; i < UNDER_WAY; i++) {
        collection *c = &s->under_way[i];

        if (c->is_used && !c->has_ended && c->cells[KIND] == GC_KIND_BACKGROUND)
            return c;
    }
    return NULL;
}

static collection *take_free(agent *a, state *s)
{
    for (size_t i = 0; i < UNDER_WAY; i++)
        if (!s->under_way[i].is_used)
            return &s->under_way[i];
    agent_lose(a, SELF, LOSS_PARTS, 1); /* the oldest lost its end: give its place away */
    return &s->under_way[0];
}

static void drop_pending(state *s, size_t index)
{
    s->pending_count--;
    memmove(&s->pending[index], &s->pending[index + 1],
            (s->pending_count - index) * sizeof *s->pending);
}

/* A thread asks again only when what it asked for before is done. */
static void put_pending(state *s, uint32_t thread, uint32_t stack)
{
    for (size_t i = 0; i < s->pending_count; i++) {
        if (s->pending[i].thread == thread) {
            drop_pending(s, i);
            break;
        }
    }
    if (s->pending_count == PENDING)
        drop_pending(s, 0);
    s->pending[s->pending_count++] = (asked){thread, stack};
}

/* The stack of who asked for the collection that starts on this thread. A collection that is done
 * by a thread of the runtime is taken to be the oldest one asked for. */
static uint32_t take_pending(state *s, uint32_t thread)
{
    size_t found = 0;
    uint32_t stack;

    if (s->pending_count == 0)
        return 0;
    for (size_t i = 0; i < s->pending_count; i++)
        if (s->pending[i].thread == thread)
            found = i;
    stack = s->pending[found].stack;
    drop_pending(s, found);
    return stack;
}

static void on_start(agent *a, state *s, const gc_event *event, reader *r)
{
    collection *c = take_free(a, s);

    memset(c, 0, sizeof *c);
    c->is_used = true;
    c->cells[TIME] = event->time;
    c->cells[THREAD] = event->thread;
    c->cells[NUMBER] = reader_u32(r);
    c->cells[GENERATION] = reader_u32(r);
    c->cells[REASON] = reader_u32(r);
    c->cells[KIND] = reader_u32(r);
    if (gc_reason_is_induced(c->cells[REASON]))
        c->cells[STACK] = take_pending(s, event->thread);
    s->newest = c;
}

static void on_end(agent *a, state *s, const gc_event *event, reader *r)
{
    collection *c = find_number(s, reader_u32(r));

    if (c == NULL) {
        agent_lose(a, SELF, LOSS_PARTS, 1); /* it began before we looked */
        return;
    }
    c->has_ended = true;
    c->cells[DURATION] = event->time - c->cells[TIME];
    s->newest = c;
}

static void on_heap_stats(state *s, reader *r)
{
    collection *c = s->newest;
    static const int SIZES[4] = {GEN0, GEN1, GEN2, LOH};

    if (c == NULL || !c->is_used)
        return;
    for (int i = 0; i < 4; i++) {
        c->cells[SIZES[i]] = reader_u64(r);
        c->cells[PROMOTED] += reader_u64(r);
    }
    reader_u64(r); /* bytes promoted for finalization */
    c->cells[FINALIZED] = reader_u64(r);
    c->cells[PINNED] = reader_u32(r);
    reader_u32(r); /* sink blocks */
    c->cells[HANDLES] = reader_u32(r);
    reader_u16(r);
    c->cells[POH] = reader_u64(r);
    c->cells[PROMOTED] += reader_u64(r);
    c->has_stats = true;
}

static void on_history(state *s, reader *r)
{
    reader_u64(r); /* budget of the youngest generation */
    reader_u32(r); /* heaps */
    reader_u32(r); /* generation */
    reader_u32(r);
    reader_u32(r); /* reason */
    if (s->newest == NULL)
        return;
    s->newest->cells[COMPACTING] = (reader_u32(r) & GC_MECHANISM_COMPACTION) != 0;
    reader_u16(r);
    reader_u32(r); /* pause mode */
    s->newest->cells[MEMORY_LOAD] = reader_u32(r);
}

/* One heap's part of a collection. */
static void on_heap_history(state *s, reader *r)
{
    collection *c = s->newest;

    if (c == NULL || !c->is_used)
        return;
    c->cells[COLLECTED] += gc_spaces_add(&c->spaces, r);
    c->cells[FREE] = c->spaces.free;
}

/* The threads run again: the pause belongs to what started inside, else to the background one. */
static void on_restart(state *s, const gc_event *event)
{
    collection *c = s->newest;
    collection *background = find_background(s);

    if (!s->is_suspended)
        return;
    s->is_suspended = false;
    if (c == NULL || !c->is_used || c->cells[TIME] < s->suspend_begin)
        c = background;
    if (c == NULL)
        return;
    c->cells[PAUSE] += event->time - s->suspend_begin;
    if (s->suspend_end >= s->suspend_begin)
        c->cells[SUSPENDING] += s->suspend_end - s->suspend_begin;
}

static void write_finished(agent *a, state *s, bool last)
{
    for (size_t i = 0; i < UNDER_WAY; i++) {
        collection *c = &s->under_way[i];

        if (!c->is_used || !c->has_ended || (!last && (s->is_suspended || !c->has_stats)))
            continue;
        c->cells[ALLOCATED] = gc_spaces_allocated(&s->sizes, &c->spaces);
        agent_row(a, SELF, 0, c->cells);
        if (s->newest == c)
            s->newest = NULL;
        c->is_used = false;
    }
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    const gc_event *event = payload;
    const uint8_t *bytes = (const uint8_t *)(event + 1);
    size_t padded = ((size_t)event->length + 7) & ~(size_t)7;
    state *s = state_of(a);
    reader r = reader_of(bytes, event->length);

    (void)kind;
    (void)length;
    switch (event->id) {
    case GC_EVENT_TRIGGERED:
        if (event->frames != 0)
            put_pending(s, event->thread,
                        names_stack_of(&a->names, (const uintptr_t *)(const void *)(bytes + padded),
                                       event->frames, true, event->cut != 0));
        break;
    case GC_EVENT_SUSPEND_BEGIN:
        s->is_suspended = true;
        s->suspend_begin = event->time;
        s->suspend_end = 0;
        break;
    case GC_EVENT_SUSPEND_END:
        s->suspend_end = event->time;
        break;
    case GC_EVENT_START:
        on_start(a, s, event, &r);
        break;
    case GC_EVENT_END:
        on_end(a, s, event, &r);
        break;
    case GC_EVENT_HEAP_STATS:
        on_heap_stats(s, &r);
        break;
    case GC_EVENT_HEAP_HISTORY:
        on_heap_history(s, &r);
        break;
    case GC_EVENT_GLOBAL_HISTORY:
        on_history(s, &r);
        break;
    default:
        on_restart(s, event);
        write_finished(a, s, false);
        break;
    }
}

static void drain(agent *a, bool last)
{
    write_finished(a, state_of(a), last);
}

static int start(agent *a, error *e)
{
    if (a->engines[SELF].state == NULL)
        a->engines[SELF].state = memory_allocate_array(1, sizeof(state));
    if (a->engines[SELF].state == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the profiler gc");
    memset(a->engines[SELF].state, 0, sizeof(state));
    return 0;
}

const engine ENGINE_gc = {
    .name = "gc",
    .mask_low = COR_PRF_ENABLE_STACK_SNAPSHOT,
    .mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE,
    .wishes = WISHES,
    .wish_count = sizeof WISHES / sizeof *WISHES,
    .tables = TABLES,
    .table_count = 1,
    .losses = LOSSES,
    .loss_count = sizeof LOSSES / sizeof *LOSSES,
    .start = start,
    .record = take_record,
    .drain = drain,
    .on_event = on_event,
};
