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

/* The threads run again, as `event` says. */
static void put_pause(event_import *i, const gc_collections *g, const import_kept *event)
{
    enum { P_TIME, P_THREAD, P_STACK, P_WEIGHT, P_SUSPENDING, P_REASON, P_COLUMNS = 8 };
    uint64_t cells[P_COLUMNS] = {[P_TIME] = g->suspend_begin, [P_THREAD] = g->suspend_thread};

    if (!g->is_suspended || (g->suspend_reason == 0 && i->tables[IMPORT_WALL].count != 0))
        return; /* the sample profiler stops all threads for each look: not the program's pauses */
    cells[P_WEIGHT] = event->time - g->suspend_begin;
    if (g->suspend_end >= g->suspend_begin)
        cells[P_SUSPENDING] = g->suspend_end - g->suspend_begin;
    cells[P_REASON] = pause_reason(g->suspend_reason);
    import_put_row(i, IMPORT_PAUSES, cells);
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

    if (!import_sort(&i->collecting)) {
        i->failed = true;
        return;
    }
    for (size_t k = 0; k < i->collecting.count; k++) {
        const import_kept *kept = &i->collecting.events[k];
        gc_event event = {kept->time, kept->thread, kept->id, kept->stack,
                          import_bytes_of(&i->collecting, kept)};

        if (kept->id == GC_EVENT_RESTART_END)
            put_pause(i, &g, kept);
        gc_collections_take(&g, &event);
        put_collections(i, &g, false);
    }
    put_collections(i, &g, true);
}
