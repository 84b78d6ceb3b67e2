/* buffer: see buffer.h. Thread rules: a buffer belongs to one thread at a time. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const size_t FIRST_CAPACITY = 64;

void buffer_init(buffer *b)
{
    memset(b, 0, sizeof *b);
}

void buffer_fix(buffer *b, void *memory, size_t size)
{
    buffer_init(b);
    b->data = memory;
    b->capacity = size;
    b->fixed = true;
    b->data[0] = 0;
}

void buffer_free(buffer *b)
{
    if (!b->fixed)
        memory_free(b->data);
    buffer_init(b);
}

void buffer_clear(buffer *b)
{
    b->length = 0;
    b->failed = false;
    if (b->data != NULL)
        b->data[0] = 0;
}

const char *buffer_text(const buffer *b)
{
    return b->data == NULL ? "" : (const char *)b->data;
}

char *buffer_take_text(buffer *b)
{
    char *text;

    if (b->failed || b->fixed) {
        buffer_free(b);
        return NULL;
    }
    text = b->data != NULL ? (char *)b->data : memory_copy_text("");
    buffer_init(b);
    return text;
}

/* Out of line: every function below asks, and buffers seldom grow. */
__attribute__((cold, noinline)) static bool grow(buffer *b, size_t more)
{
    size_t needed;
    size_t capacity;
    uint8_t *data;

    if (b->failed)
        return false;
    if (more > SIZE_MAX / 2 - b->length - 1) {
        b->failed = true;
        return false;
    }
    needed = b->length + more + 1;
    if (b->fixed) {
        b->failed = true;
        return false;
    }
    capacity = b->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : b->capacity;
    while (capacity < needed)
        capacity *= 2;
    data = memory_resize(b->data, capacity);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    data[b->length] = 0; /* who only makes room, and reads nothing into it, has an empty text */
    return true;
}

bool buffer_reserve(buffer *b, size_t more)
{
    return (!b->failed && more < b->capacity - b->length) || grow(b, more);
}

void buffer_append(buffer *b, const void *bytes, size_t length)
{
    if (!buffer_reserve(b, length))
        return;
    if (length != 0)
        memcpy(b->data + b->length, bytes, length);
    b->length += length;
    b->data[b->length] = 0;
}

void buffer_append_text(buffer *b, const char *text)
{
    buffer_append(b, text, strlen(text));
}

void buffer_append_char(buffer *b, char c)
{
    buffer_append(b, &c, 1);
}

void buffer_append_fill(buffer *b, uint8_t value, size_t count)
{
    if (!buffer_reserve(b, count))
        return;
    memset(b->data + b->length, value, count);
    b->length += count;
    b->data[b->length] = 0;
}

void buffer_format(buffer *b, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        b->failed = true;
        return;
    }
    if (!buffer_reserve(b, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf((char *)b->data + b->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    b->length += (size_t)length;
}

void buffer_append_u8(buffer *b, uint8_t value)
{
    buffer_append(b, &value, 1);
}

void buffer_append_u16(buffer *b, uint16_t value)
{
    uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};

    buffer_append(b, bytes, sizeof bytes);
}

void buffer_append_u32(buffer *b, uint32_t value)
{
    uint8_t bytes[4];

    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    buffer_append(b, bytes, sizeof bytes);
}

void buffer_append_u64(buffer *b, uint64_t value)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    buffer_append(b, bytes, sizeof bytes);
}

void buffer_append_f64(buffer *b, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    buffer_append_u64(b, bits);
}

void buffer_append_varint(buffer *b, uint64_t value)
{
    uint8_t bytes[10];
    size_t length = 0;

    while (value >= 0x80) {
        bytes[length++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[length++] = (uint8_t)value;
    buffer_append(b, bytes, length);
}

void buffer_append_zigzag(buffer *b, int64_t value)
{
    buffer_append_varint(b, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void buffer_append_blob(buffer *b, const void *bytes, size_t length)
{
    buffer_append_varint(b, length);
    buffer_append(b, bytes, length);
}

void buffer_patch_u32(buffer *b, size_t offset, uint32_t value)
{
    if (b->failed || offset + 4 > b->length)
        return;
    for (int i = 0; i < 4; i++)
        b->data[offset + (size_t)i] = (uint8_t)(value >> (8 * i));
}
