/* reader: see reader.h. */
#include "base/reader.h"

#include <string.h>

static const uint8_t NOTHING[1] = {0};

reader reader_of(const void *bytes, size_t length)
{
    reader r;

    r.begin = bytes != NULL ? bytes : NOTHING;
    r.position = r.begin;
    r.end = r.begin + (bytes != NULL ? length : 0);
    r.failed = false;
    return r;
}

reader reader_slice(const reader *r, size_t offset, size_t length)
{
    size_t whole = (size_t)(r->end - r->begin);
    reader slice;

    if (r->failed || offset > whole || length > whole - offset) {
        slice = reader_of(NULL, 0);
        slice.failed = true;
        return slice;
    }
    return reader_of(r->begin + offset, length);
}

bool reader_seek(reader *r, size_t offset)
{
    if (r->failed || offset > (size_t)(r->end - r->begin)) {
        r->failed = true;
        return false;
    }
    r->position = r->begin + offset;
    return true;
}

bool reader_skip(reader *r, size_t count)
{
    return reader_bytes(r, count) != NULL;
}

bool reader_align(reader *r, size_t alignment)
{
    size_t rest = reader_offset(r) % alignment;

    return rest == 0 || reader_skip(r, alignment - rest);
}

uint8_t reader_u8(reader *r)
{
    const uint8_t *p = reader_bytes(r, 1);

    return p == NULL ? 0 : p[0];
}

uint16_t reader_u16(reader *r)
{
    const uint8_t *p = reader_bytes(r, 2);

    return p == NULL ? 0 : (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

uint32_t reader_u32(reader *r)
{
    const uint8_t *p = reader_bytes(r, 4);

    if (p == NULL)
        return 0;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t reader_u64(reader *r)
{
    const uint8_t *p = reader_bytes(r, 8);
    uint64_t value = 0;

    if (p == NULL)
        return 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

double reader_f64(reader *r)
{
    uint64_t bits = reader_u64(r);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t reader_varint(reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = reader_u8(r);

        if (r->failed)
            return 0;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    r->failed = true;
    return 0;
}

int64_t reader_zigzag(reader *r)
{
    uint64_t value = reader_varint(r);

    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

const uint8_t *reader_bytes(reader *r, size_t length)
{
    const uint8_t *p = r->position;

    if (r->failed || length > (size_t)(r->end - r->position)) {
        r->failed = true;
        return NULL;
    }
    r->position += length;
    return p;
}

const uint8_t *reader_blob(reader *r, size_t *length)
{
    uint64_t size = reader_varint(r);
    const uint8_t *p;

    *length = 0;
    if (r->failed || size > (uint64_t)(r->end - r->position)) {
        r->failed = true;
        return NULL;
    }
    p = reader_bytes(r, (size_t)size);
    if (p != NULL)
        *length = (size_t)size;
    return p;
}
