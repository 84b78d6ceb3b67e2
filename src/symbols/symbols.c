/* symbols: see symbols.h. */
#include "symbols/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "clarinet/names.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/reader.h"
#include "base/table.h"
#include "base/text.h"
#include "metadata/assembly.h"
#include "metadata/precompiled.h"
#include "symbols/bundle.h"
#include "symbols/elf.h"
#include "symbols/gates.h"
#include "symbols/pdb.h"
#include "symbols/root.h"
#include "symbols/callees.h"
#include "symbols/values.h"

enum { FILE_LIMIT = 512 << 20, PDB_LIMIT = 256 << 20 };
enum { DEBUG_CODE_VIEW = 2, DEBUG_EMBEDDED = 17 };

/* A dll, with its machine code when it carries some. */
typedef struct {
    assembly file;
    precompiled code;
} symbols_dll;

/* One dll's PDB, one dll with its machine code, or one ELF file; `usable` is false when nothing
 * could be read. */
typedef struct {
    buffer bytes;
    bool usable;
    union {
        pdb lines;
        elf names;
        symbols_dll dll;
    };
} symbols_file;

struct symbols {
    root target;
    bundle inside;      /* the program's own file */
    char *beside;       /* its folder, with the slash; NULL = not known */
    table_text managed; /* path and MVID: index into files */
    table_text native;  /* path and build-id */
    table_text dlls;    /* path */
    symbols_file **files;
    size_t count, capacity;
    table_text texts; /* interned results: value is the pointer of the copy */
};

void symbols_use_program(symbols *s, const char *path)
{
    char real[4096];
    ssize_t length = readlink(path, real, sizeof real - 1);
    const char *slash;

    bundle_close(&s->inside);
    bundle_open(&s->inside, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    memory_free(s->beside);
    s->beside = NULL;
    if (length > 0) {
        real[length] = '\0';
        path = real;
    }
    slash = strrchr(path, '/');
    if (slash != NULL)
        s->beside = memory_copy_text_n(path, (size_t)(slash + 1 - path));
}

/* The program of /proc/PID/root is /proc/PID/exe. */
static void find_program(symbols *s, const char *root_path)
{
    char path[64];

    if (!text_starts_with(root_path, "/proc/") || !text_ends_with(root_path, "/root") ||
        strlen(root_path) >= sizeof path)
        return;
    snprintf(path, sizeof path, "%.*sexe", (int)(strlen(root_path) - strlen("root")), root_path);
    symbols_use_program(s, path);
}

/* A file of the target. Modules of a program that was published as one file have a name only: they
 * are inside it, and their PDBs most often beside it. */
static int read_target(symbols *s, const char *path, size_t limit, buffer *out)
{
    buffer beside = BUFFER_EMPTY;
    int code;

    if (strchr(path, '/') != NULL)
        return root_read(&s->target, path, limit, out);
    code = bundle_read(&s->inside, path, limit, out);
    if (code == 0 || s->beside == NULL)
        return code;
    buffer_append_text(&beside, s->beside);
    buffer_append_text(&beside, path);
    code = buffer_failed(&beside) ? ERROR_MEMORY
                                  : root_read(&s->target, buffer_text(&beside), limit, out);
    buffer_free(&beside);
    return code;
}

symbols *symbols_open(const char *root_path)
{
    symbols *s = memory_allocate_array(1, sizeof *s);

    if (s == NULL)
        return NULL;
    root_open(&s->target, root_path);
    bundle_open(&s->inside, -1);
    find_program(s, root_path);
    table_text_init(&s->managed);
    table_text_init(&s->native);
    table_text_init(&s->dlls);
    table_text_init(&s->texts);
    return s;
}

void symbols_close(symbols *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->texts.capacity; i++) {
        if (s->texts.slots[i].key != NULL)
            memory_free((void *)(uintptr_t)s->texts.slots[i].value);
    }
    table_text_free(&s->texts);
    for (size_t i = 0; i < s->managed.capacity; i++) {
        if (s->managed.slots[i].key != NULL)
            s->files[s->managed.slots[i].value]->usable = false; /* a PDB owns nothing else */
    }
    for (size_t i = 0; i < s->dlls.capacity; i++) {
        if (s->dlls.slots[i].key != NULL && s->files[s->dlls.slots[i].value]->usable) {
            precompiled_close(&s->files[s->dlls.slots[i].value]->dll.code);
            s->files[s->dlls.slots[i].value]->usable = false;
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        if (s->files[i]->usable)
            elf_close(&s->files[i]->names);
        buffer_free(&s->files[i]->bytes);
        memory_free(s->files[i]);
    }
    memory_free(s->files);
    table_text_free(&s->managed);
    table_text_free(&s->native);
    table_text_free(&s->dlls);
    root_close(&s->target);
    bundle_close(&s->inside);
    memory_free(s->beside);
    memory_free(s);
}

/* A copy of the text that lives as long as symbols; NULL when there is no memory. */
static const char *keep_text(symbols *s, const char *text, size_t length)
{
    uint64_t *place = table_text_at(&s->texts, text, length, 0);

    if (place == NULL)
        return NULL;
    if (*place == 0)
        *place = (uint64_t)(uintptr_t)memory_copy_text_n(text, length);
    return (const char *)(uintptr_t)*place;
}

/* The file kept under path and identity; *is_new when it was just made and has to be read. */
static symbols_file *find_file(symbols *s, table_text *index, const char *path,
                               const uint8_t *identity, size_t identity_length, bool *is_new)
{
    buffer key = BUFFER_EMPTY;
    symbols_file *file = NULL;
    uint64_t number;

    *is_new = false;
    buffer_append_text(&key, path);
    buffer_append_char(&key, 0);
    buffer_append(&key, identity, identity_length);
    if (buffer_failed(&key))
        goto out;
    if (table_text_get(index, (char *)key.data, key.length, &number)) {
        file = s->files[number];
        goto out;
    }
    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 32 : s->capacity * 2;
        symbols_file **bigger = memory_resize(s->files, capacity * sizeof *bigger);

        if (bigger == NULL)
            goto out;
        s->files = bigger;
        s->capacity = capacity;
    }
    file = memory_allocate_array(1, sizeof *file);
    if (file == NULL || !table_text_put(index, (char *)key.data, key.length, s->count)) {
        memory_free(file);
        file = NULL;
        goto out;
    }
    s->files[s->count++] = file;
    *is_new = true;
out:
    buffer_free(&key);
    return file;
}

