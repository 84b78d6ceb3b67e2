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

typedef enum {
    CIL_TYPE_VOID = 0x01,
    CIL_TYPE_BOOLEAN = 0x02,
    CIL_TYPE_CHAR = 0x03,
    CIL_TYPE_I1 = 0x04,
    CIL_TYPE_U1 = 0x05,
    CIL_TYPE_I2 = 0x06,
    CIL_TYPE_U2 = 0x07,
    CIL_TYPE_I4 = 0x08,
    CIL_TYPE_U4 = 0x09,
    CIL_TYPE_I8 = 0x0A,
    CIL_TYPE_U8 = 0x0B,
    CIL_TYPE_R4 = 0x0C,
    CIL_TYPE_R8 = 0x0D,
    CIL_TYPE_STRING = 0x0E,
    CIL_TYPE_POINTER = 0x0F,
    CIL_TYPE_BYREF = 0x10,
    CIL_TYPE_VALUETYPE = 0x11,
    CIL_TYPE_CLASS = 0x12,
    CIL_TYPE_VARIABLE = 0x13, /* !n, of the generic type */
    CIL_TYPE_ARRAY = 0x14,    /* with rank and bounds */
    CIL_TYPE_GENERIC = 0x15,  /* instance: the generic type, then its arguments */
    CIL_TYPE_TYPED_REFERENCE = 0x16,
    CIL_TYPE_INT_PTR = 0x18,
    CIL_TYPE_UINT_PTR = 0x19,
    CIL_TYPE_FUNCTION = 0x1B, /* pointer: its result, then its parameters */
    CIL_TYPE_OBJECT = 0x1C,
    CIL_TYPE_VECTOR = 0x1D,          /* T[] */
    CIL_TYPE_METHOD_VARIABLE = 0x1E, /* !!n */
    CIL_TYPE_REQUIRED = 0x1F,        /* modifiers: the token, then the type they modify */
    CIL_TYPE_OPTIONAL = 0x20,
    CIL_TYPE_INTERNAL = 0x21, /* only in memory of the runtime; refused */
    CIL_TYPE_SENTINEL = 0x41, /* before the extra arguments of a vararg call; no parameter */
    CIL_TYPE_PINNED = 0x45
} cil_element;

/* The first byte of a signature. */
enum {
    CIL_CONVENTION_MASK = 0x0F,
    CIL_CONVENTION_VARARG = 0x05,
    CIL_CONVENTION_FIELD = 0x06,
    CIL_CONVENTION_LOCALS = 0x07,
    CIL_CONVENTION_PROPERTY = 0x08,
    CIL_CONVENTION_UNMANAGED = 0x09,
    CIL_CONVENTION_METHOD_SPEC = 0x0A,
    CIL_CONVENTION_GENERIC = 0x10,
    CIL_CONVENTION_HAS_THIS = 0x20,
    CIL_CONVENTION_EXPLICIT_THIS = 0x40
};

typedef struct {
    uint8_t element;    /* cil_element */
    uint8_t convention; /* CIL_TYPE_FUNCTION */
    uint32_t token; /* CIL_TYPE_CLASS, VALUETYPE, REQUIRED, OPTIONAL; FUNCTION: its generic count */
    uint32_t number;     /* variables: n; arrays: rank; generic, function: count of parameters */
    uint32_t nodes;      /* of this type with all inside it, itself included */
    uint32_t begin, end; /* its bytes */
    uint32_t shape;      /* CIL_TYPE_ARRAY: where rank and bounds stand */
} cil_type;

typedef struct {
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
