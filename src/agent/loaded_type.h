/*
 * loaded_type: the class behind a type of a signature, where it is loaded (loaded.h). A type that
 * another module defines is looked for by its name.
 *
 * Thread rules: loaded.h's. No state of its own.
 */
#ifndef CLARINET_AGENT_LOADED_TYPE_H
#define CLARINET_AGENT_LOADED_TYPE_H

#include "cil/signature.h"
#include "clarinet/calls.h"

/* Where the signature stands; the arguments are those of the generic type that it belongs to. */
typedef struct {
    const clr_info *info;
    ModuleID module;
    IMetaDataImport2 *import;
    const ClassID *arguments;
    uint32_t argument_count;
} loaded_type_scope;

/* 0 when the runtime does not know it, or it needs other arguments. */
ClassID loaded_type_of_token(const loaded_type_scope *scope, mdToken token,
                             const ClassID *arguments, uint32_t count);
/* Of a type that a token names, a generic struct, or a generic type's own variable; 0 = another
 * one, or not loaded. */
ClassID loaded_type_class(const loaded_type_scope *scope, const cil_type *t);

/* The same of a field, by its signature. */
ClassID loaded_type_of_field(const loaded_type_scope *scope, const uint8_t *signature,
                             uint32_t size);

/* Numbers, booleans, characters and strings, by their names in the namespace System. */
enum { LOADED_TYPE_SIMPLE = 15 };
typedef struct {
    char name[8];
    uint8_t element; /* of signatures */
} loaded_type_simple;
extern const loaded_type_simple LOADED_TYPES_SIMPLE[LOADED_TYPE_SIMPLE];

#endif
