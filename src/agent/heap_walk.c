/* heap_walk: see heap_walk.h. */
#include "agent/heap_walk.h"

#include <string.h>

#include "agent/agent.h"
#include "base/os.h"
#include "base/text.h"
#include "recording/encode.h"

enum {
    ROOT_EDGES = 16,
    DEPENDENT_EDGES = 17,
    NODES = 18,
    EDGES = 19,
    STATICS = 38,
    RESTART = 7,     /* of the program */
    FULL = 60000,    /* bytes: an event of objects is sent when it cannot hold more */
    NODE_BYTES = 32, /* address, size, class, number of references */
    AHEAD = 8,       /* objects whose memory is fetched before they are looked at */
    MOST_FUNCTIONS = 8192,
    MOST_SLOTS = 131072,
    NAME_BYTES = 240, /* of a static variable's name */
};
#define KEYWORD_HEAP_DUMP UINT64_C(0x100000)
#define KEYWORD_GC        UINT64_C(0x1)
#define HAS_REFERENCES    UINT64_C(1) /* beside an object's address */

bool heap_walk_open(heap_walk *w, const clr_info *info, const heap_record_wishes *wishes)
{
    memset((uint8_t *)w + offsetof(heap_walk, info), 0, sizeof *w - offsetof(heap_walk, info));
    w->info = info;
    table_u64_init(&w->functions);
    table_u64_init(&w->slots);
    return heap_relay_open(&w->relay) && heap_record_open(&w->record, info, wishes);
}

void heap_walk_close(heap_walk *w)
{
    heap_relay_close(&w->relay);
    heap_record_close(&w->record);
    table_u64_free(&w->functions);
    table_u64_free(&w->slots);
}

/* ---- the thread that collects garbage ---- */

/* The metadata of the runtime's own events has no name: u32 id, u16 0, u64 keywords, … */
static bool is_of(uint64_t keyword, uint32_t id, const uint8_t *metadata, uint32_t metadata_length)
{
    reader r = reader_of(metadata, metadata_length);

    return reader_u32(&r) == id && reader_u16(&r) == 0 && (reader_u64(&r) & keyword) != 0 &&
           !reader_failed(&r);
}

/* Whether the event is one of a heap dump. */
static bool is_of_dump(uint32_t id, const uint8_t *metadata, uint32_t metadata_length)
{
    return (id == NODES || id == EDGES || id == ROOT_EDGES || id == DEPENDENT_EDGES ||
            id == STATICS) &&
           is_of(KEYWORD_HEAP_DUMP, id, metadata, metadata_length);
}

/* Whether the event says that the program is about to run again; it comes with the keyword of
 * collections. */
static bool is_end(uint32_t id, const uint8_t *metadata, uint32_t metadata_length)
{
    return id == RESTART && is_of(KEYWORD_GC, id, metadata, metadata_length);
}

/* The addresses of an event's objects, and whether they have references; the rest is in the objects
 * themselves. */
static size_t copy_nodes(heap_walk *w, uint8_t *slot, reader *r)
{
    uint64_t most = w->most_references;
    const uint8_t *nodes;
    uint32_t count;

    reader_u32(r); /* number of the event in its walk */
    count = reader_u32(r);
    reader_u16(r);
    if (count > HEAP_RELAY_SIZE / sizeof(uint64_t))
        count = HEAP_RELAY_SIZE / sizeof(uint64_t);
    nodes = reader_bytes(r, (size_t)count * NODE_BYTES);
    if (nodes == NULL)
        return 0;
    for (uint32_t i = 0; i < count; i++, nodes += NODE_BYTES) {
        uint64_t address, references;

        memcpy(&address, nodes, sizeof address);
        memcpy(&references, nodes + NODE_BYTES - sizeof references, sizeof references);
        address |= references != 0 ? HAS_REFERENCES : 0;
        most = references > most ? references : most;
        memcpy(slot + (size_t)i * sizeof address, &address, sizeof address);
    }
    w->most_references = most;
    return (size_t)count * sizeof(uint64_t);
}

/* Whether a walk begins with the event: the first one, or one of its begin after objects. */
static bool is_first(const heap_walk *w, uint32_t id, reader r)
{
    if (!w->is_walking)
        return true;
    return w->saw_nodes && (id == STATICS || (id == NODES && reader_u32(&r) == 0));
}

