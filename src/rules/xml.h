/*
 * xml: a small forgiving reader for configuration and extension files.
 *
 * Accepts what the files of the field contain though XML forbids it: white space before the
 * declaration, closing tags that name another element, unknown entities (kept as they stand),
 * several root elements, none at all. Refused, with line and column: a tag, attribute, comment or
 * element that does not end, and text outside of elements.
 * Every byte is hostile: depth and count are limited, nothing is read past the end.
 * Ownership: the document owns all text; element pointers live as long as it does.
 */
#ifndef CLARINET_RULES_XML_H
#define CLARINET_RULES_XML_H

#include <stddef.h>

#include "base/error.h"

typedef struct xml_attribute {
    const char *name;
    const char *value; /* entities replaced, not trimmed */
    struct xml_attribute *next;
} xml_attribute;

typedef struct xml_element {
    const char *name; /* with its prefix */
    xml_attribute *attributes;
    struct xml_element *children;
    struct xml_element *next;
    unsigned line;
} xml_element;

typedef struct xml_document xml_document;

/* Reads `length` bytes of UTF-8 (a byte order mark is skipped). On failure *document is NULL and
 * the message says "line L, column C: …". */
int xml_parse(const void *bytes, size_t length, xml_document **document, error *e);
void xml_free(xml_document *document);

/* The first root element, or NULL; further ones are its `next`. */
const xml_element *xml_root(const xml_document *document);
/* The first of `first` and its siblings with this name, in any letter case; NULL when none. */
const xml_element *xml_find(const xml_element *first, const char *name);
/* The next sibling with the same name as asked. */
const xml_element *xml_find_next(const xml_element *element, const char *name);
/* Walks down by names: xml_path(root, "configuration", "log", NULL). */
const xml_element *xml_path(const xml_element *first, ...) __attribute__((sentinel));
/* The value of the first attribute with this name, in any letter case, or NULL. */
const char *xml_attribute_value(const xml_element *element, const char *name);

/* ---- for readers of other formats that give the same tree ---- */

/* An empty document, NULL without memory; memory and text taken from it live as long as it does. */
xml_document *xml_new(void);
void *xml_take(xml_document *document, size_t size);
char *xml_take_text(xml_document *document, const void *bytes, size_t length);
void xml_set_root(xml_document *document, xml_element *root);

#endif
