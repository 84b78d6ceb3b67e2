/* control: see control.h. */
#include "control/control.h"

#include <string.h>

#include "base/text.h"
#include "recording/encode.h"

enum { PAYLOAD_ROOM = 512 };

static void put_text(buffer *out, const char *text)
{
    buffer_append_blob(out, text, strlen(text));
}

/* Copies a text of the message, cut to the room there is, as clean UTF-8. */
static void get_text(reader *r, char *text, size_t room)
{
    size_t length;
    const uint8_t *bytes = reader_blob(r, &length);
    buffer clean;

    buffer_fix(&clean, text, room);
    if (bytes != NULL)
        text_append_cleaned(&clean, (const char *)bytes, length < room ? length : room - 1);
    text[clean.length < room ? clean.length : room - 1] = '\0';
}

static int check(const reader *r, const char *what, error *e)
{
    return reader_failed(r) ? error_set(e, ERROR_CORRUPT, "the message '%s' is broken", what) : 0;
}

void control_put_plain(buffer *out, control_kind kind)
{
    recording_put_chunk(out, (uint16_t)kind, 0, 0, NULL, 0);
}

void control_put_hello(buffer *out, control_kind kind, const control_hello *hello)
{
    uint8_t room[PAYLOAD_ROOM];
    buffer payload;

    buffer_fix(&payload, room, sizeof room);
    buffer_append_u32(&payload, hello->protocol);
    buffer_append(&payload, hello->token, CONTROL_TOKEN_SIZE);
    put_text(&payload, hello->version);
    recording_put_chunk(out, (uint16_t)kind, 0, 0, payload.data, payload.length);
}

int control_get_hello(reader payload, control_hello *hello, error *e)
{
    const uint8_t *token;

    memset(hello, 0, sizeof *hello);
    hello->protocol = reader_u32(&payload);
    token = reader_bytes(&payload, CONTROL_TOKEN_SIZE);
    if (token != NULL)
        memcpy(hello->token, token, CONTROL_TOKEN_SIZE);
    get_text(&payload, hello->version, sizeof hello->version);
    return check(&payload, "hello", e);
}

void control_put_welcome(buffer *out, const control_welcome *welcome)
{
    uint8_t room[PAYLOAD_ROOM];
    buffer payload;

    buffer_fix(&payload, room, sizeof room);
    buffer_append_u32(&payload, welcome->protocol);
    put_text(&payload, welcome->version);
    buffer_append_varint(&payload, welcome->process_id);
    buffer_append_varint(&payload, welcome->sessions);
    buffer_append_varint(&payload, welcome->flags);
    recording_put_chunk(out, CONTROL_WELCOME, 0, 0, payload.data, payload.length);
}

int control_get_welcome(reader payload, control_welcome *welcome, error *e)
{
    memset(welcome, 0, sizeof *welcome);
    welcome->protocol = reader_u32(&payload);
    get_text(&payload, welcome->version, sizeof welcome->version);
    if (!reader_failed(&payload) && welcome->protocol != CONTROL_PROTOCOL)
        return 0; /* the rest is of another version; the caller says so */
    welcome->process_id = reader_varint(&payload);
    welcome->sessions = reader_varint(&payload);
    welcome->flags = reader_varint(&payload);
    return check(&payload, "welcome", e);
}

void control_put_start(buffer *out, const catalogue_selection *selection)
{
    buffer payload = BUFFER_EMPTY;

    buffer_append_varint(&payload, selection->count);
    for (size_t i = 0; i < selection->count; i++) {
        const catalogue_selected *item = &selection->items[i];
        const catalogue_parameter *parameters = item->profiler->parameters;
        size_t count = 0;

        while (parameters != NULL && parameters[count].name != NULL)
            count++;
        put_text(&payload, item->profiler->name);
        buffer_append_varint(&payload, count);
        for (size_t k = 0; k < count; k++) {
            put_text(&payload, parameters[k].name);
            put_text(&payload, item->values[k].text);
        }
    }
    if (buffer_failed(&payload))
        out->failed = true;
    else
        recording_put_chunk(out, CONTROL_START, 0, 0, payload.data, payload.length);
    buffer_free(&payload);
}

