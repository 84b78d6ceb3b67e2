/*
 * buffer: a growing run of bytes; also the string builder.
 *
 * Invariant: data[length] is 0 whenever data is not NULL, so a buffer of text is a C string.
 * Appending never fails loudly: the first allocation failure sets `failed`, later appends do
 * nothing, and the caller checks once at the end with buffer_failed(). A buffer may be fixed
 * (buffer_fix) over memory of the caller: then it never allocates and `failed` means "full".
 */
#ifndef CLARINET_BASE_BUFFER_H
#define CLARINET_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct buffer {
    uint8_t *data;
    size_t length;
    size_t capacity;
    bool failed;
    bool fixed;
} buffer;

#define BUFFER_EMPTY                                                                               \
    {                                                                                              \
        NULL, 0, 0, false, false                                                                   \
    }

void buffer_init(buffer *b);
/* Uses `size` bytes at `memory` (size >= 1) and never allocates. */
void buffer_fix(buffer *b, void *memory, size_t size);
/* Frees the memory and leaves an empty buffer; fits `cleanup`. */
void buffer_free(buffer *b);
/* Empties without freeing, clears `failed`. */
void buffer_clear(buffer *b);
static inline bool buffer_failed(const buffer *b)
{
    return b->failed;
}
/* The text so far; "" for an empty buffer; never NULL. */
const char *buffer_text(const buffer *b);
/* Hands the memory to the caller (memory_free), NULL if failed; the buffer is empty after. */
char *buffer_take_text(buffer *b);

/* Makes room for `more` further bytes; false (and failed) if that cannot be. */
bool buffer_reserve(buffer *b, size_t more);
void buffer_append(buffer *b, const void *bytes, size_t length);
void buffer_append_text(buffer *b, const char *text);
void buffer_append_char(buffer *b, char c);
void buffer_append_fill(buffer *b, uint8_t value, size_t count);
void buffer_format(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Little-endian integers, LEB128 varints, zigzag varints, varint length + bytes. */
void buffer_append_u8(buffer *b, uint8_t value);
void buffer_append_u16(buffer *b, uint16_t value);
void buffer_append_u32(buffer *b, uint32_t value);
void buffer_append_u64(buffer *b, uint64_t value);
void buffer_append_f64(buffer *b, double value);
void buffer_append_varint(buffer *b, uint64_t value);
void buffer_append_zigzag(buffer *b, int64_t value);
void buffer_append_blob(buffer *b, const void *bytes, size_t length);

/* Overwrites 4 bytes at `offset`, which must lie inside. */
void buffer_patch_u32(buffer *b, size_t offset, uint32_t value);

#endif
