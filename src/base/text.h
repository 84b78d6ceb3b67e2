/*
 * text: UTF-8 and UTF-16, comparing and cutting text. The CLR speaks UTF-16; we keep UTF-8.
 * Broken input never fails: each broken unit becomes U+FFFD.
 */
#ifndef CLARINET_BASE_TEXT_H
#define CLARINET_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Appends `count` UTF-16 units as UTF-8. */
void text_append_utf16(buffer *out, const uint16_t *units, size_t count);
/* The same from little-endian bytes that may not be aligned. */
void text_append_utf16_bytes(buffer *out, const uint8_t *bytes, size_t count);
/* Appends UTF-8 text as little-endian UTF-16 bytes, without a closing zero; returns the units. */
size_t text_append_utf8_as_utf16(buffer *out, const char *text, size_t length);
/* Units up to the zero, at most `limit`. */
size_t text_utf16_length(const uint16_t *units, size_t limit);
/* Appends a code point as UTF-8. */
void text_append_code_point(buffer *out, uint32_t code_point);
/* Appends bytes that should be UTF-8, with broken parts replaced by U+FFFD. */
void text_append_cleaned(buffer *out, const char *text, size_t length);

bool text_equal(const char *a, const char *b);
bool text_equal_ignoring_case(const char *a, const char *b); /* ASCII */
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);
/* `*` any run, `?` one character; case matters. */
bool text_matches(const char *text, const char *pattern);
/* Whole text as an unsigned decimal number; false when it is anything else or too large. */
bool text_to_u64(const char *text, uint64_t *value);

#endif
