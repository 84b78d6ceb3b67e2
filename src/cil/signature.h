/*
 * signature: what metadata signatures say (ECMA-335 partition II.23.2): methods, fields,
 * properties, locals, type and method specs, with every element type.
 *
 * A signature becomes a flat array of types in the order of the bytes: a type is followed by the
 * types inside it, and `nodes` tells how many to step over to reach its next neighbour. Each type
 * knows its bytes, so it can be copied into another signature of the same module as it is.
 * Hostile bytes give an error, never a read outside; nesting is limited.
 */
#ifndef CLARINET_CIL_SIGNATURE_H
#define CLARINET_CIL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "clarinet/cil_types.h"

typedef struct cil_signature {
    const uint8_t *bytes; /* the caller's */
    size_t length;
    uint8_t convention;
    uint32_t generic_count;
    uint32_t count; /* parameters, locals or arguments; without result and sentinel */
    cil_type *types;
    uint32_t type_count, type_capacity;
} cil_signature;

void cil_signature_init(cil_signature *s);
void cil_signature_free(cil_signature *s);

/* Any signature with its first byte (not a TypeSpec). The result, field or property type is type 0
 * of methods, fields and properties; parameters, locals and arguments follow. */
int cil_signature_read(cil_signature *s, const void *bytes, size_t length, error *e);
/* The same, of a method: type 0 is there and is the result. Another kind of signature is refused.
 */
int cil_signature_read_method(cil_signature *s, const void *bytes, size_t length, error *e);
/* A bare type: the signature of a TypeSpec. */
int cil_signature_read_type(cil_signature *s, const void *bytes, size_t length, error *e);

/* The first parameter (or local, or argument), and the one after `type`; a sentinel is stepped
 * over. type_count when there is none. */
uint32_t cil_signature_first(const cil_signature *s);
uint32_t cil_signature_after(const cil_signature *s, uint32_t type);
/* The type inside modifiers, pinned and the like: what it really is. */
uint32_t cil_type_skip_modifiers(const cil_signature *s, uint32_t type);
static inline bool cil_signature_has_this(uint8_t convention)
{
    return (convention & (CIL_CONVENTION_HAS_THIS | CIL_CONVENTION_EXPLICIT_THIS)) ==
           CIL_CONVENTION_HAS_THIS;
}

/* Bounds of an array type: per dimension the lower bound and the size, if given. */
typedef struct {
    uint32_t rank, size_count, bound_count;
    uint32_t sizes[32];
    int32_t bounds[32];
} cil_array_shape;
bool cil_type_shape(const cil_signature *s, uint32_t type, cil_array_shape *shape);

/* Writes the signature again from what was read; the same bytes for every signature that uses the
 * shortest integers. */
void cil_signature_write(const cil_signature *s, buffer *out);
/* The bytes of one type without modifiers around it, as a local of that type needs them. */
void cil_type_copy(const cil_signature *s, uint32_t type, buffer *out);

/* A quick look at a method signature, without memory: enough to know what a call does to the
 * stack. `result` is the element of the result with modifiers stepped over (VALUETYPE or CLASS
 * for a generic instance). */
typedef struct {
    uint8_t convention;
    uint8_t result;
    uint32_t generic_count;
    uint32_t parameters;
} cil_call_shape;
bool cil_signature_call_shape(const uint8_t *bytes, size_t length, cil_call_shape *shape);
/* The element of a field's type in the same way. */
bool cil_signature_field_element(const uint8_t *bytes, size_t length, uint8_t *element);

/* The local signature `old` (NULL = none) with `count` types appended, whose bytes are in `types`.
 * *first gets the number of the first new local. Refused over 65,534 locals. */
int cil_signature_append_locals(const uint8_t *old, size_t old_length, const buffer *types,
                                uint32_t count, buffer *out, uint32_t *first, error *e);

/* Text. `name` appends the name of a TypeDef, TypeRef or TypeSpec token.
 * Full: System.Int32,System.Collections.Generic.List`1[System.String]; plain: as C# writes it. */
typedef struct {
    void (*name)(void *context, uint32_t token, buffer *out);
    void *context;
    bool plain;
} cil_type_namer;
void cil_type_text(const cil_signature *s, uint32_t type, const cil_type_namer *namer, buffer *out);
/* The parameters, joined with ',' (plain: ', '); no parentheses. */
void cil_signature_parameters_text(const cil_signature *s, const cil_type_namer *namer,
                                   buffer *out);

#endif
