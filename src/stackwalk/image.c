/* image: see image.h. */
#include "stackwalk/image.h"

#include <string.h>

#include "base/reader.h"

enum { HEADERS = 64, HEADER_SIZE = 56, NOTES = 2048 };
enum { PT_LOAD_TYPE = 1, PT_NOTE_TYPE = 4, PT_EH_FRAME_TYPE = 0x6474e550 };

/* Finds the GNU build-id among a segment's notes. */
static void read_notes(image *i, const peek *memory, uint64_t address, uint64_t size)
{
    uint8_t bytes[NOTES];
    reader r;

    if (size > sizeof bytes)
        size = sizeof bytes;
    if (!peek_read(memory, address, bytes, (size_t)size))
        return;
    r = reader_of(bytes, (size_t)size);
    while (reader_left(&r) >= 12) {
        uint32_t name_size = reader_u32(&r), value_size = reader_u32(&r), type = reader_u32(&r);
        const uint8_t *name = reader_bytes(&r, name_size), *value;

        reader_align(&r, 4);
        value = reader_bytes(&r, value_size);
        if (value == NULL || name == NULL)
            return;
        if (type == 3 && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
            value_size <= IMAGE_BUILD_ID) {
            memcpy(i->build_id, value, value_size);
            i->build_id_length = value_size;
            return;
        }
        reader_align(&r, 4);
    }
}

bool image_open(image *i, const peek *memory, uint64_t base)
{
    uint8_t head[64], table[HEADERS * HEADER_SIZE];
    uint64_t lowest = UINT64_MAX, highest = 0, headers_at, note[8][2];
    unsigned count, notes = 0;
    reader r;

    memset(i, 0, sizeof *i);
    /* 64-bit, little-endian, x86-64 (machine 62). */
    if (!peek_read(memory, base, head, sizeof head) || memcmp(head, "\177ELF\2\1", 6) != 0 ||
        head[18] != 62 || head[19] != 0)
        return false;
    memcpy(&headers_at, head + 32, 8);
    count = (unsigned)(head[56] | head[57] << 8);
    if (head[54] != HEADER_SIZE || head[55] != 0 || count == 0 || count > HEADERS ||
        !peek_read(memory, base + headers_at, table, (size_t)count * HEADER_SIZE))
        return false;
    i->base = base;
    r = reader_of(table, (size_t)count * HEADER_SIZE);
    for (unsigned n = 0; n < count; n++) {
        uint32_t type = reader_u32(&r);
        uint64_t address, size;

        reader_skip(&r, 12);
        address = reader_u64(&r);
        reader_skip(&r, 16);
        size = reader_u64(&r);
        reader_skip(&r, 8);
        if (type == PT_LOAD_TYPE) {
            lowest = address < lowest ? address : lowest;
            highest = address + size > highest ? address + size : highest;
        } else if (type == PT_EH_FRAME_TYPE) {
            i->eh_header = address;
        } else if (type == PT_NOTE_TYPE && notes < 8) {
            note[notes][0] = address;
            note[notes++][1] = size;
        }
    }
    if (lowest > highest)
        return false;
    i->bias = base - (lowest & ~0xfffULL);
    i->size = highest - (lowest & ~0xfffULL);
    if (i->eh_header != 0)
        i->eh_header += i->bias;
    for (unsigned n = 0; n < notes && i->build_id_length == 0; n++)
        read_notes(i, memory, note[n][0] + i->bias, note[n][1]);
    return true;
}
