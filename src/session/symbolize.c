/* symbolize: see symbolize.h. */
#include "session/symbolize.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "recording/encode.h"
#include "recording/tables.h"
#include "symbols/symbols.h"

enum { GATES_TABLE = (1 << 30) + 1, MOST_GATES = 8 };
enum { TABLES_GATES(TABLES_CELL) GATE_COLUMNS };
static const recording_column GATES_COLUMNS[GATE_COLUMNS] = {TABLES_GATES(TABLES_COLUMN)};
static const recording_table GATES = {"gates", "threads", GATES_COLUMNS, GATE_COLUMNS};

enum { VALUES_TABLE = (1 << 30) + 2, MOST_VALUES = 4 };
enum { TABLES_VALUES(TABLES_CELL) VALUE_COLUMNS };
static const recording_column VALUES_COLUMNS[VALUE_COLUMNS] = {TABLES_VALUES(TABLES_COLUMN)};
static const recording_table VALUES = {"values", "cpu", VALUES_COLUMNS, VALUE_COLUMNS};

enum { CALLEES_TABLE = (1 << 30) + 3 };
enum { TABLES_CALLEES(TABLES_CELL) CALLEE_COLUMNS };
static const recording_column CALLEES_COLUMNS[CALLEE_COLUMNS] = {TABLES_CALLEES(TABLES_COLUMN)};
static const recording_table CALLEES = {"callees", "cpu", CALLEES_COLUMNS, CALLEE_COLUMNS};

typedef struct {
    uint64_t kind;
    char *path; /* NULL = none */
    uint8_t identity[64];
    size_t identity_length;
} known_module;

typedef struct {
    uint64_t module; /* index + 1 in modules; 0 = none */
    uint64_t token;
} known_method;

typedef struct {
    uint64_t id, kind, a, b;
} waiting_frame;

typedef struct {
    void *items;
    size_t count, capacity;
} list;

struct symbolizer {
    symbols *files;
    table_u64 paths;    /* string id to index + 1 in path_texts */
    list path_texts;    /* char * */
    table_u64 modules;  /* id to index + 1 */
    list module_items;  /* known_module */
    table_u64 methods;  /* id to index + 1 */
    list method_items;  /* known_method */
    list frames;        /* waiting_frame */
    table_text strings; /* texts that were written, to their ids */
    uint64_t next_string;
    bool has_waits;  /* the agent looks at threads and what they wait for */
    bool has_gates;  /* their table is defined */
    bool has_cpu;    /* the agent samples processor time */
    bool has_values; /* their table is defined */
    bool has_callees;
};

/* Rows of a table of ours. */
typedef struct {
    recording_rows rows;
    buffer bytes;
    size_t count;
} our_rows;

/* What symbolize_write makes. */
typedef struct {
    uint32_t process;
    buffer strings;
    buffer records;
    our_rows gates;
    our_rows values;
    our_rows callees;
} written;

static void *list_add(list *l, size_t size)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity == 0 ? 64 : l->capacity * 2;
        void *items = memory_resize(l->items, capacity * size);

        if (items == NULL)
            return NULL;
        l->items = items;
        l->capacity = capacity;
    }
    return (uint8_t *)l->items + l->count++ * size;
}

symbolizer *symbolize_open(const char *root)
{
    symbolizer *s = memory_allocate_array(1, sizeof *s);

    if (s == NULL)
        return NULL;
    table_u64_init(&s->paths);
    table_u64_init(&s->modules);
    table_u64_init(&s->methods);
    table_text_init(&s->strings);
    s->next_string = RECORDING_TOOL_STRINGS;
    /* Who may not ptrace the target may not see its root either. Most often that is ours, and what
     * a file is tells its identity. */
    s->files = symbols_open(access(root, X_OK) == 0 ? root : "/");
    if (s->files == NULL) {
        symbolize_close(s);
        return NULL;
    }
    return s;
}

void symbolize_close(symbolizer *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->path_texts.count; i++)
        memory_free(((char **)s->path_texts.items)[i]);
    memory_free(s->path_texts.items);
    memory_free(s->module_items.items);
    memory_free(s->method_items.items);
    memory_free(s->frames.items);
    table_u64_free(&s->paths);
    table_u64_free(&s->modules);
    table_u64_free(&s->methods);
    table_text_free(&s->strings);
    if (s->files != NULL)
        symbols_close(s->files);
    memory_free(s);
}

/* "/app/Shop.dll", or "Shop.dll" inside a program that is one file. */
static bool is_path(const char *bytes, size_t length)
{
    if (length == 0 || length > 4096)
        return false;
    return bytes[0] == '/' || (length > 4 && (memcmp(bytes + length - 4, ".dll", 4) == 0 ||
                                              memcmp(bytes + length - 4, ".exe", 4) == 0));
}

/* Only paths are kept: everything else that is text is of no use here. */
static void take_string(symbolizer *s, const recording_string *record)
{
    char **text;

    if (!is_path((const char *)record->text.bytes, record->text.length))
        return;
    text = list_add(&s->path_texts, sizeof *text);
    if (text == NULL)
        return;
    *text = memory_copy_text_n(record->text.bytes, record->text.length);
    if (*text == NULL)
        s->path_texts.count--;
    else
        table_u64_put(&s->paths, record->id, s->path_texts.count);
}

