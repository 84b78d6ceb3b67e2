/* heap_walk: see heap_walk.h. */
#include "agent/heap_walk.h"

#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "recording/encode.h"

enum {
    ROOT_EDGES = 16,
    DEPENDENT_EDGES = 17,
    NODES = 18,
    EDGES = 19,
    STATICS = 38,
    MOST_FUNCTIONS = 8192,
    MOST_SLOTS = 131072,
    NAME_BYTES = 240, /* of a static variable's name */
};
#define KEYWORD_HEAP_DUMP UINT64_C(0x100000)

bool heap_walk_open(heap_walk *w, const clr_info *info, bool strings, bool values)
{
    memset(w, 0, sizeof *w);
    w->info = info;
    table_u64_init(&w->functions);
    table_u64_init(&w->slots);
    return heap_record_open(&w->record, info, strings, values);
}

void heap_walk_close(heap_walk *w)
{
    heap_record_close(&w->record);
    table_u64_free(&w->functions);
    table_u64_free(&w->slots);
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

        if (reader_failed(r) ||
            !heap_record_put(&w->record, address, size, (ClassID)class_id, edges != 0))
            return;
    }
}

static bool put_root(heap_walk *w, uint64_t kind, uint64_t flags, uint64_t object, uint64_t id)
{
    uint8_t *at = heap_stream_room(&w->record.stream, RECORDING_HEAP_ROOTS, w->record.attempt, 300);

    if (at == NULL)
        return false;
    at = heap_stream_put_varint(at, kind);
    at = heap_stream_put_varint(at, flags);
    at = heap_stream_put_varint(at, object);
    w->record.stream.at = heap_stream_put_varint(at, id);
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
    uint8_t memory[NAME_BYTES + 1];
    const uint8_t *first = r->position;
    size_t units = 0;
    buffer name;

    while (reader_u16(r) != 0)
        units++;
    buffer_fix(&name, memory, sizeof memory);
    text_append_utf16_bytes(&name, first, units < NAME_BYTES / 3 ? units : NAME_BYTES / 3);
    at = heap_stream_put_varint(at, name.length);
    memcpy(at, memory, name.length);
    return at + name.length;
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
        if (heap_stream_room(&w->record.stream, RECORDING_HEAP_ROOTS, w->record.attempt, 0) == NULL)
            return;
        w->record.stream.at = put_name(w->record.stream.at, r);
        if (w->slots.count < MOST_SLOTS) {
            table_u64_put(&w->slots, slot, slot);
            table_u64_put(&w->slots, object + 8, slot); /* a struct is in a box */
        }
    }
}

static void begin_attempt(heap_walk *w)
{
    heap_record_begin(&w->record);
    w->has_nodes = false;
    w->roots = 0;
    w->first_ns = os_monotonic_ns();
}

void heap_walk_take(heap_walk *w, uint32_t id, const uint8_t *data, uint32_t length)
{
    reader r = reader_of(data, length);
    reader head = r;

    if (id == EDGES || !atomic_load(&w->is_open) || atomic_load(&w->record.stream.abandoned) != 0)
        return;
    lock_take(&w->guard);
    if (w->record.attempt == 0 || (id == STATICS && w->has_nodes) ||
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
