/*
 * tails: which methods of a module come back to themselves through `tail.` calls. Such recursion
 * takes no stack, however deep; in an instrumented method, whose calls are plain ones, it would
 * overflow it. So these methods are left alone. The one answer for the agent in the process and for
 * `instrument check` outside of it.
 *
 * Two kinds of calls lead from method to method: those that name their method, and those whose
 * method is chosen at run time (a function value, an interface): they may go to any method of that
 * name. What goes through other modules is not seen. One thread at a time until tails_finish, then
 * any.
 */
#ifndef CLARINET_RULES_TAILS_H
#define CLARINET_RULES_TAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cil/body.h"

typedef struct tails tails;

/* What is asked about the tokens of calls. */
typedef struct {
    void *context;
    /* The method that a MethodSpec makes an instance of; 0 = not known. */
    uint32_t (*generic_method)(void *context, uint32_t token);
    /* The type token that a MemberRef or MethodDef belongs to, and its name; 0 = not known. */
    uint32_t (*member)(void *context, uint32_t token, buffer *name);
    /* The signature of a TypeSpec; false = not known. */
    bool (*type_spec)(void *context, uint32_t token, const uint8_t **bytes, size_t *length);
} tails_metadata;

/* Why such a method is left alone. */
extern const char TAILS_REFUSAL[];

tails *tails_new(void); /* NULL without memory */
void tails_free(tails *t);

/* Cheap: may a body of these bytes have a `tail.` call at all? */
bool tails_may_be_in(const uint8_t *bytes, size_t length);
/* A method of the module that has such calls: its tokens, its name and its body. */
void tails_add(tails *t, uint32_t method, uint32_t type, const char *name, const cil_body *body,
               const tails_metadata *metadata);
/* After the last method; false without memory. */
bool tails_finish(tails *t);

/* Does the method come back to itself? With virtual calls: may it? */
bool tails_come_back(const tails *t, uint32_t method, bool with_virtual);

#endif
