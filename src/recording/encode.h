/*
 * encode: the recording's format on the writing side, for the agent and for the tool alike
 * (docs/recording.md). Everything appends to a base buffer; nothing here calls the operating
 * system, allocates by itself or keeps state outside what it is given.
 *
 * A chunk is begun, gets records of its kind, and is ended:
 *
 *     size_t chunk = recording_begin_chunk(&out, RECORDING_STRING, process);
 *     recording_put_string(&out, id, text, length);
 *     recording_end_chunk(&out, chunk);
 *
 * Over a fixed buffer (buffer_fix) recording_end_chunk tells whether everything fitted; when it
 * did not, the chunk is taken back and the buffer holds what it held before, and can be sent.
 *
 * Thread rules: a buffer belongs to one thread at a time. Not for signal handlers.
 */
#ifndef CLARINET_RECORDING_ENCODE_H
#define CLARINET_RECORDING_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define RECORDING_MAGIC             "CLARINET"
#define RECORDING_VERSION           1u
#define RECORDING_HEADER_SIZE       16u
#define RECORDING_CHUNK_HEADER_SIZE 16u
#define RECORDING_MAXIMUM_PAYLOAD   (16u << 20)
#define RECORDING_PROCESS_NONE      UINT32_MAX /* the recording itself */
#define RECORDING_TOOL_STRINGS      (1u << 31) /* first string id that the tool gives out */
#define RECORDING_MAXIMUM_COLUMNS   64u
#define RECORDING_MAXIMUM_PROCESSES 4096u

typedef enum {
    RECORDING_INFO = 1,
    RECORDING_STRING = 2,
    RECORDING_MODULE = 3,
    RECORDING_METHOD = 4,
    RECORDING_FRAME = 5,
    RECORDING_SYMBOL = 6,
    RECORDING_STACK = 7,
    RECORDING_THREAD = 8,
    RECORDING_TABLE = 9,
    RECORDING_ROWS = 10,
    RECORDING_LOSS = 11,
    RECORDING_COST = 12,
    RECORDING_PROFILER = 13,
    RECORDING_END = 14,
    RECORDING_HEAP = 15,
} recording_kind;

/* What a HEAP chunk holds: its first number. */
enum {
    RECORDING_HEAP_ROOTS = 2,
    RECORDING_HEAP_END = 3,
    RECORDING_HEAP_OBJECTS = 4,
    RECORDING_HEAP_RANGES = 5,
};
/* Flags of a shape: objects of one type whose references are at the same places. */
enum {
    RECORDING_SHAPE_SIZED = 1,     /* each object says its size */
    RECORDING_SHAPE_LISTED = 2,    /* each object lists its references with their places */
    RECORDING_SHAPE_STRING = 4,    /* each object says which text it has */
    RECORDING_SHAPE_FINALIZED = 8, /* its finalizer was suppressed or has run */
    RECORDING_SHAPE_CONTENT = 16,  /* each small array says which content it has */
    RECORDING_SHAPE_VALUES = 32,   /* each object says the values of its fields */
};
/* Flags of the table heap_types. */
enum {
    RECORDING_TYPE_BOXED = 1, /* a value type */
    RECORDING_TYPE_ARRAY = 2,
    RECORDING_TYPE_FINALIZABLE = 4,
    RECORDING_TYPE_DELEGATE = 8,
    RECORDING_TYPE_STRING = 16,
    RECORDING_TYPE_REFERENCES = 32, /* an array whose elements may hold references */
};
/* What a snapshot is, in its END. */
enum {
    RECORDING_HEAP_QUICK = 1,
    RECORDING_HEAP_STRINGS = 2,
    RECORDING_HEAP_COLLECTED = 4,
    RECORDING_HEAP_OUTSIDE = 8, /* told without the agent: not all places of references are known */
};
/* Kinds of heap roots, and their flags. */
enum {
    RECORDING_ROOT_STACK = 0,
    RECORDING_ROOT_FINALIZER = 1,
    RECORDING_ROOT_HANDLE = 2,
    RECORDING_ROOT_OTHER = 3,
    RECORDING_ROOT_STATIC = 4,
    RECORDING_ROOT_DEPENDENT = 5,
    RECORDING_ROOT_KINDS,
};
enum {
    RECORDING_ROOT_PINNED = 1,
    RECORDING_ROOT_WEAK = 2,
    RECORDING_ROOT_INTERIOR = 4,
    RECORDING_ROOT_COUNTED = 8,
    RECORDING_ROOT_THREAD = 16, /* a static field of a thread; in the analysis only */
};

enum { RECORDING_PACKED = 1 }; /* chunk flags */
enum { RECORDING_MODULE_MANAGED = 1, RECORDING_MODULE_NATIVE = 2, RECORDING_MODULE_NO_FILE = 3 };
enum { RECORDING_METHOD_DYNAMIC = 1, RECORDING_METHOD_STUB = 2, RECORDING_METHOD_PRECOMPILED = 4 };
enum {
    RECORDING_FRAME_MANAGED = 1,
    RECORDING_FRAME_NATIVE = 2,
    RECORDING_FRAME_SYNTHETIC = 3,
    RECORDING_FRAME_AWAIT = 4, /* one await of an async method */
};
enum {
    RECORDING_THREAD_POOL = 1,
    RECORDING_THREAD_BACKGROUND = 2,
    RECORDING_THREAD_FINALIZER = 4,
    RECORDING_THREAD_GC = 8,
    RECORDING_THREAD_MAIN = 16,
    RECORDING_THREAD_NATIVE = 32,
    RECORDING_THREAD_OWN = 64,
};
enum { RECORDING_STARTED = 1, RECORDING_STOPPED = 2, RECORDING_FAILED = 3 };
/* Reasons of an END after which the program went on, unrecorded. */
#define RECORDING_END_LOST   "connection lost"
#define RECORDING_END_CLOSED "connection closed by the program"
/* The state column of the samples tables. */
enum {
    RECORDING_STATE_RUNNING = 1,
    RECORDING_STATE_LOCK = 2,
    RECORDING_STATE_SLEEP = 3,
    RECORDING_STATE_IO = 4,
    RECORDING_STATE_GC = 5,
    RECORDING_STATE_WAIT = 6,
};

