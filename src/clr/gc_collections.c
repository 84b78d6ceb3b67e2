/* gc_collections: see gc_collections.h. */
#include "clr/gc_collections.h"

#include <string.h>

enum { FULL = 2 };

bool gc_collections_want(uint32_t id)
{
    return id == GC_EVENT_START || id == GC_EVENT_END || id == GC_EVENT_RESTART_END ||
           id == GC_EVENT_HEAP_STATS || id == GC_EVENT_SUSPEND_END ||
           id == GC_EVENT_SUSPEND_BEGIN || id == GC_EVENT_TRIGGERED ||
           id == GC_EVENT_HEAP_HISTORY || id == GC_EVENT_GLOBAL_HISTORY;
}

/* ---- who asked ---- */

static void drop_pending(gc_collections *g, size_t index)
{
    g->pending_count--;
    memmove(&g->pending[index], &g->pending[index + 1],
            (g->pending_count - index) * sizeof *g->pending);
}

/* A thread asks again only when what it asked for before is done. */
static void put_pending(gc_collections *g, uint64_t thread, uint32_t stack)
{
    for (size_t i = 0; i < g->pending_count; i++) {
        if (g->pending[i].thread == thread) {
            drop_pending(g, i);
            break;
        }
    }
    if (g->pending_count == GC_PENDING)
        drop_pending(g, 0);
    g->pending[g->pending_count].thread = thread;
    g->pending[g->pending_count++].stack = stack;
}

/* The stack of who asked for the collection that starts on this thread. A collection that is done
 * by a thread of the runtime is taken to be the oldest one asked for. Before a background one the
 * runtime may collect the young generations, in the same suspension: both were asked for at once.
 */
static uint32_t take_pending(gc_collections *g, uint64_t thread)
{
    size_t found = 0;

    if (g->pending_count == 0 || g->asked_stack != 0)
        return g->asked_stack;
    for (size_t i = 0; i < g->pending_count; i++)
        if (g->pending[i].thread == thread)
            found = i;
    g->asked_stack = g->pending[found].stack;
    drop_pending(g, found);
    return g->asked_stack;
}

static void on_triggered(gc_collections *g, const gc_event *event, reader *r)
{
    g->is_triggered = true;
    g->trigger_reason = reader_u32(r);
    if (gc_reason_is_induced(g->trigger_reason) && event->stack != 0)
        put_pending(g, event->thread, event->stack);
}

/* ---- a collection ---- */

static gc_collection *find_number(gc_collections *g, uint64_t number)
{
    for (size_t i = 0; i < GC_UNDER_WAY; i++)
        if (g->under_way[i].is_used && g->under_way[i].cells[GC_CELL_NUMBER] == number)
            return &g->under_way[i];
    return NULL;
}

static gc_collection *find_background(gc_collections *g)
{
    for (size_t i = 0; i < GC_UNDER_WAY; i++) {
        gc_collection *c = &g->under_way[i];

        if (c->is_used && !c->has_ended && c->cells[GC_CELL_KIND] == GC_KIND_BACKGROUND)
            return c;
    }
    return NULL;
}

static gc_collection *begin(gc_collections *g, uint64_t time, uint64_t thread, uint64_t number,
                            uint64_t reason)
{
    gc_collection *c = NULL;

    for (size_t i = 0; i < GC_UNDER_WAY && c == NULL; i++)
        if (!g->under_way[i].is_used)
            c = &g->under_way[i];
    if (c == NULL) { /* the oldest lost its end: give its place away */
        c = &g->under_way[0];
        g->lost++;
    }
    memset(c, 0, sizeof *c);
    c->is_used = true;
    c->cells[GC_CELL_TIME] = time;
    c->cells[GC_CELL_THREAD] = thread;
    c->cells[GC_CELL_NUMBER] = g->number = number;
    c->cells[GC_CELL_REASON] = reason;
    if (gc_reason_is_induced(reason))
        c->cells[GC_CELL_STACK] = take_pending(g, thread);
    g->is_triggered = false;
    return c;
}

