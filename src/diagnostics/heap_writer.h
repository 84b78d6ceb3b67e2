/*
 * heap_writer: a heap snapshot in the recording's format (docs/recording.md, HEAP), of objects that
 * were told from outside of the process: by its event stream, or by a .gcdump file. Where a
 * reference lies in its object may not be known there.
 *
 * Invariant: what is in `done` are whole chunks; objects are in the order they were put, which must
 * be runs of rising addresses. Thread rules: one thread at a time.
 */
#ifndef CLARINET_DIAGNOSTICS_HEAP_WRITER_H
#define CLARINET_DIAGNOSTICS_HEAP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/table.h"

typedef struct {
    uint64_t class;    /* the runtime's number of it; 0 = not known */
    uint32_t name;     /* string */
    uint32_t assembly; /* string */
    uint32_t flags;    /* RECORDING_TYPE_… */
    uint64_t size;     /* of its first instance; 0 = none yet */
    uint32_t element;  /* bytes, of an array; 0 = not known */
    uint32_t data;     /* of such a one: where the first element is */
} heap_writer_type;

typedef struct {
    uint64_t address, size;
    uint32_t type;
    uint32_t flags;          /* 0 or RECORDING_SHAPE_FINALIZED */
    const uint64_t *targets; /* references */
    const uint64_t *places;  /* of them, in bytes from the object's start; NULL: not known */
    size_t count;
    const uint32_t *words; /* its values, as the recording has them; NULL: not told */
    size_t word_count;
} heap_writer_object;

typedef struct {
    buffer done;    /* chunks */
    buffer objects; /* payload of chunks to come */
    buffer roots;
    buffer ranges;
    table_text shapes; /* type, flags and places → number */
    uint64_t attempt;
    uint64_t previous; /* address */
    uint64_t object_count, reference_count, root_count;
    heap_writer_type *types; /* by number */
    size_t type_count, type_capacity;
    bool said_generation;
    bool with_strings;     /* contents were compared */
    uint64_t not_compared; /* strings */
    bool failed;           /* no memory */
} heap_writer;

void heap_writer_init(heap_writer *w);
void heap_writer_free(heap_writer *w);
/* The number of a new type. */
uint32_t heap_writer_add_type(heap_writer *w, uint32_t name, uint32_t assembly, uint32_t flags);
/* Begins another walk: what was put before does not count, but for types. */
void heap_writer_begin(heap_writer *w);
void heap_writer_put_object(heap_writer *w, const heap_writer_object *object);
/* An object that says which content it has: a string or an array, by `flag` (RECORDING_SHAPE_…).
 * `text`: of a string whose code says that it follows. */
void heap_writer_put_content(heap_writer *w, uint64_t address, uint32_t type, uint64_t size,
                             uint32_t flag, uint64_t code, const uint16_t *text, uint32_t length);
/* `name`: of a static field only. */
void heap_writer_put_root(heap_writer *w, uint32_t kind, uint32_t flags, uint64_t object,
                          uint64_t id, const char *name, size_t length);
/* Objects from `start` on are of this generation. */
void heap_writer_put_range(heap_writer *w, uint32_t generation, uint64_t start, uint64_t length);
/* All of it: chunks of the snapshot, the table of its types under the id `table`, and the end.
 * `trouble`: why it is not whole, "" = it is. */
void heap_writer_finish(heap_writer *w, uint64_t table, uint64_t walk_ns, const char *trouble,
                        buffer *out);

#endif
