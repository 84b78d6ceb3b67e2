/* elf: see elf.h. */
#include "symbols/elf.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/reader.h"

enum { SECTION_SIZE = 64, SYMBOL_SIZE = 24, MAX_SECTIONS = 65535, MAX_SYMBOLS = 16 * 1024 * 1024 };
enum { SECTION_SYMTAB = 2, SECTION_NOTE = 7, SECTION_DYNSYM = 11 };
enum { SYMBOL_FUNCTION = 2, SYMBOL_INDIRECT_FUNCTION = 10 };

typedef struct {
    uint32_t type;
    uint32_t link;
    reader bytes;
} section;

static section read_section(const reader *file, uint64_t table, uint32_t number)
{
    reader r = reader_slice(file, (size_t)(table + (uint64_t)number * SECTION_SIZE), SECTION_SIZE);
    section s;
    uint64_t offset, size;

    memset(&s, 0, sizeof s);
    reader_u32(&r);
    s.type = reader_u32(&r);
    reader_skip(&r, 16);
    offset = reader_u64(&r);
    size = reader_u64(&r);
    s.link = reader_u32(&r);
    if (reader_failed(&r))
        s.type = 0;
    s.bytes = reader_slice(file, (size_t)offset, (size_t)size);
    return s;
}

static void read_build_id(elf *f, reader r)
{
    while (reader_left(&r) >= 12 && f->build_id_length == 0) {
        uint32_t name_size = reader_u32(&r), size = reader_u32(&r), type = reader_u32(&r);
        const uint8_t *name = reader_bytes(&r, name_size), *value;

        reader_align(&r, 4);
        value = reader_bytes(&r, size);
        if (name == NULL || value == NULL)
            return;
        if (type == 3 && name_size == 4 && memcmp(name, "GNU", 4) == 0 && size <= ELF_BUILD_ID) {
            memcpy(f->build_id, value, size);
            f->build_id_length = size;
        }
        reader_align(&r, 4);
    }
}

/* A name that ends inside its string table, or NULL. */
static const char *name_at(const reader *strings, uint32_t offset)
{
    size_t length = (size_t)(strings->end - strings->begin);

    if (strings->failed || offset == 0 || offset >= length ||
        memchr(strings->begin + offset, 0, length - offset) == NULL)
        return NULL;
    return (const char *)strings->begin + offset;
}

/* By address; of aliases the one a person knows first: with a size, global, short. */
static int compare_symbols(const void *a, const void *b)
{
    const elf_symbol *x = a, *y = b;
    size_t x_length, y_length;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->local != y->local)
        return x->local ? 1 : -1;
    x_length = strlen(x->name);
    y_length = strlen(y->name);
    if (x_length != y_length)
        return x_length < y_length ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int read_symbols(elf *f, const section *table, const section *strings, error *e)
{
    reader r = table->bytes;
    size_t total = reader_left(&r) / SYMBOL_SIZE;

    if (total == 0 || total > MAX_SYMBOLS)
        return 0;
    f->symbols = memory_allocate_array(total, sizeof *f->symbols);
    if (f->symbols == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for %zu symbols", total);
    for (size_t i = 0; i < total; i++) {
        uint32_t name = reader_u32(&r);
        uint8_t info = reader_u8(&r);
        uint16_t home;
        elf_symbol *s = &f->symbols[f->count];

        reader_u8(&r);
        home = reader_u16(&r);
        s->address = reader_u64(&r);
        s->size = reader_u64(&r);
        s->name = name_at(&strings->bytes, name);
        s->local = info >> 4 == 0;
        if (((info & 15) == SYMBOL_FUNCTION || (info & 15) == SYMBOL_INDIRECT_FUNCTION) &&
            home != 0 && s->name != NULL)
            f->count++;
    }
    if (f->count > 1)
        qsort(f->symbols, f->count, sizeof *f->symbols, compare_symbols);
    return 0;
}

int elf_open(elf *f, const void *bytes, size_t length, error *e)
{
    reader file = reader_of(bytes, length);
    reader r = file;
    const uint8_t *head = reader_bytes(&r, 64);
    section symbols, strings;
    uint64_t table;
    uint32_t count;

    memset(f, 0, sizeof *f);
    memset(&symbols, 0, sizeof symbols);
    if (head == NULL || memcmp(head, "\177ELF\2\1", 6) != 0)
        return error_set(e, ERROR_CORRUPT, "no 64-bit little-endian ELF file");
    reader_seek(&r, 40);
    table = reader_u64(&r);
    reader_seek(&r, 60);
    count = reader_u16(&r);
    if (table > length)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        section s = read_section(&file, table, i);

        if (s.type == SECTION_NOTE)
            read_build_id(f, s.bytes);
        if (s.type == SECTION_SYMTAB || (s.type == SECTION_DYNSYM && symbols.type == 0))
            symbols = s;
    }
    if (symbols.type == 0 || symbols.link >= count)
        return 0;
    strings = read_section(&file, table, symbols.link);
    f->has_full_table = symbols.type == SECTION_SYMTAB;
    return read_symbols(f, &symbols, &strings, e);
}

