/* xml: see xml.h. Elements and text come from blocks that the document frees at once. */
#include "rules/xml.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "rules/blocks.h"

enum { MAX_DEPTH = 256, NAME_PLACES = 32 };

struct xml_document {
    blocks memory;
    xml_element *root;
};

typedef struct {
    const uint8_t *begin;
    const uint8_t *p;
    const uint8_t *end;
    xml_document *document;
    error *error;
    const uint8_t *known; /* the last place whose line was asked for */
    unsigned line;        /* there */
    struct {
        const char *text;
        size_t length;
    } names[NAME_PLACES]; /* met before: a file has few of them, many times */
} parser;

static int parse_content(parser *x, xml_element **first, unsigned depth, bool inside);

/* ---- memory ---- */

void *xml_take(xml_document *document, size_t size)
{
    return blocks_take(&document->memory, size);
}

char *xml_take_text(xml_document *document, const void *bytes, size_t length)
{
    return blocks_take_text(&document->memory, bytes, length);
}

/* ---- places and errors ---- */

/* The line of a place; asked for in ascending order. */
static unsigned line_at(parser *x, const uint8_t *at)
{
    const uint8_t *end;

    while ((end = memchr(x->known, '\n', (size_t)(at - x->known))) != NULL) {
        x->known = end + 1;
        x->line++;
    }
    x->known = at;
    return x->line;
}

static int fail(parser *x, const uint8_t *at, const char *what)
{
    unsigned line = 1;
    unsigned column = 1;

    for (const uint8_t *p = x->begin; p < at; p++) {
        if (*p == '\n') {
            line++;
            column = 1;
        } else if ((*p & 0xC0) != 0x80) {
            column++;
        }
    }
    return error_set(x->error, ERROR_CORRUPT, "line %u, column %u: %s", line, column, what);
}

static int no_memory(parser *x)
{
    return error_set(x->error, ERROR_MEMORY, "no memory to read the document");
}

/* ---- pieces ---- */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_space(parser *x)
{
    while (x->p < x->end && is_space(*x->p))
        x->p++;
}

static bool looking_at(const parser *x, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(x->end - x->p) >= length && memcmp(x->p, text, length) == 0;
}

/* Moves behind the next `closing`; fails at `from` when there is none. */
static int skip_past(parser *x, const char *closing, const char *what)
{
    const uint8_t *from = x->p;

    while ((x->p = memchr(x->p, closing[0], (size_t)(x->end - x->p))) != NULL) {
        if (looking_at(x, closing)) {
            x->p += strlen(closing);
            return 0;
        }
        x->p++;
    }
    return fail(x, from, what);
}

/* <!DOCTYPE … [ … ]>: brackets may hold declarations with '>' of their own. */
static int skip_doctype(parser *x)
{
    const uint8_t *from = x->p;
    int depth = 0;

    for (; x->p < x->end; x->p++) {
        if (*x->p == '[') {
            depth++;
        } else if (*x->p == ']') {
            depth--;
        } else if (*x->p == '>' && depth <= 0) {
            x->p++;
            return 0;
        }
    }
    return fail(x, from, "the document type does not end");
}

static const bool ENDS_NAME[256] = {
    [' '] = true, ['\t'] = true, ['\r'] = true, ['\n'] = true, ['/'] = true, ['>'] = true,
    ['='] = true, ['<'] = true,  ['?'] = true,  ['"'] = true,  ['\''] = true};

/* The same text may be handed out for the same name. */
static const char *parse_name(parser *x)
{
    const uint8_t *from = x->p;
    size_t length;
    size_t place;

    while (x->p < x->end && !ENDS_NAME[*x->p])
        x->p++;
    length = (size_t)(x->p - from);
    if (length == 0)
        return xml_take_text(x->document, from, 0);
    place = (length * 5 + from[0] + from[length - 1]) % NAME_PLACES;
    if (x->names[place].length != length || memcmp(x->names[place].text, from, length) != 0) {
        x->names[place].text = xml_take_text(x->document, from, length);
        x->names[place].length = x->names[place].text == NULL ? 0 : length;
    }
    return x->names[place].text;
}

