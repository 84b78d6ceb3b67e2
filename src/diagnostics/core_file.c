/* core_file: see core_file.h. */
#include "diagnostics/core_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/reader.h"

enum {
    TYPE_CORE = 4,
    MACHINE_X64 = 62,
    SEGMENT_LOAD = 1,
    SEGMENT_NOTE = 4,
    FLAG_EXECUTE = 1,
    FLAG_WRITE = 2,
    FLAG_READ = 4,
    MANY_HEADERS = 0xffff, /* then the first section header has the number */
    HEADER_SIZE = 56,
    SECTION_COUNT_AT = 44,
    MOST_HEADERS = 4 << 20,
    NOTE_STATUS = 1,
    NOTE_PROCESS = 3,
    NOTE_FILES = 0x46494c45,
};

/* ---- growing ---- */

static bool grow(void *items, size_t count, size_t *capacity, size_t size)
{
    size_t wish = *capacity < 64 ? 64 : *capacity * 2;
    void *old, *grown;

    if (count < *capacity)
        return true;
    memcpy(&old, items, sizeof old);
    grown = memory_resize(old, wish * size);
    if (grown == NULL)
        return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = wish;
    return true;
}

/* ---- notes ---- */

/* seconds and microseconds */
static uint64_t read_time(reader *r)
{
    uint64_t seconds = reader_u64(r);

    return seconds * 1000000000u + reader_u64(r) * 1000u;
}

static bool take_status(core_file *c, reader note)
{
    enum { ID_AT = 32, TIMES_AT = 48, REGISTERS_AT = 112 };
    core_thread thread = {0};

    reader_seek(&note, ID_AT);
    thread.id = (int)reader_u32(&note);
    reader_seek(&note, TIMES_AT);
    thread.cpu_ns = read_time(&note);
    thread.cpu_ns += read_time(&note);
    reader_seek(&note, REGISTERS_AT);
    for (int i = 0; i < CORE_REGISTERS; i++)
        thread.registers[i] = reader_u64(&note);
    if (reader_failed(&note) || thread.id <= 0)
        return true; /* of another shape: left out */
    if (!grow(&c->threads, c->thread_count, &c->thread_capacity, sizeof *c->threads))
        return false;
    c->threads[c->thread_count++] = thread;
    return true;
}

static void take_process(core_file *c, reader note)
{
    enum { ID_AT = 24, NAME_AT = 40, NAME = 16, COMMAND_LINE = 80 };
    const uint8_t *bytes;

    reader_seek(&note, ID_AT);
    c->process_id = (int)reader_u32(&note);
    reader_seek(&note, NAME_AT);
    bytes = reader_bytes(&note, NAME);
    if (bytes != NULL)
        memcpy(c->name, bytes, NAME);
    bytes = reader_bytes(&note, COMMAND_LINE);
    if (bytes != NULL)
        memcpy(c->command_line, bytes, COMMAND_LINE);
    if (c->process_id < 0)
        c->process_id = 0;
}

/* count, size of a page, then start, end and page of each file, then all the paths. */
static bool take_files(core_file *c, reader note)
{
    uint64_t count = reader_u64(&note);
    uint64_t page = reader_u64(&note);
    reader paths = note;

    if (reader_failed(&note) || count > reader_left(&note) / 24)
        return true;
    reader_skip(&paths, (size_t)count * 24);
    for (uint64_t i = 0; i < count; i++) {
        core_mapping m = {.start = reader_u64(&note)};
        const uint8_t *end;

        m.end = reader_u64(&note);
        m.offset = reader_u64(&note) * page;
        m.path = (const char *)paths.position;
        end = reader_left(&paths) == 0 ? NULL : memchr(paths.position, 0, reader_left(&paths));
        if (end == NULL)
            return true;
        reader_skip(&paths, (size_t)(end - paths.position) + 1);
        if (m.end <= m.start)
            continue;
        if (!grow(&c->mappings, c->mapping_count, &c->mapping_capacity, sizeof *c->mappings))
            return false;
        c->mappings[c->mapping_count++] = m;
    }
    return true;
}

