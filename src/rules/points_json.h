/*
 * points_json: a points file in JSON, for people who write one by hand.
 *
 *   { "points": [ { "assembly": "Shop", "class": "Shop.Orders", "method": ["Place", "Cancel"] } ] }
 *
 * The result is the tree of an extension file, so that both formats mean the same by construction.
 * Stricter than the XML reader: there are no old files to forgive. A key that is not known, that
 * stands twice or that is missing is refused with line and column.
 * Every byte is hostile; nothing recurses.
 */
#ifndef CLARINET_RULES_POINTS_JSON_H
#define CLARINET_RULES_POINTS_JSON_H

#include <stddef.h>

#include "base/error.h"
#include "rules/xml.h"

/* As xml_parse. */
int points_json_parse(const void *bytes, size_t length, xml_document **document, error *e);

#endif
