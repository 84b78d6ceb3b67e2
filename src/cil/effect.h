/*
 * effect: what one instruction does to a stack of kinds. Internal to the checker.
 */
#ifndef CLARINET_CIL_EFFECT_H
#define CLARINET_CIL_EFFECT_H

#include "cil/check.h"

enum {
    CIL_KIND_ANY, /* not known: a type parameter, say */
    CIL_KIND_INT32,
    CIL_KIND_INT64,
    CIL_KIND_NATIVE, /* native int, unmanaged pointers */
    CIL_KIND_FLOAT,
    CIL_KIND_OBJECT,
    CIL_KIND_POINTER, /* managed pointer */
    CIL_KIND_VALUE,   /* a value type; enums are seen as this too */
    CIL_KIND_CLASH
};

const char *cil_kind_name(uint8_t kind);
/* What both paths can agree on, or CIL_KIND_CLASH. */
uint8_t cil_kind_merge(uint8_t a, uint8_t b);
/* The kind that a value of this element type has on the stack. */
uint8_t cil_kind_of_element(uint8_t element);

/* The method around the instructions: kinds of its arguments and locals. */
typedef struct {
    uint8_t *arguments;
    uint32_t argument_count, argument_capacity;
    uint8_t *locals;
    uint32_t local_count, local_capacity;
    bool has_result;
    uint8_t result;
    const cil_resolver *resolver;
} cil_effect_method;

int cil_effect_method_read(cil_effect_method *m, const cil_check_method *method, error *e);
void cil_effect_method_free(cil_effect_method *m);

/* Takes the operands of `at` off the stack and puts its results on. NULL, or why it cannot be. */
const char *cil_effect_apply(const cil_effect_method *m, const cil_body *body, cil_at at,
                             uint8_t *stack, uint32_t *depth, uint32_t limit);

#endif
