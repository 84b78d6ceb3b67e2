/*
 * heap_series: several snapshots of one program, oldest first, by type and by what keeps objects
 * alive. Only the sums are kept, and where the old objects of the first one are, so that one
 * snapshot at a time needs to be in memory.
 *
 * Types match by name, holders by the text of their root and the name of their type.
 */
#ifndef CLARINET_ANALYSIS_HEAP_SERIES_H
#define CLARINET_ANALYSIS_HEAP_SERIES_H

#include "analysis/heap.h"
#include "analysis/heap_growth.h"
#include "analysis/heap_sites.h"
#include "analysis/heap_survival.h"

enum {
    HEAP_SERIES_MOST = 32,
    HEAP_SERIES_LEAST_LEAK = 3, /* snapshots that it takes to call something a leak */
};

typedef struct {
    const char *name;
    uint64_t count[HEAP_SERIES_MOST];
    uint64_t bytes[HEAP_SERIES_MOST];    /* of a holder: as retained */
    uint64_t retained[HEAP_SERIES_MOST]; /* 0 in quick snapshots */
    uint64_t survived; /* of a type: objects of the first snapshot found in the last, at least */
} heap_series_row;

typedef struct {
    heap_series_row *items; /* after heap_series_sort: by growth */
    size_t count, capacity;
    table_text known;
} heap_series_rows;

typedef struct {
    size_t count; /* snapshots */
    struct {
        uint64_t time_ns; /* since 1970; 0 = not known */
        uint64_t objects, bytes;
        bool is_quick;
    } snapshots[HEAP_SERIES_MOST];
    heap_series_rows types, holders;
    heap_survival first; /* snapshot */
    bool is_matched;     /* first and last snapshot are of one process: `survived` counts */
    bool keeps_ways;     /* set before the first one: the ways of objects are kept */
    size_t ways_of;      /* of those of this snapshot, counted from 0 */
    heap_growth ways;
    heap_sites sites; /* of all recordings that have allocations too */
} heap_series;

void heap_series_init(heap_series *s);
void heap_series_free(heap_series *s);
/* Fails without memory, and beyond HEAP_SERIES_MOST snapshots. */
int heap_series_add(heap_series *s, const heap *h, error *e);
/* Largest growth first. */
void heap_series_sort(heap_series *s, heap_order order);

/* From the first snapshot to the last. */
static inline int64_t heap_series_growth(const heap_series *s, const uint64_t *values)
{
    return (int64_t)(values[s->count - 1] - values[0]);
}
/* Whether objects of the type take more in the last snapshot than in the first. */
bool heap_series_has_grown(const heap_series *s, const char *type);
/* More bytes, and no fewer objects, in every snapshot than in the one before; of three or more
 * only.
 */
bool heap_series_rises(const heap_series *s, const heap_series_row *row);
/* One of them is a quick look: dead objects count in it, and what is retained is not known. */
bool heap_series_has_quick(const heap_series *s);
/* Rises, and by so much that it matters: 64 KB and a hundredth of the heap. Never with quick looks,
 * where garbage rises as well. So do types whose
 * objects become more with every snapshot, and what they retain, too. */
bool heap_series_is_leak(const heap_series *s, const heap_series_row *row);
/* What has grown by it: its own bytes, or what it retains where that is more. */
int64_t heap_series_weight(const heap_series *s, const heap_series_row *row);
/* The rows of types that are leaks, the heaviest first; `room` at most. */
size_t heap_series_leaks(const heap_series *s, const heap_series_row **rows, size_t room,
                         bool (*is_wanted)(const void *context, const heap_series_row *row),
                         const void *context);
/* Nanoseconds from the first snapshot to the last; 0 = not known. */
uint64_t heap_series_span(const heap_series *s);

#endif