static void hand_over(heap_walk *w, uint32_t id, const uint8_t *data, uint32_t length)
{
    reader r = reader_of(data, length);
    heap_relay_head head = {.id = id, .length = length, .begins = is_first(w, id, r)};
    unsigned block;
    uint8_t *slot = heap_relay_room(&w->relay, &block);

    w->is_walking = true;
    w->saw_nodes = id == NODES || (w->saw_nodes && !head.begins);
    w->event_count++;
    if (id == NODES)
        head.length = copy_nodes(w, slot, &r);
    else if (length <= HEAP_RELAY_SIZE)
        memcpy(slot, data, length);
    else
        head.length = 0;
    heap_relay_hand_over(&w->relay, block, head);
    /* the last one, most likely; heap_walk_let_go comes in any case */
    if (id == NODES && length < FULL)
        heap_blocks_drain(&w->relay.blocks);
}

static void take(heap_walk *w, uint32_t id, const uint8_t *data, uint32_t length)
{
    if (id == EDGES)
        return;
    lock_take(&w->guard);
    if (w->is_walking || w->is_open)
        hand_over(w, id, data, length);
    lock_give(&w->guard);
}

static void let_go(heap_walk *w)
{
    if (!atomic_load(&w->is_walking))
        return;
    lock_take(&w->guard);
    if (w->is_walking)
        heap_blocks_drain(&w->relay.blocks);
    w->is_walking = false;
    lock_give(&w->guard);
}

bool heap_walk_on_event(agent *a, uint32_t id, const uint8_t *metadata, uint32_t metadata_length,
                        const uint8_t *data, uint32_t length)
{
    heap_walk *w = a->engines[ENGINE_INDEX_heap].state;

    if (w == NULL)
        return false;
    if (is_end(id, metadata, metadata_length))
        let_go(w);
    if (!is_of_dump(id, metadata, metadata_length))
        return false;
    take(w, id, data, length);
    return true;
}

/* ---- the agent's own thread ---- */

void heap_walk_set_open(heap_walk *w, bool is_open)
{
    lock_take(&w->guard);
    w->is_open = is_open;
    lock_give(&w->guard);
}

bool heap_walk_is_walking(heap_walk *w, uint64_t *event_count)
{
    bool is_walking;

    lock_take(&w->guard);
    is_walking = w->is_walking;
    *event_count = w->event_count;
    lock_give(&w->guard);
    return is_walking;
}

void heap_walk_finish(heap_walk *w)
{
    lock_take(&w->guard);
    /* of a walk that was not waited for: the program may run again as soon as it is let go */
    if (w->is_walking)
        heap_blocks_drain(&w->relay.blocks);
    w->is_walking = false;
    w->is_open = false;
    heap_blocks_finish(&w->relay.blocks);
    lock_give(&w->guard);
}

/* ---- the thread that writes records ---- */

static void take_nodes(heap_walk *w, const uint8_t *slot, size_t length)
{
    const uint64_t *nodes = (const uint64_t *)(const void *)slot;
    size_t count = length / sizeof *nodes;

    w->has_nodes = true;
    for (size_t i = 0; i < count && atomic_load(&w->record.stream.abandoned) == 0; i++) {
        uint64_t address = nodes[i] & ~HAS_REFERENCES;
        ClassID class_id = *(const uintptr_t *)address & ~(uintptr_t)7;

        if (i + AHEAD < count) {
            __builtin_prefetch((const void *)nodes[i + AHEAD]);
            __builtin_prefetch((const void *)(nodes[i + AHEAD] + 64));
        }
        if (!heap_record_put(&w->record, address, class_id, (nodes[i] & HAS_REFERENCES) != 0))
            return;
    }
}

static bool put_root(heap_walk *w, uint64_t kind, uint64_t flags, uint64_t object, uint64_t id)
{
    const uint64_t numbers[4] = {kind, flags, object, id};
    uint8_t *at = heap_stream_room(&w->record.stream, RECORDING_HEAP_ROOTS, w->record.attempt, 300);

    if (at == NULL)
        return false;
    for (size_t i = 0; i < 4; i++)
        at = heap_stream_put_varint(at, numbers[i]);
    w->record.stream.at = at;
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

static void take_event(heap_walk *w, const heap_relay_head *head, const uint8_t *slot)
{
    reader r = reader_of(slot, head->length);

    if (head->begins)
        begin_attempt(w);
    if (head->id == NODES)
        take_nodes(w, slot, head->length);
    else if (head->id == ROOT_EDGES)
        take_roots(w, &r);
    else if (head->id == DEPENDENT_EDGES)
        take_dependents(w, &r);
    else
        take_statics(w, &r);
    w->last_ns = os_monotonic_ns();
}

void heap_walk_run(heap_walk *w)
{
    heap_relay_head head;
    const uint8_t *slot;

    while ((slot = heap_relay_next(&w->relay, &head)) != NULL) {
        if (atomic_load(&w->record.stream.abandoned) == 0)
            take_event(w, &head, slot);
        heap_blocks_release(&w->relay.blocks);
    }
    heap_stream_finish(&w->record.stream);
}
