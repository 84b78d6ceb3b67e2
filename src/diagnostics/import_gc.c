/*
 * import_gc: collections and pauses of an imported event file; see import.h.
 *
 * The events of one collection come from several threads, which the stream mixes: so they are kept
 * and put in order first. A suspension belongs to the collection that starts inside of it, else to
 * the background one that is under way.
 */
#include <string.h>

#include "clr/gc_events.h"
#include "diagnostics/import_private.h"
#include "recording/tables.h"

enum { UNDER_WAY = 4, MOST_BYTES = 544 };

enum { TABLES_COLLECTIONS(TABLES_CELL) COLUMNS };

typedef struct {
    bool is_used;
    bool has_ended;
    gc_spaces spaces;
    uint64_t cells[COLUMNS];
} collection;

typedef struct {
    event_import *i;
    collection under_way[UNDER_WAY];
    collection *newest; /* started or ended last */
    bool is_suspended;
    uint64_t suspend_begin;
    uint64_t suspend_end;
    uint64_t suspend_thread;
    uint32_t suspend_reason;
    uint32_t asked_stack; /* of who asked for a collection last */
    gc_known_sizes sizes;
} state;

void import_take_gc(event_import *i, const import_kept *event, const uint8_t *bytes)
{
    uint32_t id = event->id;

    if (id == GC_EVENT_START || id == GC_EVENT_END || id == GC_EVENT_RESTART_END ||
        id == GC_EVENT_HEAP_STATS || id == GC_EVENT_SUSPEND_END || id == GC_EVENT_SUSPEND_BEGIN ||
        id == GC_EVENT_TRIGGERED || id == GC_EVENT_HEAP_HISTORY || id == GC_EVENT_GLOBAL_HISTORY)
        import_keep(&i->collecting, *event, bytes, MOST_BYTES);
}

static collection *find(state *s, uint64_t number)
{
    for (size_t k = 0; k < UNDER_WAY; k++)
        if (s->under_way[k].is_used && s->under_way[k].cells[NUMBER] == number)
            return &s->under_way[k];
    return NULL;
}

static collection *find_background(state *s)
{
    for (size_t k = 0; k < UNDER_WAY; k++) {
        collection *c = &s->under_way[k];

        if (c->is_used && !c->has_ended && c->cells[KIND] == GC_KIND_BACKGROUND)
            return c;
    }
    return NULL;
}

static void on_start(state *s, const import_kept *event, reader *r)
{
    collection *c = &s->under_way[0]; /* when none is free, its end was lost */

    for (size_t k = 0; k < UNDER_WAY; k++)
        if (!s->under_way[k].is_used)
            c = &s->under_way[k];
    memset(c, 0, sizeof *c);
    c->is_used = true;
    c->cells[TIME] = event->time;
    c->cells[THREAD] = event->thread;
    c->cells[NUMBER] = reader_u32(r);
    c->cells[GENERATION] = reader_u32(r);
    c->cells[REASON] = reader_u32(r);
    c->cells[KIND] = reader_u32(r);
    if (gc_reason_is_induced(c->cells[REASON]))
        c->cells[STACK] = s->asked_stack;
    s->asked_stack = 0;
    s->newest = c;
}

static void on_end(state *s, const import_kept *event, reader *r)
{
    collection *c = find(s, reader_u32(r));

    if (c == NULL || c->has_ended)
        return; /* it began before the file */
    c->has_ended = true;
    c->cells[DURATION] = event->time - c->cells[TIME];
    s->newest = c;
}

