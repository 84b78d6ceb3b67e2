/* precompiled: see precompiled.h. */
#include "metadata/precompiled.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"

enum {
    SIGNATURE = 0x00525452, /* "RTR" */
    MACHINE_X64_LINUX = 0x8664 ^ 0x7b79,
    NATIVE_HEADER = 64, /* place of its RVA in the CLI header */
    SECTIONS = 64,
    SECTION_FUNCTIONS = 102,
    SECTION_ENTRIES = 103,
    FUNCTION_SIZE = 12,
    BLOCK = 16, /* elements of the sparse array that share a tree */
    NESTING = 16
};

/* A number of the native format: the low bits of its first byte say how long it is. */
static uint32_t read_number(reader *r)
{
    uint32_t first = reader_u8(r), value;

    if ((first & 1) == 0)
        return first >> 1;
    if ((first & 2) == 0)
        return first >> 2 | (uint32_t)reader_u8(r) << 6;
    if ((first & 4) == 0) {
        value = first >> 3 | (uint32_t)reader_u8(r) << 5;
        return value | (uint32_t)reader_u8(r) << 13;
    }
    if ((first & 8) == 0) {
        value = first >> 4 | (uint32_t)reader_u8(r) << 4;
        value |= (uint32_t)reader_u8(r) << 12;
        return value | (uint32_t)reader_u8(r) << 20;
    }
    return reader_u32(r);
}

/* Where the tree of the element's block begins: behind an index of 1, 2 or 4 bytes a block. */
static size_t find_block(reader *r, size_t base, uint32_t index, uint32_t width)
{
    if (!reader_seek(r, base + ((size_t)(index / BLOCK) << width)))
        return 0;
    return base + (width == 0 ? reader_u8(r) : width == 1 ? reader_u16(r) : reader_u32(r));
}

/* Moves to element `index` of a sparse array; false when it has none. */
static bool find_element(reader *r, size_t base, uint32_t index, uint32_t width)
{
    size_t at = find_block(r, base, index, width);

    for (uint32_t bit = BLOCK / 2; bit > 0; bit /= 2) {
        uint32_t value;

        if (reader_failed(r) || !reader_seek(r, at))
            return false;
        value = read_number(r);
        if ((index & bit) != 0 && (value & 2) != 0)
            at += value >> 2;
        else if ((index & bit) == 0 && (value & 1) != 0)
            at = reader_offset(r);
        else if ((value & 3) == 0 && value >> 2 == (index & (BLOCK - 1)))
            return !reader_failed(r); /* the only one of its block */
        else
            return false;
    }
    return !reader_failed(r) && reader_seek(r, at);
}

static void read_entries(precompiled *c, uint32_t methods)
{
    reader r = reader_of(c->entries.data, c->entries.length);
    uint32_t head = read_number(&r);
    size_t base = reader_offset(&r);
    uint32_t count = head >> 2 < methods ? head >> 2 : methods;

    if (reader_failed(&r) || (head & 3) == 3)
        return;
    for (uint32_t i = 0; i < count; i++) {
        reader one = r;
        uint32_t id;

        if (!find_element(&one, base, i, head & 3))
            continue;
        id = read_number(&one);
        id = (id & 1) != 0 ? id >> 2 : id >> 1;
        if (!reader_failed(&one) && id < c->count && c->rows[id] == 0)
            c->rows[id] = i + 1;
    }
}

static bool read_sections(precompiled *c, const pe *p)
{
    pe_span cli = pe_directory(p, PE_DIRECTORY_CLI), header;
    reader r = reader_of(cli.data, cli.data == NULL ? 0 : cli.length);
    uint32_t rva, size, sections;

    reader_skip(&r, NATIVE_HEADER);
    rva = reader_u32(&r);
    size = reader_u32(&r);
    if (reader_failed(&r) || rva == 0 || size == 0)
        return false;
    header = pe_at(p, rva, size);
    r = reader_of(header.data, header.data == NULL ? 0 : header.length);
    if (reader_u32(&r) != SIGNATURE)
        return false;
    reader_skip(&r, 8); /* version, flags */
    sections = reader_u32(&r);
    for (uint32_t i = 0; i < sections && i < SECTIONS && !reader_failed(&r); i++) {
        uint32_t type = reader_u32(&r), at = reader_u32(&r), length = reader_u32(&r);

        if (reader_failed(&r) || length == 0)
            continue;
        if (type == SECTION_FUNCTIONS)
            c->functions = pe_at(p, at, length);
        else if (type == SECTION_ENTRIES)
            c->entries = pe_at(p, at, length);
    }
    return c->functions.data != NULL && c->entries.data != NULL;
}

bool precompiled_open(precompiled *c, const pe *p, uint32_t methods)
{
    memset(c, 0, sizeof *c);
    if (p->machine != MACHINE_X64_LINUX || !read_sections(c, p))
        return false;
    c->count = (uint32_t)(c->functions.length / FUNCTION_SIZE);
    c->rows = memory_allocate_array(c->count, sizeof *c->rows);
    if (c->rows == NULL)
        return false;
    read_entries(c, methods);
    return true;
}

void precompiled_close(precompiled *c)
{
    memory_free(c->rows);
    memset(c, 0, sizeof *c);
}

static void read_function(const precompiled *c, uint32_t index, precompiled_function *out)
{
    reader r = reader_of(c->functions.data + (size_t)index * FUNCTION_SIZE, FUNCTION_SIZE);

    out->start = reader_u32(&r);
    out->end = reader_u32(&r);
    out->row = c->rows[index];
}

bool precompiled_find(const precompiled *c, uint32_t rva, precompiled_function *out)
{
    uint32_t low = 0, high = c->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        read_function(c, middle, out);
        if (out->end <= rva)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == c->count)
        return false;
    read_function(c, low, out);
    return out->start <= rva && rva < out->end;
}

/* Without the number of generic parameters: "List`1" is List. */
static void append_plain(buffer *out, const char *name)
{
    buffer_append(out, name, strcspn(name, "`"));
}

static void append_type(const metadata *m, uint32_t row, char nesting, buffer *out, int depth)
{
    const char *space =
        metadata_cell_string(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_NAMESPACE);
    uint32_t nested = metadata_find(m, METADATA_NESTED_CLASS, METADATA_NESTED_INNER, row);

    if (nested != 0 && depth < NESTING) {
        append_type(m, metadata_cell(m, METADATA_NESTED_CLASS, nested, METADATA_NESTED_OUTER),
                    nesting, out, depth + 1);
        buffer_append_char(out, nesting);
    } else if (space[0] != '\0') {
        buffer_append_text(out, space);
        buffer_append_char(out, '.');
    }
    append_plain(out, metadata_cell_string(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_NAME));
}

void precompiled_append_name(const metadata *m, uint32_t row, buffer *out)
{
    uint32_t owner = metadata_list_owner(m, METADATA_TYPE_DEF, METADATA_TYPE_DEF_METHODS, row);

    if (row == 0 || row > metadata_rows(m, METADATA_METHOD_DEF))
        return;
    if (owner != 0) {
        append_type(m, owner, '.', out, 0);
        buffer_append_char(out, '.');
    }
    append_plain(out, metadata_cell_string(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME));
}

const char *precompiled_split_name(const metadata *m, uint32_t row, buffer *type)
{
    uint32_t owner = metadata_list_owner(m, METADATA_TYPE_DEF, METADATA_TYPE_DEF_METHODS, row);

    if (row == 0 || row > metadata_rows(m, METADATA_METHOD_DEF))
        return "";
    if (owner != 0)
        append_type(m, owner, '+', type, 0);
    return metadata_cell_string(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME);
}
