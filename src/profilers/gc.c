/*
 * gc: every garbage collection, from the runtime's own events.
 *
 * On the collecting thread an event's few bytes are copied into the ring, with the managed stack
 * where somebody asked for the collection. The own thread puts the events of a collection together
 * (clr/gc_collections.h) and writes a row when it is over.
 *
 * Thread rules: engine.h. State is the own thread's.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/snapshot.h"
#include "base/memory.h"
#include "base/os.h"
#include "clr/gc_collections.h"
#include "recording/tables.h"

enum {
    SELF = ENGINE_INDEX_gc,
    LOSS_RING = 0,
    LOSS_PARTS = 1,
    MOST_FRAMES = 64,
};

enum { TABLES_COLLECTIONS(TABLES_CELL) COLUMNS };

TABLES_COLLECTIONS(GC_CELL_IS_COLUMN)

static const recording_column GC_COLUMNS[COLUMNS] = {TABLES_COLLECTIONS(TABLES_COLUMN)};
static const recording_table TABLES[] = {{"collections", "gc", GC_COLUMNS, COLUMNS}};
static const char LOSSES[] = "ring full\0"
                             "collection seen in part only\0";
static const events_wish WISHES[] = {{EVENTS_RUNTIME, EVENTS_KEYWORD_GC, 4, NULL}};

/* In the ring; the event's bytes and then the stack's addresses follow. */
typedef struct {
    uint64_t time;
    uint32_t thread;
    uint16_t id;
    uint16_t length; /* rounded up to 8 in the ring */
    uint16_t frames;
    uint16_t cut;
} happened;

/* ---- on the target's threads ---- */

static bool is_asked_for(const events_event *event)
{
    reader r = event->data;

    return event->id == GC_EVENT_TRIGGERED && gc_reason_is_induced(reader_u32(&r));
}

static void on_event(agent *a, const events_event *event)
{
    size_t length = reader_left(&event->data);
    bool with_stack;
    size_t padded;
    size_t reserved;
    happened *record;
    bool cut = false;

    if (event->provider != EVENTS_RUNTIME || !gc_collections_want(event->id))
        return;
    with_stack = is_asked_for(event);
    if (length > GC_MOST_BYTES)
        length = GC_MOST_BYTES;
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

static void write_finished(agent *a, gc_collections *g, bool last)
{
    const uint64_t *cells;

    while ((cells = gc_collections_next(g, last)) != NULL)
        agent_row(a, SELF, 0, cells);
    agent_lose(a, SELF, LOSS_PARTS, g->lost);
    g->lost = 0;
}

static void take_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    const happened *record = payload;
    const uint8_t *bytes = (const uint8_t *)(record + 1);
    size_t padded = ((size_t)record->length + 7) & ~(size_t)7;
    gc_event event = {record->time, record->thread, record->id, 0,
                      reader_of(bytes, record->length)};

    (void)kind;
    (void)length;
    if (record->frames != 0)
        event.stack = names_stack_of(&a->names, (const uintptr_t *)(const void *)(bytes + padded),
                                     record->frames, true, record->cut != 0);
    gc_collections_take(a->engines[SELF].state, &event);
    write_finished(a, a->engines[SELF].state, false);
}

static void drain(agent *a, bool last)
{
    write_finished(a, a->engines[SELF].state, last);
}

static int start(agent *a, error *e)
{
    if (a->engines[SELF].state == NULL)
        a->engines[SELF].state = memory_allocate_array(1, sizeof(gc_collections));
    if (a->engines[SELF].state == NULL)
        return engine_no_memory(SELF, e);
    memset(a->engines[SELF].state, 0, sizeof(gc_collections));
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
    .start = start,
    .record = take_record,
    .drain = drain,
    .on_event = on_event,
};
