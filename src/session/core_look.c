/* core_look: see core_look.h. */
#include "session/core_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/table.h"
#include "diagnostics/core_file.h"
#include "diagnostics/maps.h"
#include "session/outside_sheet.h"

enum { FIRST_BYTES = 4096 };

/* A file that was mapped into the process. */
typedef struct {
    const uint8_t *bytes; /* NULL = cannot be used */
    size_t size;
} mapped;

typedef struct {
    core_file core;
    mapped dump;
    table_text files; /* by path: index into `mapped` + 1 */
    mapped *opened;
    size_t opened_count;
    outside_thread *thread;
} look;

/* ---- files ---- */

static mapped map_file(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    mapped m = {0};

    if (descriptor < 0)
        return m;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);

        if (bytes != MAP_FAILED)
            m = (mapped){bytes, (size_t)status.st_size};
    }
    close(descriptor);
    return m;
}

static void unmap_file(mapped *m)
{
    if (m->bytes != NULL) /* NOLINT: there is room for every file that is opened */
        munmap((void *)(uintptr_t)m->bytes, m->size);
    *m = (mapped){0};
}

/* The file has what the dump has of its beginning: it is the one that was mapped. */
static bool is_same_file(const look *l, const char *path, const mapped *m)
{
    uint8_t first[FIRST_BYTES];

    for (size_t i = 0; i < l->core.mapping_count; i++) {
        const core_mapping *mapping = &l->core.mappings[i];
        size_t length;

        if (mapping->offset != 0 || strcmp(mapping->path, path) != 0)
            continue;
        length = core_file_read(&l->core, mapping->start, first, sizeof first);
        if (length > m->size || memcmp(first, m->bytes, length) != 0)
            return false;
    }
    return true;
}

static const mapped *file_of(look *l, const char *path)
{
    uint64_t *index = table_text_at(&l->files, path, strlen(path), 0);
    mapped *m;

    if (index == NULL || path[0] != '/')
        return NULL;
    if (*index != 0)
        return &l->opened[*index - 1];
    m = &l->opened[l->opened_count];
    *index = ++l->opened_count;
    *m = map_file(path);
    if (m->bytes != NULL && !is_same_file(l, path, m))
        unmap_file(m);
    return m;
}

/* ---- memory ---- */

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
    look *l = context;
    size_t done = 0;

    while (done < size) {
        size_t part = core_file_read(&l->core, address + done, (uint8_t *)out + done, size - done);
        const core_mapping *m;
        const mapped *f;
        uint64_t at;

        if (part == 0) {
            m = core_file_mapping(&l->core, address + done);
            f = m == NULL ? NULL : file_of(l, m->path);
            if (f == NULL || f->bytes == NULL)
                return false;
            at = address + done - m->start + m->offset;
            if (at >= f->size)
                return false;
            part = m->end - (address + done) < size - done ? (size_t)(m->end - (address + done))
                                                           : size - done;
            /* memory that follows may be in the dump again: a page at a time */
            if (part > FIRST_BYTES - (address + done) % FIRST_BYTES)
                part = (size_t)(FIRST_BYTES - (address + done) % FIRST_BYTES);
            if (part > f->size - at)
                part = (size_t)(f->size - at);
            memcpy((uint8_t *)out + done, f->bytes + at, part);
        }
        done += part;
    }
    return true;
}

/* ---- threads ---- */

