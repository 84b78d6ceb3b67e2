/* text: see text.h. */
#include "base/text.h"

#include <string.h>

static const uint32_t REPLACEMENT = 0xFFFD;

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

void text_append_code_point(buffer *out, uint32_t c)
{
    char bytes[4];
    size_t n;

    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        c = REPLACEMENT;
    if (c < 0x80) {
        bytes[0] = (char)c;
        n = 1;
    } else if (c < 0x800) {
        bytes[0] = (char)(0xC0 | c >> 6);
        bytes[1] = (char)(0x80 | (c & 0x3F));
        n = 2;
    } else if (c < 0x10000) {
        bytes[0] = (char)(0xE0 | c >> 12);
        bytes[1] = (char)(0x80 | (c >> 6 & 0x3F));
        bytes[2] = (char)(0x80 | (c & 0x3F));
        n = 3;
    } else {
        bytes[0] = (char)(0xF0 | c >> 18);
        bytes[1] = (char)(0x80 | (c >> 12 & 0x3F));
        bytes[2] = (char)(0x80 | (c >> 6 & 0x3F));
        bytes[3] = (char)(0x80 | (c & 0x3F));
        n = 4;
    }
    buffer_append(out, bytes, n);
}

void text_append_utf16(buffer *out, const uint16_t *units, size_t count)
{
    text_append_utf16_bytes(out, (const uint8_t *)units, count);
}

static uint32_t unit_at(const uint8_t *bytes, size_t index)
{
    return (uint32_t)(bytes[2 * index] | (unsigned)bytes[2 * index + 1] << 8);
}

void text_append_utf16_bytes(buffer *out, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t c = unit_at(bytes, i);

        if (c >= 0xD800 && c <= 0xDBFF && i + 1 < count) {
            uint32_t low = unit_at(bytes, i + 1);

            if (low >= 0xDC00 && low <= 0xDFFF) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                i++;
            }
        }
        text_append_code_point(out, c);
    }
}

/* Takes one code point from [*p, end); a broken byte gives U+FFFD and moves one byte. */
static uint32_t take_utf8(const uint8_t **p, const uint8_t *end)
{
    static const uint32_t SMALLEST[4] = {0, 0x80, 0x800, 0x10000};
    uint8_t first = *(*p)++;
    size_t more;
    uint32_t c;

    if (first < 0x80)
        return first;
    if (first >= 0xC2 && first <= 0xDF) {
        more = 1;
        c = first & 0x1F;
    } else if (first >= 0xE0 && first <= 0xEF) {
        more = 2;
        c = first & 0x0F;
    } else if (first >= 0xF0 && first <= 0xF4) {
        more = 3;
        c = first & 0x07;
    } else {
        return REPLACEMENT;
    }
    if ((size_t)(end - *p) < more)
        return REPLACEMENT;
    for (size_t i = 0; i < more; i++) {
        if (((*p)[i] & 0xC0) != 0x80)
            return REPLACEMENT;
        c = c << 6 | ((*p)[i] & 0x3F);
    }
    if (c < SMALLEST[more] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return REPLACEMENT;
    *p += more;
    return c;
}

size_t text_append_utf8_as_utf16(buffer *out, const char *text, size_t length)
{
    const uint8_t *p = (const uint8_t *)(length == 0 ? "" : text);
    const uint8_t *end = p + length;
    size_t units = 0;

    while (p < end) {
        uint32_t c = take_utf8(&p, end);

        if (c >= 0x10000) {
            buffer_append_u16(out, (uint16_t)(0xD800 + ((c - 0x10000) >> 10)));
            buffer_append_u16(out, (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF)));
            units += 2;
        } else {
            buffer_append_u16(out, (uint16_t)c);
            units++;
        }
    }
    return units;
}

size_t text_utf16_length(const uint16_t *units, size_t limit)
{
    size_t n = 0;

    while (n < limit && units[n] != 0)
        n++;
    return n;
}

void text_append_cleaned(buffer *out, const char *text, size_t length)
{
    const uint8_t *p = (const uint8_t *)(length == 0 ? "" : text);
    const uint8_t *end = p + length;

    while (p < end)
        text_append_code_point(out, take_utf8(&p, end));
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_equal_ignoring_case(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
    size_t a = strlen(text);
    size_t b = strlen(suffix);

    return a >= b && memcmp(text + a - b, suffix, b) == 0;
}

bool text_matches(const char *text, const char *pattern)
{
    const char *star = NULL; /* the last `*` seen, and where the text stood then */
    const char *resume = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool text_to_u64(const char *text, uint64_t *value)
{
    uint64_t result = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');

        if (*text < '0' || *text > '9' || result > (UINT64_MAX - digit) / 10)
            return false;
        result = result * 10 + digit;
    }
    *value = result;
    return true;
}
