/* encode: see encode.h. */
#include "recording/encode.h"

#include <stdatomic.h>
#include <string.h>

/* Small instead of fast: once per session or process. */
#define SELDOM __attribute__((cold))

/*
 * CRC-32 eight bytes at a time. The tables are made at the first use: 8 KB that need not be in the
 * library's file. Threads that come at once write the same values.
 */
static uint32_t CRC[8][256];
static atomic_bool crc_is_made;

static void make_crc(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
        CRC[0][i] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (uint32_t i = 0; i < 256; i++)
            CRC[slice][i] = CRC[slice - 1][i] >> 8 ^ CRC[0][CRC[slice - 1][i] & 0xff];
    atomic_store_explicit(&crc_is_made, true, memory_order_release);
}

uint32_t recording_crc32(uint32_t crc, const void *bytes, size_t length)
{
    const uint8_t *p = bytes;

    if (!atomic_load_explicit(&crc_is_made, memory_order_acquire))
        make_crc();
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

SELDOM void recording_put_table(buffer *out, uint64_t id, const recording_table *table)
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

SELDOM void recording_put_profiler(buffer *out, const char *name, uint64_t profiler_state,
                                   uint64_t time, const char *note,
                                   const recording_parameter *parameters, size_t count)
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

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

void recording_rows_put_row(recording_rows *rows, const uint64_t *cells)
{
    enum { LONGEST = 10 };
    size_t count = rows->table->column_count;
    uint8_t *at;

    rows->rows++;
    if (!buffer_reserve(rows->out, count * LONGEST))
        return;
    at = rows->out->data + rows->out->length;
    for (size_t n = 0; n < count; n++) {
        uint64_t value = cells[n];
        recording_column_type type = rows->table->columns[n].type;

        if (type == RECORDING_F64) {
            for (int k = 0; k < 8; k++)
                *at++ = (uint8_t)(value >> 8 * k);
        } else {
            if (type == RECORDING_TIME)
                value -= rows->previous[n];
            if (type == RECORDING_TIME || type == RECORDING_I64)
                value = value << 1 ^ (uint64_t)((int64_t)value >> 63);
            at = put_varint(at, value);
        }
        rows->previous[n] = cells[n];
    }
    *at = 0;
    rows->out->length = (size_t)(at - rows->out->data);
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