static void on_heap_stats(state *s, reader *r)
{
    static const int SIZES[4] = {GEN0, GEN1, GEN2, LOH};
    collection *c = s->newest;

    if (c == NULL)
        return;
    for (int k = 0; k < 4; k++) {
        c->cells[SIZES[k]] = reader_u64(r);
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
}

static void on_history(state *s, reader *r)
{
    reader_skip(r, 8 + 4 * 4); /* budget, heaps, generation, reason */
    if (s->newest == NULL)
        return;
    s->newest->cells[COMPACTING] = (reader_u32(r) & GC_MECHANISM_COMPACTION) != 0;
    reader_u16(r);
    reader_u32(r); /* pause mode */
    s->newest->cells[MEMORY_LOAD] = reader_u32(r);
}

/* One heap's part of a collection. */
static void on_heap_history(state *s, size_t pointer_size, reader *r)
{
    collection *c = s->newest;

    if (c == NULL || pointer_size != 8)
        return;
    c->cells[COLLECTED] += gc_spaces_add(&c->spaces, r);
    c->cells[FREE] = c->spaces.free;
}

static void write_ended(state *s)
{
    for (size_t k = 0; k < UNDER_WAY; k++) {
        collection *c = &s->under_way[k];

        if (!c->is_used || !c->has_ended)
            continue;
        c->cells[ALLOCATED] = gc_spaces_allocated(&s->sizes, &c->spaces);
        import_put_row(s->i, IMPORT_COLLECTIONS, c->cells);
        c->is_used = false;
        if (s->newest == c)
            s->newest = NULL;
    }
}

/* The event's numbers for the reason are others than those of the recording from 5 on. */
static uint32_t pause_reason(uint32_t reason)
{
    static const uint32_t REASONS[] = {0, 1, 2, 3, 4, 6, 7, 6};

    return reason < sizeof REASONS / sizeof *REASONS ? REASONS[reason] : 0;
}

static void on_restart(state *s, const import_kept *event)
{
    enum { P_TIME, P_THREAD, P_STACK, P_WEIGHT, P_SUSPENDING, P_REASON, P_COLUMNS = 8 };
    uint64_t cells[P_COLUMNS] = {[P_TIME] = s->suspend_begin, [P_THREAD] = s->suspend_thread};
    collection *c = s->newest;

    if (!s->is_suspended)
        return;
    s->is_suspended = false;
    if (s->suspend_reason == 0 && s->i->tables[IMPORT_WALL].count != 0)
        return; /* the sample profiler stops all threads for each look: not the program's pauses */
    cells[P_WEIGHT] = event->time - s->suspend_begin;
    if (s->suspend_end >= s->suspend_begin)
        cells[P_SUSPENDING] = s->suspend_end - s->suspend_begin;
    cells[P_REASON] = pause_reason(s->suspend_reason);
    import_put_row(s->i, IMPORT_PAUSES, cells);
    if (c == NULL || c->cells[TIME] < s->suspend_begin)
        c = find_background(s);
    if (c != NULL) {
        c->cells[PAUSE] += cells[P_WEIGHT];
        c->cells[SUSPENDING] += cells[P_SUSPENDING];
    }
}

static void take(state *s, const import_kept *event, reader r)
{
    switch (event->id) {
    case GC_EVENT_TRIGGERED:
        s->asked_stack = event->stack;
        break;
    case GC_EVENT_SUSPEND_BEGIN:
        s->is_suspended = true;
        s->suspend_begin = event->time;
        s->suspend_end = 0;
        s->suspend_thread = event->thread;
        s->suspend_reason = reader_u32(&r);
        break;
    case GC_EVENT_SUSPEND_END:
        s->suspend_end = event->time;
        break;
    case GC_EVENT_START:
        on_start(s, event, &r);
        break;
    case GC_EVENT_END:
        on_end(s, event, &r);
        break;
    case GC_EVENT_HEAP_STATS:
        on_heap_stats(s, &r);
        break;
    case GC_EVENT_HEAP_HISTORY:
        on_heap_history(s, s->i->trace.pointer_size, &r);
        break;
    case GC_EVENT_GLOBAL_HISTORY:
        on_history(s, &r);
        break;
    default:
        on_restart(s, event);
        write_ended(s);
        break;
    }
}

void import_write_gc(event_import *i)
{
    state s = {.i = i};

    if (!import_sort(&i->collecting)) {
        i->failed = true;
        return;
    }
    for (size_t k = 0; k < i->collecting.count; k++)
        take(&s, &i->collecting.events[k],
             import_bytes_of(&i->collecting, &i->collecting.events[k]));
    write_ended(&s);
}