/* ---- lines ---- */

static bool has_mvid(const pe *p, const uint8_t *mvid)
{
    pe_span span;
    metadata tables;
    metadata_span guid;

    if (mvid == NULL)
        return true;
    if (pe_metadata(p, &span, NULL) != 0 ||
        metadata_open(&tables, span.data, span.length, NULL) != 0)
        return false;
    guid = metadata_guid(&tables, metadata_cell(&tables, METADATA_MODULE, 1, METADATA_MODULE_MVID));
    return guid.data != NULL && memcmp(guid.data, mvid, 16) == 0;
}

/* Unpacks an embedded PDB: "MPDB", unpacked size, raw deflate stream. */
static bool unpack(pe_span packed, buffer *out)
{
    reader r = reader_of(packed.data, packed.length);
    z_stream stream;
    uint32_t magic = reader_u32(&r), size = reader_u32(&r);
    bool done;

    if (reader_failed(&r) || magic != 0x4244504d || size > PDB_LIMIT || !buffer_reserve(out, size))
        return false;
    memset(&stream, 0, sizeof stream);
    stream.next_in = (Bytef *)(uintptr_t)r.position;
    stream.avail_in = (uInt)reader_left(&r);
    stream.next_out = out->data;
    stream.avail_out = size;
    if (inflateInit2(&stream, -15) != Z_OK)
        return false;
    done = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == size;
    inflateEnd(&stream);
    out->length = done ? size : 0;
    return done;
}

/* The PDB at `path` with exactly this id. */
static bool load_pdb(symbols *s, symbols_file *file, const char *path, const uint8_t *id)
{
    buffer_clear(&file->bytes);
    return read_target(s, path, PDB_LIMIT, &file->bytes) == 0 &&
           pdb_open(&file->lines, file->bytes.data, file->bytes.length, NULL) == 0 &&
           memcmp(file->lines.id, id, PDB_ID) == 0;
}