/* Appends one reference from `*p` (which stands on '&'); an unknown one stays as it is. */
static void append_reference(buffer *out, const uint8_t **p, const uint8_t *end)
{
    static const struct {
        const char *name;
        char value;
    } NAMED[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    const uint8_t *q = *p + 1;

    for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
        size_t length = strlen(NAMED[i].name);

        if ((size_t)(end - *p) >= length && memcmp(*p, NAMED[i].name, length) == 0) {
            buffer_append_char(out, NAMED[i].value);
            *p += length;
            return;
        }
    }
    if (q < end && *q == '#') {
        bool hex = ++q < end && (*q == 'x' || *q == 'X');
        uint32_t value = 0;
        const uint8_t *digits = hex ? ++q : q;

        for (; q < end && value <= 0x10FFFF; q++) {
            uint32_t digit;

            if (*q >= '0' && *q <= '9')
                digit = (uint32_t)(*q - '0');
            else if (hex && (*q | 0x20) >= 'a' && (*q | 0x20) <= 'f')
                digit = (uint32_t)((*q | 0x20) - 'a' + 10);
            else
                break;
            value = value * (hex ? 16 : 10) + digit;
        }
        if (q > digits && q < end && *q == ';' && value != 0 && value <= 0x10FFFF) {
            text_append_code_point(out, value);
            *p = q + 1;
            return;
        }
    }
    buffer_append_char(out, '&');
    ++*p;
}

/* The value between two quotes, entities replaced; NULL without memory. */
static const char *take_value(parser *x, const uint8_t *p, const uint8_t *end)
{
    buffer value = BUFFER_EMPTY;
    const char *taken = NULL;

    if (memchr(p, '&', (size_t)(end - p)) == NULL)
        return xml_take_text(x->document, p, (size_t)(end - p));
    while (p < end) {
        if (*p == '&')
            append_reference(&value, &p, end);
        else
            buffer_append(&value, p++, 1);
    }
    if (!buffer_failed(&value))
        taken = xml_take_text(x->document, buffer_text(&value), value.length);
    buffer_free(&value);
    return taken;
}

static int parse_attribute(parser *x, xml_attribute ***tail)
{
    const uint8_t *from = x->p;
    xml_attribute *attribute = xml_take(x->document, sizeof *attribute);
    const uint8_t *close;
    uint8_t quote;

    if (attribute == NULL)
        return no_memory(x);
    attribute->next = NULL;
    attribute->name = parse_name(x);
    if (attribute->name == NULL)
        return no_memory(x);
    if (attribute->name[0] == '\0')
        return fail(x, from, "an attribute name is expected");
    skip_space(x);
    if (x->p == x->end || *x->p != '=')
        return fail(x, x->p, "'=' is expected after an attribute name");
    x->p++;
    skip_space(x);
    if (x->p == x->end || (*x->p != '"' && *x->p != '\''))
        return fail(x, x->p, "a quoted attribute value is expected");
    quote = *x->p;
    close = memchr(x->p + 1, quote, (size_t)(x->end - x->p - 1));
    if (close == NULL)
        return fail(x, x->p, "the attribute value does not end");
    attribute->value = take_value(x, x->p + 1, close);
    x->p = close + 1;
    if (attribute->value == NULL)
        return no_memory(x);
    **tail = attribute;
    *tail = &attribute->next;
    return 0;
}

/* x->p stands on '<' of an opening tag. */
static int parse_element(parser *x, xml_element **result, unsigned depth)
{
    const uint8_t *from = x->p;
    xml_element *element = xml_take(x->document, sizeof *element);
    xml_attribute **tail;
    int code;

    if (element == NULL)
        return no_memory(x);
    if (depth > MAX_DEPTH)
        return fail(x, from, "elements are nested too deeply");
    memset(element, 0, sizeof *element);
    element->line = line_at(x, from);
    tail = &element->attributes;
    *result = element;
    x->p++;
    element->name = parse_name(x);
    if (element->name == NULL)
        return no_memory(x);
    if (element->name[0] == '\0')
        return fail(x, from, "an element name is expected after '<'");
    for (;;) {
        skip_space(x);
        if (x->p == x->end)
            return fail(x, from, "the tag does not end");
        if (*x->p == '>') {
            x->p++;
            return parse_content(x, &element->children, depth + 1, true);
        }
        if (looking_at(x, "/>")) {
            x->p += 2;
            return 0;
        }
        code = parse_attribute(x, &tail);
        if (code != 0)
            return code;
    }
}

