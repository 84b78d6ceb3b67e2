/* async_name: see async_name.h. */
#include "analysis/async_name.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "clarinet/names.h"

/* How far a type's name goes to the first `stop` outside of brackets, or to the end. */
static size_t length_to(const char *text, size_t length, char stop)
{
    int depth = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == stop && depth == 0 && i != 0)
            return i;
        depth += (text[i] == '<') - (text[i] == '>');
    }
    return length;
}

/* The state's class as metadata has it, without type arguments: nested types that the compiler made
 * begin with <. */
static void append_path(const char *text, size_t length, buffer *path)
{
    for (size_t at = 0; at < length;) {
        size_t segment = length_to(text + at, length - at, '.');

        if (at != 0)
            buffer_append_char(path, text[at] == '<' ? '+' : '.');
        buffer_append(path, text + at, length_to(text + at, segment, '<'));
        at += segment + 1;
    }
}

/* `…Box<Shop.Orders.<PlaceAsync>d__3>` is Shop.Orders.PlaceAsync; of a lambda or a local function
 * as frames have it. */
void async_name(const char *type, char *name, size_t size)
{
    static const char BOX[] = "StateMachineBox<";
    const char *state = strstr(type, BOX);
    buffer path = BUFFER_EMPTY, source = BUFFER_EMPTY;
    size_t length;

    name[0] = '\0';
    if (state == NULL || (strstr(state, ">d__") == NULL && strstr(state, ">d<") == NULL &&
                          !text_ends_with(state, ">d>")))
        return;
    state += sizeof BOX - 1;
    append_path(state, strlen(state) - 1, &path);
    clr_name_append_method(&source, buffer_text(&path), NULL, 0, "MoveNext", NULL, 0);
    length = source.length < size ? source.length : size - 1;
    while (length != 0 && length < source.length && (source.data[length] & 0xc0) == 0x80)
        length--; /* no character is cut in two */
    memcpy(name, buffer_text(&source), length);
    name[length] = '\0';
    buffer_free(&path);
    buffer_free(&source);
}
