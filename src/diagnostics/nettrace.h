/*
 * nettrace: reads the runtime's event stream (format "Nettrace", version 4: what 8.0 to 10.0
 * write).
 *
 * Fed with bytes as they come, in pieces of any size; calls the sink for every whole event. Every
 * byte is hostile: lengths are checked before use, sizes are capped, and broken input ends in an
 * error from which the parser does not go on. Docs: docs/nettrace.md.
 *
 * Order: events of one thread come in order; threads are mixed, and an event may come after a later
 * one of another thread. Up to a sequence point (sink.sequence_point) everything before it has
 * come. Thread rules: one parser belongs to one thread.
 */
#ifndef CLARINET_DIAGNOSTICS_NETTRACE_H
#define CLARINET_DIAGNOSTICS_NETTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Type codes of fields that are seen. */
enum {
    NETTRACE_OBJECT = 1,
    NETTRACE_BOOLEAN = 3, /* 4 bytes */
    NETTRACE_CHAR = 4,
    NETTRACE_I8 = 5,
    NETTRACE_U8 = 6,
    NETTRACE_I16 = 7,
    NETTRACE_U16 = 8,
    NETTRACE_I32 = 9,
    NETTRACE_U32 = 10,
    NETTRACE_I64 = 11,
    NETTRACE_U64 = 12,
    NETTRACE_F32 = 13,
    NETTRACE_F64 = 14,
    NETTRACE_GUID = 17,
    NETTRACE_STRING = 18, /* UTF-16 up to a zero */
    NETTRACE_ARRAY = 19,
};

typedef struct {
    uint32_t type;
    uint32_t depth; /* fields of an object follow it, one deeper */
    char *name;     /* UTF-8 */
} nettrace_field;

/* What an event is. Lives as long as the parser. */
typedef struct {
    uint32_t id; /* in this stream */
    char *provider;
    char *name; /* "" for the runtime's own events */
    uint32_t event_id;
    uint32_t version;
    uint32_t level;
    uint64_t keywords;
    uint8_t opcode;
    nettrace_field *fields; /* none for the runtime's own events */
    size_t field_count;
} nettrace_metadata;

typedef struct {
    uint64_t start_ticks;      /* of the clock the events have */
    uint64_t ticks_per_second; /* of that clock */
    uint32_t process_id;       /* as the process sees itself */
    uint32_t processors;
    uint32_t pointer_size;  /* 4 or 8 */
    uint32_t sampling_ns;   /* between two looks of the sample profiler, as intended */
    uint16_t start_time[8]; /* UTC: year, month, weekday, day, hour, minute, second, millisecond */
} nettrace_trace;

/* Good during the call only, except `metadata`. */
typedef struct {
    const nettrace_metadata *metadata;
    uint64_t ticks;
    uint64_t thread_id;
    uint32_t processor;
    const uint8_t *stack; /* stack_count addresses of pointer_size bytes, innermost first */
    size_t stack_count;
    uint32_t stack_id;       /* of the same stack up to the next sequence point; 0 = none */
    const uint8_t *activity; /* 16 bytes each */
    const uint8_t *related_activity;
    const uint8_t *payload;
    size_t payload_length;
} nettrace_event;

/* Any of these may be NULL. */
typedef struct {
    void (*trace)(void *context, const nettrace_trace *trace);
    void (*event)(void *context, const nettrace_event *event);
    /* Lost in the target for lack of room. A thread of which every event was lost may not count. */
    void (*dropped)(void *context, uint64_t thread_id, uint64_t count);
    void (*sequence_point)(void *context, uint64_t ticks);
    void *context;
} nettrace_sink;

typedef struct nettrace nettrace;

/* NULL when there is no memory. The sink is copied. */
nettrace *nettrace_create(const nettrace_sink *sink);
void nettrace_free(nettrace *parser);
int nettrace_feed(nettrace *parser, const void *bytes, size_t length, error *e);
/* Whether the stream's own end was read; otherwise it was cut off. */
bool nettrace_at_end(const nettrace *parser);

#endif
