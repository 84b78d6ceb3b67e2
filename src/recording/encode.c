/* encode: see encode.h. */
#include "recording/encode.h"

#include <string.h>

/*
 * CRC-32 eight bytes at a time. A table of CRC is linear in the bits of its index, so each of the
 * eight tables is spelled out by the compiler from its eight one-bit entries.
 */
#define BIT(i, bit, value) (((i) >> (bit)&1u) != 0 ? (value) : 0u)
#define ENTRY(i, a, b, c, d, e, f, g, h)                                                           \
    (BIT(i, 0, a) ^ BIT(i, 1, b) ^ BIT(i, 2, c) ^ BIT(i, 3, d) ^ BIT(i, 4, e) ^ BIT(i, 5, f) ^     \
     BIT(i, 6, g) ^ BIT(i, 7, h))
#define FOUR(i, ...)                                                                               \
    ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__),                   \
        ENTRY(i + 3, __VA_ARGS__)
#define SIXTEEN(i, ...)                                                                            \
    FOUR(i, __VA_ARGS__), FOUR(i + 4, __VA_ARGS__), FOUR(i + 8, __VA_ARGS__),                      \
        FOUR(i + 12, __VA_ARGS__)
#define SIXTY_FOUR(i, ...)                                                                         \
    SIXTEEN(i, __VA_ARGS__), SIXTEEN(i + 16, __VA_ARGS__), SIXTEEN(i + 32, __VA_ARGS__),           \
        SIXTEEN(i + 48, __VA_ARGS__)
#define SLICE(...)                                                                                 \
    {                                                                                              \
        SIXTY_FOUR(0u, __VA_ARGS__), SIXTY_FOUR(64u, __VA_ARGS__), SIXTY_FOUR(128u, __VA_ARGS__),  \
            SIXTY_FOUR(192u, __VA_ARGS__)                                                          \
    }

static const uint32_t CRC[8][256] = {
    SLICE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190,
          0xedb88320),
    SLICE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05,
          0x3b83984b),
    SLICE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0,
          0xe1351b80),
    SLICE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d,
          0xed59b63b),
    SLICE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849,
          0xb1e6b092),
    SLICE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c,
          0x1eb014d8),
    SLICE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579,
          0x8816eaf2),
    SLICE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed,
          0x533b85da),
};

uint32_t recording_crc32(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *p = bytes;

    crc = ~crc;
    for (; length >= 8; length -= 8, p += 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);

        crc = CRC[7][low & 0xff] ^ CRC[6][low >> 8 & 0xff] ^ CRC[5][low >> 16 & 0xff] ^
              CRC[4][low >> 24] ^ CRC[3][p[4]] ^ CRC[2][p[5]] ^ CRC[1][p[6]] ^ CRC[0][p[7]];
    }
    for (; length > 0; length--, p++)
        crc = crc >> 8 ^ CRC[0][(crc ^ *p) & 0xff];
    return ~crc;
}

void recording_put_file_header(buffer *out)
{
    buffer_append(out, RECORDING_MAGIC, 8);
    buffer_append_u32(out, RECORDING_VERSION);
    buffer_append_u32(out, 0);
}

static void put_chunk_header(buffer *out, uint16_t kind, uint16_t flags, uint32_t process,
                             uint32_t length, uint32_t check)
{
    buffer_append_u16(out, kind);
    buffer_append_u16(out, flags);
    buffer_append_u32(out, process);
    buffer_append_u32(out, length);
    buffer_append_u32(out, check);
}

/* The check covers the header's first 12 bytes and the payload. */
static uint32_t chunk_check(const uint8_t *chunk, size_t payload)
{
    uint32_t crc = recording_crc32(0, chunk, 12);

    return recording_crc32(crc, chunk + RECORDING_CHUNK_HEADER_SIZE, payload);
}

size_t recording_begin_chunk(buffer *out, recording_kind kind, uint32_t process)
{
    size_t start = out->length;

    put_chunk_header(out, (uint16_t)kind, 0, process, 0, 0);
    return start;
}

size_t recording_chunk_length(const buffer *out, size_t start)
{
    size_t used = out->length - start;

    return used < RECORDING_CHUNK_HEADER_SIZE ? 0 : used - RECORDING_CHUNK_HEADER_SIZE;
}

static void take_back(buffer *out, size_t start)
{
    out->length = start;
    out->failed = false;
    if (out->data != NULL)
        out->data[start] = 0;
}

bool recording_end_chunk(buffer *out, size_t start)
{
    size_t payload = recording_chunk_length(out, start);

    if (out->failed || payload == 0 || payload > RECORDING_MAXIMUM_PAYLOAD) {
        bool empty = !out->failed && payload == 0;

        take_back(out, start);
        return empty;
    }
    buffer_patch_u32(out, start + 8, (uint32_t)payload);
    buffer_patch_u32(out, start + 12, chunk_check(out->data + start, payload));
    return true;
}

void recording_put_chunk(buffer *out, uint16_t kind, uint16_t flags, uint32_t process,
                         const void *payload, size_t length)
{
    size_t start = out->length;

    if (length > RECORDING_MAXIMUM_PAYLOAD) {
        out->failed = true;
        return;
    }
    put_chunk_header(out, kind, flags, process, (uint32_t)length, 0);
    buffer_append(out, payload, length);
    if (!out->failed)
        buffer_patch_u32(out, start + 12, chunk_check(out->data + start, length));
}

static void put_text(buffer *out, const char *text)
{
    buffer_append_blob(out, text, strlen(text));
}

