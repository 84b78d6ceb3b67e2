/*
 * http_route: see http_route.h.
 *
 * Whole parts of the path are looked at first: what no part is as a whole may be a piece of one
 * ("{name}.{kind}"). A value with a slash in it is the rest of the path.
 */
#include "clr/http_route.h"

#include <string.h>

enum { MOST_VALUES = 16, MOST_PARTS = 64 };

typedef struct {
    const char *name;
    const char *text;
    size_t name_length;
    size_t length;
    bool is_used;
} value;

typedef struct {
    value items[MOST_VALUES];
    size_t count;
} value_list;

/* What finds the code by the path: the words tell more than their names do. */
static bool is_code(const char *name, size_t length)
{
    static const char NAMES[][12] = {"controller", "action", "area"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strlen(NAMES[i]) == length && memcmp(NAMES[i], name, length) == 0)
            return true;
    return false;
}

/* Nothing is escaped in this: a text that looks like two is taken for two, which are then not found
 * in the path. */
static void read_values(value_list *list, const char *text)
{
    list->count = 0;
    while (list->count < MOST_VALUES && *text == '[') {
        const char *comma = strstr(text, ", ");
        const char *end = comma == NULL ? NULL : strstr(comma + 2, "],[");
        value *of = &list->items[list->count];

        if (comma == NULL)
            return;
        if (end == NULL)
            end = comma + strlen(comma) - 1; /* the last bracket */
        if (end < comma + 2)
            return;
        *of = (value){text + 1, comma + 2, (size_t)(comma - text) - 1, (size_t)(end - comma) - 2,
                      false};
        list->count += of->length != 0 && !is_code(of->name, of->name_length);
        text = end[1] == ',' ? end + 2 : "";
    }
}

static unsigned hex(char c)
{
    unsigned digit = (unsigned)(unsigned char)c - '0';
    unsigned letter = ((unsigned)(unsigned char)c | 0x20U) - 'a';

    return digit <= 9 ? digit : letter <= 5 ? letter + 10 : 256;
}

/* How much of the path is this text; 0 = it does not begin with it. What an address must not hold
 * is written as %xx in the path. */
static size_t match(const char *path, size_t length, const value *v)
{
    size_t at = 0;

    for (size_t i = 0; i < v->length; i++) {
        if (at < length && path[at] == v->text[i])
            at++;
        else if (at + 2 < length && path[at] == '%' &&
                 hex(path[at + 1]) * 16 + hex(path[at + 2]) == (unsigned char)v->text[i])
            at += 3;
        else
            return 0;
    }
    return at;
}

/* Takes the last value that is free and is all of this; one with slashes or without. */
static value *take_whole(value_list *list, const char *text, size_t length, bool with_slash)
{
    for (size_t i = list->count; i-- > 0 && length != 0;) {
        value *v = &list->items[i];

        if (!v->is_used && (memchr(v->text, '/', v->length) != NULL) == with_slash &&
            match(text, length, v) == length) {
            v->is_used = true;
            return v;
        }
    }
    return NULL;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c & 0x80) != 0;
}

/* The value that begins here and ends where a word does. */
static value *take_piece(value_list *list, const char *at, size_t length, size_t *taken)
{
    for (size_t i = 0; i < list->count; i++) {
        value *v = &list->items[i];

        *taken = v->is_used ? 0 : match(at, length, v);
        if (*taken != 0 && (*taken == length || !is_word(at[*taken]))) {
            v->is_used = true;
            return v;
        }
    }
    return NULL;
}

static void append_value(buffer *out, const value *v)
{
    buffer_append_char(out, '{');
    buffer_append(out, v->name, v->name_length);
    buffer_append_char(out, '}');
}

/* Whether a part of a path is somebody's number rather than a word: a number, a GUID, a digest, or
 * something with four digits in it. */
static bool is_number(const char *part, size_t length)
{
    enum { DIGITS = 4, LONG = 40, DIGEST = 8 };
    size_t digits = 0;
    bool is_hex = true;

    for (size_t i = 0; i < length; i++) {
        digits += part[i] >= '0' && part[i] <= '9';
        is_hex = is_hex && (hex(part[i]) < 16 || part[i] == '-');
    }
    return length > LONG || digits >= DIGITS ||
           (digits > 0 && (digits == length || (is_hex && length >= DIGEST)));
}

static void append_part(buffer *out, value_list *list, const char *part, size_t length)
{
    bool has_value = false;
    size_t begin = out->length;
    size_t taken;

    for (size_t at = 0; at < length; at += taken) {
        value *v = at == 0 || !is_word(part[at - 1])
                       ? take_piece(list, part + at, length - at, &taken)
                       : NULL;

        has_value = has_value || v != NULL;
        if (v != NULL) {
            append_value(out, v);
        } else {
            taken = 1;
            buffer_append_char(out, part[at]);
        }
    }
    if (!has_value && is_number(part, length)) {
        out->length = begin;
        buffer_append_text(out, "{id}");
    }
}

static size_t part_of(const char *path, size_t at)
{
    return strcspn(path + at, "/?#");
}

void http_route_append(buffer *out, const char *path, const char *values)
{
    size_t length = strcspn(path, "?#");
    const value *whole[MOST_PARTS] = {NULL};
    size_t starts[MOST_PARTS];
    value_list list;
    size_t count = 0;

    read_values(&list, values);
    for (size_t at = 0; at < length && count < MOST_PARTS; at += part_of(path, at) + 1) {
        starts[count] = at;
        whole[count] = take_whole(&list, path + at, length - at, true);
        if (whole[count++] != NULL)
            break; /* it is the rest */
    }
    /* From the right: what stands in front of values often is their name ("/orders/orders"). */
    for (size_t i = count; i-- > 0;) {
        if (whole[i] == NULL)
            whole[i] = take_whole(&list, path + starts[i], part_of(path, starts[i]), false);
    }
    for (size_t at = 0, i = 0; at < length; i++) {
        size_t part = part_of(path, at);
        const value *v = i < count ? whole[i] : NULL;

        if (v == NULL)
            append_part(out, &list, path + at, part);
        else
            append_value(out, v);
        if (v != NULL && memchr(v->text, '/', v->length) != NULL)
            return;
        at += part;
        if (at < length) {
            buffer_append_char(out, '/');
            at++;
        }
    }
}