/* "RSDS", GUID, age, path. The PDB's id is the GUID and the entry's stamp. */
static bool load_named_pdb(symbols *s, symbols_file *file, const char *dll,
                           const pe_debug_entry *entry)
{
    reader r = reader_of(entry->data.data, entry->data.length);
    uint8_t id[PDB_ID];
    uint32_t magic = reader_u32(&r);
    const uint8_t *guid = reader_bytes(&r, 16);
    const char *path, *name;
    size_t left;
    buffer beside = BUFFER_EMPTY;
    bool found = false;

    reader_u32(&r);
    left = reader_left(&r);
    path = (const char *)reader_bytes(&r, left);
    if (guid == NULL || path == NULL || magic != 0x53445352 || memchr(path, 0, left) == NULL)
        return false;
    memcpy(id, guid, 16);
    memcpy(id + 16, &entry->timestamp, 4);
    name = path;
    for (const char *p = path; *p != 0; p++) {
        if (*p == '/' || *p == '\\')
            name = p + 1;
    }
    buffer_append(&beside, dll,
                  (size_t)(strrchr(dll, '/') != NULL ? strrchr(dll, '/') + 1 - dll : 0));
    buffer_append_text(&beside, name);
    found = load_pdb(s, file, buffer_text(&beside), id);
    if (!found && path[0] == '/')
        found = load_pdb(s, file, path, id);
    buffer_free(&beside);
    return found;
}

static bool load_lines(symbols *s, symbols_file *file, const char *path, const uint8_t *mvid)
{
    buffer dll = BUFFER_EMPTY;
    pe_debug_entry entry;
    bool found = false;
    pe p;

    if (read_target(s, path, FILE_LIMIT, &dll) != 0 ||
        pe_open(&p, dll.data, dll.length, false, NULL) != 0 || !has_mvid(&p, mvid)) {
        buffer_free(&dll);
        return false;
    }
    for (size_t i = 0; !found && pe_debug(&p, i, &entry); i++) {
        if (entry.type == DEBUG_EMBEDDED)
            found = unpack(entry.data, &file->bytes) &&
                    pdb_open(&file->lines, file->bytes.data, file->bytes.length, NULL) == 0;
    }
    for (size_t i = 0; !found && pe_debug(&p, i, &entry); i++) {
        if (entry.type == DEBUG_CODE_VIEW)
            found = load_named_pdb(s, file, path, &entry);
    }
    buffer_free(&dll);
    if (!found)
        buffer_free(&file->bytes);
    return found;
}

/* The module's lines; NULL when there are none. */
static const pdb *lines_of(symbols *s, const char *path, const uint8_t *mvid)
{
    bool is_new;
    symbols_file *file = find_file(s, &s->managed, path, mvid, mvid != NULL ? 16 : 0, &is_new);

    if (file != NULL && is_new)
        file->usable = load_lines(s, file, path, mvid);
    return file != NULL && file->usable ? &file->lines : NULL;
}

bool symbols_await(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                   uint64_t number, symbols_place *out)
{
    const pdb *lines = lines_of(s, path, mvid);
    uint32_t il_offset;

    memset(out, 0, sizeof *out);
    return lines != NULL && pdb_find_await(lines, token, number, &il_offset) &&
           symbols_line(s, path, mvid, token, il_offset, out);
}

bool symbols_line(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                  int64_t il_offset, symbols_place *out)
{
    const pdb *lines = lines_of(s, path, mvid);
    buffer text = BUFFER_EMPTY;
    pdb_point point;

    memset(out, 0, sizeof *out);
    if (lines == NULL)
        return false;
    /* A method that only starts its state machine has no lines: where the source begins then. */
    if (!pdb_find_line(lines, token, il_offset < 0 ? 0 : (uint32_t)il_offset, &point) &&
        !pdb_find_line(lines, pdb_find_move_next(lines, token), 0, &point))
        return false;
    pdb_append_document(lines, point.document, &text);
    if (text.length > 0 && !buffer_failed(&text))
        out->file = keep_text(s, (const char *)text.data, text.length);
    out->line = il_offset < 0 ? 0 : point.line;
    buffer_free(&text);
    return out->file != NULL;
}

/* ---- precompiled code ---- */

static bool load_assembly(symbols *s, symbols_file *file, const char *path)
{
    return read_target(s, path, FILE_LIMIT, &file->bytes) == 0 &&
           assembly_open(&file->dll.file, file->bytes.data, file->bytes.length, NULL) == 0;
}

