/* pe: headers, sections, directories. See pe.h. */
#include "metadata/pe.h"

#include <string.h>

#include "base/reader.h"

enum {
    MZ = 0x5A4D,
    PE_SIGNATURE = 0x00004550,
    OPTIONAL_32 = 0x10B,
    OPTIONAL_64 = 0x20B,
    DEBUG_ENTRY_SIZE = 28
};

static int corrupt(error *e, const char *what)
{
    return error_set(e, ERROR_CORRUPT, "not a PE file: %s", what);
}

/* The fields of the optional header up to the directories, which differ in width. */
static bool read_optional_header(pe *p, reader *r)
{
    uint16_t magic = reader_u16(r);
    uint32_t count;

    p->is_64 = magic == OPTIONAL_64;
    if (magic != OPTIONAL_32 && magic != OPTIONAL_64)
        return false;
    reader_skip(r, 54);
    p->image_size = reader_u32(r);
    reader_skip(r, p->is_64 ? 48 : 32);
    count = reader_u32(r);
    if (count > PE_DIRECTORY_COUNT)
        count = PE_DIRECTORY_COUNT;
    for (uint32_t i = 0; i < count; i++) {
        p->directories[i].rva = reader_u32(r);
        p->directories[i].size = reader_u32(r);
    }
    return !reader_failed(r);
}

int pe_open(pe *p, const void *bytes, size_t length, bool mapped, error *e)
{
    reader r = reader_of(bytes, length);
    uint32_t header;
    uint16_t optional_size;
    size_t optional_at;

    memset(p, 0, sizeof *p);
    p->bytes = bytes;
    p->length = length;
    p->mapped = mapped;
    if (reader_u16(&r) != MZ)
        return corrupt(e, "it does not start with MZ");
    reader_seek(&r, 0x3C);
    header = reader_u32(&r);
    if (!reader_seek(&r, header) || reader_u32(&r) != PE_SIGNATURE)
        return corrupt(e, "no PE signature");
    p->machine = reader_u16(&r);
    p->section_count = reader_u16(&r);
    p->timestamp = reader_u32(&r);
    reader_skip(&r, 8);
    optional_size = reader_u16(&r);
    reader_skip(&r, 2);
    optional_at = reader_offset(&r);
    if (!read_optional_header(p, &r))
        return corrupt(e, "its optional header is cut off or of an unknown kind");
    if (p->section_count > PE_SECTION_LIMIT)
        return corrupt(e, "too many sections");
    reader_seek(&r, optional_at + optional_size);
    for (uint32_t i = 0; i < p->section_count; i++) {
        pe_section *s = &p->sections[i];

        reader_skip(&r, 8);
        s->virtual_size = reader_u32(&r);
        s->rva = reader_u32(&r);
        s->file_size = reader_u32(&r);
        s->file_offset = reader_u32(&r);
        reader_skip(&r, 16);
    }
    return reader_failed(&r) ? corrupt(e, "its section table is cut off") : 0;
}

static pe_span cut(const pe *p, uint64_t offset, uint64_t available, size_t size)
{
    pe_span none = {NULL, 0};

    if (offset > p->length)
        return none;
    if (available > p->length - offset)
        available = p->length - offset;
    if (size == 0)
        size = (size_t)available;
    if (size == 0 || size > available)
        return none;
    return (pe_span){p->bytes + offset, size};
}

pe_span pe_at(const pe *p, uint32_t rva, size_t size)
{
    pe_span none = {NULL, 0};

    if (p->mapped)
        return cut(p, rva, p->length, size);
    for (uint32_t i = 0; i < p->section_count; i++) {
        const pe_section *s = &p->sections[i];
        uint32_t extent = s->file_size;

        if (rva < s->rva || rva - s->rva >= extent)
            continue;
        return cut(p, (uint64_t)s->file_offset + (rva - s->rva), extent - (rva - s->rva), size);
    }
    return none;
}

pe_span pe_directory(const pe *p, unsigned index)
{
    pe_span none = {NULL, 0};

    if (index >= PE_DIRECTORY_COUNT || p->directories[index].size == 0)
        return none;
    return pe_at(p, p->directories[index].rva, p->directories[index].size);
}

int pe_metadata(const pe *p, pe_span *out, error *e)
{
    pe_span header = pe_directory(p, PE_DIRECTORY_CLI);
    reader r = reader_of(header.data, header.length);
    uint32_t rva, size;

    *out = (pe_span){NULL, 0};
    if (header.data == NULL)
        return error_set(e, ERROR_NOT_FOUND, "the file has no CLI header: it is not a .NET one");
    reader_skip(&r, 8);
    rva = reader_u32(&r);
    size = reader_u32(&r);
    if (!reader_failed(&r))
        *out = pe_at(p, rva, size);
    if (out->data == NULL)
        return error_set(e, ERROR_CORRUPT, "the CLI header points outside of the file");
    return 0;
}

bool pe_debug(const pe *p, size_t index, pe_debug_entry *out)
{
    pe_span directory = pe_directory(p, PE_DIRECTORY_DEBUG);
    reader r = reader_of(directory.data, directory.length);
    uint32_t size, rva, offset;

    memset(out, 0, sizeof *out);
    if (directory.data == NULL || index >= directory.length / DEBUG_ENTRY_SIZE)
        return false;
    reader_skip(&r, index * DEBUG_ENTRY_SIZE + 4);
    out->timestamp = reader_u32(&r);
    out->major = reader_u16(&r);
    out->minor = reader_u16(&r);
    out->type = reader_u32(&r);
    size = reader_u32(&r);
    rva = reader_u32(&r);
    offset = reader_u32(&r);
    if (reader_failed(&r))
        return false;
    if (size != 0) /* data outside of any section has RVA 0 and is found by its file offset */
        out->data = rva != 0 || p->mapped ? pe_at(p, rva, size) : cut(p, offset, p->length, size);
    return true;
}
