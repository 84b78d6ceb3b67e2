/*
 * heap_waste: memory of a snapshot that is kept for little or nothing, by rules that need no value
 * of the program: collections and arrays with few elements, boxed values, equal small arrays,
 * events with many subscribers, timers and cancellation callbacks, objects whose finalizer nobody
 * suppressed, holes between large objects.
 *
 * Rows below a rule's limits are left out: a healthy program has none.
 */
#ifndef CLARINET_ANALYSIS_HEAP_WASTE_H
#define CLARINET_ANALYSIS_HEAP_WASTE_H

#include "analysis/heap.h"
#include "analysis/heap_owners.h"

/* X(identifier, name for machines, what it says, least objects, least bytes) */
#define HEAP_WASTE_LIST(X)                                                                         \
    X(HEAP_WASTE_COLLECTIONS, "empty_collections",                                                 \
      "collections that are mostly empty (at most a quarter of their room is used)", 1, 16384)     \
    X(HEAP_WASTE_ARRAYS, "sparse_arrays",                                                          \
      "arrays that are mostly empty (at most a quarter of their elements is set)", 1, 16384)       \
    X(HEAP_WASTE_BOXES, "boxed_values", "values in boxes", 300, 4096)                              \
    X(HEAP_WASTE_EQUAL_ARRAYS, "equal_arrays", "small arrays that hold the same", 50, 8192)        \
    X(HEAP_WASTE_HANDLERS, "event_subscribers", "subscribers that an event keeps alive", 20, 0)    \
    X(HEAP_WASTE_TIMERS, "timers", "timers that keep their state alive", 20, 0)                    \
    X(HEAP_WASTE_CALLBACKS, "cancellation_callbacks",                                              \
      "callbacks that wait for a cancellation and keep their state alive", 20, 0)                  \
    X(HEAP_WASTE_UNDISPOSED, "undisposed", "objects with a finalizer that were not disposed", 50,  \
      0)                                                                                           \
    X(HEAP_WASTE_HOLES, "large_object_holes", "holes between large objects", 2, 1048576)

typedef enum {
#define X(identifier, name, text, count, bytes) identifier,
    HEAP_WASTE_LIST(X)
#undef X
        HEAP_WASTE_KINDS
} heap_waste_kind;

typedef struct {
    heap_waste_kind kind;
    uint32_t type;    /* of the objects; of an event: of most subscribers */
    uint32_t holder;  /* type of who holds them; UINT32_MAX = not said */
    heap_field field; /* of the holder */
    uint32_t root;    /* index into roots + 1: a static field holds them; 0 = an object does */
    uint32_t owner;   /* of boxes that a container holds: whose it is */
    uint64_t count;   /* objects */
    uint64_t bytes;   /* that could be spared; of what is kept alive: all that goes with it */
    uint64_t used;    /* elements in use; of undisposed ones: others that were disposed */
    uint64_t room;    /* elements in all */
} heap_waste_row;

typedef struct {
    heap_waste_row *rows; /* by kind, then by bytes */
    size_t count, capacity;
    heap_owners owners;
} heap_waste;

int heap_find_waste(const heap *h, heap_waste *out, error *e);
void heap_waste_free(heap_waste *w);
const char *heap_waste_name(heap_waste_kind kind);
const char *heap_waste_text(heap_waste_kind kind);
/* "Shop.Publisher.Changed"; nothing when the holder is not said. */
void heap_waste_holder(const heap *h, const heap_waste_row *row, buffer *out);

#endif