static bool read_notes(core_file *c, reader r)
{
    while (reader_left(&r) >= 12) {
        uint32_t name_length = reader_u32(&r), length = reader_u32(&r), kind = reader_u32(&r);
        const uint8_t *bytes;
        bool good = true;

        reader_skip(&r, name_length);
        reader_align(&r, 4);
        bytes = reader_bytes(&r, length);
        if (bytes == NULL)
            return true;
        if (kind == NOTE_STATUS)
            good = take_status(c, reader_of(bytes, length));
        else if (kind == NOTE_PROCESS)
            take_process(c, reader_of(bytes, length));
        else if (kind == NOTE_FILES)
            good = take_files(c, reader_of(bytes, length));
        if (!good)
            return false;
        reader_align(&r, 4);
    }
    return true;
}

/* ---- headers ---- */

static bool take_load(core_file *c, uint32_t flags, uint64_t offset, uint64_t address,
                      uint64_t stored, uint64_t size)
{
    core_segment s = {.address = address,
                      .size = size,
                      .offset = offset,
                      .stored = stored < size ? stored : size,
                      .readable = (flags & FLAG_READ) != 0,
                      .writable = (flags & FLAG_WRITE) != 0,
                      .executable = (flags & FLAG_EXECUTE) != 0};

    if (size == 0 || address + size < address)
        return true;
    if (s.stored > c->size || s.offset > c->size - s.stored) {
        c->is_cut = true;
        s.stored = s.offset < c->size && c->size - s.offset < s.stored ? c->size - s.offset : 0;
    }
    if (!grow(&c->segments, c->segment_count, &c->segment_capacity, sizeof *c->segments))
        return false;
    c->segments[c->segment_count++] = s;
    return true;
}

static bool read_header(core_file *c, reader r)
{
    uint32_t kind = reader_u32(&r), flags = reader_u32(&r);
    uint64_t offset = reader_u64(&r), address = reader_u64(&r), stored, size;
    reader all = reader_of(c->data, c->size);

    reader_u64(&r);
    stored = reader_u64(&r);
    size = reader_u64(&r);
    if (kind == SEGMENT_LOAD)
        return take_load(c, flags, offset, address, stored, size);
    if (kind == SEGMENT_NOTE && (offset > c->size || stored > c->size - offset))
        c->is_cut = true; /* gcore writes the threads behind the memory */
    else if (kind == SEGMENT_NOTE)
        return read_notes(c, reader_slice(&all, (size_t)offset, (size_t)stored));
    return true;
}

/* The headers' place and number; false when this is no such file. */
static bool find_headers(const core_file *c, uint64_t *at, uint64_t *count, uint16_t *size)
{
    static const uint8_t MAGIC[] = {0x7f, 'E', 'L', 'F', 2, 1}; /* 64 bits, little-endian */
    reader r = reader_of(c->data, c->size);
    uint64_t sections;
    uint16_t type, machine;

    if (c->size < sizeof MAGIC || memcmp(c->data, MAGIC, sizeof MAGIC) != 0)
        return false;
    reader_seek(&r, 16);
    type = reader_u16(&r);
    machine = reader_u16(&r);
    if (type != TYPE_CORE || machine != MACHINE_X64)
        return false;
    reader_seek(&r, 32);
    *at = reader_u64(&r);
    sections = reader_u64(&r);
    reader_seek(&r, 54);
    *size = reader_u16(&r);
    *count = reader_u16(&r);
    if (*count == MANY_HEADERS && sections != 0 && sections < c->size) {
        reader_seek(&r, (size_t)sections + SECTION_COUNT_AT);
        *count = reader_u32(&r);
    }
    return !reader_failed(&r) && *size >= HEADER_SIZE && *count <= MOST_HEADERS;
}