static void take_module(symbolizer *s, const recording_module *record)
{
    known_module *made = list_add(&s->module_items, sizeof *made);
    uint64_t at;

    if (made == NULL)
        return;
    memset(made, 0, sizeof *made);
    made->kind = record->kind;
    if (record->identity_length <= sizeof made->identity) {
        memcpy(made->identity, record->identity, record->identity_length);
        made->identity_length = record->identity_length;
    }
    if (table_u64_get(&s->paths, record->path, &at))
        made->path = ((char **)s->path_texts.items)[at - 1];
    table_u64_put(&s->modules, record->id, s->module_items.count);
}

static void take_method(symbolizer *s, const recording_method *record)
{
    known_method *made = list_add(&s->method_items, sizeof *made);

    if (made == NULL)
        return;
    made->token = record->token;
    if (!table_u64_get(&s->modules, record->module, &made->module))
        made->module = 0;
    table_u64_put(&s->methods, record->id, s->method_items.count);
}

static bool is_text(const recording_text *text, const char *word)
{
    return text->length == strlen(word) && memcmp(text->bytes, word, text->length) == 0;
}

static void take_tables(symbolizer *s, reader *r)
{
    recording_table_head table;
    recording_column_head column;

    while (recording_next_table(r, &table)) {
        s->has_waits |= is_text(&table.name, "wait_links");
        s->has_cpu |= is_text(&table.name, "samples") && is_text(&table.profiler, "cpu");
        for (uint64_t i = 0; i < table.column_count && recording_next_column(r, &column); i++)
            continue;
    }
}

void symbolize_take(symbolizer *s, const recording_chunk *chunk)
{
    reader r = reader_of(chunk->payload, chunk->length);
    recording_string string;
    recording_module module;
    recording_method method;
    recording_frame frame;

    switch (chunk->kind) {
    case RECORDING_STRING:
        while (recording_next_string(&r, &string))
            take_string(s, &string);
        break;
    case RECORDING_MODULE:
        while (recording_next_module(&r, &module))
            take_module(s, &module);
        break;
    case RECORDING_METHOD:
        while (recording_next_method(&r, &method))
            take_method(s, &method);
        break;
    case RECORDING_FRAME:
        while (recording_next_frame(&r, &frame)) {
            waiting_frame *made = list_add(&s->frames, sizeof *made);

            if (made != NULL)
                *made = (waiting_frame){frame.id, frame.kind, frame.a, frame.b};
        }
        break;
    case RECORDING_TABLE:
        take_tables(s, &r);
        break;
    default:
        break;
    }
}

/* The id of a text, defined in `strings` when it is new; 0 when there is no memory. */
static uint64_t string_id(symbolizer *s, const char *text, buffer *strings)
{
    size_t length = strlen(text);
    uint64_t *id = table_text_at(&s->strings, text, length, 0);

    if (id == NULL)
        return 0;
    if (*id == 0) {
        *id = s->next_string++;
        recording_put_string(strings, *id, text, length);
    }
    return *id;
}

static bool is_of_the_framework(const known_module *module)
{
    const char *slash = strrchr(module->path, '/');
    const char *name = slash == NULL ? module->path : slash + 1;

    return text_starts_with(name, "System.") || text_starts_with(name, "Microsoft.");
}

static recording_rows *add_row(our_rows *rows, uint32_t process, uint64_t id,
                               const recording_table *table)
{
    if (rows->count++ == 0)
        recording_rows_begin(&rows->rows, &rows->bytes, process, id, table);
    return &rows->rows;
}

/* What a method on a stack has taken or waits for; not of the framework's own. */
static void write_gates(symbolizer *s, const waiting_frame *frame, const known_module *module,
                        uint32_t token, written *m)
{
    symbols_gate gates[MOST_GATES];
    size_t count = symbols_gates(s->files, module->path,
                                 module->identity_length == 16 ? module->identity : NULL, token,
                                 (uint32_t)frame->b - 1, gates, MOST_GATES);

    for (size_t i = 0; i < count; i++) {
        recording_rows *rows = add_row(&m->gates, m->process, GATES_TABLE, &GATES);

        recording_rows_put(rows, frame->id);
        recording_rows_put(rows, gates[i].kind);
        recording_rows_put(rows, string_id(s, gates[i].field, &m->strings));
    }
}

/* What it boxes, and its statement copies. */
static void write_values(symbolizer *s, const waiting_frame *frame, const known_module *module,
                         uint32_t token, written *m)
{
    symbols_value values[MOST_VALUES];
    size_t count = symbols_values(s->files, module->path,
                                  module->identity_length == 16 ? module->identity : NULL, token,
                                  (uint32_t)frame->b - 1, values, MOST_VALUES);

    for (size_t i = 0; i < count; i++) {
        recording_rows *rows = add_row(&m->values, m->process, VALUES_TABLE, &VALUES);

        recording_rows_put(rows, frame->id);
        recording_rows_put(rows, values[i].is_box);
        recording_rows_put(rows, string_id(s, values[i].type, &m->strings));
        recording_rows_put(rows, values[i].bytes);
    }
}