int control_get_start(reader payload, catalogue_selection *selection, error *e)
{
    uint64_t count = reader_varint(&payload);
    char profiler[64];
    char name[64];
    char value[CATALOGUE_MAX_TEXT];

    memset(selection, 0, sizeof *selection);
    for (uint64_t i = 0; i < count && !reader_failed(&payload); i++) {
        uint64_t parameters;
        int code;

        get_text(&payload, profiler, sizeof profiler);
        parameters = reader_varint(&payload);
        if (reader_failed(&payload))
            break;
        code = catalogue_add(selection, profiler, e);
        for (uint64_t k = 0; code == 0 && k < parameters; k++) {
            get_text(&payload, name, sizeof name);
            get_text(&payload, value, sizeof value);
            if (reader_failed(&payload))
                break;
            code = catalogue_set(selection, profiler, name, value, e);
        }
        if (code != 0)
            return code;
    }
    return check(&payload, "start", e);
}

void control_put_state(buffer *out, const control_state *state)
{
    uint8_t room[PAYLOAD_ROOM];
    buffer payload;

    buffer_fix(&payload, room, sizeof room);
    buffer_append_varint(&payload, state->rows);
    buffer_append_varint(&payload, state->lost);
    buffer_append_varint(&payload, state->memory);
    buffer_append_varint(&payload, state->cpu_ns);
    buffer_append_varint(&payload, state->sessions);
    buffer_append_varint(&payload, state->profilers);
    recording_put_chunk(out, CONTROL_STATE, 0, 0, payload.data, payload.length);
}

int control_get_state(reader payload, control_state *state, error *e)
{
    state->rows = reader_varint(&payload);
    state->lost = reader_varint(&payload);
    state->memory = reader_varint(&payload);
    state->cpu_ns = reader_varint(&payload);
    state->sessions = reader_varint(&payload);
    state->profilers = reader_varint(&payload);
    return check(&payload, "state", e);
}

void control_put_refused(buffer *out, control_kind refused, const error *e)
{
    uint8_t room[sizeof e->message + sizeof e->advice + 64];
    buffer payload;

    buffer_fix(&payload, room, sizeof room);
    buffer_append_varint(&payload, (uint64_t)refused);
    buffer_append_zigzag(&payload, e->code);
    put_text(&payload, e->message);
    put_text(&payload, e->advice);
    recording_put_chunk(out, CONTROL_REFUSED, 0, 0, payload.data, payload.length);
}

int control_get_refused(reader payload, error *e)
{
    char message[400];
    char advice[300];
    int64_t code;

    reader_varint(&payload);
    code = reader_zigzag(&payload);
    get_text(&payload, message, sizeof message);
    get_text(&payload, advice, sizeof advice);
    if (reader_failed(&payload) || code >= 0 || code < -1000)
        return error_set(e, ERROR_CORRUPT, "the message 'refused' is broken");
    error_set(e, (int)code, "%s", message);
    if (advice[0] != '\0')
        error_advise(e, "%s", advice);
    return (int)code;
}

bool control_token_equal(const uint8_t *a, const uint8_t *b)
{
    unsigned different = 0;

    for (size_t i = 0; i < CONTROL_TOKEN_SIZE; i++)
        different |= (unsigned)(a[i] ^ b[i]);
    return different == 0;
}

void control_format_token(const uint8_t *token, char text[2 * CONTROL_TOKEN_SIZE + 1])
{
    static const char DIGITS[] = "0123456789abcdef";

    for (size_t i = 0; i < CONTROL_TOKEN_SIZE; i++) {
        text[2 * i] = DIGITS[token[i] >> 4];
        text[2 * i + 1] = DIGITS[token[i] & 15];
    }
    text[2 * CONTROL_TOKEN_SIZE] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool control_parse_token(const char *text, uint8_t *token)
{
    for (size_t i = 0; i < CONTROL_TOKEN_SIZE; i++) {
        int high = digit_of(text[2 * i]);
        int low = high < 0 ? -1 : digit_of(text[2 * i + 1]);

        if (low < 0)
            return false;
        token[i] = (uint8_t)(high << 4 | low);
    }
    return text[2 * CONTROL_TOKEN_SIZE] == '\0';
}