static int compare_segments(const void *a, const void *b)
{
    const core_segment *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static int compare_mappings(const void *a, const void *b)
{
    const core_mapping *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

static int refuse(core_file *c, bool has_memory, error *e)
{
    bool is_cut = c->is_cut;

    core_file_free(c);
    if (!has_memory)
        return error_set(e, ERROR_MEMORY, "no memory for the core dump");
    if (!is_cut)
        return error_set(e, ERROR_CORRUPT, "the core dump has no threads");
    error_set(e, ERROR_CORRUPT, "the core dump was cut off before its threads");
    return error_advise(e, "see that the whole file was written and copied: disk space, ulimit -c");
}

int core_file_parse(core_file *c, const uint8_t *data, size_t size, error *e)
{
    uint64_t at, count;
    uint16_t header;
    bool good = true;

    memset(c, 0, sizeof *c);
    c->data = data;
    c->size = size;
    if (!find_headers(c, &at, &count, &header)) {
        error_set(e, ERROR_CORRUPT, "this is not a core dump of a 64-bit x86 process");
        return error_advise(e, "createdump, gcore and the kernel write core dumps");
    }
    for (uint64_t i = 0; i < count && good; i++) {
        reader all = reader_of(data, size);
        uint64_t place = at + i * header;

        c->is_cut = c->is_cut || at > size || place > size || header > size - place;
        if (at > size || place > size || header > size - place)
            break;
        good = read_header(c, reader_slice(&all, (size_t)place, header));
    }
    if (!good || c->thread_count == 0)
        return refuse(c, good, e);
    if (c->segment_count > 1)
        qsort(c->segments, c->segment_count, sizeof *c->segments, compare_segments);
    if (c->mapping_count > 1)
        qsort(c->mappings, c->mapping_count, sizeof *c->mappings, compare_mappings);
    if (c->process_id == 0)
        c->process_id = c->threads[0].id;
    return 0;
}

void core_file_free(core_file *c)
{
    memory_free(c->segments);
    memory_free(c->mappings);
    memory_free(c->threads);
    memset(c, 0, sizeof *c);
}

/* ---- memory ---- */

/* The last segment that begins at or before the address, or NULL. */
static const core_segment *segment_at(const core_file *c, uint64_t address)
{
    size_t low = 0, high = c->segment_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (c->segments[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &c->segments[low - 1];
}

size_t core_file_read(const core_file *c, uint64_t address, void *out, size_t size)
{
    size_t done = 0;

    while (done < size && address + done >= address) {
        const core_segment *s = segment_at(c, address + done);
        uint64_t inside = s == NULL ? 0 : address + done - s->address;
        size_t part = size - done;

        if (s == NULL || inside >= s->stored)
            break;
        if (part > s->stored - inside)
            part = (size_t)(s->stored - inside);
        memcpy((uint8_t *)out + done, c->data + s->offset + inside, part);
        done += part;
    }
    return done;
}

const core_mapping *core_file_mapping(const core_file *c, uint64_t address)
{
    size_t low = 0, high = c->mapping_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (c->mappings[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || c->mappings[low - 1].end <= address ? NULL : &c->mappings[low - 1];
}

/* ---- the map ---- */

static void append_line(buffer *out, uint64_t start, uint64_t end, bool writable, bool executable,
                        uint64_t offset, const char *path)
{
    buffer_format(out, "%llx-%llx r%c%cp %llx 00:00 %d %s\n", (unsigned long long)start,
                  (unsigned long long)end, writable ? 'w' : '-', executable ? 'x' : '-',
                  (unsigned long long)offset, path[0] == '\0' ? 0 : 1, path);
}

/* A mapping's flags are those of its memory in the dump; where all of it was left out, it may well
 * have been code. */
static void append_mapping(const core_file *c, const core_mapping *m, size_t *next, buffer *out)
{
    bool writable = false, executable = false, is_known = false;

    /* NOLINTNEXTLINE: where there are segments, they are there */
    for (; *next < c->segment_count && c->segments[*next].address < m->end; ++*next) {
        writable = writable || c->segments[*next].writable;
        executable = executable || c->segments[*next].executable;
        is_known = true;
    }
    append_line(out, m->start, m->end, writable, executable || !is_known, m->offset,
                strchr(m->path, '\n') == NULL ? m->path : "");
}

void core_file_append_map(const core_file *c, buffer *out)
{
    size_t mapping = 0;

    for (size_t i = 0; i < c->segment_count || mapping < c->mapping_count;) {
        const core_segment *s = i < c->segment_count ? &c->segments[i] : NULL;
        const core_mapping *m = mapping < c->mapping_count ? &c->mappings[mapping] : NULL;

        if (m != NULL && (s == NULL || m->start <= s->address || s->address + s->size > m->start)) {
            append_mapping(c, m, &i, out);
            mapping++;
        } else if (s != NULL) {
            append_line(out, s->address, s->address + s->size, s->writable, s->executable, 0, "");
            i++;
        }
    }
}
