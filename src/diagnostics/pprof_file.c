/* pprof_file: see pprof_file.h. pprof_names.c reads what samples refer to; here they become rows.
 */
#include "diagnostics/pprof_file.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "diagnostics/file_head.h"
#include "diagnostics/pprof_private.h"

enum {
    MOST_FRAMES = 4096,
    CHUNK = 1 << 20,
    PIECE = 1 << 18,
};
static const size_t LARGEST_FILE = (size_t)1 << 30;
static const size_t LARGEST_MESSAGE = (size_t)1 << 30; /* unpacked */

/* ---- samples ---- */

/* The numbers of a field, packed or one by one: `take` gets each. */
static void each_number(pprof_field *f, void (*take)(void *context, uint64_t value), void *context)
{
    if (f->wire == WIRE_NUMBER)
        take(context, f->value);
    while (f->wire == WIRE_BYTES && !reader_at_end(&f->bytes)) {
        uint64_t value = reader_varint(&f->bytes);

        if (!reader_failed(&f->bytes))
            take(context, value);
    }
}

typedef struct {
    pprof_file *owner;
    size_t depth; /* of the path, innermost first */
    uint64_t values[PPROF_VALUES];
    size_t value_count;
    uint64_t thread;
    uint64_t thread_name; /* text */
} sample;

static void take_place(void *context, uint64_t id)
{
    sample *s = context;
    pprof_file *p = s->owner;
    size_t number = pprof_look_up(&p->location_index, id);

    for (size_t i = 0; number != 0 && i < p->locations[number - 1].count; i++)
        if (s->depth < MOST_FRAMES)
            p->path[s->depth++] = p->frames[p->locations[number - 1].first + i];
}

static void take_value(void *context, uint64_t value)
{
    sample *s = context;

    if (s->value_count < PPROF_VALUES)
        s->values[s->value_count++] = value;
}

static bool text_is(const pprof_file *p, uint64_t number, const char *text)
{
    reader r = pprof_text_of(p, number);

    return reader_left(&r) == strlen(text) && memcmp(r.begin, text, strlen(text)) == 0;
}

static void take_label(sample *s, reader message)
{
    uint64_t key = 0, text = 0, value = 0;
    pprof_field f;

    while (pprof_next_field(&message, &f)) {
        if (f.number == 1)
            key = f.value;
        else if (f.number == 2)
            text = f.value;
        else if (f.number == 3)
            value = f.value;
    }
    if (text_is(s->owner, key, "thread_id") || text_is(s->owner, key, "tid"))
        s->thread = value;
    else if (text_is(s->owner, key, "thread") || text_is(s->owner, key, "thread_name"))
        s->thread_name = text;
}

static uint32_t stack_of(pprof_file *p, size_t depth)
{
    uint32_t node = 0;

    for (size_t i = depth; i > 0 && !p->failed; i--) {
        uint32_t frame = p->path[i - 1];
        uint64_t *id = table_u64_at(&p->names.stack_ids, (uint64_t)node << 32 | frame, 0);

        if (id == NULL) {
            p->failed = true;
            return 0;
        }
        if (*id == 0) {
            *id = ++p->names.stack_count;
            import_begin_record(&p->names.stacks, RECORDING_STACK);
            recording_put_stack(&p->names.stacks.out, *id, node, frame);
        }
        node = (uint32_t)*id;
    }
    return node;
}

static void tell_thread(pprof_file *p, const sample *s)
{
    uint64_t *told = s->thread == 0 ? NULL : table_u64_at(&p->threads, s->thread, 0);
    recording_thread thread = {.os_id = s->thread};

    if (told == NULL || *told != 0)
        return;
    *told = 1;
    thread.name = pprof_string_of(p, s->thread_name);
    import_begin_record(&p->thread_chunks, RECORDING_THREAD);
    recording_put_thread(&p->thread_chunks.out, &thread);
}

static void put_row(pprof_file *p, size_t number, const uint64_t *cells)
{
    pprof_value *v = &p->values[number];

    if (v->rows.is_open && recording_chunk_length(&v->rows.out, v->rows.rows.chunk) > CHUNK) {
        recording_rows_end(&v->rows.rows);
        v->rows.is_open = false;
    }
    if (!v->rows.is_open)
        recording_rows_begin(&v->rows.rows, &v->rows.out, 0, number + 1, &v->table);
    v->rows.is_open = true;
    recording_rows_put_row(&v->rows.rows, cells);
    v->rows.count++;
}

static void take_sample(pprof_file *p, reader message)
{
    sample s = {.owner = p};
    uint64_t cells[3];
    pprof_field f;

    while (pprof_next_field(&message, &f)) {
        if (f.number == 1)
            each_number(&f, take_place, &s);
        else if (f.number == 2)
            each_number(&f, take_value, &s);
        else if (f.number == 3)
            take_label(&s, f.bytes);
    }
    if (s.value_count != p->value_count) {
        p->unfit++;
        return;
    }
    tell_thread(p, &s);
    cells[0] = s.thread;
    cells[1] = stack_of(p, s.depth);
    for (size_t i = 0; i < p->value_count; i++) {
        if (s.values[i] == 0)
            continue;
        if (s.values[i] > INT64_MAX / p->values[i].scale) { /* less than 0 counts as much more */
            p->negative++;
            continue;
        }
        cells[2] = s.values[i] * p->values[i].scale;
        put_row(p, i, cells);
    }
}

