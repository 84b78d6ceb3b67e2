/* decode: see decode.h. */
#include "recording/decode.h"

#include <string.h>

recording_chunk_state recording_take_chunk(const void *bytes, size_t available,
                                           recording_chunk *chunk)
{
    reader r = reader_of(bytes, available);
    uint32_t check;

    memset(chunk, 0, sizeof *chunk);
    chunk->whole = RECORDING_CHUNK_HEADER_SIZE;
    if (available < RECORDING_CHUNK_HEADER_SIZE)
        return RECORDING_CHUNK_SHORT;
    chunk->kind = reader_u16(&r);
    chunk->flags = reader_u16(&r);
    chunk->process = reader_u32(&r);
    chunk->length = reader_u32(&r);
    check = reader_u32(&r);
    if (chunk->length > RECORDING_MAXIMUM_PAYLOAD)
        return RECORDING_CHUNK_BROKEN;
    chunk->whole += chunk->length;
    if (available < chunk->whole)
        return RECORDING_CHUNK_SHORT;
    chunk->payload = reader_bytes(&r, chunk->length);
    if (recording_crc32(recording_crc32(0, bytes, 12), chunk->payload, chunk->length) != check)
        return RECORDING_CHUNK_BROKEN;
    return RECORDING_CHUNK_WHOLE;
}

static recording_text take_text(reader *r)
{
    recording_text text;

    text.bytes = (const char *)reader_blob(r, &text.length);
    if (text.bytes == NULL)
        text.bytes = "";
    return text;
}

bool recording_next_info(reader *r, recording_info *record)
{
    if (reader_at_end(r))
        return false;
    record->key = take_text(r);
    record->value = take_text(r);
    return !reader_failed(r);
}

bool recording_next_parameter(reader *r, recording_info *record)
{
    record->key = take_text(r);
    record->value = take_text(r);
    return !reader_failed(r);
}

bool recording_next_string(reader *r, recording_string *record)
{
    if (reader_at_end(r))
        return false;
    record->id = reader_varint(r);
    record->text = take_text(r);
    return !reader_failed(r);
}

bool recording_next_module(reader *r, recording_module *record)
{
    if (reader_at_end(r))
        return false;
    record->id = reader_varint(r);
    record->kind = reader_varint(r);
    record->name = reader_varint(r);
    record->path = reader_varint(r);
    record->identity = reader_blob(r, &record->identity_length);
    record->base = reader_varint(r);
    record->size = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_method(reader *r, recording_method *record)
{
    if (reader_at_end(r))
        return false;
    record->id = reader_varint(r);
    record->module = reader_varint(r);
    record->token = reader_varint(r);
    record->name = reader_varint(r);
    record->parameters = reader_varint(r);
    record->flags = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_frame(reader *r, recording_frame *record)
{
    if (reader_at_end(r))
        return false;
    record->id = reader_varint(r);
    record->kind = reader_varint(r);
    record->a = reader_varint(r);
    record->b = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_symbol(reader *r, recording_symbol *record)
{
    if (reader_at_end(r))
        return false;
    record->frame = reader_varint(r);
    record->name = reader_varint(r);
    record->file = reader_varint(r);
    record->line = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_stack(reader *r, recording_stack *record)
{
    if (reader_at_end(r))
        return false;
    record->id = reader_varint(r);
    record->parent = reader_varint(r);
    record->frame = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_thread(reader *r, recording_thread *record)
{
    if (reader_at_end(r))
        return false;
    record->os_id = reader_varint(r);
    record->managed_id = reader_varint(r);
    record->name = reader_varint(r);
    record->flags = reader_varint(r);
    record->start = reader_varint(r);
    record->end = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_table(reader *r, recording_table_head *record)
{
    if (reader_at_end(r))
        return false;
    record->id = reader_varint(r);
    record->name = take_text(r);
    record->profiler = take_text(r);
    record->column_count = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_column(reader *r, recording_column_head *record)
{
    record->type = reader_varint(r);
    record->name = take_text(r);
    record->unit = take_text(r);
    return !reader_failed(r);
}

bool recording_next_loss(reader *r, recording_loss *record)
{
    if (reader_at_end(r))
        return false;
    record->profiler = take_text(r);
    record->reason = take_text(r);
    record->total = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_cost(reader *r, recording_cost *record)
{
    if (reader_at_end(r))
        return false;
    record->thread_cpu_ns = reader_varint(r);
    record->handler_ns = reader_varint(r);
    record->handler_calls = reader_varint(r);
    record->memory_bytes = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_profiler(reader *r, recording_profiler *record)
{
    if (reader_at_end(r))
        return false;
    record->name = take_text(r);
    record->state = reader_varint(r);
    record->time = reader_varint(r);
    record->note = take_text(r);
    record->parameter_count = reader_varint(r);
    return !reader_failed(r);
}

bool recording_next_end(reader *r, recording_end *record)
{
    if (reader_at_end(r))
        return false;
    record->reason = take_text(r);
    record->time = reader_varint(r);
    return !reader_failed(r);
}

bool recording_column_type_is_known(uint64_t type)
{
    return type >= RECORDING_TIME && type <= RECORDING_FRAME_ID;
}

/* As reader_varint, with the common one-byte and two-byte cases in place: rows are most of a
 * recording. */
static inline uint64_t take_varint(reader *r)
{
    if (!r->failed && r->end - r->position >= 2) {
        if (r->position[0] < 0x80)
            return *r->position++;
        if (r->position[1] < 0x80) {
            uint64_t value = (uint64_t)(r->position[0] & 0x7f) | (uint64_t)r->position[1] << 7;

            r->position += 2;
            return value;
        }
    }
    return reader_varint(r);
}

static inline uint64_t take_zigzag(reader *r)
{
    uint64_t value = take_varint(r);

    return value >> 1 ^ (0 - (value & 1));
}

bool recording_next_row(reader *r, const uint8_t *types, size_t count, uint64_t *previous,
                        uint64_t *cells)
{
    if (reader_at_end(r) || count == 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        switch (types[i]) {
        case RECORDING_TIME:
            previous[i] += take_zigzag(r);
            cells[i] = previous[i];
            break;
        case RECORDING_I64:
            cells[i] = take_zigzag(r);
            break;
        case RECORDING_F64:
            cells[i] = reader_u64(r);
            break;
        default:
            if (!recording_column_type_is_known(types[i]))
                r->failed = true;
            cells[i] = take_varint(r);
            break;
        }
    }
    return !reader_failed(r);
}