void recording_put_info(buffer *out, const char *key, const char *value)
{
    put_text(out, key);
    put_text(out, value);
}

void recording_put_string(buffer *out, uint64_t id, const char *text, size_t length)
{
    buffer_append_varint(out, id);
    buffer_append_blob(out, text, length);
}

void recording_put_module(buffer *out, const recording_module *module)
{
    buffer_append_varint(out, module->id);
    buffer_append_varint(out, module->kind);
    buffer_append_varint(out, module->name);
    buffer_append_varint(out, module->path);
    buffer_append_blob(out, module->identity, module->identity_length);
    buffer_append_varint(out, module->base);
    buffer_append_varint(out, module->size);
}

void recording_put_method(buffer *out, const recording_method *method)
{
    buffer_append_varint(out, method->id);
    buffer_append_varint(out, method->module);
    buffer_append_varint(out, method->token);
    buffer_append_varint(out, method->name);
    buffer_append_varint(out, method->parameters);
    buffer_append_varint(out, method->flags);
}

void recording_put_frame(buffer *out, uint64_t id, uint64_t kind, uint64_t a, uint64_t b)
{
    buffer_append_varint(out, id);
    buffer_append_varint(out, kind);
    buffer_append_varint(out, a);
    buffer_append_varint(out, b);
}

void recording_put_symbol(buffer *out, uint64_t frame, uint64_t name, uint64_t file, uint64_t line)
{
    buffer_append_varint(out, frame);
    buffer_append_varint(out, name);
    buffer_append_varint(out, file);
    buffer_append_varint(out, line);
}

void recording_put_stack(buffer *out, uint64_t id, uint64_t parent, uint64_t frame)
{
    buffer_append_varint(out, id);
    buffer_append_varint(out, parent);
    buffer_append_varint(out, frame);
}

void recording_put_thread(buffer *out, const recording_thread *thread)
{
    buffer_append_varint(out, thread->os_id);
    buffer_append_varint(out, thread->managed_id);
    buffer_append_varint(out, thread->name);
    buffer_append_varint(out, thread->flags);
    buffer_append_varint(out, thread->start);
    buffer_append_varint(out, thread->end);
}

void recording_put_table(buffer *out, uint64_t id, const recording_table *table)
{
    buffer_append_varint(out, id);
    put_text(out, table->name);
    put_text(out, table->profiler);
    buffer_append_varint(out, table->column_count);
    for (size_t i = 0; i < table->column_count; i++) {
        buffer_append_varint(out, (uint64_t)table->columns[i].type);
        put_text(out, table->columns[i].name);
        put_text(out, table->columns[i].unit);
    }
}

void recording_put_loss(buffer *out, const char *profiler, const char *reason, uint64_t total)
{
    put_text(out, profiler);
    put_text(out, reason);
    buffer_append_varint(out, total);
}

void recording_put_cost(buffer *out, const recording_cost *cost)
{
    buffer_append_varint(out, cost->thread_cpu_ns);
    buffer_append_varint(out, cost->handler_ns);
    buffer_append_varint(out, cost->handler_calls);
    buffer_append_varint(out, cost->memory_bytes);
}

void recording_put_profiler(buffer *out, const char *name, uint64_t profiler_state, uint64_t time,
                            const char *note, const recording_parameter *parameters, size_t count)
{
    put_text(out, name);
    buffer_append_varint(out, profiler_state);
    buffer_append_varint(out, time);
    put_text(out, note);
    buffer_append_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        put_text(out, parameters[i].name);
        put_text(out, parameters[i].value);
    }
}

void recording_put_end(buffer *out, const char *reason, uint64_t time)
{
    put_text(out, reason);
    buffer_append_varint(out, time);
}

void recording_rows_begin(recording_rows *rows, buffer *out, uint32_t process, uint64_t table_id,
                          const recording_table *table)
{
    memset(rows, 0, sizeof *rows);
    rows->out = out;
    rows->table = table;
    rows->chunk = recording_begin_chunk(out, RECORDING_ROWS, process);
    buffer_append_varint(out, table_id);
}

static recording_column_type next_column(recording_rows *rows, size_t *column)
{
    *column = rows->column;
    if (++rows->column == rows->table->column_count) {
        rows->column = 0;
        rows->rows++;
    }
    return rows->table->columns[*column].type;
}

void recording_rows_put(recording_rows *rows, uint64_t value)
{
    size_t column;

    switch (next_column(rows, &column)) {
    case RECORDING_TIME:
        buffer_append_zigzag(rows->out, (int64_t)(value - rows->previous[column]));
        rows->previous[column] = value;
        break;
    case RECORDING_I64:
        buffer_append_zigzag(rows->out, (int64_t)value);
        break;
    case RECORDING_F64:
        buffer_append_f64(rows->out, (double)value);
        break;
    default:
        buffer_append_varint(rows->out, value);
        break;
    }
}

void recording_rows_put_f64(recording_rows *rows, double value)
{
    size_t column;

    if (next_column(rows, &column) == RECORDING_F64)
        buffer_append_f64(rows->out, value);
    else
        rows->out->failed = true; /* the caller's mistake: shows as a chunk that does not end */
}

bool recording_rows_end(recording_rows *rows)
{
    if (rows->column != 0) {
        take_back(rows->out, rows->chunk);
        return false;
    }
    if (rows->rows == 0 && !rows->out->failed) {
        take_back(rows->out, rows->chunk);
        return true;
    }
    return recording_end_chunk(rows->out, rows->chunk);
}
