/*
 * trace_types: the runtime's types as the tracer needs them: what a variable, a field or a class
 * is. Calls the runtime: on the own thread, or inside of GetReJITParameters. No state of its own.
 */
#ifndef CLARINET_PROFILERS_TRACE_TYPES_H
#define CLARINET_PROFILERS_TRACE_TYPES_H

#include "base/buffer.h"
#include "cil/signature.h"
#include "clarinet/calls.h"

enum { TRACE_TYPE_ARGUMENTS = 16 };

/* A class that was found: the module that defines it, and its arguments. */
typedef struct {
    ModuleID module;
    IMetaDataImport2 *import; /* released by whoever found it */
    mdTypeDef type;
    ClassID class_id, parent;
    ClassID arguments[TRACE_TYPE_ARGUMENTS];
    uint32_t argument_count;
} trace_class_place;

/* What a variable or field is. */
typedef struct {
    uint8_t element;  /* a number's, STRING, OBJECT (any reference), VALUETYPE; a variable's */
    ClassID class_id; /* of a value type, or of a reference whose declared class is known; or 0 */
    uint8_t items;    /* of an array of one dimension: its elements, if they are numbers */
    bool vector;      /* it is one */
    bool anything;    /* declared as object: its class decides how it is shown */
} trace_type;

/* Types as they stand in a signature of a module; the arguments are those of the generic type
 * that the signature belongs to. */
typedef struct {
    const clr_info *info;
    ModuleID module;
    IMetaDataImport2 *import;
    const ClassID *arguments;
    uint32_t argument_count;
    const char *redact; /* more words that make a name secret */
} trace_types;

/* False when it is an array or not known; release it in any case. */
bool trace_class_open(const clr_info *info, ClassID class_id, trace_class_place *out);
void trace_class_release(trace_class_place *at);
/* The class's full name without arguments: System.Nullable`1. */
void trace_class_append_name(const clr_info *info, ClassID class_id, buffer *out);
bool trace_class_is_value(const clr_info *info, ClassID class_id, bool *is_enum);
/* Of an enum: the element of its values. */
uint8_t trace_class_enum_element(const trace_class_place *at);
/* 0 when the runtime does not know it, or it needs arguments. */
ClassID trace_class_of_token(const trace_types *types, mdToken token);

/* A type of the system that is shown in a way of its own; 0 = it is none. */
uint8_t trace_type_kind_of_name(const char *name);
/* A number, boolean or character? */
bool trace_type_is_plain(uint8_t element);
/* What a class is as the type of a variable. */
trace_type trace_type_of_class(const clr_info *info, ClassID class_id);
/* A type of a signature. Element 0 = one that cannot be shown. */
trace_type trace_type_of(const trace_types *types, const cil_type *t);

#endif