/* Comments, instructions, CDATA, document types; *was_one tells whether x->p stood on one. */
static int skip_markup(parser *x, bool *was_one)
{
    *was_one = true;
    if (looking_at(x, "<?"))
        return skip_past(x, "?>", "the processing instruction does not end");
    if (looking_at(x, "<!--"))
        return skip_past(x, "-->", "the comment does not end");
    if (looking_at(x, "<![CDATA["))
        return skip_past(x, "]]>", "the CDATA section does not end");
    if (looking_at(x, "<!"))
        return skip_doctype(x);
    *was_one = false;
    return 0;
}

/* Content up to the closing tag of whatever name (inside), or to the end of the document. */
static int parse_content(parser *x, xml_element **first, unsigned depth, bool inside)
{
    xml_element **tail = first;
    const uint8_t *from = x->p;

    for (;;) {
        bool was_markup;
        int code;

        if (inside) {
            /* text: no file of ours has a meaning for it */
            const uint8_t *tag = memchr(x->p, '<', (size_t)(x->end - x->p));

            x->p = tag == NULL ? x->end : tag;
        } else {
            skip_space(x);
        }
        if (x->p == x->end)
            return inside ? fail(x, from, "the element that begins before here does not end") : 0;
        if (*x->p != '<')
            return fail(x, x->p, "text stands outside of any element");
        if (inside && looking_at(x, "</"))
            return skip_past(x, ">", "the closing tag does not end");
        code = skip_markup(x, &was_markup);
        if (code != 0)
            return code;
        if (was_markup)
            continue;
        code = parse_element(x, tail, depth);
        if (code != 0)
            return code;
        tail = &(*tail)->next;
    }
}

/* ---- public ---- */

int xml_parse(const void *bytes, size_t length, xml_document **document, error *e)
{
    parser x = {bytes, bytes, (const uint8_t *)bytes + length, NULL, e, bytes, 1, {{NULL, 0}}};
    int code;

    *document = NULL;
    x.document = xml_new();
    if (x.document == NULL)
        return no_memory(&x);
    if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
        x.p += 3;
    code = parse_content(&x, &x.document->root, 0, false);
    if (code != 0) {
        xml_free(x.document);
        return code;
    }
    *document = x.document;
    return 0;
}

void xml_free(xml_document *document)
{
    if (document == NULL)
        return;
    blocks_free(&document->memory);
    memory_free(document);
}

xml_document *xml_new(void)
{
    return memory_allocate_array(1, sizeof(xml_document));
}

void xml_set_root(xml_document *document, xml_element *root)
{
    document->root = root;
}

const xml_element *xml_root(const xml_document *document)
{
    return document->root;
}

const xml_element *xml_find(const xml_element *first, const char *name)
{
    for (; first != NULL; first = first->next) {
        if (text_equal_ignoring_case(first->name, name))
            return first;
    }
    return NULL;
}

const xml_element *xml_find_next(const xml_element *element, const char *name)
{
    return xml_find(element->next, name);
}

const xml_element *xml_path(const xml_element *first, ...)
{
    const xml_element *element = NULL;
    va_list names;
    const char *name;

    va_start(names, first);
    while ((name = va_arg(names, const char *)) != NULL) {
        element = xml_find(first, name);
        if (element == NULL)
            break;
        first = element->children;
    }
    va_end(names);
    return element;
}

const char *xml_attribute_value(const xml_element *element, const char *name)
{
    for (const xml_attribute *a = element->attributes; a != NULL; a = a->next) {
        if (text_equal_ignoring_case(a->name, name))
            return a->value;
    }
    return NULL;
}
