/*
 * assembly: a .NET assembly opened from bytes: PE and metadata together, with names of tokens,
 * signatures behind tokens and method bodies. Portable, no OS calls; the caller keeps the bytes
 * alive. Any thread once opened.
 */
#ifndef CLARINET_METADATA_ASSEMBLY_H
#define CLARINET_METADATA_ASSEMBLY_H

#include "base/buffer.h"
#include "cil/check.h"
#include "cil/signature.h"
#include "metadata/metadata.h"
#include "metadata/pe.h"

typedef struct {
    pe file;
    metadata tables;
} assembly;

int assembly_open(assembly *a, const void *bytes, size_t length, error *e);

/* Name of the assembly (or of the module, for one without a manifest). */
const char *assembly_name(const assembly *a);

/* Bytes from the method's header to the end of its section; data NULL when it has no IL. */
pe_span assembly_body(const assembly *a, uint32_t method_row);
/* The signature behind a MethodDef, MemberRef, MethodSpec, Field, StandAloneSig, TypeSpec or
 * Property token; data NULL when there is none. */
metadata_span assembly_signature(const assembly *a, uint32_t token);
/* The same as what the checker asks; context is the assembly. */
cil_resolver assembly_resolver(const assembly *a);

/* The type that declares a method or field: a TypeDef row, or 0. */
uint32_t assembly_method_type(const assembly *a, uint32_t method_row);
uint32_t assembly_field_type(const assembly *a, uint32_t field_row);

/* Names, appended. A type: Namespace.Outer+Inner`1. A member: Namespace.Type::Member. */
void assembly_type_name(const assembly *a, uint32_t token, buffer *out);
void assembly_member_name(const assembly *a, uint32_t token, buffer *out);
/* Any token as a listing shows it: names with signatures, strings in quotes. */
void assembly_token_text(const assembly *a, uint32_t token, buffer *out);
/* (int, string) of a method; context for cil_type_text comes from assembly_namer. */
void assembly_parameters_text(const assembly *a, uint32_t method_token, bool plain, buffer *out);
cil_type_namer assembly_namer(const assembly *a, bool plain);

/* Whether `token` (of a type, method, field…) carries an attribute whose type's full name
 * `matches` the pattern. */
bool assembly_has_attribute(const assembly *a, uint32_t token,
                            bool (*matches)(const char *pattern, const char *type_name),
                            const char *pattern);

#endif