/* What its statement calls. */
static void write_callees(symbolizer *s, const waiting_frame *frame, const known_module *module,
                          uint32_t token, written *m)
{
    uint32_t found = symbols_callees(s->files, module->path,
                                     module->identity_length == 16 ? module->identity : NULL, token,
                                     (uint32_t)frame->b - 1);

    for (uint64_t kind = TABLES_CALLEE_CONCAT; kind <= TABLES_CALLEE_LINQ; kind++) {
        recording_rows *rows;

        if ((found >> kind & 1) == 0)
            continue;
        rows = add_row(&m->callees, m->process, CALLEES_TABLE, &CALLEES);
        recording_rows_put(rows, frame->id);
        recording_rows_put(rows, kind);
    }
}

/* What the code of the program's own methods tells. */
static void write_code(symbolizer *s, const waiting_frame *frame, const known_module *module,
                       uint32_t token, written *m)
{
    if (frame->kind != RECORDING_FRAME_MANAGED || frame->b == 0 || is_of_the_framework(module))
        return;
    if (s->has_waits)
        write_gates(s, frame, module, token, m);
    if (s->has_cpu) {
        write_values(s, frame, module, token, m);
        write_callees(s, frame, module, token, m);
    }
}

static void write_managed(symbolizer *s, const waiting_frame *frame, written *m)
{
    const known_method *method;
    const known_module *module;
    symbols_place found;
    uint64_t at;

    if (!table_u64_get(&s->methods, frame->a, &at))
        return;
    method = (const known_method *)s->method_items.items + (at - 1);
    if (method->module == 0 || method->token == 0)
        return;
    module = (const known_module *)s->module_items.items + (method->module - 1);
    if (module->path == NULL || module->kind != RECORDING_MODULE_MANAGED)
        return;
    write_code(s, frame, module, (uint32_t)method->token, m);
    if (frame->kind == RECORDING_FRAME_AWAIT
            ? symbols_await(s->files, module->path,
                            module->identity_length == 16 ? module->identity : NULL,
                            (uint32_t)method->token, frame->b, &found)
            : symbols_line(s->files, module->path,
                           module->identity_length == 16 ? module->identity : NULL,
                           (uint32_t)method->token, (int64_t)frame->b - 1, &found))
        recording_put_symbol(&m->records, frame->id, 0, string_id(s, found.file, &m->strings),
                             found.line);
}

static void write_native(symbolizer *s, const waiting_frame *frame, written *m)
{
    const known_module *module;
    const char *name;
    uint64_t at;

    if (!table_u64_get(&s->modules, frame->a, &at))
        return;
    module = (const known_module *)s->module_items.items + (at - 1);
    if (module->path == NULL)
        return;
    name = symbols_native_name(s->files, module->path, module->identity, module->identity_length,
                               frame->b);
    if (name != NULL)
        recording_put_symbol(&m->records, frame->id, string_id(s, name, &m->strings), 0, 0);
}

static void put_rows(our_rows *rows, bool *is_defined, uint64_t id, const recording_table *table,
                     uint32_t process, buffer *out)
{
    if (rows->count == 0 || !recording_rows_end(&rows->rows))
        return;
    if (!*is_defined) {
        size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, process);

        recording_put_table(out, id, table);
        recording_end_chunk(out, chunk);
        *is_defined = true;
    }
    buffer_append(out, rows->bytes.data, rows->bytes.length);
}

void symbolize_write(symbolizer *s, uint32_t process, buffer *out)
{
    const waiting_frame *frames = s->frames.items;
    written m = {.process = process};

    for (size_t i = 0; i < s->frames.count; i++) {
        if (frames[i].kind == RECORDING_FRAME_MANAGED || frames[i].kind == RECORDING_FRAME_AWAIT)
            write_managed(s, &frames[i], &m);
        else if (frames[i].kind == RECORDING_FRAME_NATIVE)
            write_native(s, &frames[i], &m);
    }
    s->frames.count = 0;
    if (!buffer_failed(&m.strings) && !buffer_failed(&m.records)) {
        if (m.strings.length != 0)
            recording_put_chunk(out, RECORDING_STRING, 0, process, m.strings.data,
                                m.strings.length);
        if (m.records.length != 0)
            recording_put_chunk(out, RECORDING_SYMBOL, 0, process, m.records.data,
                                m.records.length);
        put_rows(&m.gates, &s->has_gates, GATES_TABLE, &GATES, process, out);
        put_rows(&m.values, &s->has_values, VALUES_TABLE, &VALUES, process, out);
        put_rows(&m.callees, &s->has_callees, CALLEES_TABLE, &CALLEES, process, out);
    }
    buffer_free(&m.strings);
    buffer_free(&m.records);
    buffer_free(&m.gates.bytes);
    buffer_free(&m.values.bytes);
    buffer_free(&m.callees.bytes);
}
