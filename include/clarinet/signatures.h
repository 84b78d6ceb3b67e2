/*
 * signatures: what metadata signatures say: methods, fields, properties, locals, type and method
 * specs, with every element type.
 *
 * A signature becomes a flat array of types in the order of its bytes: a type is followed by the
 * types inside it, and `nodes` tells how many to step over to its neighbour. Hostile bytes give
 * COR_E_BADIMAGEFORMAT and the reason, never a read outside. A clr_signature belongs to one thread
 * at a time, is used again for the next one, and points into the caller's bytes.
 */
#ifndef CLARINET_SIGNATURES_H
#define CLARINET_SIGNATURES_H

#include "clarinet/cil_types.h"
#include "clarinet/hresults.h"
#include "clarinet/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cil_signature clr_signature;

clr_signature *clr_signature_create(void);
void clr_signature_free(clr_signature *signature);

/* Any signature with its first byte; or a bare type, which is what a TypeSpec has. */
HRESULT clr_signature_read(clr_signature *signature, const void *bytes, size_t length,
                           clr_text *why);
HRESULT clr_signature_read_type(clr_signature *signature, const void *bytes, size_t length,
                                clr_text *why);

uint8_t clr_signature_convention(const clr_signature *signature); /* CIL_CONVENTION_… */
uint32_t clr_signature_generic_count(const clr_signature *signature);
/* Parameters, locals or arguments; without the result. */
uint32_t clr_signature_count(const clr_signature *signature);
/* All types; type 0 is the result of a method, the type of a field or property. */
const cil_type *clr_signature_types(const clr_signature *signature, uint32_t *count);
/* The first parameter, local or argument, and the one after `type`; the count of all types when
 * there is none. */
uint32_t clr_signature_first(const clr_signature *signature);
uint32_t clr_signature_after(const clr_signature *signature, uint32_t type);
/* The type inside of modifiers and `pinned`. */
uint32_t clr_signature_skip_modifiers(const clr_signature *signature, uint32_t type);

/* One type as text: `name` appends the name of a type's token. Full: System.Int32; plain: int. */
void clr_signature_type_text(const clr_signature *signature, uint32_t type,
                             void (*name)(void *context, mdToken token, clr_text *out),
                             void *context, int plain, clr_text *out);

/* Bytes are appended to a clr_text, which may hold zeros: take its length with clr_text_length. */
void clr_signature_write(const clr_signature *signature, clr_text *out);
/* The bytes of one type without modifiers around it, as a local of that type needs them. */
void clr_signature_copy_type(const clr_signature *signature, uint32_t type, clr_text *out);
/* The local signature `old` (NULL: none) with `count` types appended, whose bytes are in `types`.
 * *first gets the number of the first new local. */
HRESULT clr_signature_append_locals(const uint8_t *old, size_t old_size, const clr_text *types,
                                    uint32_t count, clr_text *out, uint32_t *first, clr_text *why);

#ifdef __cplusplus
}
#endif

#endif
