/* heap_writer: see heap_writer.h. */
#include "diagnostics/heap_writer.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "recording/tables.h"

enum {
    CHUNK = 1 << 20,
    MOST_PLACES = 24, /* of a shape; objects with more references list them */
    MOST_SHAPES = 1 << 20,
    WORD = 8,
    FIRST_PLACE = 1, /* in words: where a list of references begins */
    NOT_KNOWN = 6,   /* generation */
    MOST_TEXT = 160, /* characters of a text that are kept */
    FIRST_CODE = 2,  /* from which on odd ones are followed by a text */
};

enum { TABLES_HEAP_TYPES(TABLES_CELL) TYPE_COLUMNS };
static const recording_column COLUMNS[TYPE_COLUMNS] = {TABLES_HEAP_TYPES(TABLES_COLUMN)};
static const recording_table TYPES = {"heap_types", "heap", COLUMNS, TYPE_COLUMNS};

void heap_writer_init(heap_writer *w)
{
    memset(w, 0, sizeof *w);
    table_text_init(&w->shapes);
    w->attempt = 1;
}

void heap_writer_free(heap_writer *w)
{
    buffer_free(&w->done);
    buffer_free(&w->objects);
    buffer_free(&w->roots);
    buffer_free(&w->ranges);
    table_text_free(&w->shapes);
    memory_free(w->types);
}

uint32_t heap_writer_add_type(heap_writer *w, uint32_t name, uint32_t assembly, uint32_t flags)
{
    if (w->type_count == w->type_capacity) {
        size_t capacity = w->type_capacity * 2 + 256;
        heap_writer_type *grown = memory_resize(w->types, capacity * sizeof *grown);

        if (grown == NULL || capacity > UINT32_MAX) {
            w->types = grown != NULL ? grown : w->types;
            w->failed = true;
            return 0;
        }
        w->types = grown;
        w->type_capacity = capacity;
    }
    w->types[w->type_count] =
        (heap_writer_type){.name = name, .assembly = assembly, .flags = flags};
    return (uint32_t)w->type_count++;
}

void heap_writer_begin(heap_writer *w)
{
    buffer *all[] = {&w->done, &w->objects, &w->roots, &w->ranges};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_clear(all[i]);
    table_text_free(&w->shapes);
    table_text_init(&w->shapes);
    w->attempt++;
    w->previous = w->object_count = w->reference_count = w->root_count = 0;
    w->said_generation = false;
}

/* Where the next record goes: a chunk that is long enough is closed before. */
static buffer *room(heap_writer *w, buffer *payload, uint64_t section)
{
    if (payload->length > CHUNK) {
        recording_put_chunk(&w->done, RECORDING_HEAP, 0, 0, payload->data, payload->length);
        buffer_clear(payload);
    }
    if (payload->length == 0) {
        buffer_append_varint(payload, section);
        buffer_append_varint(payload, w->attempt);
    }
    return payload;
}

/* The number of the object's shape, with what it means when that is new. */
static void put_shape(heap_writer *w, buffer *out, const heap_writer_object *o, uint32_t flags)
{
    size_t count = (flags & RECORDING_SHAPE_LISTED) != 0 ? 0 : o->count;
    uint64_t key[2 + MOST_PLACES] = {o->type, flags}, before = 0;
    uint64_t *number;

    for (size_t i = 0; i < count; i++)
        key[2 + i] = o->places == NULL ? 0 : o->places[i] / WORD;
    number = table_text_at(&w->shapes, (const char *)key, (2 + count) * sizeof *key, 0);
    if (number == NULL) {
        w->failed = true;
        return;
    }
    if (*number != 0) {
        buffer_append_varint(out, *number);
        return;
    }
    *number = w->shapes.count;
    buffer_append_varint(out, *number);
    buffer_append_varint(out, o->type);
    buffer_append_varint(out, flags);
    buffer_append_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        buffer_append_zigzag(out, (int64_t)(key[2 + i] - before));
        before = key[2 + i];
    }
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

/* In words of 8 bytes, with its sign. */
static uint64_t words(uint64_t to, uint64_t from)
{
    return (uint64_t)((int64_t)(to - from) / 8);
}

/* A step that is the one of two before is not said. */
static void put_list(heap_writer *w, const heap_writer_object *o)
{
    int64_t place = FIRST_PLACE, step = 1, step_before = 1;

    for (size_t i = 0; i < o->count; i++) {
        buffer *out = room(w, &w->objects, RECORDING_HEAP_OBJECTS);
        int64_t next = o->places == NULL ? 0 : (int64_t)(o->places[i] / WORD);
        bool is_said = next - place != step_before;

        buffer_append_varint(out, zigzag(words(o->targets[i], o->address)) * 2 + is_said + 1);
        if (is_said)
            buffer_append_zigzag(out, next - place);
        step_before = step;
        step = next - place;
        place = next;
    }
    buffer_append_varint(room(w, &w->objects, RECORDING_HEAP_OBJECTS), 0);
}

/* The record's begin, up to the size. */
static buffer *put_head(heap_writer *w, const heap_writer_object *o, uint32_t flags)
{
    buffer *out = room(w, &w->objects, RECORDING_HEAP_OBJECTS);

    buffer_append_varint(out, zigzag(words(o->address, w->previous)));
    w->previous = o->address;
    if (!w->said_generation) {
        buffer_append_varint(out, 0);
        buffer_append_varint(out, NOT_KNOWN);
        w->said_generation = true;
    }
    put_shape(w, out, o, flags);
    if ((flags & RECORDING_SHAPE_SIZED) != 0)
        buffer_append_varint(out, o->size);
    w->object_count++;
    return out;
}

