/* gc: see gc.h. */
#include "analysis/gc.h"

#include <string.h>

enum { FULL = 2 };

static const char *const SPACES[GC_SPACES] = {"gen0", "gen1", "gen2", "loh", "poh"};

typedef struct {
    const model_column *time;
    const model_column *allocated;
    const model_column *collected;
    const model_column *free;
    const model_column *generation;
    const model_column *reason;
    const model_column *kind;
    const model_column *pause;
    const model_column *suspending;
    const model_column *promoted;
    const model_column *pinned;
    const model_column *compacting;
    const model_column *stack;
    const model_column *spaces[GC_SPACES];
} columns;

const char *gc_space_name(int space)
{
    return SPACES[space];
}

const char *gc_kind_name(uint64_t kind)
{
    static const char *const KINDS[] = {"blocking", "background", "blocking during background",
                                        "counted only (no-GC region)"};

    return kind < sizeof KINDS / sizeof *KINDS ? KINDS[kind] : "other";
}

const char *gc_reason_name(uint64_t reason)
{
    static const char *const REASONS[] = {
        "small objects",
        "induced",
        "low memory",
        "empty",
        "large objects",
        "out of space, small objects",
        "out of space, large objects",
        "induced, not forced",
        "internal",
        "low memory, blocking",
        "induced, compacting",
        "low memory of the host",
        "full collection of the provisional mode",
        "low memory of the host, blocking",
        "tuning, small objects",
        "tuning, large objects",
        "step of a background collection",
        "induced, aggressive",
    };

    return reason < sizeof REASONS / sizeof *REASONS ? REASONS[reason] : "other";
}

bool gc_is_induced(uint64_t reason)
{
    return reason == 1 || reason == 7 || reason == 10 || reason == 17;
}

static void find_columns(const model *m, const model_table *table, columns *c)
{
    c->time = groups_column(m, table, "time", RECORDING_TIME);
    c->allocated = groups_column(m, table, "allocated", RECORDING_U64);
    c->collected = groups_column(m, table, "collected_size", RECORDING_U64);
    c->free = groups_column(m, table, "free", RECORDING_U64);
    c->generation = groups_column(m, table, "generation", RECORDING_U64);
    c->reason = groups_column(m, table, "reason", RECORDING_U64);
    c->kind = groups_column(m, table, "kind", RECORDING_U64);
    c->pause = groups_column(m, table, "pause", RECORDING_DURATION);
    c->suspending = groups_column(m, table, "suspending", RECORDING_DURATION);
    c->promoted = groups_column(m, table, "promoted", RECORDING_U64);
    c->pinned = groups_column(m, table, "pinned", RECORDING_U64);
    c->compacting = groups_column(m, table, "compacting", RECORDING_U64);
    c->stack = groups_column(m, table, "stack", RECORDING_STACK_ID);
    for (int i = 0; i < GC_SPACES; i++)
        c->spaces[i] = groups_column(m, table, SPACES[i], RECORDING_U64);
}

static bool add_row(const columns *c, size_t row, gc *result)
{
    uint64_t pause = groups_cell(c->pause, row, 0);
    uint64_t reason = groups_cell(c->reason, row, 0);
    uint64_t pinned = groups_cell(c->pinned, row, 0);
    uint64_t kind = groups_cell(c->kind, row, 0);

    result->total++;
    result->suspending_ns += groups_cell(c->suspending, row, 0);
    result->promoted_bytes += groups_cell(c->promoted, row, 0);
    result->compacting += groups_cell(c->compacting, row, 0) != 0;
    result->most_pinned = pinned > result->most_pinned ? pinned : result->most_pinned;
    if (kind != GC_KIND_NOTHING) {
        for (int i = 0; i < GC_SPACES; i++)
            result->last[i] = groups_cell(c->spaces[i], row, 0);
        if (!result->has_sizes)
            memcpy(result->first, result->last, sizeof result->first);
        result->has_sizes = true;
    }
    result->allocated_bytes += groups_cell(c->allocated, row, 0);
    if (groups_cell(c->generation, row, 0) == FULL && groups_cell(c->collected, row, 0) != 0) {
        result->full_size = groups_cell(c->collected, row, 0);
        result->full_free = groups_cell(c->free, row, 0);
    }
    if (gc_is_induced(reason)) {
        result->induced_total++;
        if (!groups_add(&result->induced, (uint32_t)groups_cell(c->stack, row, 0), 0, 0, 1, pause))
            return false;
    }
    return groups_spread_add(&result->pauses, pause) &&
           groups_add(&result->reasons, (uint32_t)reason, 0, 0, 1, pause) &&
           groups_add(&result->generations, (uint32_t)groups_cell(c->generation, row, 0),
                      (uint32_t)kind, 0, 1, pause);
}

int gc_summarise(const model *m, const model_process *process, const model_table *table, gc *result,
                 error *e)
{
    columns c;

    memset(result, 0, sizeof *result);
    find_columns(m, table, &c);
    result->watched_ns = groups_time_watched(m, process, "gc");
    for (size_t i = 0; i < table->rows; i++) {
        if (!add_row(&c, i, result)) {
            gc_free(result);
            return error_set(e, ERROR_MEMORY, "no memory to count the collections");
        }
    }
    if (table->rows > 1) {
        uint64_t begin = groups_cell(c.time, 0, 0);
        uint64_t end = groups_cell(c.time, table->rows - 1, 0);

        result->allocated_ns = end > begin ? end - begin : 0;
    }
    groups_spread_sort(&result->pauses);
    groups_sort(&result->generations);
    groups_sort(&result->reasons);
    groups_sort(&result->induced);
    return 0;
}

void gc_free(gc *result)
{
    groups_free(&result->generations);
    groups_free(&result->reasons);
    groups_free(&result->induced);
    groups_spread_free(&result->pauses);
    memset(result, 0, sizeof *result);
}
