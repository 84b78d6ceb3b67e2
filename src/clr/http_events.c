/* http_events: see http_events.h. */
#include "clr/http_events.h"

#include <string.h>

#include "base/text.h"

/* Whether a part of a path is somebody's number rather than a word: a number, a GUID, a digest, or
 * something with four digits in it. */
static bool is_number(const char *part, size_t length)
{
    enum { DIGITS = 4, LONG = 40 };
    size_t digits = 0;
    bool is_hex = true;

    for (size_t i = 0; i < length; i++) {
        char c = part[i];
        bool is_digit = c >= '0' && c <= '9';
        bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');

        digits += is_digit;
        is_hex = is_hex && (is_digit || is_letter || c == '-');
    }
    return length > LONG || digits >= DIGITS || (digits > 0 && is_hex);
}

static void append_path(buffer *out, const char *path)
{
    size_t length = strcspn(path, "?#");

    while (length > 0) {
        size_t part = strcspn(path, "/?#");

        if (is_number(path, part))
            buffer_append_text(out, "{id}");
        else
            buffer_append(out, path, part);
        path += part;
        length -= part;
        if (length > 0) {
            buffer_append_char(out, '/');
            path++;
            length--;
        }
    }
}

/* Passes over the next text and its zero; how many units it has. */
static size_t skip_text(reader *r)
{
    const uint8_t *text = r->position;
    size_t left = reader_left(r) / 2;
    size_t units = 0;

    while (units < left && (text[2 * units] | text[2 * units + 1]) != 0)
        units++;
    reader_skip(r, 2 * (units + (units < left)));
    return units;
}

void http_event_read_text(reader *r, buffer *out)
{
    const uint8_t *text = r->position;

    buffer_clear(out);
    text_append_utf16_bytes(out, text, skip_text(r));
}

/* Served: method, path. Made: scheme, host, port, path. */
void http_event_append_name(buffer *name, buffer *scratch, reader r, bool is_made)
{
    enum { HTTP_PORT = 80, HTTPS_PORT = 443 };
    uint32_t port;

    http_event_read_text(&r, scratch);
    buffer_append(name, scratch->data, scratch->length);
    if (is_made) {
        http_event_read_text(&r, scratch);
        port = reader_u32(&r);
        buffer_format(name, "://%s", buffer_text(scratch));
        if (port != HTTP_PORT && port != HTTPS_PORT)
            buffer_format(name, ":%u", port);
    } else {
        buffer_append_char(name, ' ');
    }
    http_event_read_text(&r, scratch);
    append_path(name, buffer_text(scratch));
}

/* Source and event, then u16 count and pairs of texts. Read in place: one comes with each request.
 */
uint64_t http_event_read_served_status(reader r)
{
    enum { MOST = 1000 };
    uint64_t status = 0;
    unsigned digit;

    skip_text(&r);
    skip_text(&r);
    if (reader_u16(&r) != 1)
        return 0;
    skip_text(&r);
    while (reader_left(&r) >= 2 && (digit = reader_u16(&r)) != 0) {
        if (digit < '0' || digit > '9' || status >= MOST)
            return 0;
        status = status * 10 + (digit - '0');
    }
    return status;
}
