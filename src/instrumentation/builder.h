/*
 * builder: code written instruction by instruction in the order in which it runs, with tokens from
 * wherever they come; `at` is the place. What the templates share.
 *
 * A token that can't be had sets `failed`; the caller looks once, at the end.
 */
#ifndef CLARINET_INSTRUMENTATION_BUILDER_H
#define CLARINET_INSTRUMENTATION_BUILDER_H

#include "cil/edit.h"
#include "instrumentation/template.h"

typedef struct {
    cil_body *body;
    const template_facts *facts;
    const template_tokens *tokens;
    bool failed;     /* a token could not be had */
    cil_at at;       /* new code goes before this */
    uint32_t tracer; /* locals */
    uint32_t exception;
    uint32_t result;
    uint32_t handle; /* cached form */
    bool has_result;
    /* tokens */
    uint32_t exception_type;
    uint32_t object_type;
    uint32_t action_spec;
    uint32_t action_invoke;
    uint32_t type_from_handle;
} builder;

/* A signature by a row of marks: two hex digits are a byte, a letter a type from `types`. */
typedef struct {
    char mark;
    uint32_t token;
} builder_mark;

/* Begins with what every template needs: the body, tokens of types. ERROR_UNSUPPORTED when the body
 * can't be put into a try (`jmp`); it is untouched then. */
int builder_open(builder *b, cil_body *body, const template_facts *facts,
                 const template_tokens *tokens, error *e);
/* Appends locals to the method's; `first` is the number of the first. */
int builder_append_locals(builder *b, const buffer *types, uint32_t count, uint32_t *first,
                          error *e);
/* Makes the method's own code one that may stand inside a try: a fat header, no `tail.`, one way
 * out at the end. Returns its first instruction. */
cil_at builder_prepare(builder *b);
/* Ends with at least this stack; the error when a token or memory could not be had on the way. */
int builder_close(builder *b, uint32_t stack, error *e);

/* The token, and `failed` when it is 0. */
uint32_t builder_checked(builder *b, uint32_t token);
/* Types of the core library, strings, members and TypeSpecs by their signatures in marks. */
uint32_t builder_type(builder *b, const char *name);
uint32_t builder_string(builder *b, const char *text);
uint32_t builder_member(builder *b, uint32_t parent, const char *name, const char *marks,
                        const builder_mark *types);
uint32_t builder_spec(builder *b, const char *marks, const builder_mark *types);
/* Instructions before `at`. */
void builder_op(builder *b, unsigned opcode);
void builder_op_token(builder *b, unsigned opcode, uint32_t token);
void builder_op_number(builder *b, unsigned opcode, int64_t number);
void builder_op_branch(builder *b, unsigned opcode, cil_at target);
void builder_load_string(builder *b, const char *text);
void builder_load_local(builder *b, uint32_t number);
void builder_store_local(builder *b, uint32_t number);
cil_at builder_label(builder *b);
/* A clause that catches every exception. */
void builder_add_catch(builder *b, cil_at try_begin, cil_at handler_begin, cil_at handler_end);
/* Ends a try that began at `try_begin`: leave, and a handler that swallows everything. `end` is a
 * label that stands behind. */
void builder_swallow(builder *b, cil_at try_begin, cil_at end);
/* The token to box or unbox a type of the signature with. */
uint32_t builder_box_type(builder *b, uint32_t type);
/* Leaves the object[] of the arguments on the stack; null where one can't be boxed. */
void builder_load_arguments(builder *b);
#endif