static void take_registers(const core_thread *from, outside_thread *out)
{
    static const uint8_t PLACES[STACKWALK_REGISTERS] = {
        [STACKWALK_RAX] = CORE_RAX,    [STACKWALK_RDX] = CORE_RDX,    [STACKWALK_RCX] = CORE_RCX,
        [STACKWALK_RBX] = CORE_RBX,    [STACKWALK_RSI] = CORE_RSI,    [STACKWALK_RDI] = CORE_RDI,
        [STACKWALK_RBP] = CORE_RBP,    [STACKWALK_RSP] = CORE_RSP,    [STACKWALK_R8] = CORE_R8,
        [STACKWALK_R8 + 1] = CORE_R9,  [STACKWALK_R8 + 2] = CORE_R10, [STACKWALK_R8 + 3] = CORE_R11,
        [STACKWALK_R8 + 4] = CORE_R12, [STACKWALK_R8 + 5] = CORE_R13, [STACKWALK_R8 + 6] = CORE_R14,
        [STACKWALK_R8 + 7] = CORE_R15, [STACKWALK_RIP] = CORE_RIP,
    };

    memset(&out->registers, 0, sizeof out->registers);
    for (int i = 0; i < STACKWALK_REGISTERS; i++)
        out->registers.value[i] = from->registers[PLACES[i]];
    out->registers.known = (1u << STACKWALK_REGISTERS) - 1;
    out->call = (long)from->registers[CORE_CALL];
}

static void look_at(look *l, outside_sheet *sheet, const peek *memory, const core_thread *thread)
{
    outside_row row = {.id = thread->id, .cpu_ns = thread->cpu_ns, .name = ""};

    if (thread->id == l->core.process_id)
        row.name = l->core.name;
    take_registers(thread, l->thread);
    outside_copy_stack(memory, l->thread);
    row.stack = outside_walk(sheet->walker, l->thread);
    row.call = l->thread->call;
    outside_sheet_add(sheet, &row);
}

static int look_at_all(look *l, const char *core, const char *file, error *e)
{
    peek memory = {read_memory, l};
    buffer map = BUFFER_EMPTY;
    char reason[300];
    maps_findings found;
    outside_about about = {.process_id = l->core.process_id,
                           .name = l->core.name,
                           .command_line = l->core.command_line,
                           .runtime_version = found.version,
                           .architecture = "x64",
                           .from = "core",
                           .reason = reason};
    outside_sheet sheet;
    int code;

    core_file_append_map(&l->core, &map);
    maps_scan(&map, NULL, &found, NULL);
    snprintf(reason, sizeof reason, "%.200s is a core dump%s%s", core,
             l->core.is_cut ? " that was cut off" : "",
             found.has_coreclr ? "" : " of a program without a .NET runtime");
    code = buffer_failed(&map) ? error_set(e, ERROR_MEMORY, "no memory for the memory map")
                               : outside_sheet_open_memory(&sheet, &memory, &map, "/", e);
    if (code == 0) {
        for (size_t i = 0; i < l->core.thread_count; i++)
            look_at(l, &sheet, &memory, &l->core.threads[i]);
        code = outside_sheet_write(&sheet, &about, "/", file, e);
        outside_sheet_close(&sheet);
    }
    buffer_free(&map);
    return code;
}

int core_look(const char *core, const char *file, error *e)
{
    look *l = memory_allocate_array(1, sizeof *l);
    int code;

    if (l == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the core dump");
    errno = 0;
    l->dump = map_file(core);
    if (l->dump.bytes == NULL)
        code = errno != 0 ? error_set_errno(e, ERROR_IO, errno, "cannot read %s", core)
                          : error_set(e, ERROR_IO, "%s is empty, or no file", core);
    else
        code = core_file_parse(&l->core, l->dump.bytes, l->dump.size, e);
    if (code == 0) {
        table_text_init(&l->files);
        l->opened = memory_allocate_array(l->core.mapping_count + 1, sizeof *l->opened);
        l->thread = memory_allocate_array(1, sizeof *l->thread);
        code = l->opened == NULL || l->thread == NULL
                   ? error_set(e, ERROR_MEMORY, "no memory for the core dump")
                   : look_at_all(l, core, file, e);
        for (size_t i = 0; i < l->opened_count; i++)
            unmap_file(&l->opened[i]);
        table_text_free(&l->files);
        memory_free(l->opened);
        memory_free(l->thread);
        core_file_free(&l->core);
    }
    unmap_file(&l->dump);
    memory_free(l);
    return code;
}
