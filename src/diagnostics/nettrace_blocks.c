/*
 * nettrace_blocks: the content of blocks: events (whole or compressed headers), stacks, sequence
 * points. See nettrace.h.
 *
 * A compressed header only says what differs from the event before it in the same block, so its
 * fields live in one struct for the length of a block. Sequence numbers count the events of the
 * thread that wrote them, also those that were dropped for lack of room: a gap is a loss.
 */
#include <string.h>

#include "diagnostics/nettrace_private.h"

enum {
    BLOCK_COMPRESSED = 1,
    FLAG_METADATA = 1,
    FLAG_CAPTURE = 2,
    FLAG_THREAD = 4,
    FLAG_STACK = 8,
    FLAG_ACTIVITY = 16,
    FLAG_RELATED = 32,
    FLAG_LENGTH = 128,
    STACK_LENGTH_BITS = 24,
    STACKS_LIMIT = 256 << 20,
};

typedef struct {
    uint32_t metadata;
    uint32_t sequence;
    uint64_t capture_thread;
    uint32_t processor;
    uint64_t thread;
    uint32_t stack;
    uint64_t ticks;
    const uint8_t *activity;
    const uint8_t *related;
    uint32_t length;
} event_header;

static const uint8_t NO_ACTIVITY[16];

static void read_compressed(reader *r, event_header *h)
{
    uint8_t flags = reader_u8(r);

    if (flags & FLAG_METADATA)
        h->metadata = (uint32_t)reader_varint(r);
    if (flags & FLAG_CAPTURE) {
        h->sequence += (uint32_t)reader_varint(r);
        h->capture_thread = reader_varint(r);
        h->processor = (uint32_t)reader_varint(r);
    }
    if (h->metadata != 0)
        h->sequence++; /* always: the difference above is written less one */
    if (flags & FLAG_THREAD)
        h->thread = reader_varint(r);
    if (flags & FLAG_STACK)
        h->stack = (uint32_t)reader_varint(r);
    h->ticks += reader_varint(r);
    if (flags & FLAG_ACTIVITY)
        h->activity = reader_bytes(r, 16);
    if (flags & FLAG_RELATED)
        h->related = reader_bytes(r, 16);
    if (flags & FLAG_LENGTH)
        h->length = (uint32_t)reader_varint(r);
}

static void read_whole(reader *r, event_header *h)
{
    reader_u32(r); /* size */
    h->metadata = reader_u32(r) & 0x7fffffff;
    h->sequence = reader_u32(r);
    h->thread = reader_u64(r);
    h->capture_thread = reader_u64(r);
    h->processor = reader_u32(r);
    h->stack = reader_u32(r);
    h->ticks = reader_u64(r);
    h->activity = reader_bytes(r, 16);
    h->related = reader_bytes(r, 16);
    h->length = reader_u32(r);
}

/* Counts what was lost between this event of its thread and the one before; the first has 1. */
static bool check_sequence(nettrace *parser, uint64_t thread, uint32_t sequence, bool is_event)
{
    uint64_t *last = table_u64_at(&parser->sequence, thread, 0);
    uint32_t expected;

    if (last == NULL)
        return false;
    expected = (uint32_t)*last + (is_event ? 1 : 0);
    if ((int32_t)(sequence - (uint32_t)*last) < 0)
        return true; /* older than what was seen, or the id is used again: says nothing */
    *last = sequence;
    if ((int32_t)(sequence - expected) > 0 && parser->sink.dropped != NULL)
        parser->sink.dropped(parser->sink.context, thread, sequence - expected);
    return true;
}

