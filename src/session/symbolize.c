/* symbolize: see symbolize.h. */
#include "session/symbolize.h"

#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "recording/encode.h"
#include "symbols/symbols.h"

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
};

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
    s->files = symbols_open(root);
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

/* Only paths are kept: everything else that is text is of no use here. */
static void take_string(symbolizer *s, const recording_string *record)
{
    char **text;

    if (record->text.length == 0 || record->text.bytes[0] != '/' || record->text.length > 4096)
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

static void write_managed(symbolizer *s, const waiting_frame *frame, buffer *strings,
                          buffer *records)
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
    if (frame->kind == RECORDING_FRAME_AWAIT
            ? symbols_await(s->files, module->path,
                            module->identity_length == 16 ? module->identity : NULL,
                            (uint32_t)method->token, frame->b, &found)
            : symbols_line(s->files, module->path,
                           module->identity_length == 16 ? module->identity : NULL,
                           (uint32_t)method->token, (int64_t)frame->b - 1, &found))
        recording_put_symbol(records, frame->id, 0, string_id(s, found.file, strings), found.line);
}

static void write_native(symbolizer *s, const waiting_frame *frame, buffer *strings,
                         buffer *records)
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
        recording_put_symbol(records, frame->id, string_id(s, name, strings), 0, 0);
}

void symbolize_write(symbolizer *s, uint32_t process, buffer *out)
{
    const waiting_frame *frames = s->frames.items;
    buffer strings = BUFFER_EMPTY;
    buffer records = BUFFER_EMPTY;

    for (size_t i = 0; i < s->frames.count; i++) {
        if (frames[i].kind == RECORDING_FRAME_MANAGED || frames[i].kind == RECORDING_FRAME_AWAIT)
            write_managed(s, &frames[i], &strings, &records);
        else if (frames[i].kind == RECORDING_FRAME_NATIVE)
            write_native(s, &frames[i], &strings, &records);
    }
    s->frames.count = 0;
    if (!buffer_failed(&strings) && !buffer_failed(&records)) {
        if (strings.length != 0)
            recording_put_chunk(out, RECORDING_STRING, 0, process, strings.data, strings.length);
        if (records.length != 0)
            recording_put_chunk(out, RECORDING_SYMBOL, 0, process, records.data, records.length);
    }
    buffer_free(&strings);
    buffer_free(&records);
}