/* ---- tables ---- */

/* X(unit, scale, column): others are counts */
static const struct {
    const char *unit;
    uint64_t scale;
    const char *column;
} UNITS[] = {
    {"nanoseconds", 1, "weight"},
    {"microseconds", 1000, "weight"},
    {"milliseconds", 1000000, "weight"},
    {"seconds", 1000000000, "weight"},
    {"bytes", 1, "bytes"},
    {"kilobytes", 1024, "bytes"},
    {"megabytes", 1 << 20, "bytes"},
};

/* What can be printed of a text, as a name. */
static void copy_text(const pprof_file *p, uint64_t number, char *out, size_t size)
{
    reader text = pprof_text_of(p, number);
    size_t count = 0;

    while (!reader_at_end(&text) && count + 1 < size) {
        char c = (char)reader_u8(&text);

        out[count++] = c > ' ' && c < 0x7F && c != '.' ? c : '_';
    }
    out[count] = '\0';
}

static void define_table(pprof_file *p, size_t number)
{
    pprof_value *v = &p->values[number];
    const char *column = "count";
    bool is_time;

    copy_text(p, v->type, v->name, sizeof v->name - 4);
    if (v->name[0] == '\0')
        snprintf(v->name, sizeof v->name, "value");
    for (size_t i = 0; i < number; i++)
        if (text_equal(p->values[i].name, v->name)) {
            size_t length = strlen(v->name);

            snprintf(v->name + length, sizeof v->name - length, "%zu", number + 1);
        }
    v->scale = 1;
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (text_is(p, v->unit, UNITS[i].unit)) {
            v->scale = UNITS[i].scale;
            column = UNITS[i].column;
        }
    }
    is_time = text_equal(column, "weight");
    v->columns[0] = (recording_column){RECORDING_THREAD_ID, "thread", ""};
    v->columns[1] = (recording_column){RECORDING_STACK_ID, "stack", ""};
    v->columns[2] = (recording_column){.type = is_time ? RECORDING_DURATION : RECORDING_U64};
    snprintf(v->columns[2].name, sizeof v->columns[2].name, "%s", column);
    if (text_equal(column, "bytes"))
        snprintf(v->columns[2].unit, sizeof v->columns[2].unit, "bytes");
    v->table = (recording_table){"samples", v->name, v->columns, 3};
}

static void put_table(pprof_file *p, size_t number, buffer *out)
{
    pprof_value *v = &p->values[number];
    size_t chunk;

    if (v->rows.is_open)
        recording_rows_end(&v->rows.rows);
    p->failed = p->failed || buffer_failed(&v->rows.out);
    if (v->rows.count == 0)
        return;
    chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_put_table(out, number + 1, &v->table);
    recording_end_chunk(out, chunk);
    buffer_append(out, v->rows.out.data, v->rows.out.length);
    chunk = recording_begin_chunk(out, RECORDING_PROFILER, 0);
    recording_put_profiler(out, v->name, RECORDING_STARTED, 0, "", NULL, 0);
    recording_put_profiler(out, v->name, RECORDING_STOPPED, p->duration_ns, "", NULL, 0);
    recording_end_chunk(out, chunk);
}

/* The value that pprof shows first: the one that is named, else the last. */
static size_t first_value(const pprof_file *p)
{
    for (size_t i = 0; i < p->value_count; i++)
        if (p->chosen != 0 && p->values[i].type == p->chosen)
            return i;
    return p->value_count - 1;
}

static void put_infos(const pprof_file *p, const char *name, buffer *out)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_INFO, 0);
    char number[32];

    snprintf(number, sizeof number, "%llu", (unsigned long long)p->time_ns);
    recording_put_info(out, "name", name);
    recording_put_info(out, "origin_unix_ns", number);
    recording_end_chunk(out, chunk);
}

static void write_all(pprof_file *p, const char *name, buffer *out)
{
    import_chunks *chunks[] = {&p->names.strings, &p->names.modules, &p->names.methods,
                               &p->frame_chunks,  &p->symbol_chunks, &p->names.stacks,
                               &p->thread_chunks};
    size_t first = first_value(p);
    size_t chunk;

    recording_put_file_header(out);
    put_infos(p, name, out);
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
        import_write_chunks(&p->names, chunks[i], out);
    put_table(p, first, out);
    for (size_t i = 0; i < p->value_count; i++)
        if (i != first)
            put_table(p, i, out);
    chunk = recording_begin_chunk(out, RECORDING_END, 0);
    recording_put_end(out, "stopped", p->duration_ns);
    recording_end_chunk(out, chunk);
}

/* ---- the whole ---- */

