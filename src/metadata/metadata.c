/*
 * metadata: root, streams, table layout, cells and heaps. See metadata.h.
 *
 * The layout is worked out once: the width of an index column depends on the row counts of the
 * tables it can point to (for a portable PDB also those of its assembly, from the #Pdb stream).
 */
#include "metadata/metadata.h"

#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "cil/compressed.h"

enum { ROOT_SIGNATURE = 0x424A5342, NO_TABLE = 0xFF, CODED_TABLES = 32, ROW_LIMIT = 0x00FFFFFF };

/* Coded indices: a letter, the bits of the tag, and the table for each tag. */
typedef struct {
    char letter;
    uint8_t bits;
    uint8_t count;
    uint8_t tables[CODED_TABLES];
} coded_index;

static const coded_index CODED[] = {
    {'d', 2, 3, {0x02, 0x01, 0x1B}}, /* TypeDefOrRef */
    {'c', 2, 3, {0x04, 0x08, 0x17}}, /* HasConstant */
    {'a', 5, 22, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x00, 0x0E, 0x17, 0x14,
                  0x11, 0x1A, 0x1B, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2A, 0x2C, 0x2B}},
    {'f', 1, 2, {0x04, 0x08}},                               /* HasFieldMarshal */
    {'s', 2, 3, {0x02, 0x06, 0x20}},                         /* HasDeclSecurity */
    {'p', 3, 5, {0x02, 0x01, 0x1A, 0x06, 0x1B}},             /* MemberRefParent */
    {'e', 1, 2, {0x14, 0x17}},                               /* HasSemantics */
    {'m', 1, 2, {0x06, 0x0A}},                               /* MethodDefOrRef */
    {'h', 1, 2, {0x04, 0x06}},                               /* MemberForwarded */
    {'i', 2, 3, {0x26, 0x23, 0x27}},                         /* Implementation */
    {'t', 3, 5, {NO_TABLE, NO_TABLE, 0x06, 0x0A, NO_TABLE}}, /* CustomAttributeType */
    {'r', 2, 4, {0x00, 0x1A, 0x23, 0x01}},                   /* ResolutionScope */
    {'g', 1, 2, {0x02, 0x06}},                               /* TypeOrMethodDef */
    {'x', 5, 27, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x00, 0x0E,
                  0x17, 0x14, 0x11, 0x1A, 0x1B, 0x20, 0x23, 0x26, 0x27,
                  0x28, 0x2A, 0x2C, 0x2B, 0x30, 0x32, 0x33, 0x34, 0x35}},
};

static const char *const COLUMNS[METADATA_TABLE_LIMIT] = {
#define X(name, number, columns) [number] = columns,
    METADATA_TABLE_LIST(X)
#undef X
};

static const coded_index *coded_of(char letter)
{
    for (size_t i = 0; i < sizeof CODED / sizeof CODED[0]; i++)
        if (CODED[i].letter == letter)
            return &CODED[i];
    return NULL;
}

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

/* The text of the n-th column: "2", "t04", "cr"… */
static const char *column_text(unsigned table, unsigned column)
{
    const char *text = table < METADATA_TABLE_LIMIT ? COLUMNS[table] : NULL;

    while (text != NULL && column-- > 0) {
        text = strchr(text, ' ');
        text = text == NULL ? NULL : text + 1;
    }
    return text;
}

static uint8_t column_width(const char *text, const uint32_t *rows, uint8_t heap_sizes)
{
    const coded_index *coded;

    switch (text[0]) {
    case '2':
        return 2;
    case '4':
        return 4;
    case 's':
        return heap_sizes & 1 ? 4 : 2;
    case 'g':
        return heap_sizes & 2 ? 4 : 2;
    case 'b':
        return heap_sizes & 4 ? 4 : 2;
    case 't':
        return rows[hex_digit(text[1]) << 4 | hex_digit(text[2])] > 0xFFFF ? 4 : 2;
    default:
        coded = coded_of(text[1]);
        for (unsigned i = 0; coded != NULL && i < coded->count; i++)
            if (coded->tables[i] != NO_TABLE && rows[coded->tables[i]] >= 1u << (16 - coded->bits))
                return 4;
        return 2;
    }
}

static void lay_out_table(metadata_table_layout *t, const char *columns, const uint32_t *rows,
                          uint8_t heap_sizes)
{
    uint8_t offset = 0;

    for (const char *text = columns; text != NULL; text = strchr(text, ' ')) {
        text += text[0] == ' ';
        t->column_offset[t->column_count] = offset;
        t->column_size[t->column_count] = column_width(text, rows, heap_sizes);
        offset = (uint8_t)(offset + t->column_size[t->column_count]);
        t->column_count++;
    }
    t->row_size = offset;
}

