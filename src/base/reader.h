/*
 * reader: the only way to take values out of foreign bytes.
 *
 * Invariant: begin <= position <= end. A read that would pass the end sets `failed`, returns 0 (or
 * NULL) and moves nothing; all later reads fail too. So a parser reads a whole record and checks
 * reader_failed() once; it can never run off its input. Readers never own the bytes.
 */
#ifndef CLARINET_BASE_READER_H
#define CLARINET_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *begin;
    const uint8_t *position;
    const uint8_t *end;
    bool failed;
} reader;

reader reader_of(const void *bytes, size_t length);
/* A reader over `length` bytes at `offset` of r's whole range; failed if they don't lie inside. */
reader reader_slice(const reader *r, size_t offset, size_t length);

static inline bool reader_failed(const reader *r)
{
    return r->failed;
}
static inline size_t reader_left(const reader *r)
{
    return r->failed ? 0 : (size_t)(r->end - r->position);
}
static inline size_t reader_offset(const reader *r)
{
    return (size_t)(r->position - r->begin);
}
static inline bool reader_at_end(const reader *r)
{
    return r->failed || r->position == r->end;
}

bool reader_seek(reader *r, size_t offset); /* from begin */
bool reader_skip(reader *r, size_t count);
bool reader_align(reader *r, size_t alignment); /* relative to begin */

uint8_t reader_u8(reader *r);
uint16_t reader_u16(reader *r);
uint32_t reader_u32(reader *r);
uint64_t reader_u64(reader *r);
double reader_f64(reader *r);
uint64_t reader_varint(reader *r); /* LEB128, at most 10 bytes */
int64_t reader_zigzag(reader *r);

/* `length` bytes in place, or NULL (and failed). */
const uint8_t *reader_bytes(reader *r, size_t length);
/* The same without a call, for innermost loops. */
static inline const uint8_t *reader_take(reader *r, size_t length)
{
    const uint8_t *p = r->position;

    if (r->failed || (size_t)(r->end - p) < length) {
        r->failed = true;
        return NULL;
    }
    r->position = p + length;
    return p;
}
/* varint length and that many bytes in place; *length is 0 on failure. */
const uint8_t *reader_blob(reader *r, size_t *length);

#endif