static void on_start(gc_collections *g, const gc_event *event, reader *r)
{
    uint32_t number = reader_u32(r);
    uint32_t generation = reader_u32(r);
    gc_collection *c;

    if (!g->is_suspended)
        g->lost++; /* the begin of its suspension was not seen: it has no pause */
    c = begin(g, event->time, event->thread, number, reader_u32(r));
    c->cells[GC_CELL_GENERATION] = generation;
    c->cells[GC_CELL_KIND] = reader_u32(r);
    g->newest = c;
}

/* Whether it started inside of the suspension that is under way. */
static bool is_of_suspension(const gc_collections *g, const gc_collection *c)
{
    return g->is_suspended && c != NULL && c->cells[GC_CELL_TIME] >= g->suspend_begin;
}

static void on_end(gc_collections *g, const gc_event *event, reader *r)
{
    gc_collection *c = find_number(g, reader_u32(r));

    if (c == NULL || c->has_ended) {
        g->lost++; /* it began before we looked, or its begin was lost */
        g->is_triggered = false;
        g->has_strange_end = true;
        if (!is_of_suspension(g, g->newest))
            g->newest = NULL; /* the sizes that follow are not its */
        return;
    }
    c->has_ended = true;
    c->cells[GC_CELL_DURATION] = event->time - c->cells[GC_CELL_TIME];
    g->newest = c;
}

static void on_heap_stats(gc_collection *c, reader *r)
{
    static const uint8_t SIZES[4] = {GC_CELL_GEN0, GC_CELL_GEN1, GC_CELL_GEN2, GC_CELL_LOH};

    for (int i = 0; i < 4; i++) {
        c->cells[SIZES[i]] = reader_u64(r);
        c->cells[GC_CELL_PROMOTED] += reader_u64(r);
    }
    reader_u64(r); /* bytes promoted for finalization */
    c->cells[GC_CELL_FINALIZED] = reader_u64(r);
    c->cells[GC_CELL_PINNED] = reader_u32(r);
    reader_u32(r); /* sink blocks */
    c->cells[GC_CELL_HANDLES] = reader_u32(r);
    reader_u16(r);
    c->cells[GC_CELL_POH] = reader_u64(r);
    c->cells[GC_CELL_PROMOTED] += reader_u64(r);
    c->has_stats = true;
}

static void on_history(gc_collection *c, reader *r)
{
    reader_skip(r, 8 + 4 * 4); /* budget, heaps, generation, reason */
    c->cells[GC_CELL_COMPACTING] = (reader_u32(r) & GC_MECHANISM_COMPACTION) != 0;
    reader_u16(r);
    reader_u32(r); /* pause mode */
    c->cells[GC_CELL_MEMORY_LOAD] = reader_u32(r);
}

/* ---- suspensions ---- */

/* The place of a thread among those that stop all for something else, or a free one for 0; NULL
 * when there is none. */
static uint64_t *find_other(gc_collections *g, uint64_t thread)
{
    for (size_t i = 0; i < GC_OTHERS; i++)
        if (g->others[i] == thread)
            return &g->others[i];
    return NULL;
}

static void on_other(gc_collections *g, uint64_t thread)
{
    uint64_t *place = find_other(g, 0);

    if (g->suspend_thread == thread)
        g->is_suspended = false; /* the end of what it did before was lost */
    *(place != NULL ? place : g->others) = thread;
}

static void on_suspend(gc_collections *g, const gc_event *event, reader *r)
{
    uint32_t reason = reader_u32(r);
    uint32_t number;

    if (!gc_suspends_for_collector(reason)) {
        on_other(g, event->thread);
        return;
    }
    g->is_suspended = true;
    g->has_strange_end = false;
    g->suspend_thread = event->thread;
    g->suspend_begin = event->time;
    g->suspend_end = 0;
    g->asked_stack = 0;
    g->suspend_reason = reason;
    number = reader_u32(r); /* of the last collection that did something */
    if (number > g->number)
        g->number = number;
}