void heap_writer_put_content(heap_writer *w, uint64_t address, uint32_t type, uint64_t size,
                             uint32_t flag, uint64_t code, const uint16_t *text, uint32_t length)
{
    const heap_writer_object object = {.address = address, .size = size, .type = type};
    buffer *out = put_head(w, &object, RECORDING_SHAPE_SIZED | flag);
    uint8_t memory[MOST_TEXT * 3 + 1];
    buffer bytes;

    if (w->types[type].size == 0)
        w->types[type].size = size;
    buffer_append_varint(out, code);
    if (flag != RECORDING_SHAPE_STRING || code < FIRST_CODE || (code & 1) == 0)
        return;
    buffer_fix(&bytes, memory, sizeof memory);
    text_append_utf16(&bytes, text, length < MOST_TEXT ? length : MOST_TEXT);
    buffer_append_blob(out, buffer_text(&bytes), bytes.length);
}

/* Arrays whose places are known are seldom alike. */
static bool is_listed(const heap_writer *w, const heap_writer_object *o)
{
    return o->count > MOST_PLACES ||
           (o->places != NULL && o->count != 0 &&
            (w->types[o->type].element != 0 || w->shapes.count >= MOST_SHAPES));
}

void heap_writer_put_object(heap_writer *w, const heap_writer_object *o)
{
    heap_writer_type *t = &w->types[o->type];
    uint32_t flags = o->flags;
    buffer *out;

    if (is_listed(w, o))
        flags |= RECORDING_SHAPE_LISTED;
    else if (o->words != NULL)
        flags |= RECORDING_SHAPE_VALUES;
    if (t->size == 0)
        t->size = o->size;
    if (t->size != o->size)
        flags |= RECORDING_SHAPE_SIZED;
    out = put_head(w, o, flags);
    w->reference_count += o->count;
    if ((flags & RECORDING_SHAPE_LISTED) != 0) {
        put_list(w, o);
        return;
    }
    for (size_t i = 0; i < o->count; i++)
        buffer_append_varint(out, zigzag(words(o->targets[i], o->address)));
    if (o->words == NULL)
        return;
    buffer_append_varint(out, o->word_count);
    for (size_t i = 0; i < o->word_count; i++)
        buffer_append_varint(out, o->words[i]);
    buffer_append_varint(out, 0); /* no state machine */
}

void heap_writer_put_root(heap_writer *w, uint32_t kind, uint32_t flags, uint64_t object,
                          uint64_t id, const char *name, size_t length)
{
    buffer *out = room(w, &w->roots, RECORDING_HEAP_ROOTS);

    buffer_append_varint(out, kind);
    buffer_append_varint(out, flags);
    buffer_append_varint(out, object);
    buffer_append_varint(out, id);
    if (kind == RECORDING_ROOT_STATIC)
        buffer_append_blob(out, name, length);
    w->root_count++;
}

void heap_writer_put_range(heap_writer *w, uint32_t generation, uint64_t start, uint64_t length)
{
    buffer *out = room(w, &w->ranges, RECORDING_HEAP_RANGES);

    buffer_append_varint(out, generation);
    buffer_append_varint(out, start);
    buffer_append_varint(out, length);
}

static void put_types(heap_writer *w, uint64_t table, buffer *out)
{
    size_t chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    recording_rows rows;

    recording_put_table(out, table, &TYPES);
    recording_end_chunk(out, chunk);
    for (size_t i = 0; i < w->type_count; i++) {
        uint64_t cells[TYPE_COLUMNS] = {[NUMBER] = i,
                                        [CLASS] = w->types[i].class,
                                        [SIZE] = w->types[i].size,
                                        [NAME] = w->types[i].name,
                                        [ASSEMBLY] = w->types[i].assembly,
                                        [FLAGS] = w->types[i].flags,
                                        [ELEMENT] = w->types[i].element,
                                        [DATA] = w->types[i].data};

        if (i % 4096 == 0)
            recording_rows_begin(&rows, out, 0, table, &TYPES);
        recording_rows_put_row(&rows, cells);
        if (i % 4096 == 4095 || i + 1 == w->type_count)
            recording_rows_end(&rows);
    }
}

void heap_writer_finish(heap_writer *w, uint64_t table, uint64_t walk_ns, const char *trouble,
                        buffer *out)
{
    buffer *all[] = {&w->objects, &w->roots, &w->ranges};
    size_t chunk;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        w->failed = w->failed || buffer_failed(all[i]);
        if (all[i]->length != 0)
            recording_put_chunk(&w->done, RECORDING_HEAP, 0, 0, all[i]->data, all[i]->length);
        buffer_free(all[i]);
    }
    w->failed = w->failed || buffer_failed(&w->done);
    buffer_append(out, w->done.data, w->done.length);
    buffer_free(&w->done);
    put_types(w, table, out);
    chunk = recording_begin_chunk(out, RECORDING_HEAP, 0);
    buffer_append_varint(out, RECORDING_HEAP_END);
    buffer_append_varint(out, w->attempt);
    buffer_append_varint(out, trouble[0] != '\0');
    buffer_append_varint(out, w->object_count);
    buffer_append_varint(out, w->reference_count);
    buffer_append_varint(out, w->root_count);
    buffer_append_varint(out, walk_ns);
    buffer_append_varint(out, walk_ns);
    buffer_append_blob(out, trouble, strlen(trouble));
    buffer_append_varint(out,
                         RECORDING_HEAP_OUTSIDE | (w->with_strings ? RECORDING_HEAP_STRINGS : 0u));
    buffer_append_varint(out, w->not_compared);
    recording_end_chunk(out, chunk);
}