static bool load_dll(symbols *s, symbols_file *file, const char *path)
{
    symbols_dll *d = &file->dll;

    return load_assembly(s, file, path) &&
           precompiled_open(&d->code, &d->file.file,
                            metadata_rows(&d->file.tables, METADATA_METHOD_DEF));
}

/* The section around a place of the file, or NULL. */
static const pe_section *section_at(const pe *p, uint64_t file_offset)
{
    for (uint32_t i = 0; i < p->section_count; i++)
        if (file_offset >= p->sections[i].file_offset &&
            file_offset - p->sections[i].file_offset < p->sections[i].file_size)
            return &p->sections[i];
    return NULL;
}

bool symbols_precompiled(symbols *s, const char *path, uint64_t file_offset, symbols_code *out)
{
    bool is_new;
    symbols_file *file = find_file(s, &s->dlls, path, NULL, 0, &is_new);
    const pe_section *section;
    precompiled_function function;
    buffer text = BUFFER_EMPTY;
    uint64_t moved; /* from places in the file to RVAs */

    memset(out, 0, sizeof *out);
    if (file == NULL)
        return false;
    if (is_new)
        file->usable = load_dll(s, file, path);
    section = file->usable ? section_at(&file->dll.file.file, file_offset) : NULL;
    if (section == NULL)
        return false;
    moved = (uint64_t)section->rva - section->file_offset;
    if (!precompiled_find(&file->dll.code, (uint32_t)(file_offset + moved), &function))
        return false;
    out->start = function.start - moved;
    out->end = function.end - moved;
    if (function.row == 0)
        return true;
    out->token = (uint32_t)METADATA_METHOD_DEF << 24 | function.row;
    precompiled_append_name(&file->dll.file.tables, function.row, &text);
    if (text.length > 0 && !buffer_failed(&text))
        out->name = keep_text(s, (const char *)text.data, text.length);
    buffer_free(&text);
    return true;
}

/* ---- by the dll's own tables ---- */

/* The dll without its machine code; NULL when it cannot be read. */
static const assembly *dll_of(symbols *s, const char *path)
{
    static const uint8_t NAMES[] = "names"; /* beside the file's lines */
    bool is_new;
    symbols_file *file = find_file(s, &s->managed, path, NAMES, sizeof NAMES, &is_new);

    if (file != NULL && is_new)
        file->usable = load_assembly(s, file, path);
    return file != NULL && file->usable ? &file->dll.file : NULL;
}

/* The same; NULL also when it has no such method. */
static const assembly *assembly_of(symbols *s, const char *path, uint32_t token)
{
    const assembly *file = dll_of(s, path);
    uint32_t row = token & 0xffffff;

    return file != NULL && row != 0 && row <= metadata_rows(&file->tables, METADATA_METHOD_DEF)
               ? file
               : NULL;
}

const char *symbols_method_name(symbols *s, const char *path, uint32_t token)
{
    const assembly *file = assembly_of(s, path, token);
    buffer text = BUFFER_EMPTY, type = BUFFER_EMPTY;
    const char *name = NULL, *method;

    if (file == NULL)
        return NULL;
    method = precompiled_split_name(&file->tables, token & 0xffffff, &type);
    clr_name_append_method(&text, buffer_text(&type), NULL, 0, method, NULL, 0);
    buffer_free(&type);
    if (text.length > 0 && !buffer_failed(&text))
        name = keep_text(s, (const char *)text.data, text.length);
    buffer_free(&text);
    return name;
}

/* `Shop.Desk::gate` is Shop.Desk.gate. */
static const char *field_name(symbols *s, const assembly *file, uint32_t token)
{
    buffer text = BUFFER_EMPTY, name = BUFFER_EMPTY;
    const char *kept = NULL, *colons;

    assembly_member_name(file, token, &text);
    colons = buffer_failed(&text) ? NULL : strstr(buffer_text(&text), "::");
    if (colons != NULL) {
        buffer_append(&name, text.data, (size_t)(colons - buffer_text(&text)));
        buffer_append_char(&name, '.');
        buffer_append_text(&name, colons + 2);
        if (!buffer_failed(&name))
            kept = keep_text(s, (const char *)name.data, name.length);
    }
    buffer_free(&text);
    buffer_free(&name);
    return kept;
}

