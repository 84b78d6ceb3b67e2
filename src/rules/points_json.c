/*
 * points_json: see points_json.h. A point becomes tracerFactory, match and exactMethodMatcher, all
 * three with the same list of attributes: the names they look at never meet.
 */
#include "rules/points_json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

typedef struct {
    const char *key;
    const char *attribute; /* in an extension file */
} naming;

static const naming POINT_KEYS[] = {
    {"assembly", "assemblyName"},
    {"class", "className"},
    {"method", "methodName"},
    {"parameters", "parameters"},
    {"minVersion", "minVersion"},
    {"maxVersion", "maxVersion"},
    {"factory", "name"},
    {"metricName", "metricName"},
    {"metric", "metric"},
    {"level", "level"},
    {"transactionNamingPriority", "transactionNamingPriority"},
    {"suppressRecursiveCalls", "suppressRecursiveCalls"},
    {"transactionTraceSegment", "transactionTraceSegment"},
    {"enabled", "enabled"},
    {NULL, NULL},
};
static const naming FILE_KEYS[] = {{"shim", "shim"}, {"shimType", "shimType"}, {NULL, NULL}};

typedef struct {
    const uint8_t *begin;
    const uint8_t *p;
    const uint8_t *end;
    xml_document *document;
    error *error;
    const uint8_t *known; /* the place that line and column are of; mostly it moves forward */
    unsigned line;
    unsigned column;
} parser;

/* ---- places and errors ---- */

/* Makes x->line and x->column those of `at`. */
static void move_place(parser *x, const uint8_t *at)
{
    if (at < x->known) {
        x->known = x->begin;
        x->line = 1;
        x->column = 1;
    }
    for (; x->known < at; x->known++) {
        if (*x->known == '\n') {
            x->line++;
            x->column = 1;
        } else if ((*x->known & 0xC0) != 0x80) {
            x->column++;
        }
    }
}

static int fail(parser *x, const uint8_t *at, const char *what, const char *word)
{
    move_place(x, at);
    return error_set(x->error, ERROR_CORRUPT, "line %u, column %u: %s%s", x->line, x->column, what,
                     word);
}

static int no_memory(const parser *x)
{
    return error_set(x->error, ERROR_MEMORY, "no memory to read the document");
}

/* ---- pieces ---- */

static void skip_space(parser *x)
{
    while (x->p < x->end && (*x->p == ' ' || *x->p == '\t' || *x->p == '\r' || *x->p == '\n'))
        x->p++;
}

/* Takes the sign when it stands here. */
static bool take_sign(parser *x, char sign)
{
    skip_space(x);
    if (x->p == x->end || *x->p != (uint8_t)sign)
        return false;
    x->p++;
    return true;
}

static int expect(parser *x, char sign, const char *what)
{
    return take_sign(x, sign) ? 0 : fail(x, x->p, what, "");
}

