/* protobuf: see protobuf.h. */
#include "report/protobuf.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void put_tag(buffer *b, unsigned field, unsigned wire)
{
    buffer_append_varint(b, (uint64_t)field << 3 | wire);
}

void protobuf_put_number(buffer *b, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    put_tag(b, field, WIRE_VARINT);
    buffer_append_varint(b, value);
}

void protobuf_put_bytes(buffer *b, unsigned field, const void *bytes, size_t length)
{
    put_tag(b, field, WIRE_BYTES);
    buffer_append_blob(b, bytes, length);
}

void protobuf_put_text(buffer *b, unsigned field, const char *text)
{
    protobuf_put_bytes(b, field, text, strlen(text));
}

static size_t varint_size(uint64_t value)
{
    size_t size = 1;

    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

void protobuf_put_packed(buffer *b, unsigned field, const uint64_t *values, size_t count)
{
    size_t length = 0;

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        length += varint_size(values[i]);
    put_tag(b, field, WIRE_BYTES);
    buffer_append_varint(b, length);
    if (!buffer_reserve(b, length))
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = values[i];

        for (; value >= 0x80; value >>= 7)
            b->data[b->length++] = (uint8_t)(value | 0x80);
        b->data[b->length++] = (uint8_t)value;
    }
    b->data[b->length] = 0;
}

void protobuf_put_message(buffer *b, unsigned field, buffer *message)
{
    if (message->failed)
        b->failed = true;
    protobuf_put_bytes(b, field, message->data, message->length);
    buffer_clear(message);
}

bool gzip_begin(gzip *z, sink *out)
{
    enum { GZIP_WINDOW = 15 + 16, FAST = 1 };

    memset(z, 0, sizeof *z);
    z->out = out;
    z->failed =
        deflateInit2(&z->stream, FAST, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK;
    return !z->failed;
}

static void run(gzip *z, const void *bytes, size_t length, int flush)
{
    uint8_t chunk[32768];
    int result = Z_OK;

    z->stream.next_in = (Bytef *)(uintptr_t)bytes;
    z->stream.avail_in = (uInt)length;
    do {
        z->stream.next_out = chunk;
        z->stream.avail_out = sizeof chunk;
        result = deflate(&z->stream, flush);
        if (result == Z_STREAM_ERROR) {
            z->failed = true;
            return;
        }
        sink_bytes(z->out, chunk, sizeof chunk - z->stream.avail_out);
    } while (z->stream.avail_out == 0);
    if (flush == Z_FINISH && result != Z_STREAM_END)
        z->failed = true;
}

void gzip_write(gzip *z, const void *bytes, size_t length)
{
    while (length != 0 && !z->failed) {
        size_t part = length > (1u << 30) ? 1u << 30 : length;

        run(z, bytes, part, Z_NO_FLUSH);
        bytes = (const uint8_t *)bytes + part;
        length -= part;
    }
}

bool gzip_end(gzip *z)
{
    if (!z->failed)
        run(z, NULL, 0, Z_FINISH);
    deflateEnd(&z->stream);
    return !z->failed;
}