size_t symbols_gates(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                     uint32_t il_offset, symbols_gate *out, size_t most)
{
    enum { MOST = 16 };
    const assembly *file = assembly_of(s, path, token);
    gates_gate found[MOST];
    size_t count = file == NULL || !has_mvid(&file->file, mvid)
                       ? 0
                       : gates_find(file, token, il_offset, found, MOST);
    size_t kept = 0;

    for (size_t i = 0; i < count && kept < most; i++) {
        out[kept].field = found[i].field == 0 ? "" : field_name(s, file, found[i].field);
        out[kept].kind = found[i].kind;
        kept += out[kept].field != NULL;
    }
    return kept;
}

/* Where the statement around an IL offset begins and ends. */
static bool find_statement(const pdb *lines, uint32_t token, uint32_t il_offset, uint32_t *from,
                           uint32_t *to)
{
    pdb_points points;
    bool found = false;

    *to = UINT32_MAX;
    if (!pdb_points_of(lines, token, &points))
        return false;
    while (pdb_points_next(&points)) {
        if (points.point.il_offset > il_offset) {
            *to = points.point.il_offset;
            break;
        }
        *from = points.point.il_offset;
        found = points.point.line != 0 && points.point.line != PDB_HIDDEN_LINE;
    }
    return found;
}

typedef struct {
    symbols *s;
    const char *path; /* of the one that refers */
} neighbours;

/* The program's own assemblies lie in one folder; the framework's are not read for this. */
static const assembly *find_neighbour(void *context, const char *name)
{
    const neighbours *n = context;
    const char *slash = strrchr(n->path, '/');
    buffer path = BUFFER_EMPTY;
    const assembly *found = NULL;

    if (text_starts_with(name, "System") || text_starts_with(name, "Microsoft.") ||
        strchr(name, '/') != NULL)
        return NULL;
    buffer_append(&path, n->path, slash == NULL ? 0 : (size_t)(slash + 1 - n->path));
    buffer_append_text(&path, name);
    buffer_append_text(&path, ".dll");
    if (!buffer_failed(&path))
        found = dll_of(n->s, buffer_text(&path));
    buffer_free(&path);
    return found;
}

static bool is_shown(const pdb_point *point)
{
    return point->line != 0 && point->line != PDB_HIDDEN_LINE;
}

/* Where the next shown statement begins: the jump to a loop's test is hidden. */
static uint32_t next_shown(const pdb *lines, uint32_t token, uint32_t from)
{
    pdb_points points;

    if (pdb_points_of(lines, token, &points))
        while (pdb_points_next(&points))
            if (points.point.il_offset > from && is_shown(&points.point))
                return points.point.il_offset;
    return UINT32_MAX;
}

/* The lines of a loop's test and of an offset in it are the same. */
static bool is_own_line(const pdb *lines, uint32_t token, const callees_loop *loop, uint32_t *line)
{
    pdb_points points;
    uint32_t here = 0;

    *line = 0;
    if (!pdb_points_of(lines, token, &points))
        return false;
    while (pdb_points_next(&points) && points.point.il_offset <= loop->branch) {
        if (!is_shown(&points.point))
            continue;
        *line = points.point.line;
        here = points.point.il_offset <= loop->at ? *line : here;
    }
    return *line != 0 && *line == here;
}

/* The only statement of a loop whose own line (beginning, test, step) the statement is: what the
 * compiler makes of such a loop is often told as that line. */
static void widen_to_loop(const pdb *lines, const assembly *file, uint32_t token, uint32_t *from,
                          uint32_t *to)
{
    uint32_t body = 0, line;
    callees_loop loop;
    pdb_points points;
    size_t count = 0;

    if (!callees_find_loop(file, token, *from, next_shown(lines, token, *from), &loop) ||
        !is_own_line(lines, token, &loop, &line) || !pdb_points_of(lines, token, &points))
        return;
    while (pdb_points_next(&points) && points.point.il_offset <= loop.branch)
        if (points.point.il_offset >= loop.from && points.point.line != line &&
            is_shown(&points.point)) {
            body = points.point.il_offset;
            count++;
        }
    if (count != 1)
        return;
    *from = body;
    *to = next_shown(lines, token, body);
}

