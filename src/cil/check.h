/*
 * check: is this body one the runtime can compile? Follows every path with the kinds of values on
 * the stack and refuses, with the instruction and the reason: a stack that is too short, two paths
 * that meet with different stacks, a ret with the wrong stack or inside of a protected region,
 * branches into or out of regions, leave from where it may not, regions that overlap or stand in
 * the wrong order, locals and arguments that do not exist. It also finds the exact stack depth.
 *
 * It does not verify types in full: it knows int32, int64, native int, floating, object, managed
 * pointer and value, which is what the JIT needs to agree on. Code that no path reaches is only
 * checked for its targets.
 */
#ifndef CLARINET_CIL_CHECK_H
#define CLARINET_CIL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cil/body.h"

/* What a body's tokens mean: through metadata bytes outside, through the runtime inside. */
typedef struct {
    void *context;
    /* The signature behind a MethodDef, MemberRef, MethodSpec (its method's), Field or
     * StandAloneSig token; false when there is none. The bytes stay until the next call. */
    bool (*signature)(void *context, uint32_t token, const uint8_t **bytes, size_t *length);
} cil_resolver;

typedef struct {
    const uint8_t *signature; /* of the method itself */
    size_t signature_length;
    const uint8_t *locals; /* local signature, NULL when it has no locals */
    size_t locals_length;
    const cil_resolver *resolver;
} cil_check_method;

typedef struct {
    uint32_t max_stack; /* the deepest stack that any path reaches */
    cil_at at;          /* the instruction that was refused */
} cil_check_result;

typedef struct cil_checker cil_checker;

/* A checker keeps its memory from body to body; NULL without memory. One thread at a time. */
cil_checker *cil_checker_create(void);
void cil_checker_free(cil_checker *checker);

/* 0, or ERROR_CORRUPT with "IL_0010 ret: …" as message. Original offsets are shown where an
 * instruction has one. */
int cil_check(cil_checker *checker, const cil_body *body, const cil_check_method *method,
              cil_check_result *result, error *e);

#endif
