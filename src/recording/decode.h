/*
 * decode: the recording's format on the reading side (docs/recording.md): chunks out of a run of
 * bytes, records out of a chunk's payload. Every byte is treated as hostile: all values come
 * through base/reader, texts and blobs point into the caller's bytes and are not closed by a zero.
 *
 * No operating system, no memory of its own; packed chunks are opened by recording/file.h.
 */
#ifndef CLARINET_RECORDING_DECODE_H
#define CLARINET_RECORDING_DECODE_H

#include "base/reader.h"
#include "recording/encode.h"

typedef struct {
    uint16_t kind;
    uint16_t flags;
    uint32_t process;
    const uint8_t *payload;
    size_t length;
    size_t whole; /* header and payload together */
} recording_chunk;

typedef enum {
    RECORDING_CHUNK_WHOLE = 0,
    RECORDING_CHUNK_SHORT = 1, /* more bytes are needed; `whole` says how many in all, once known */
    RECORDING_CHUNK_BROKEN = 2, /* its check fails or its length is not allowed */
} recording_chunk_state;

/* Looks at the chunk that starts at `bytes`. */
recording_chunk_state recording_take_chunk(const void *bytes, size_t available,
                                           recording_chunk *chunk);

/* Bytes in place; never NULL ("" for none). */
typedef struct {
    const char *bytes;
    size_t length;
} recording_text;

typedef struct {
    recording_text key;
    recording_text value;
} recording_info;

typedef struct {
    uint64_t id;
    recording_text text;
} recording_string;

typedef struct {
    uint64_t id;
    uint64_t kind;
    uint64_t a;
    uint64_t b;
} recording_frame;

typedef struct {
    uint64_t frame;
    uint64_t name;
    uint64_t file;
    uint64_t line;
} recording_symbol;

typedef struct {
    uint64_t id;
    uint64_t parent;
    uint64_t frame;
} recording_stack;

typedef struct {
    recording_text profiler;
    recording_text reason;
    uint64_t total;
} recording_loss;

typedef struct {
    recording_text name;
    uint64_t state;
    uint64_t time;
    recording_text note;
    uint64_t parameter_count; /* the parameters follow: recording_next_parameter */
} recording_profiler;

typedef struct {
    recording_text reason;
    uint64_t time;
} recording_end;

typedef struct {
    uint64_t id;
    recording_text name;
    recording_text profiler;
    uint64_t column_count; /* the columns follow: recording_next_column */
} recording_table_head;

typedef struct {
    uint64_t type;
    recording_text name;
    recording_text unit;
} recording_column_head;

/* Each takes the next record; false at the end of the payload, and when the record is broken:
 * then reader_failed(r). */
bool recording_next_info(reader *r, recording_info *record);
bool recording_next_string(reader *r, recording_string *record);
bool recording_next_module(reader *r, recording_module *record);
bool recording_next_method(reader *r, recording_method *record);
bool recording_next_frame(reader *r, recording_frame *record);
bool recording_next_symbol(reader *r, recording_symbol *record);
bool recording_next_stack(reader *r, recording_stack *record);
bool recording_next_thread(reader *r, recording_thread *record);
bool recording_next_table(reader *r, recording_table_head *record);
bool recording_next_column(reader *r, recording_column_head *record);
bool recording_next_loss(reader *r, recording_loss *record);
bool recording_next_cost(reader *r, recording_cost *record);
bool recording_next_profiler(reader *r, recording_profiler *record);
bool recording_next_parameter(reader *r, recording_info *record);
bool recording_next_end(reader *r, recording_end *record);

/* One row: `count` cells of the given types into `cells` (f64 as its bits). `previous` holds the
 * last time of each column: cleared by the caller at the start of a chunk. A column of unknown type
 * makes the row unreadable. */
bool recording_next_row(reader *r, const uint8_t *types, size_t count, uint64_t *previous,
                        uint64_t *cells);
/* Whether a column of this type can be read. */
bool recording_column_type_is_known(uint64_t type);

#endif