/* Four hexadecimal digits; false when they are not there. */
static bool take_hex(parser *x, uint32_t *value)
{
    *value = 0;
    if (x->end - x->p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        uint8_t c = *x->p++;

        if (c >= '0' && c <= '9')
            *value = *value * 16 + (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            *value = *value * 16 + (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* Behind a backslash; false when that is no character that a name can have. */
static bool take_escape(parser *x, buffer *out)
{
    static const char FROM[] = "\"\\/bfnrt";
    static const char TO[] = "\"\\/\b\f\n\r\t";
    const char *found;
    uint32_t value;
    uint32_t low;
    uint8_t c;

    if (x->p == x->end)
        return false;
    c = *x->p++;
    found = c == 0 ? NULL : strchr(FROM, c);
    if (found != NULL) {
        buffer_append_char(out, TO[found - FROM]);
        return true;
    }
    if (c != 'u' || !take_hex(x, &value) || value == 0)
        return false;
    if (value >= 0xD800 && value < 0xE000) {
        if (value >= 0xDC00 || x->end - x->p < 2 || memcmp(x->p, "\\u", 2) != 0)
            return false;
        x->p += 2;
        if (!take_hex(x, &low) || low < 0xDC00 || low >= 0xE000)
            return false;
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    }
    text_append_code_point(out, value);
    return true;
}

/* x->p stands on the first quote. */
static int take_string(parser *x, buffer *out)
{
    const uint8_t *from = x->p++;

    while (x->p < x->end && *x->p != '"') {
        const uint8_t *at = x->p;

        if (*at < ' ')
            return fail(x, at, "a text ends on its own line", "");
        x->p++;
        if (*at != '\\')
            buffer_append(out, at, 1);
        else if (!take_escape(x, out))
            return fail(x, at, "this character can't be meant", "");
    }
    if (x->p == x->end)
        return fail(x, from, "the text does not end", "");
    x->p++;
    return buffer_failed(out) ? no_memory(x) : 0;
}

/* A text, a number, true or false: all are kept as text. */
static int take_value(parser *x, buffer *out)
{
    const uint8_t *from;

    skip_space(x);
    if (x->p < x->end && *x->p == '"')
        return take_string(x, out);
    from = x->p;
    while (x->p < x->end && ((*x->p >= '0' && *x->p <= '9') || (*x->p >= 'a' && *x->p <= 'z') ||
                             *x->p == '-' || *x->p == '.'))
        x->p++;
    buffer_append(out, from, (size_t)(x->p - from));
    if (buffer_failed(out))
        return no_memory(x);
    if (x->p == from || *from == '.' ||
        (*from >= 'a' && !text_equal(buffer_text(out), "true") &&
         !text_equal(buffer_text(out), "false")))
        return fail(x, from, "a text, a number, true or false is expected", "");
    return 0;
}

/* ---- the tree ---- */

static xml_element *new_element(parser *x, const char *name, const uint8_t *at)
{
    xml_element *element = xml_take(x->document, sizeof *element);

    if (element != NULL) {
        memset(element, 0, sizeof *element);
        element->name = name;
        move_place(x, at);
        element->line = x->line;
    }
    return element;
}

static int add_attribute(const parser *x, xml_element *element, const char *name,
                         const buffer *value)
{
    xml_attribute *attribute = xml_take(x->document, sizeof *attribute);

    if (attribute == NULL)
        return no_memory(x);
    attribute->name = name;
    attribute->value = xml_take_text(x->document, buffer_text(value), value->length);
    attribute->next = element->attributes;
    element->attributes = attribute;
    return attribute->value == NULL ? no_memory(x) : 0;
}

/* One value, or several in brackets. Several methods become an element each in `methods`; several
 * classes or parameters one text with commas, as extension files have them. */
static int take_values(parser *x, xml_element *element, const char *attribute,
                       xml_element **methods)
{
    bool is_method = text_equal(attribute, "methodName");
    bool is_list = take_sign(x, '[');
    bool more = !is_list || !take_sign(x, ']');
    buffer value = BUFFER_EMPTY;
    int code = 0;

    while (code == 0 && more) {
        skip_space(x);
        const uint8_t *at = x->p;

        code = take_value(x, &value);
        if (code == 0 && is_method) {
            xml_element *matcher = new_element(x, "exactMethodMatcher", at);

            code = matcher == NULL ? no_memory(x) : add_attribute(x, matcher, attribute, &value);
            buffer_clear(&value);
            *methods = matcher;
            methods = matcher == NULL ? methods : &matcher->next;
        }
        more = code == 0 && is_list && take_sign(x, ',');
        if (more && !is_method)
            buffer_append_char(&value, ',');
        if (code == 0 && is_list && !more)
            code = expect(x, ']', "',' or ']' is expected");
    }
    if (code == 0)
        code = buffer_failed(&value) ? no_memory(x) : add_attribute(x, element, attribute, &value);
    buffer_free(&value);
    return code;
}

static const char *attribute_for(const naming *names, const char *key)
{
    for (; names->key != NULL; names++) {
        if (text_equal(names->key, key))
            return names->attribute;
    }
    return NULL;
}

static int take_points(parser *x, xml_element *instrumentation);

/* The keys of an object whose '{' was taken; `children` takes methods or, for the file, points. */
static int take_object(parser *x, xml_element *element, const naming *names, xml_element **children)
{
    bool more = !take_sign(x, '}');
    int code = 0;

    while (code == 0 && more) {
        buffer key = BUFFER_EMPTY;
        const char *attribute;
        const uint8_t *at;

        skip_space(x);
        at = x->p;
        code = x->p < x->end && *x->p == '"' ? take_string(x, &key)
                                             : fail(x, at, "a key in quotes is expected", "");
        if (code == 0)
            code = expect(x, ':', "':' is expected after a key");
        attribute = attribute_for(names, buffer_text(&key));
        if (code == 0 && names == FILE_KEYS && text_equal(buffer_text(&key), "points"))
            code = *children != NULL && (*children)->children != NULL
                       ? fail(x, at, "there is one list of points", "")
                       : take_points(x, *children);
        else if (code == 0 && attribute == NULL)
            code = fail(x, at, "unknown key: ", buffer_text(&key));
        else if (code == 0 && xml_attribute_value(element, attribute) != NULL)
            code = fail(x, at, "this key stands twice: ", buffer_text(&key));
        else if (code == 0)
            code = take_values(x, element, attribute, children);
        buffer_free(&key);
        more = code == 0 && take_sign(x, ',');
        if (code == 0 && !more)
            code = expect(x, '}', "',' or '}' is expected");
    }
    return code;
}

static int take_point(parser *x, xml_element **result)
{
    const uint8_t *at;
    xml_element *factory;
    xml_element *match;
    int code;

    skip_space(x);
    at = x->p;
    factory = new_element(x, "tracerFactory", at);
    match = new_element(x, "match", at);
    if (factory == NULL || match == NULL)
        return no_memory(x);
    code = expect(x, '{', "'{' of a point is expected");
    if (code == 0)
        code = take_object(x, factory, POINT_KEYS, &match->children);
    if (code == 0 && (xml_attribute_value(factory, "assemblyName") == NULL ||
                      xml_attribute_value(factory, "className") == NULL || match->children == NULL))
        code = fail(x, at, "a point needs assembly, class and method", "");
    if (code != 0)
        return code;
    match->attributes = factory->attributes;
    factory->children = match;
    for (xml_element *m = match->children; m != NULL; m = m->next)
        m->attributes->next = factory->attributes; /* behind its own name, which is found first */
    *result = factory;
    return 0;
}

static int take_points(parser *x, xml_element *instrumentation)
{
    xml_element **tail = &instrumentation->children;
    int code = expect(x, '[', "'[' of the points is expected");
    bool more = code == 0 && !take_sign(x, ']');

    while (code == 0 && more) {
        code = take_point(x, tail);
        if (code == 0)
            tail = &(*tail)->next; /* NOLINT: take_point has put one there */
        more = code == 0 && take_sign(x, ',');
        if (code == 0 && !more)
            code = expect(x, ']', "',' or ']' is expected");
    }
    return code;
}

static int take_file(parser *x)
{
    xml_element *extension = new_element(x, "extension", x->p);
    xml_element *instrumentation = new_element(x, "instrumentation", x->p);
    int code;

    if (extension == NULL || instrumentation == NULL)
        return no_memory(x);
    extension->children = instrumentation;
    xml_set_root(x->document, extension);
    code = expect(x, '{', "'{' is expected");
    if (code == 0)
        code = take_object(x, extension, FILE_KEYS, &instrumentation);
    skip_space(x);
    if (code == 0 && x->p != x->end)
        code = fail(x, x->p, "nothing is expected behind the last '}'", "");
    return code;
}

int points_json_parse(const void *bytes, size_t length, xml_document **document, error *e)
{
    parser x = {bytes, bytes, (const uint8_t *)bytes + length, xml_new(), e, bytes, 1, 1};
    int code;

    *document = NULL;
    if (x.document == NULL)
        return no_memory(&x);
    if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
        x.p += 3;
    code = take_file(&x);
    if (code != 0) {
        xml_free(x.document);
        return code;
    }
    *document = x.document;
    return 0;
}