static int deliver(nettrace *parser, const event_header *h, const uint8_t *payload, error *e)
{
    nettrace_event event = {
        .metadata = nettrace_find_metadata(parser, h->metadata),
        .ticks = h->ticks,
        .thread_id = h->thread,
        .processor = h->processor,
        .activity = h->activity,
        .related_activity = h->related,
        .payload = payload,
        .payload_length = h->length,
    };
    uint64_t place;

    if (event.metadata == NULL)
        return error_set(e, ERROR_CORRUPT, "an event of the stream has the unknown kind %u",
                         h->metadata);
    if (!check_sequence(parser, h->capture_thread, h->sequence, true))
        return error_set(e, ERROR_MEMORY, "no memory for the event stream");
    if (h->stack != 0 && table_u64_get(&parser->stack_index, h->stack, &place)) {
        event.stack = parser->stacks.data + (place >> STACK_LENGTH_BITS);
        event.stack_id = h->stack;
        event.stack_count = (place & ((1u << STACK_LENGTH_BITS) - 1)) / parser->trace.pointer_size;
    }
    if (parser->sink.event != NULL)
        parser->sink.event(parser->sink.context, &event);
    return 0;
}

int nettrace_take_events(nettrace *parser, reader block, bool metadata, error *e)
{
    event_header header = {.activity = NO_ACTIVITY, .related = NO_ACTIVITY};
    size_t head = reader_u16(&block);
    uint16_t flags = reader_u16(&block);
    int code = 0;

    if (reader_failed(&block) || head < 4 || !reader_seek(&block, head))
        return error_set(e, ERROR_CORRUPT, "the head of an event block is broken");
    while (code == 0 && !reader_at_end(&block)) {
        const uint8_t *payload;

        if (flags & BLOCK_COMPRESSED)
            read_compressed(&block, &header);
        else
            read_whole(&block, &header);
        payload = reader_bytes(&block, header.length);
        if ((flags & BLOCK_COMPRESSED) == 0)
            reader_align(&block, 4);
        if (payload == NULL || reader_failed(&block))
            return error_set(e, ERROR_CORRUPT, "an event of the stream is cut off in its block");
        code = metadata ? nettrace_take_metadata(parser, reader_of(payload, header.length), e)
                        : deliver(parser, &header, payload, e);
    }
    return code;
}

int nettrace_take_stacks(nettrace *parser, reader block, error *e)
{
    uint32_t id = reader_u32(&block);
    uint32_t count = reader_u32(&block);

    for (uint32_t i = 0; i < count && !reader_failed(&block); i++) {
        size_t length = reader_u32(&block);
        const uint8_t *bytes = reader_bytes(&block, length);
        uint64_t offset = parser->stacks.length;

        if (bytes == NULL || length >= 1u << STACK_LENGTH_BITS)
            break;
        if (parser->stacks.length + length > STACKS_LIMIT)
            return error_set(e, ERROR_LIMIT, "the event stream has too many stacks");
        buffer_append(&parser->stacks, bytes, length);
        if (buffer_failed(&parser->stacks) || !table_u64_put(&parser->stack_index, (uint64_t)id + i,
                                                             offset << STACK_LENGTH_BITS | length))
            return error_set(e, ERROR_MEMORY, "no memory for the event stream");
    }
    if (reader_failed(&block) || !reader_at_end(&block))
        return error_set(e, ERROR_CORRUPT, "a block of stacks is broken");
    return 0;
}

int nettrace_take_sequence_point(nettrace *parser, reader block, error *e)
{
    uint64_t ticks = reader_u64(&block);
    uint32_t count = reader_u32(&block);

    for (uint32_t i = 0; i < count && !reader_failed(&block); i++) {
        uint64_t thread = reader_u64(&block);
        uint32_t sequence = reader_u32(&block);

        if (!reader_failed(&block) && !check_sequence(parser, thread, sequence, false))
            return error_set(e, ERROR_MEMORY, "no memory for the event stream");
    }
    if (reader_failed(&block))
        return error_set(e, ERROR_CORRUPT, "a sequence point is broken");
    /* Stack ids begin anew. */
    buffer_clear(&parser->stacks);
    table_u64_free(&parser->stack_index);
    table_u64_init(&parser->stack_index);
    if (parser->sink.sequence_point != NULL)
        parser->sink.sequence_point(parser->sink.context, ticks);
    return 0;
}