static int read_tables(metadata *m, metadata_span stream, error *e)
{
    reader r = reader_of(stream.data, stream.length);
    uint32_t index_rows[METADATA_TABLE_LIMIT] = {0}; /* what decides the width of indices */
    uint64_t present;
    uint8_t heap_sizes;

    reader_skip(&r, 6);
    heap_sizes = reader_u8(&r);
    reader_skip(&r, 1);
    present = reader_u64(&r);
    m->sorted = reader_u64(&r);
    for (unsigned i = 0; i < METADATA_TABLE_LIMIT; i++) {
        if ((present >> i & 1) == 0)
            continue;
        if (COLUMNS[i] == NULL)
            return error_set(e, ERROR_CORRUPT, "the metadata has an unknown table %02X", i);
        m->tables[i].rows = index_rows[i] = reader_u32(&r);
        if (m->tables[i].rows > ROW_LIMIT)
            return error_set(e, ERROR_CORRUPT, "the metadata table %02X claims %u rows", i,
                             (unsigned)m->tables[i].rows);
    }
    if (heap_sizes & 0x40)
        reader_skip(&r, 4);
    if (m->pdb.data != NULL) {
        reader p = reader_of(m->pdb.data, m->pdb.length);
        uint64_t referenced;

        reader_skip(&p, 24);
        referenced = reader_u64(&p);
        for (unsigned i = 0; i < METADATA_TABLE_LIMIT; i++)
            if (referenced >> i & 1)
                index_rows[i] = reader_u32(&p);
        if (reader_failed(&p))
            return error_set(e, ERROR_CORRUPT, "the #Pdb stream is cut off");
    }
    for (unsigned i = 0; i < METADATA_TABLE_LIMIT; i++) {
        metadata_table_layout *t = &m->tables[i];

        if (COLUMNS[i] == NULL)
            continue;
        lay_out_table(t, COLUMNS[i], index_rows, heap_sizes);
        if (t->rows != 0) {
            t->data = reader_bytes(&r, (size_t)t->rows * t->row_size);
            if (t->data == NULL)
                return error_set(e, ERROR_CORRUPT, "the metadata table %02X is cut off", i);
        }
    }
    return reader_failed(&r) ? error_set(e, ERROR_CORRUPT, "the metadata tables are cut off") : 0;
}

/* One stream header: where it lies and a name of at most 32 bytes, padded to 4. */
static bool read_stream_header(reader *r, const reader *whole, metadata_span *span, char name[33])
{
    uint32_t offset = reader_u32(r);
    uint32_t size = reader_u32(r);
    reader slice = reader_slice(whole, offset, size);
    size_t length = 0;

    for (;;) {
        char c = (char)reader_u8(r);

        if (c == '\0' || length == 32)
            break;
        name[length++] = c;
    }
    name[length] = '\0';
    while ((length + 1) % 4 != 0) {
        reader_u8(r);
        length++;
    }
    span->data = slice.begin;
    span->length = reader_failed(&slice) ? 0 : size;
    return !reader_failed(r) && !reader_failed(&slice);
}

int metadata_open(metadata *m, const void *bytes, size_t length, error *e)
{
    reader whole = reader_of(bytes, length);
    reader r = whole;
    metadata_span tables = {NULL, 0};
    uint32_t version_length;
    uint16_t streams;
    const uint8_t *version;

    memset(m, 0, sizeof *m);
    if (reader_u32(&r) != ROOT_SIGNATURE)
        return error_set(e, ERROR_CORRUPT, "not metadata: it does not start with BSJB");
    reader_skip(&r, 8);
    version_length = reader_u32(&r);
    version = reader_bytes(&r, version_length);
    reader_skip(&r, 2);
    streams = reader_u16(&r);
    if (version != NULL)
        memcpy(m->version, version,
               version_length < sizeof m->version ? version_length : sizeof m->version - 1);
    for (uint16_t i = 0; i < streams && !reader_failed(&r); i++) {
        metadata_span span;
        char name[33];

        if (!read_stream_header(&r, &whole, &span, name))
            return error_set(e, ERROR_CORRUPT, "a metadata stream lies outside of the metadata");
        if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0)
            tables = span;
        else if (strcmp(name, "#Strings") == 0)
            m->strings = span;
        else if (strcmp(name, "#US") == 0)
            m->user_strings = span;
        else if (strcmp(name, "#Blob") == 0)
            m->blobs = span;
        else if (strcmp(name, "#GUID") == 0)
            m->guids = span;
        else if (strcmp(name, "#Pdb") == 0)
            m->pdb = span;
    }
    if (reader_failed(&r) || tables.data == NULL)
        return error_set(e, ERROR_CORRUPT, "the metadata has no tables, or its head is cut off");
    return read_tables(m, tables, e);
}

