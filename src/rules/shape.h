/*
 * shape: can a method carry the code that reports its calls? The one answer, for the agent in the
 * process and for `instrument check` outside of it, from what the metadata says of the method and
 * from its decoded body. Pure.
 */
#ifndef CLARINET_RULES_SHAPE_H
#define CLARINET_RULES_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "cil/body.h"
#include "cil/signature.h"

enum { SHAPE_MOST_PARAMETERS = 1024 };

typedef struct {
    const char *name;
    uint32_t flags; /* CorMethodAttr */
    uint32_t impl_flags;
    uint32_t type_flags; /* of the declaring type itself */
    bool is_value_type;
    const cil_signature *signature;
} shape;

/* NULL when there is code to instrument; else why not. That is no refusal: an abstract method is
 * named by every wildcard. */
const char *shape_without_code(const shape *s);
/* NULL when the method can carry the code; else why not, in words. */
const char *shape_refusal(const shape *s);
/* The same by what its code does. */
const char *shape_body_refusal(const cil_body *body);

#endif
