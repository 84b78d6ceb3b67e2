/* heap_walk: see heap_walk.h. */
#include "agent/heap_walk.h"

#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "recording/encode.h"

enum {
    ROOT_EDGES = 16,
    DEPENDENT_EDGES = 17,
    NODES = 18,
    EDGES = 19,
    STATICS = 38,
    MOST_FUNCTIONS = 8192,
    MOST_SLOTS = 131072,
    NAME_BYTES = 96, /* of a static variable's name */
};
#define KEYWORD_HEAP_DUMP UINT64_C(0x100000)

bool heap_walk_open(heap_walk *w, const clr_info *info)
{
    memset(w, 0, sizeof *w);
    w->info = info;
    table_u64_init(&w->type_numbers);
    table_u64_init(&w->functions);
    table_u64_init(&w->slots);
    return heap_stream_open(&w->stream);
}

void heap_walk_close(heap_walk *w)
{
    heap_stream_close(&w->stream);
    memory_free(w->types);
    table_u64_free(&w->type_numbers);
    table_u64_free(&w->functions);
    table_u64_free(&w->slots);
    w->types = NULL;
    w->type_count = w->type_capacity = 0;
}

/* The metadata of the runtime's own events has no name: u32 id, u16 0, u64 keywords, … */
bool heap_walk_wants(uint32_t id, const uint8_t *metadata, uint32_t metadata_length)
{
    reader r = reader_of(metadata, metadata_length);

    if (id != NODES && id != EDGES && id != ROOT_EDGES && id != DEPENDENT_EDGES && id != STATICS)
        return false;
    return reader_u32(&r) == id && reader_u16(&r) == 0 &&
           (reader_u64(&r) & KEYWORD_HEAP_DUMP) != 0 && !reader_failed(&r);
}

static void give_up(heap_walk *w)
{
    w->failed = true;
    heap_stream_abandon(&w->stream);
}

/* The type's number, made when it is new. */
static uint32_t number_of(heap_walk *w, ClassID class_id, uint64_t size)
{
    size_t place = (class_id >> 3 ^ class_id >> 13) % HEAP_WALK_CACHE;
    uint64_t number;

    if (w->cache[place].class_id == class_id)
        return w->cache[place].number;
    if (!table_u64_get(&w->type_numbers, class_id, &number)) {
        if (w->type_count == w->type_capacity) {
            size_t capacity = w->type_capacity == 0 ? 1024 : w->type_capacity * 2;
            heap_walk_type *grown = memory_resize(w->types, capacity * sizeof *grown);

            if (grown == NULL) {
                give_up(w);
                return 0;
            }
            w->types = grown;
            w->type_capacity = capacity;
        }
        number = w->type_count;
        if (!table_u64_put(&w->type_numbers, class_id, number)) {
            give_up(w);
            return 0;
        }
        w->types[w->type_count++] = (heap_walk_type){class_id, size};
    }
    w->cache[place].class_id = class_id;
    w->cache[place].number = (uint32_t)number;
    return (uint32_t)number;
}

static BOOL CLR_CALL take_reference(ObjectID root, ObjectID *reference, void *context)
{
    heap_walk *w = context;
    uint64_t target = reference == NULL ? 0 : *reference;
    uint8_t *at;

    (void)root;
    if (target == 0)
        return 1;
    if ((target & 7) != 0) {
        w->bad_references++;
        return 1;
    }
    at = heap_stream_room(&w->stream, RECORDING_HEAP_OBJECTS, w->attempt, 16);
    if (at == NULL)
        return 0;
    w->stream.at =
        heap_stream_put_varint(at, heap_stream_zigzag((int64_t)(target - w->object) / 8) + 1);
    w->references++;
    return 1;
}

static bool put_object(heap_walk *w, uint64_t address, uint64_t size, ClassID class_id)
{
    uint32_t number = number_of(w, class_id, size);
    uint8_t *at = heap_stream_room(&w->stream, RECORDING_HEAP_OBJECTS, w->attempt, 48);
    bool sized;

    if (at == NULL || w->failed)
        return false;
    sized = w->types[number].size != size;
    at = heap_stream_put_varint(at, heap_stream_zigzag((int64_t)(address - w->previous) / 8));
    at = heap_stream_put_varint(at, (uint64_t)number << 1 | (sized ? 1u : 0u));
    if (sized)
        at = heap_stream_put_varint(at, size);
    w->stream.at = at;
    w->previous = w->object = address;
    w->objects++;
    return true;
}

static void take_nodes(heap_walk *w, reader *r)
{
    uint32_t index = reader_u32(r);
    uint32_t count = reader_u32(r);

    reader_u16(r);
    (void)index;
    w->has_nodes = true;
    for (uint32_t i = 0; i < count && !reader_failed(r); i++) {
        uint64_t address = reader_u64(r);
        uint64_t size = reader_u64(r);
        uint64_t class_id = reader_u64(r);
        uint64_t edges = reader_u64(r);
        uint8_t *at;

        if (reader_failed(r) || !put_object(w, address, size, (ClassID)class_id))
            return;
        if (edges != 0)
            clr_info_enumerate_object_references(w->info, (ObjectID)address, take_reference, w);
        at = heap_stream_room(&w->stream, RECORDING_HEAP_OBJECTS, w->attempt, 16);
        if (at == NULL)
            return;
        w->stream.at = heap_stream_put_varint(at, 0);
    }
}

