/* http_events: see http_events.h. */
#include "clr/http_events.h"

#include "base/text.h"
#include "clr/http_route.h"

/* The number that all of the text is; 0 of what is none. */
static uint64_t read_number(reader r)
{
    enum { MOST = 1000 };
    uint64_t number = 0;

    while (reader_left(&r) >= 2) {
        unsigned digit = (unsigned)reader_u16(&r) - '0';

        if (digit > 9 || number >= MOST)
            return 0;
        number = number * 10 + digit;
    }
    return number;
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
void http_event_append_name(buffer *name, buffer *scratch, reader r, bool is_made,
                            const char *values)
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
    http_route_append(name, buffer_text(scratch), values);
}

/* Source and event, then u16 count and pairs of texts. Read in place: one comes with each request.
 */
http_event_answer http_event_read_answer(reader r)
{
    enum { STATUS_REST = 5, ROUTE_REST = 4 }; /* units of a key behind its first */
    http_event_answer answer = {.values = reader_of(NULL, 0)};

    skip_text(&r);
    skip_text(&r);
    for (unsigned left = reader_u16(&r); left != 0 && reader_left(&r) >= 2; left--) {
        unsigned first = reader_u16(&r);
        size_t rest = first == 0 ? 0 : skip_text(&r);
        const uint8_t *value = r.position;
        size_t units = skip_text(&r);

        if (first == 's' && rest == STATUS_REST)
            answer.status = read_number(reader_of(value, 2 * units));
        else if (first == 'r' && rest == ROUTE_REST)
            answer.values = reader_of(value, 2 * units);
    }
    return answer;
}
