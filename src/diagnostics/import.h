/*
 * import: a file of events (.nettrace, as dotnet-trace writes it) as a recording, so that every
 * report works on it. Docs: docs/nettrace.md.
 *
 * Events are turned into rows as they come; code addresses become methods at the end, because the
 * runtime names most of its methods last. Needs memory for the rows, the distinct stacks and the
 * methods, not for the file. Every byte is hostile.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_DIAGNOSTICS_IMPORT_H
#define CLARINET_DIAGNOSTICS_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "diagnostics/class_memory.h"
#include "symbols/field_index.h"
#include "symbols/static_fields.h"

typedef struct event_import event_import;

/* Whether a file begins like an event stream; false also when it cannot be read. */
bool import_is_event_file(const char *path);

/* The whole file as a recording in *out. A file that is cut off or broken further on is used as far
 * as it goes; then `cut` says so in one sentence, else it is "". */
int import_file(const char *path, buffer *out, char *cut, size_t cut_size, error *e);

/* The same in steps, for bytes from elsewhere. NULL when there is no memory. */
event_import *import_create(void);
/* Who knows what the events of a heap leave out; an answer may be NULL, and lives until the next
 * question. */
typedef struct {
    void *context;
    /* Namespace.Outer+Inner of a nested type; `assembly` without .dll */
    const char *(*nested)(void *context, const char *assembly, uint32_t token);
    /* Of static fields, in the order in which they were told; NULL where it is not sure. These
     * answers live as long as the context. */
    void (*classes_of_statics)(void *context, const static_told *told, const char **classes,
                               size_t count);
    const field_index *fields; /* NULL: not known */
} import_namer;

/* Before the first bytes; the namer is asked until import_write is over. */
void import_set_namer(event_import *i, const import_namer *namer);
/* Before the first bytes: how to read the memory of the process that the events come from: fields
 * of a heap have their names then, and with `texts` equal strings and small arrays are told.
 * `values`: names of types whose fields' values are told, by commas. */
void import_set_memory(event_import *i, const class_memory *memory, bool texts, const char *values);
/* Before the first bytes: the messages of exceptions are not kept. */
void import_leave_out_messages(event_import *i);
/* Before the first bytes: how often meters are told. */
void import_set_meter_interval(event_import *i, uint64_t ns);
/* Why meters were not told, as the runtime says it; "" = nothing was refused. */
const char *import_meter_trouble(const event_import *i);
/* What was left out of them; "" = nothing was. */
const char *import_meter_note(const event_import *i);
int import_feed(event_import *i, const void *bytes, size_t length, error *e);
/* Whether the heap dump that was asked for is there, up to the end of its collection. */
bool import_has_heap(const event_import *i);
/* What there is of one is not written. */
void import_forget_heap(event_import *i);
bool import_is_whole(const event_import *i);
/* Appends the recording; to be called once. */
int import_finish(event_import *i, buffer *out, error *e);

/* For a stream that was asked for: of which profilers there are to be tables, with rows or not. */
typedef struct {
    const char *const *profilers;
    size_t count;
    const char *reason; /* why it ended, as in the recording's END */
    uint64_t end_ns;    /* since the stream began, when that is later than its last event */
} import_wishes;

/* Instead of import_finish: the chunks alone, as process 0 of a recording that has its header. */
int import_write(event_import *i, const import_wishes *wishes, buffer *out, error *e);
/* Whether the stream has begun; how many rows there are so far, and events that were lost. */
bool import_has_begun(const event_import *i);
void import_count(const event_import *i, uint64_t *rows, uint64_t *lost);
/* For who looks on: appends what has come of counters and meters since the last call as chunks of a
 * recording, their tables first. import_write has them all the same, unless they are forgotten:
 * who looks on for weeks has no room for all. */
void import_append_new_counters(event_import *i, bool forget, buffer *out);
void import_free(event_import *i);

#endif
