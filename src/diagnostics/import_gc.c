/*
 * import_gc: collections and pauses of an imported event file; see import.h.
 *
 * The events of one collection come from several threads, which the stream mixes: so they are kept
 * and put in order first. A suspension belongs to the collection that starts inside of it, else to
 * the background one that is under way.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "clr/gc_events.h"
#include "diagnostics/import_private.h"
#include "recording/tables.h"

enum { UNDER_WAY = 4, MOST_BYTES = 256 };

enum { TABLES_COLLECTIONS(TABLES_CELL) COLUMNS };

typedef struct {
    bool is_used;
    bool has_ended;
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
} state;

void import_take_gc(event_import *i, const import_gc_event *event, const uint8_t *bytes)
{
    import_gc_event kept = *event;

    if (kept.id != GC_EVENT_START && kept.id != GC_EVENT_END && kept.id != GC_EVENT_RESTART_END &&
        kept.id != GC_EVENT_HEAP_STATS && kept.id != GC_EVENT_SUSPEND_END &&
        kept.id != GC_EVENT_SUSPEND_BEGIN && kept.id != GC_EVENT_TRIGGERED &&
        kept.id != GC_EVENT_GLOBAL_HISTORY)
        return;
    if (i->gc_count == i->gc_capacity) {
        size_t wish = i->gc_capacity * 2 + 256;
        import_gc_event *grown = memory_resize(i->gc_events, wish * sizeof *grown);

        if (grown == NULL) {
            i->failed = true;
            return;
        }
        i->gc_events = grown;
        i->gc_capacity = wish;
    }
    if (kept.length > MOST_BYTES)
        kept.length = MOST_BYTES;
    kept.offset = i->gc_bytes.length;
    buffer_append(&i->gc_bytes, bytes, kept.length);
    i->gc_events[i->gc_count++] = kept;
}

static int compare_events(const void *a, const void *b)
{
    const import_gc_event *x = a;
    const import_gc_event *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
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

static void on_start(state *s, const import_gc_event *event, reader *r)
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

static void on_end(state *s, const import_gc_event *event, reader *r)
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

static void write_ended(state *s)
{
    for (size_t k = 0; k < UNDER_WAY; k++) {
        collection *c = &s->under_way[k];

        if (!c->is_used || !c->has_ended)
            continue;
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

static void on_restart(state *s, const import_gc_event *event)
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

static void take(state *s, const import_gc_event *event, reader r)
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

    if (buffer_failed(&i->gc_bytes)) {
        i->failed = true;
        return;
    }
    if (i->gc_count > 1)
        qsort(i->gc_events, i->gc_count, sizeof *i->gc_events, compare_events);
    for (size_t k = 0; k < i->gc_count; k++) {
        const import_gc_event *event = &i->gc_events[k];

        take(&s, event, reader_of(i->gc_bytes.data + event->offset, event->length));
    }
    write_ended(&s);
}
