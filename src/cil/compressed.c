/* compressed: integers and tokens in signatures and blobs. See compressed.h. */
#include "cil/compressed.h"

uint32_t cil_read_compressed(reader *r)
{
    uint32_t first = reader_u8(r);
    uint32_t value;

    if ((first & 0x80) == 0)
        return first;
    if ((first & 0xC0) == 0x80)
        return (first & 0x3F) << 8 | reader_u8(r);
    if ((first & 0xE0) != 0xC0) {
        r->failed = true;
        return 0;
    }
    value = (first & 0x1F) << 24;
    value |= (uint32_t)reader_u8(r) << 16;
    value |= (uint32_t)reader_u8(r) << 8;
    value |= reader_u8(r);
    return r->failed ? 0 : value;
}

/* The sign bit is the lowest one; the width decides how far it is spread. */
int32_t cil_read_compressed_signed(reader *r)
{
    uint8_t first = r->failed || r->position == r->end ? 0 : *r->position;
    uint32_t raw = cil_read_compressed(r);
    uint32_t value = raw >> 1;

    if (r->failed || (raw & 1) == 0)
        return (int32_t)value;
    if ((first & 0x80) == 0)
        return (int32_t)(value | 0xFFFFFFC0);
    if ((first & 0xC0) == 0x80)
        return (int32_t)(value | 0xFFFFE000);
    return (int32_t)(value | 0xF0000000);
}

uint32_t cil_read_compressed_token(reader *r)
{
    static const uint32_t tables[4] = {0x02000000, 0x01000000, 0x1B000000, 0};
    uint32_t value = cil_read_compressed(r);

    if ((value & 3) == 3 || value >> 2 > 0x00FFFFFF)
        r->failed = true;
    return r->failed ? 0 : tables[value & 3] | value >> 2;
}

bool cil_append_compressed(buffer *out, uint32_t value)
{
    if (value > CIL_COMPRESSED_MAX)
        return false;
    if (value <= 0x7F) {
        buffer_append_u8(out, (uint8_t)value);
    } else if (value <= 0x3FFF) {
        buffer_append_u8(out, (uint8_t)(0x80 | value >> 8));
        buffer_append_u8(out, (uint8_t)value);
    } else {
        buffer_append_u8(out, (uint8_t)(0xC0 | value >> 24));
        buffer_append_u8(out, (uint8_t)(value >> 16));
        buffer_append_u8(out, (uint8_t)(value >> 8));
        buffer_append_u8(out, (uint8_t)value);
    }
    return true;
}

bool cil_append_compressed_signed(buffer *out, int32_t value)
{
    uint32_t sign = value < 0 ? 1u : 0u;
    uint32_t bits = (uint32_t)value;

    if (value >= -0x40 && value <= 0x3F)
        return cil_append_compressed(out, (bits & 0x3F) << 1 | sign);
    if (value >= -0x2000 && value <= 0x1FFF) {
        uint32_t rotated = (bits & 0x1FFF) << 1 | sign;

        buffer_append_u8(out, (uint8_t)(0x80 | rotated >> 8));
        buffer_append_u8(out, (uint8_t)rotated);
        return true;
    }
    if (value >= -0x10000000 && value <= 0x0FFFFFFF) {
        uint32_t rotated = (bits & 0x0FFFFFFF) << 1 | sign;

        buffer_append_u8(out, (uint8_t)(0xC0 | rotated >> 24));
        buffer_append_u8(out, (uint8_t)(rotated >> 16));
        buffer_append_u8(out, (uint8_t)(rotated >> 8));
        buffer_append_u8(out, (uint8_t)rotated);
        return true;
    }
    return false;
}

bool cil_append_compressed_token(buffer *out, uint32_t token)
{
    uint32_t row = token & 0x00FFFFFF; /* always fits: 26 bits of 29 */

    switch (token >> 24) {
    case 0x02:
        return cil_append_compressed(out, row << 2);
    case 0x01:
        return cil_append_compressed(out, row << 2 | 1);
    case 0x1B:
        return cil_append_compressed(out, row << 2 | 2);
    default:
        return false;
    }
}
