/* values_size: how many bytes a value of a type has, by its fields. Private to values. */
#ifndef CLARINET_SYMBOLS_VALUES_SIZE_H
#define CLARINET_SYMBOLS_VALUES_SIZE_H

#include "symbols/values.h"

/* A type inside a signature, and the generic instance that gives meaning to !0, !1, … in it. */
typedef struct values_type {
    const assembly *a;
    const cil_signature *s;
    uint32_t node;
    const struct values_type *instance; /* NULL = none */
} values_type;

/* References count as pointers; 0 = not known. */
uint64_t values_size(values_finder *finder, const values_type *type, unsigned depth);
/* Of a TypeDef or TypeRef; `instance` as above. */
uint64_t values_size_of_token(values_finder *finder, const assembly *a, uint32_t token,
                              const values_type *instance, unsigned depth);

#endif