/* The threads were stopped for a collection that was counted and did nothing. */
static gc_collection *begin_nothing(gc_collections *g)
{
    gc_collection *c =
        begin(g, g->suspend_begin, g->suspend_thread, g->number + 1, g->trigger_reason);

    c->cells[GC_CELL_GENERATION] = FULL;
    c->cells[GC_CELL_KIND] = GC_KIND_NOTHING;
    c->has_ended = c->has_stats = true;
    return c;
}

static void on_restart(gc_collections *g, const gc_event *event)
{
    gc_collection *c = g->newest;
    bool is_inside = is_of_suspension(g, c);

    if (!g->is_suspended)
        return;
    g->is_suspended = false;
    if (!is_inside && g->has_strange_end)
        return; /* it was that collection's */
    if (!is_inside)
        c = g->suspend_reason == GC_SUSPEND_COLLECTION && g->is_triggered ? begin_nothing(g)
                                                                          : find_background(g);
    if (c == NULL)
        return;
    if (c->cells[GC_CELL_PAUSE] == 0 && c->cells[GC_CELL_TIME] > g->suspend_begin)
        c->cells[GC_CELL_SINCE_STOP] = c->cells[GC_CELL_TIME] - g->suspend_begin;
    c->cells[GC_CELL_PAUSE] += event->time - g->suspend_begin;
    if (g->suspend_end >= g->suspend_begin)
        c->cells[GC_CELL_SUSPENDING] += g->suspend_end - g->suspend_begin;
}

/* ---- all of them ---- */

/* Whether the event is of a stop for something else. Whoever begins or ends a stop has no other. */
static bool is_of_other(gc_collections *g, const gc_event *event)
{
    bool is_end = event->id == GC_EVENT_SUSPEND_END;
    uint64_t *other;

    if (event->thread == 0 ||
        (!is_end && event->id != GC_EVENT_RESTART_END && event->id != GC_EVENT_SUSPEND_BEGIN))
        return false;
    other = find_other(g, event->thread);
    if (other != NULL && !is_end)
        *other = 0;
    return other != NULL && event->id != GC_EVENT_SUSPEND_BEGIN;
}

void gc_collections_take(gc_collections *g, const gc_event *event)
{
    gc_collection *c = g->newest;
    reader r = event->data;

    if (is_of_other(g, event))
        return;
    switch (event->id) {
    case GC_EVENT_TRIGGERED:
        on_triggered(g, event, &r);
        break;
    case GC_EVENT_SUSPEND_BEGIN:
        on_suspend(g, event, &r);
        break;
    case GC_EVENT_SUSPEND_END:
        if (g->suspend_end != 0)
            g->is_suspended = false; /* the second of one begin: that of this one was lost */
        g->suspend_end = event->time;
        break;
    case GC_EVENT_RESTART_END:
        on_restart(g, event);
        break;
    case GC_EVENT_START:
        on_start(g, event, &r);
        break;
    case GC_EVENT_END:
        on_end(g, event, &r);
        break;
    case GC_EVENT_HEAP_STATS:
        if (c != NULL)
            on_heap_stats(c, &r);
        break;
    case GC_EVENT_HEAP_HISTORY:
        if (c != NULL) {
            c->cells[GC_CELL_COLLECTED] += gc_spaces_add(&c->spaces, &r);
            c->cells[GC_CELL_FREE] = c->spaces.free;
        }
        break;
    case GC_EVENT_GLOBAL_HISTORY:
        if (c != NULL)
            on_history(c, &r);
        break;
    default:
        break;
    }
}

const uint64_t *gc_collections_next(gc_collections *g, bool last)
{
    for (size_t i = 0; i < GC_UNDER_WAY; i++) {
        gc_collection *c = &g->under_way[i];

        /* Its sizes follow its end, and do not come when another one is the newest already. */
        if (!c->is_used || !c->has_ended ||
            (!last && (g->is_suspended || (!c->has_stats && c == g->newest))))
            continue;
        c->cells[GC_CELL_ALLOCATED] = gc_spaces_allocated(
            &g->sizes, &c->spaces, c->cells[GC_CELL_KIND] == GC_KIND_BACKGROUND);
        if (g->newest == c)
            g->newest = NULL;
        c->is_used = false;
        return c->cells;
    }
    return NULL;
}
