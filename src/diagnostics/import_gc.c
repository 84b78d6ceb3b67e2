/*
 * import_gc: collections and pauses of an imported event file; see import.h.
 *
 * The events of one collection come from several threads, which the stream mixes: so they are kept
 * and put in order first; then clr/gc_collections.h puts them together.
 */
#include "clr/gc_collections.h"
#include "diagnostics/import_private.h"
#include "recording/tables.h"

enum { TABLES_COLLECTIONS(TABLES_CELL) COLUMNS };

TABLES_COLLECTIONS(GC_CELL_IS_COLUMN)

void import_take_gc(event_import *i, const import_kept *event, const uint8_t *bytes)
{
    if (gc_collections_want(event->id) &&
        (event->id != GC_EVENT_HEAP_HISTORY || i->trace.pointer_size == sizeof(uint64_t)))
        import_keep(&i->collecting, *event, bytes, GC_MOST_BYTES);
}

/* The event's numbers for the reason are others than those of the recording from 5 on. */
static uint32_t pause_reason(uint32_t reason)
{
    static const uint32_t REASONS[] = {0, 1, 2, 3, 4, 6, 7, 6};

    return reason < sizeof REASONS / sizeof *REASONS ? REASONS[reason] : 0;
}

/* ---- pauses ---- */

/* A thread says that it stops all before its turn comes, and that they run again after its turn, so
 * the events of two stops can be mixed: each is known by its thread. */
typedef struct {
    uint64_t thread;
    uint64_t begin;
    uint64_t stopped; /* 0 = not yet */
    uint32_t reason;
    bool is_used;
} stop;

enum { STOPS = 16 };

static stop *find_stop(stop *stops, uint64_t thread)
{
    for (size_t k = 0; k < STOPS; k++)
        if (stops[k].is_used && stops[k].thread == thread)
            return &stops[k];
    return NULL;
}

static void begin_stop(stop *stops, const import_kept *event, reader data)
{
    stop *s = find_stop(stops, event->thread); /* the end of that one was lost */

    for (size_t k = 0; k < STOPS && s == NULL; k++)
        if (!stops[k].is_used)
            s = &stops[k];
    if (s == NULL) /* so many that never ended: their ends were lost */
        s = stops;
    *s = (stop){event->thread, event->time, 0, reader_u32(&data), true};
}

static void end_stopping(stop *stops, const import_kept *event)
{
    stop *s = find_stop(stops, event->thread);

    if (s != NULL && s->stopped == 0) {
        s->stopped = event->time;
        return;
    }
    for (size_t k = 0; k < STOPS; k++) /* the begin of this one was lost */
        if (stops[k].stopped != 0)
            stops[k].is_used = false;
}

/* The threads run again. At the begin of a background collection it is not the thread that stopped
 * them which lets them go. */
static stop *ended_stop(stop *stops, uint64_t thread)
{
    stop *s = find_stop(stops, thread);

    for (size_t k = 0; k < STOPS && s == NULL; k++)
        if (stops[k].is_used && stops[k].stopped != 0 && gc_suspends_for_collector(stops[k].reason))
            s = &stops[k];
    return s;
}

static void put_pause(event_import *i, const stop *s, uint64_t end)
{
    enum { P_TIME, P_THREAD, P_STACK, P_WEIGHT, P_SUSPENDING, P_REASON, P_COLUMNS = 8 };
    uint64_t cells[P_COLUMNS] = {[P_TIME] = s->begin, [P_THREAD] = s->thread};

    if (s->reason == 0 && i->tables[IMPORT_WALL].count != 0)
        return; /* the sample profiler stops all threads for each look: not the program's pauses */
    cells[P_WEIGHT] = end - s->begin;
    if (s->stopped >= s->begin)
        cells[P_SUSPENDING] = s->stopped - s->begin;
    cells[P_REASON] = pause_reason(s->reason);
    import_put_row(i, IMPORT_PAUSES, cells);
}

static void take_pause(event_import *i, stop *stops, const import_kept *event)
{
    stop *s;

    if (event->id == GC_EVENT_SUSPEND_BEGIN) {
        begin_stop(stops, event, import_bytes_of(&i->collecting, event));
    } else if (event->id == GC_EVENT_SUSPEND_END) {
        end_stopping(stops, event);
    } else if (event->id == GC_EVENT_RESTART_END) {
        s = ended_stop(stops, event->thread);
        if (s != NULL) {
            put_pause(i, s, event->time);
            s->is_used = false;
        }
    }
}

static void put_collections(event_import *i, gc_collections *g, bool last)
{
    const uint64_t *cells;

    while ((cells = gc_collections_next(g, last)) != NULL)
        import_put_row(i, IMPORT_COLLECTIONS, cells);
}

void import_write_gc(event_import *i)
{
    gc_collections g = {0};
    stop stops[STOPS] = {0};

    if (!import_sort(&i->collecting)) {
        i->failed = true;
        return;
    }
    for (size_t k = 0; k < i->collecting.count; k++) {
        const import_kept *kept = &i->collecting.events[k];
        gc_event event = {kept->time, kept->thread, kept->id, kept->stack,
                          import_bytes_of(&i->collecting, kept)};

        take_pause(i, stops, kept);
        gc_collections_take(&g, &event);
        put_collections(i, &g, false);
    }
    put_collections(i, &g, true);
}