void elf_close(elf *f)
{
    memory_free(f->symbols);
    memset(f, 0, sizeof *f);
}

const elf_symbol *elf_find(const elf *f, uint64_t address)
{
    size_t low = 0, high = f->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (f->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    /* Aliases share an address: the first of them. A function without a size reaches to the next,
     * but only where the table is full. */
    for (low--; low > 0 && f->symbols[low - 1].address == f->symbols[low].address;)
        low--;
    if (address - f->symbols[low].address < f->symbols[low].size ||
        (f->symbols[low].size == 0 && f->has_full_table && high < f->count))
        return &f->symbols[low];
    return NULL;
}

/* One <length><name> of a mangled name; NULL when there is none. */
static const char *source_name(const char **at, const char *end, size_t *length)
{
    size_t n = 0;
    const char *p = *at;

    while (p < end && *p >= '0' && *p <= '9' && n < 100000)
        n = n * 10 + (size_t)(*p++ - '0');
    if (n == 0 || n > (size_t)(end - p))
        return NULL;
    *at = p + n;
    *length = n;
    return p;
}

/* Skips a template's arguments: I … E with nested names and templates inside. */
static bool skip_template(const char **at, const char *end)
{
    int depth = 0;
    size_t length;

    while (*at < end) {
        char c = **at;

        if (c >= '0' && c <= '9') {
            if (source_name(at, end, &length) == NULL)
                return false;
            continue;
        }
        ++*at;
        if (c == 'L') { /* a constant: type letter, digits, E */
            while (*at < end && **at != 'E')
                ++*at;
            if (*at < end)
                ++*at;
        } else if (c == 'I' || c == 'N' || c == 'F' || c == 'X' || c == 'J') {
            depth++;
        } else if (c == 'E' && --depth == 0) {
            return true;
        } else if (c == 'S' && *at < end && **at != '_') {
            ++*at; /* a standard substitution: St, Sa, Ss, S0_ */
        }
    }
    return false;
}

static bool append_nested(buffer *out, const char *at, const char *end)
{
    const char *name, *last = NULL;
    size_t length, last_length = 0, start = out->length;

    while (at < end && (*at == 'K' || *at == 'V' || *at == 'r'))
        at++;
    if (end - at > 2 && memcmp(at, "St", 2) == 0) {
        buffer_append_text(out, "std");
        at += 2;
    }
    while (at < end && *at != 'E') {
        if (*at >= '0' && *at <= '9') {
            name = source_name(&at, end, &length);
            if (name == NULL)
                return false;
            if (out->length > start)
                buffer_append_text(out, "::");
            if (length > 10 && memcmp(name, "_GLOBAL__N", 10) == 0)
                buffer_append_text(out, "(anonymous)");
            else
                buffer_append(out, name, length);
            last = name;
            last_length = length;
        } else if (*at == 'I') {
            if (!skip_template(&at, end))
                return false;
            buffer_append_text(out, "<…>");
        } else if ((*at == 'C' || *at == 'D') && end - at > 1 && last != NULL) {
            buffer_append_text(out, *at == 'D' ? "::~" : "::");
            buffer_append(out, last, last_length);
            at += 2;
        } else {
            return false;
        }
    }
    return at < end && last != NULL;
}

void elf_append_demangled(buffer *out, const char *name)
{
    size_t length = strcspn(name, "@"), start = out->length, n; /* without `@@GLIBC_2.34` */
    const char *end = name + length, *at = name + 2, *part;
    bool done = false;

    if (length > 3 && name[0] == '_' && name[1] == 'Z') {
        if (*at == 'N') {
            done = append_nested(out, at + 1, end);
        } else {
            if (*at == 'L')
                at++;
            part = source_name(&at, end, &n);
            if (part != NULL) {
                buffer_append(out, part, n);
                done = true;
                if (at < end && *at == 'I')
                    buffer_append_text(out, "<…>");
            }
        }
    }
    if (!done && !out->failed) {
        out->length = start;
        if (out->data != NULL)
            out->data[start] = 0;
        buffer_append(out, name, length);
    }
}