static void pprof_file_free(pprof_file *p)
{
    import_free_names(&p->names);
    buffer_free(&p->frame_chunks.out);
    buffer_free(&p->symbol_chunks.out);
    buffer_free(&p->thread_chunks.out);
    for (size_t i = 0; i < PPROF_VALUES; i++)
        buffer_free(&p->values[i].rows.out);
    table_u64_free(&p->function_index);
    table_u64_free(&p->mapping_index);
    table_u64_free(&p->location_index);
    table_u64_free(&p->methods);
    table_u64_free(&p->threads);
    memory_free(p->texts);
    memory_free(p->functions);
    memory_free(p->mappings);
    memory_free(p->locations);
    memory_free(p->frames);
    memory_free(p->path);
    memory_free(p);
}

static int read_message(pprof_file *p, error *e)
{
    int code = pprof_read_names(p, e);

    if (code != 0)
        return code;
    for (size_t i = 0; i < p->value_count; i++)
        define_table(p, i);
    if (p->duration_ns > INT64_MAX)
        p->duration_ns = 0;
    pprof_take_all(p, PROFILE_SAMPLE, take_sample);
    return 0;
}

static int import_message(const void *bytes, size_t length, const char *name, buffer *out,
                          char *note, size_t note_size, error *e)
{
    pprof_file *p = memory_allocate_array(1, sizeof *p);
    int code;

    note[0] = '\0';
    if (p == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the profile");
    p->whole = reader_of(bytes, length);
    p->path = memory_allocate_array(MOST_FRAMES, sizeof *p->path);
    p->failed = p->path == NULL;
    code = read_message(p, e);
    if (code == 0)
        write_all(p, name, out);
    if (code == 0 && (p->failed || p->names.failed || buffer_failed(out)))
        code = error_set(e, ERROR_MEMORY, "no memory for the profile");
    if (code == 0 && p->negative + p->unfit != 0)
        snprintf(note, note_size,
                 "%llu values below 0 and %llu samples that do not fit were left out",
                 (unsigned long long)p->negative, (unsigned long long)p->unfit);
    pprof_file_free(p);
    return code;
}

static int unpack(const void *bytes, size_t length, buffer *out, error *e)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length};
    uint8_t *piece = memory_allocate(PIECE);
    int state = piece == NULL || inflateInit2(&stream, 15 + 16) != Z_OK ? Z_MEM_ERROR : Z_OK;
    bool is_begun = state == Z_OK;

    while (state == Z_OK && out->length <= LARGEST_MESSAGE) {
        stream.next_out = piece;
        stream.avail_out = PIECE;
        state = inflate(&stream, Z_NO_FLUSH);
        buffer_append(out, piece, PIECE - stream.avail_out);
        if (state == Z_BUF_ERROR ||
            (state == Z_OK && stream.avail_out != 0 && stream.avail_in == 0))
            state = Z_DATA_ERROR; /* there is no more to come */
    }
    if (is_begun)
        inflateEnd(&stream);
    memory_free(piece);
    if (state == Z_MEM_ERROR || buffer_failed(out))
        return error_set(e, ERROR_MEMORY, "no memory for the profile");
    if (state == Z_OK)
        return error_set(e, ERROR_LIMIT, "the profile is larger than 1 GiB");
    return state == Z_STREAM_END
               ? 0
               : error_set(e, ERROR_CORRUPT, "the packed profile breaks off or is broken");
}

int pprof_file_import_bytes(const void *bytes, size_t length, const char *name, buffer *out,
                            char *note, size_t note_size, error *e)
{
    const uint8_t *head = bytes;
    buffer message = BUFFER_EMPTY;
    int code;

    if (length < 2 || head[0] != 0x1F || head[1] != 0x8B)
        return import_message(bytes, length, name, out, note, note_size, e);
    note[0] = '\0';
    code = length > LARGEST_FILE ? error_set(e, ERROR_LIMIT, "the profile is larger than 1 GiB")
                                 : unpack(bytes, length, &message, e);
    if (code == 0)
        code = import_message(message.data, message.length, name, out, note, note_size, e);
    buffer_free(&message);
    return code;
}

/* Unpacked it begins with a small message of numbers: what the first value means. */
bool pprof_file_is(const char *path)
{
    char head[3] = {(PROFILE_VALUE << 3) | WIRE_BYTES, 0, (1 << 3) | WIRE_NUMBER};

    if (file_head_is(path, "\x1F\x8B", 2))
        return true;
    for (head[1] = 2; head[1] <= 12; head[1]++)
        if (file_head_is(path, head, sizeof head))
            return true;
    return false;
}

int pprof_file_import(const char *path, buffer *out, char *note, size_t note_size, error *e)
{
    const char *slash = strrchr(path, '/');
    buffer bytes = BUFFER_EMPTY;
    char name[128];
    int code = os_read_file(path, LARGEST_FILE, &bytes, e);

    snprintf(name, sizeof name, "%.100s", slash == NULL ? path : slash + 1);
    if (code == 0)
        code = pprof_file_import_bytes(bytes.data, bytes.length, name, out, note, note_size, e);
    buffer_free(&bytes);
    return code;
}