/* The assembly, and the statement of its method around an IL offset. NULL: no lines tell. */
static const assembly *statement_of(symbols *s, const char *path, const uint8_t *mvid,
                                    uint32_t token, uint32_t il_offset, uint32_t *from,
                                    uint32_t *to)
{
    const pdb *lines = lines_of(s, path, mvid);
    const assembly *file;

    *from = 0;
    if (lines == NULL || !find_statement(lines, token, il_offset, from, to))
        return NULL;
    file = assembly_of(s, path, token);
    if (file == NULL || !has_mvid(&file->file, mvid))
        return NULL;
    widen_to_loop(lines, file, token, from, to);
    return file;
}

uint32_t symbols_callees(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                         uint32_t il_offset)
{
    uint32_t from, to;
    const assembly *file = statement_of(s, path, mvid, token, il_offset, &from, &to);

    return file == NULL ? 0 : callees_find(file, token, from, to);
}

size_t symbols_values(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                      uint32_t il_offset, symbols_value *out, size_t most)
{
    enum { MOST = 8 };
    neighbours beside = {s, path};
    values_finder finder = {find_neighbour, &beside, 0};
    values_use found[MOST];
    const assembly *file;
    uint32_t from, to;
    size_t count, kept = 0;

    file = statement_of(s, path, mvid, token, il_offset, &from, &to);
    if (file == NULL)
        return 0;
    count = values_find(file, &finder, token, from, to, found, most < MOST ? most : MOST);
    for (size_t i = 0; i < count; i++) {
        const char *type = keep_text(s, buffer_text(&found[i].type), found[i].type.length);

        if (type != NULL)
            out[kept++] = (symbols_value){type, found[i].bytes, found[i].is_box};
        buffer_free(&found[i].type);
    }
    return kept;
}

/* ---- native names ---- */

static bool load_elf(symbols *s, symbols_file *file, const char *path, const uint8_t *build_id,
                     size_t length)
{
    buffer_clear(&file->bytes);
    if (root_read(&s->target, path, FILE_LIMIT, &file->bytes) != 0 ||
        elf_open(&file->names, file->bytes.data, file->bytes.length, NULL) != 0)
        return false;
    if (length != 0 && (file->names.build_id_length != length ||
                        memcmp(file->names.build_id, build_id, length) != 0)) {
        elf_close(&file->names);
        return false;
    }
    return true;
}

/* The file itself, and where that has only exported names, its debug file by build-id. */
static bool load_names(symbols *s, symbols_file *file, const char *path, const uint8_t *build_id,
                       size_t length)
{
    symbols_file debug = {.bytes = BUFFER_EMPTY};
    buffer debug_path = BUFFER_EMPTY;
    bool usable = load_elf(s, file, path, build_id, length);

    if ((usable && file->names.has_full_table) || length < 2)
        return usable;
    buffer_format(&debug_path, "/usr/lib/debug/.build-id/%02x/", build_id[0]);
    for (size_t i = 1; i < length; i++)
        buffer_format(&debug_path, "%02x", build_id[i]);
    buffer_append_text(&debug_path, ".debug");
    if (load_elf(s, &debug, buffer_text(&debug_path), build_id, length)) {
        if (usable)
            elf_close(&file->names);
        buffer_free(&file->bytes);
        *file = debug;
        usable = true;
    } else {
        buffer_free(&debug.bytes);
    }
    buffer_free(&debug_path);
    return usable;
}

const char *symbols_native_name(symbols *s, const char *path, const uint8_t *build_id,
                                size_t build_id_length, uint64_t offset)
{
    bool is_new;
    symbols_file *file = find_file(s, &s->native, path, build_id, build_id_length, &is_new);
    const elf_symbol *symbol;
    buffer text = BUFFER_EMPTY;
    const char *name = NULL;

    if (file == NULL)
        return NULL;
    if (is_new)
        file->usable = load_names(s, file, path, build_id, build_id_length);
    symbol = file->usable ? elf_find(&file->names, offset) : NULL;
    if (symbol == NULL)
        return NULL;
    elf_append_demangled(&text, symbol->name);
    if (!buffer_failed(&text))
        name = keep_text(s, (const char *)text.data, text.length);
    buffer_free(&text);
    return name;
}
