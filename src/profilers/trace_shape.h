/*
 * trace_shape: where a value lies and what it is, found out from the runtime's types.
 *
 * A path goes from a variable through fields. As long as the declared types tell where a field
 * lies, its offset becomes a step. Where they do not (an interface, object, a generic class, an
 * array, a type parameter), the shape ends in a reference whose object's class decides: the same is
 * asked again for that class (trace_classes).
 *
 * Calls the runtime: on the own thread, or inside of GetReJITParameters. No state of its own.
 */
#ifndef CLARINET_PROFILERS_TRACE_SHAPE_H
#define CLARINET_PROFILERS_TRACE_SHAPE_H

#include "profilers/trace_types.h"

enum {
    TRACE_STEPS = 6,  /* fields after each other in a path */
    TRACE_FIELDS = 8, /* of a struct that are shown */
    TRACE_NAME = 32,
};

/* What becomes of a value when the steps before it were made. */
typedef enum {
    TRACE_ENDS = 0, /* it is the value that was meant */
    TRACE_BY_CLASS, /* it is a reference: its object's class knows how the path goes on */
    TRACE_BY_TYPE,  /* of a type parameter: that type knows */
} trace_onward;

typedef struct {
    uint32_t offset;
    uint32_t bound; /* of an element: the array must have so many; 0 = it is no element */
    bool load;      /* the value before is a reference: follow it first */
    bool nullable;  /* of what a Nullable<T> has: null unless the byte at `flag` is set */
    uint32_t flag;
} trace_step;

/* What is not an array, but has elements. */
enum { TRACE_SPAN = 1, TRACE_MEMORY };

/* A value's type: an element of a signature, TRACE_KIND_…, or CIL_TYPE_VALUETYPE with fields. */
typedef struct {
    uint8_t kind;
    uint8_t items;  /* of TRACE_KIND_ITEMS: the elements; 0 = they are not shown */
    uint8_t holder; /* what has them: CIL_TYPE_OBJECT for an array, or TRACE_SPAN, TRACE_MEMORY */
    uint8_t date, minutes; /* of TRACE_KIND_DATE_TIME_OFFSET: where they lie */
    ModuleID enum_module;  /* of an enum, else 0 */
    mdTypeDef enum_type;
    bool open; /* no secret, whatever its name: a CancellationToken */
} trace_leaf;

typedef struct {
    char name[TRACE_NAME];
    trace_step step;
    trace_leaf leaf; /* kind CIL_TYPE_OBJECT: only whether it is null; 0: not even that */
    bool secret;
} trace_field;

typedef struct {
    uint8_t step_count;
    uint8_t onward; /* trace_onward */
    uint8_t rest;   /* then: where the rest of the path begins */
    uint8_t field_count;
    bool itself; /* of an object: it is what was meant */
    trace_leaf leaf;
    trace_step steps[TRACE_STEPS];
    trace_field fields[TRACE_FIELDS];
} trace_shape;

/* The shape of a variable of the type `t`, followed along path + rest (".Name.Length" or "").
 * False when there is no such value. */
bool trace_shape_declared(const trace_types *types, const cil_type *t, const char *path,
                          size_t rest, trace_shape *out);
/* The same for the type `type` of the module itself, as `this` has it: a reference or the address
 * of a value. */
bool trace_shape_this(const trace_types *types, mdTypeDef type, const char *path, size_t rest,
                      trace_shape *out, bool *by_ref);
/* The same for an object of this class (inside it; a boxed value too), or with `inside` false for
 * a variable of this type. */
bool trace_shape_of_class(const clr_info *info, const char *redact, ClassID class_id, bool inside,
                          const char *path, size_t rest, trace_shape *out);

/* Does a name sound like something that nobody should read? */
bool trace_is_secret(const char *name, const char *more);

#endif