uint32_t metadata_cell(const metadata *m, unsigned table, uint32_t row, unsigned column)
{
    const metadata_table_layout *t = &m->tables[table & 63];
    const uint8_t *p;

    if (row == 0 || row > t->rows || column >= t->column_count)
        return 0;
    p = t->data + (size_t)(row - 1) * t->row_size + t->column_offset[column];
    if (t->column_size[column] == 2)
        return (uint32_t)p[0] | (uint32_t)p[1] << 8;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t metadata_token(const metadata *m, unsigned table, uint32_t row, unsigned column)
{
    const char *text = column_text(table, column);
    uint32_t cell = metadata_cell(m, table, row, column);
    const coded_index *coded;
    uint32_t tag;

    if (text == NULL || cell == 0)
        return 0;
    if (text[0] == 't')
        return cell > ROW_LIMIT ? 0 : (hex_digit(text[1]) << 4 | hex_digit(text[2])) << 24 | cell;
    coded = text[0] == 'c' ? coded_of(text[1]) : NULL;
    if (coded == NULL)
        return 0;
    tag = cell & ((1u << coded->bits) - 1);
    cell >>= coded->bits;
    if (tag >= coded->count || coded->tables[tag] == NO_TABLE || cell == 0 || cell > ROW_LIMIT)
        return 0;
    return (uint32_t)coded->tables[tag] << 24 | cell;
}

bool metadata_code(unsigned table, unsigned column, uint32_t token, uint32_t *out)
{
    const char *text = column_text(table, column);
    const coded_index *coded = text != NULL && text[0] == 'c' ? coded_of(text[1]) : NULL;

    for (unsigned i = 0; coded != NULL && i < coded->count; i++) {
        if (coded->tables[i] == token >> 24) {
            *out = (token & ROW_LIMIT) << coded->bits | i;
            return true;
        }
    }
    return false;
}

const char *metadata_string(const metadata *m, uint32_t index)
{
    const uint8_t *p;

    if (index >= m->strings.length)
        return "";
    p = m->strings.data + index;
    return memchr(p, 0, m->strings.length - index) == NULL ? "" : (const char *)p;
}

static metadata_span heap_blob(metadata_span heap, uint32_t index)
{
    metadata_span none = {NULL, 0};
    reader r = reader_of(heap.data, heap.length);
    uint32_t length;
    const uint8_t *data;

    if (index >= heap.length || !reader_seek(&r, index))
        return none;
    length = cil_read_compressed(&r);
    data = reader_bytes(&r, length);
    return reader_failed(&r) ? none : (metadata_span){data, length};
}

metadata_span metadata_blob(const metadata *m, uint32_t index)
{
    return heap_blob(m->blobs, index);
}

/* The last byte only says whether a character needs care; it is not part of the text. */
metadata_span metadata_user_string(const metadata *m, uint32_t index)
{
    metadata_span span = heap_blob(m->user_strings, index);

    span.length &= ~(size_t)1;
    return span;
}

metadata_span metadata_guid(const metadata *m, uint32_t index)
{
    metadata_span none = {NULL, 0};

    if (index == 0 || index > m->guids.length / 16)
        return none;
    return (metadata_span){m->guids.data + (size_t)(index - 1) * 16, 16};
}

const char *metadata_cell_string(const metadata *m, unsigned table, uint32_t row, unsigned column)
{
    return metadata_string(m, metadata_cell(m, table, row, column));
}

metadata_span metadata_cell_blob(const metadata *m, unsigned table, uint32_t row, unsigned column)
{
    return metadata_blob(m, metadata_cell(m, table, row, column));
}

/* First row in 1..rows whose cell is not below the value; rows + 1 if all are. */
static uint32_t lower_bound(const metadata *m, unsigned table, unsigned column, uint32_t value)
{
    uint32_t low = 1;
    uint32_t high = metadata_rows(m, table) + 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (metadata_cell(m, table, middle, column) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t metadata_find(const metadata *m, unsigned table, unsigned column, uint32_t value)
{
    uint32_t rows = metadata_rows(m, table);

    if (m->sorted >> (table & 63) & 1) {
        uint32_t row = lower_bound(m, table, column, value);

        return row <= rows && metadata_cell(m, table, row, column) == value ? row : 0;
    }
    for (uint32_t row = 1; row <= rows; row++)
        if (metadata_cell(m, table, row, column) == value)
            return row;
    return 0;
}

void metadata_list(const metadata *m, unsigned table, uint32_t row, unsigned column,
                   uint32_t *first, uint32_t *end)
{
    const char *text = column_text(table, column);
    uint32_t limit = 1;

    *first = *end = 1;
    if (text == NULL || text[0] != 't' || row == 0 || row > metadata_rows(m, table))
        return;
    limit = metadata_rows(m, hex_digit(text[1]) << 4 | hex_digit(text[2])) + 1;
    *first = metadata_cell(m, table, row, column);
    *end = row < metadata_rows(m, table) ? metadata_cell(m, table, row + 1, column) : limit;
    if (*end > limit)
        *end = limit;
    if (*first == 0 || *first > *end)
        *first = *end;
}

uint32_t metadata_list_owner(const metadata *m, unsigned table, unsigned column, uint32_t item)
{
    uint32_t row = lower_bound(m, table, column, item + 1);
    uint32_t first, end;

    if (item == 0 || row <= 1)
        return 0;
    row--; /* the last row whose list starts at or before the item */
    metadata_list(m, table, row, column, &first, &end);
    return item >= first && item < end ? row : 0;
}
