/*
 * heap_texts: which strings and small arrays of a heap say the same, where the heap is told by
 * events that leave contents out, and which objects need not be finalized any more. They are read
 * from the process's memory, in large pieces, while the events come: the program may run again and
 * a collection may move objects before they are read. So what is read counts only if it is of the
 * type that the events tell and as long as they say; the rest is counted as not compared.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_DIAGNOSTICS_HEAP_TEXTS_H
#define CLARINET_DIAGNOSTICS_HEAP_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "diagnostics/class_memory.h"

typedef enum {
    HEAP_TEXTS_NOT_ASKED = 0,
    HEAP_TEXTS_NONE, /* objects of the type are not compared */
    HEAP_TEXTS_STRING,
    HEAP_TEXTS_ARRAY, /* of numbers: no references in it */
    HEAP_TEXTS_FINALIZABLE,
} heap_texts_kind;

typedef struct {
    class_memory memory;
    bool is_comparing; /* strings and arrays; else only finalizers are looked at */
    uint8_t *piece;
    uint64_t start; /* of what is in it */
    size_t length;
    table_u64 numbers; /* hash → number * 2, + 1 when it was met again */
    uint64_t next;
    uint64_t not_compared; /* strings */
} heap_texts;

void heap_texts_init(heap_texts *t);
void heap_texts_free(heap_texts *t);
/* Begins another walk. */
void heap_texts_clear(heap_texts *t);
heap_texts_kind heap_texts_kind_of(heap_texts *t, uint64_t type_id);
/* The code of an object as the recording has it (docs/recording.md). *text and *length are those of
 * a string whose text follows, until the next call. */
uint64_t heap_texts_code(heap_texts *t, heap_texts_kind kind, uint64_t type_id, uint64_t address,
                         uint64_t size, const uint16_t **text, uint32_t *length);
/* Whether the finalizer of an object was suppressed or has run. false when that could not be read.
 */
bool heap_texts_is_finalized(heap_texts *t, uint64_t type_id, uint64_t address, bool *is_finalized);
/* Bytes of an object, or a part of one, until the next call. NULL when they cannot be read, and for
 * more than 256 KB. Cheap where they follow what was asked for before. */
const uint8_t *heap_texts_bytes(heap_texts *t, uint64_t address, uint64_t size);

#endif