static bool put_root(heap_walk *w, uint64_t kind, uint64_t flags, uint64_t object, uint64_t id)
{
    uint8_t *at = heap_stream_room(&w->stream, RECORDING_HEAP_ROOTS, w->attempt, 160);

    if (at == NULL)
        return false;
    at = heap_stream_put_varint(at, kind);
    at = heap_stream_put_varint(at, flags);
    at = heap_stream_put_varint(at, object);
    w->stream.at = heap_stream_put_varint(at, id);
    w->roots++;
    return true;
}

static void take_roots(heap_walk *w, reader *r)
{
    uint32_t count;

    reader_u32(r);
    count = reader_u32(r);
    reader_u16(r);
    for (uint32_t i = 0; i < count && !reader_failed(r); i++) {
        uint64_t object = reader_u64(r);
        uint64_t kind = reader_u8(r);
        uint64_t flags = reader_u32(r);
        uint64_t id = reader_u64(r);

        if (reader_failed(r) || object == 0)
            continue;
        if (kind > RECORDING_ROOT_OTHER)
            kind = RECORDING_ROOT_OTHER;
        if (!put_root(w, kind, flags, object, id))
            return;
        if (kind == RECORDING_ROOT_STACK && id != 0 && w->functions.count < MOST_FUNCTIONS)
            table_u64_put(&w->functions, id, 1);
    }
}

static void take_dependents(heap_walk *w, reader *r)
{
    uint32_t count;

    reader_u32(r);
    count = reader_u32(r);
    reader_u16(r);
    for (uint32_t i = 0; i < count && !reader_failed(r); i++) {
        uint64_t key = reader_u64(r);
        uint64_t value = reader_u64(r);

        reader_u64(r);
        if (!reader_failed(r) && key != 0 && value != 0 &&
            !put_root(w, RECORDING_ROOT_DEPENDENT, 0, key, value))
            return;
    }
}

/* The name in place, as UTF-8 with its length before it; at most NAME_BYTES. */
static uint8_t *put_name(uint8_t *at, reader *r)
{
    uint8_t name[NAME_BYTES];
    size_t length = 0;
    uint16_t unit;

    while ((unit = reader_u16(r)) != 0) {
        if (length + 3 > sizeof name)
            continue;
        if (unit < 0x80) {
            name[length++] = (uint8_t)unit;
        } else if (unit < 0x800) {
            name[length++] = (uint8_t)(0xc0 | unit >> 6);
            name[length++] = (uint8_t)(0x80 | (unit & 0x3f));
        } else if (unit >= 0xd800 && unit < 0xe000) {
            name[length++] = '?';
        } else {
            name[length++] = (uint8_t)(0xe0 | unit >> 12);
            name[length++] = (uint8_t)(0x80 | (unit >> 6 & 0x3f));
            name[length++] = (uint8_t)(0x80 | (unit & 0x3f));
        }
    }
    at = heap_stream_put_varint(at, length);
    memcpy(at, name, length);
    return at + length;
}

static void take_statics(heap_walk *w, reader *r)
{
    uint32_t count = reader_u32(r);

    reader_u64(r); /* application domain */
    reader_u16(r);
    for (uint32_t i = 0; i < count && !reader_failed(r); i++) {
        uint64_t slot = reader_u64(r);
        uint64_t object = reader_u64(r);
        uint64_t flags;

        reader_u64(r); /* type of the object */
        flags = reader_u32(r);
        if (object == 0) {
            while (reader_u16(r) != 0) {
            }
            continue;
        }
        if (reader_failed(r) || !put_root(w, RECORDING_ROOT_STATIC, flags, object, slot))
            return;
        /* room for the name was asked for with the rest: 4 numbers and NAME_BYTES */
        if (heap_stream_room(&w->stream, RECORDING_HEAP_ROOTS, w->attempt, 0) == NULL)
            return;
        w->stream.at = put_name(w->stream.at, r);
        if (w->slots.count < MOST_SLOTS) {
            table_u64_put(&w->slots, slot, slot);
            table_u64_put(&w->slots, object + 8, slot); /* a struct is in a box */
        }
    }
}

static void begin_attempt(heap_walk *w)
{
    w->attempt++;
    w->has_nodes = false;
    w->previous = 0;
    w->objects = w->references = w->roots = w->bad_references = 0;
    w->first_ns = os_monotonic_ns();
}

void heap_walk_take(heap_walk *w, uint32_t id, const uint8_t *data, uint32_t length)
{
    reader r = reader_of(data, length);
    reader head = r;

    if (id == EDGES || !atomic_load(&w->is_open) || atomic_load(&w->stream.abandoned) != 0)
        return;
    lock_take(&w->guard);
    if (w->attempt == 0 || (id == STATICS && w->has_nodes) ||
        (id == NODES && w->has_nodes && reader_u32(&head) == 0))
        begin_attempt(w);
    w->event_count++;
    if (id == NODES)
        take_nodes(w, &r);
    else if (id == ROOT_EDGES)
        take_roots(w, &r);
    else if (id == DEPENDENT_EDGES)
        take_dependents(w, &r);
    else
        take_statics(w, &r);
    w->last_ns = os_monotonic_ns();
    lock_give(&w->guard);
}