typedef enum {
    RECORDING_TIME = 1,
    RECORDING_THREAD_ID = 2,
    RECORDING_STACK_ID = 3,
    RECORDING_STRING_ID = 4,
    RECORDING_U64 = 5,
    RECORDING_I64 = 6,
    RECORDING_F64 = 7,
    RECORDING_METHOD_ID = 8,
    RECORDING_DURATION = 9,
    RECORDING_MODULE_ID = 10,
    RECORDING_FRAME_ID = 11,
} recording_column_type;

/* Texts and no pointers: hundreds of them in a library that is copied at every attach. */
typedef struct {
    uint8_t type; /* recording_column_type */
    char name[23];
    char unit[8]; /* "" where the type says it all */
} recording_column;

/* A table's definition: static data of its profiler. */
typedef struct {
    const char *name;
    const char *profiler;
    const recording_column *columns;
    size_t column_count; /* at most RECORDING_MAXIMUM_COLUMNS */
} recording_table;

typedef struct {
    uint64_t id;
    uint64_t kind;           /* RECORDING_MODULE_… */
    uint64_t name;           /* string */
    uint64_t path;           /* string */
    const uint8_t *identity; /* MVID or build-id */
    size_t identity_length;
    uint64_t base;
    uint64_t size;
} recording_module;

typedef struct {
    uint64_t id;
    uint64_t module;
    uint64_t token;
    uint64_t name;       /* string */
    uint64_t parameters; /* string */
    uint64_t flags;
} recording_method;

typedef struct {
    uint64_t os_id;
    uint64_t managed_id;
    uint64_t name; /* string */
    uint64_t flags;
    uint64_t start;
    uint64_t end;
} recording_thread;

typedef struct {
    uint64_t thread_cpu_ns;
    uint64_t handler_ns;
    uint64_t handler_calls;
    uint64_t memory_bytes;
} recording_cost;

typedef struct {
    const char *name;
    const char *value;
} recording_parameter;

/* CRC-32 as zlib's crc32(); start with 0, continue with the last result. */
uint32_t recording_crc32(uint32_t crc, const void *bytes, size_t length);

/* The 16 bytes at the start of a file. */
void recording_put_file_header(buffer *out);

/* Returns where the chunk starts, for recording_end_chunk. */
size_t recording_begin_chunk(buffer *out, recording_kind kind, uint32_t process);
/* Fills in length and check. A chunk without records is taken back (and counts as success).
 * false: it did not fit (buffer full or payload over 16 MiB) and was taken back; the buffer is
 * usable again and holds what was there before the chunk. */
bool recording_end_chunk(buffer *out, size_t start);
/* Bytes of payload so far. */
size_t recording_chunk_length(const buffer *out, size_t start);
/* A whole chunk from a finished payload. */
void recording_put_chunk(buffer *out, uint16_t kind, uint16_t flags, uint32_t process,
                         const void *payload, size_t length);

/* One record each, into a chunk of the kind of the same name. Texts are UTF-8. */
void recording_put_info(buffer *out, const char *key, const char *value);
void recording_put_string(buffer *out, uint64_t id, const char *text, size_t length);
void recording_put_module(buffer *out, const recording_module *module);
void recording_put_method(buffer *out, const recording_method *method);
void recording_put_frame(buffer *out, uint64_t id, uint64_t kind, uint64_t a, uint64_t b);
void recording_put_symbol(buffer *out, uint64_t frame, uint64_t name, uint64_t file, uint64_t line);
void recording_put_stack(buffer *out, uint64_t id, uint64_t parent, uint64_t frame);
void recording_put_thread(buffer *out, const recording_thread *thread);
void recording_put_table(buffer *out, uint64_t id, const recording_table *table);
void recording_put_loss(buffer *out, const char *profiler, const char *reason, uint64_t total);
void recording_put_cost(buffer *out, const recording_cost *cost);
void recording_put_profiler(buffer *out, const char *name, uint64_t profiler_state, uint64_t time,
                            const char *note, const recording_parameter *parameters, size_t count);
void recording_put_end(buffer *out, const char *reason, uint64_t time);

/* Rows of one table, in one chunk: begin, one cell after the other, row by row, end. Times are
 * given as they are; the difference to the row before is worked out here. */
typedef struct {
    buffer *out;
    const recording_table *table;
    size_t chunk;
    size_t column; /* of the next cell */
    uint64_t rows; /* whole rows so far */
    uint64_t previous[RECORDING_MAXIMUM_COLUMNS];
} recording_rows;

void recording_rows_begin(recording_rows *rows, buffer *out, uint32_t process, uint64_t table_id,
                          const recording_table *table);
/* The next cell, written as its column's type says; i64 as its two's complement. */
void recording_rows_put(recording_rows *rows, uint64_t value);
void recording_rows_put_f64(recording_rows *rows, double value);
/* A whole row, f64 as its bits. Afterwards previous[] has its cells. */
void recording_rows_put_row(recording_rows *rows, const uint64_t *cells);
/* As recording_end_chunk; also false (and taken back) when a row is not finished. */
bool recording_rows_end(recording_rows *rows);

#endif
