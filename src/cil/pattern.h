/*
 * pattern: which methods a person means. A list of patterns, apart by blanks outside of ():
 *
 *   Shop.Orders::Place*              type and method; * and ? anywhere
 *   Shop.Orders.Place                the same; the last part may also be part of the type's name
 *   [Shop.Core]Shop.*::Get*          only in that assembly
 *   Shop.Orders::Place(int, string)  only the overload with these parameters; ref, out and in
 *                                    are one, as for the runtime, and namespaces of types do not
 *                                    count: (System.Int32, String) is the same
 *   @Route, @Microsoft.*.RouteAttribute   methods with that attribute
 *   !*::get_*                        not these, whatever else says so
 *
 * Nested types are written Outer+Inner or Outer.Inner, generic ones with or without `1.
 * Pure text; parsing keeps its own copy. Any thread once parsed.
 */
#ifndef CLARINET_CIL_PATTERN_H
#define CLARINET_CIL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

typedef struct {
    const char *assembly;   /* NULL = any */
    const char *type;       /* NULL = any; without method: matches Type.Method as a whole */
    const char *method;     /* NULL = any */
    const char *parameters; /* without blanks; NULL = any */
    const char *attribute;  /* NULL = none wanted */
    bool whole;             /* `type` stands for Type.Method */
    bool exclude;
} cil_pattern;

typedef struct {
    cil_pattern *items;
    size_t count;
    char *text;
} cil_patterns;

/* ERROR_USAGE names the pattern that is wrong, or that there is none that includes anything. */
int cil_patterns_parse(cil_patterns *p, const char *text, error *e);
void cil_patterns_free(cil_patterns *p);

/* A method to be matched. Parameters and attributes are asked for only when a pattern needs them:
 * `parameters` answers "int,string" (no blanks), `has_attribute` matches one attribute pattern. */
typedef struct {
    const char *assembly;
    const char *type; /* Ns.Outer+Inner`1 */
    const char *method;
    void *context;
    const char *(*parameters)(void *context);
    bool (*has_attribute)(void *context, const char *pattern);
} cil_pattern_subject;

/* Could any method of this type (or assembly: type NULL) be meant? Quick. */
bool cil_patterns_may_match(const cil_patterns *p, const char *assembly, const char *type);
bool cil_patterns_match(const cil_patterns *p, const cil_pattern_subject *subject);

/* Makes "int,refstring" of "(int, out string)": ref, out and in are one. */
void cil_pattern_plain_parameters(buffer *text);

/* Does a name of an attribute's type match: @Route means Route, RouteAttribute, with or without
 * namespace. */
bool cil_pattern_attribute(const char *pattern, const char *type_name);

#endif
