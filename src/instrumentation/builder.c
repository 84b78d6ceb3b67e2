/* builder: see builder.h. */
#include "instrumentation/builder.h"

#include <string.h>

#include "cil/compressed.h"
#include "cil/wrap.h"
#include "rules/shape.h"

/* ---- begin and end ---- */

int builder_open(builder *b, cil_body *body, const template_facts *facts,
                 const template_tokens *tokens, error *e)
{
    uint32_t result = cil_type_skip_modifiers(facts->signature, 0);
    builder_mark types[2];

    memset(b, 0, sizeof *b);
    if (shape_body_refusal(body) != NULL)
        return error_set(e, ERROR_UNSUPPORTED, "%s", shape_body_refusal(body));
    b->body = body;
    b->facts = facts;
    b->tokens = tokens;
    b->has_result = facts->signature->types[result].element != CIL_TYPE_VOID;
    types[0] = (builder_mark){'t', builder_type(b, "System.Type")};
    types[1] = (builder_mark){'h', builder_type(b, "System.RuntimeTypeHandle")};
    b->exception_type = builder_type(b, "System.Exception");
    b->object_type = builder_type(b, "System.Object");
    b->type_from_handle =
        builder_member(b, types[0].token, "GetTypeFromHandle", "00 01 12 t 11 h", types);
    return b->failed ? error_set(e, ERROR_RUNTIME, "no tokens for the template's types") : 0;
}

int builder_append_locals(builder *b, const buffer *types, uint32_t count, uint32_t *first,
                          error *e)
{
    buffer whole = BUFFER_EMPTY;
    int code = cil_signature_append_locals(b->facts->locals, b->facts->locals_length, types, count,
                                           &whole, first, e);

    if (code == 0)
        b->body->local_signature =
            builder_checked(b, b->tokens->signature(b->tokens->context, whole.data, whole.length));
    buffer_free(&whole);
    return code;
}

/* Regions that reached the end of the code end where the method's own code ends. */
static void fence_off_end(cil_body *body)
{
    cil_at end = cil_insert_label(body, CIL_END);

    for (uint32_t i = 0; i < body->clause_count; i++) {
        if (body->clauses[i].try_end == CIL_END)
            body->clauses[i].try_end = end;
        if (body->clauses[i].handler_end == CIL_END)
            body->clauses[i].handler_end = end;
    }
}

cil_at builder_prepare(builder *b)
{
    cil_body *body = b->body;

    if (body->tiny)
        body->header_flags |= CIL_HEADER_INIT_LOCALS;
    body->tiny = false;
    cil_drop_tail_calls(body);
    if (cil_join_returns(body) == CIL_END)
        fence_off_end(body);
    return cil_first(body);
}

int builder_close(builder *b, uint32_t stack, error *e)
{
    if (b->body->max_stack < stack)
        b->body->max_stack = (uint16_t)stack;
    if (b->failed)
        return error_set(e, ERROR_RUNTIME, "a token for the template could not be made");
    return b->body->failed ? error_set(e, ERROR_MEMORY, "no memory for a method body") : 0;
}

/* ---- tokens ---- */

uint32_t builder_checked(builder *b, uint32_t token)
{
    if (token == 0)
        b->failed = true;
    return token;
}

uint32_t builder_type(builder *b, const char *name)
{
    return builder_checked(b, b->tokens->core_type(b->tokens->context, name));
}

uint32_t builder_string(builder *b, const char *text)
{
    return builder_checked(b, b->tokens->string(b->tokens->context, text));
}

static void write_signature(buffer *out, const char *marks, const builder_mark *types)
{
    for (const char *p = marks; *p != '\0'; p++) {
        if (*p == ' ')
            continue;
        if (*p >= 'a' && *p <= 'z') {
            const builder_mark *t = types;

            while (t->mark != *p)
                t++;
            cil_append_compressed_token(out, t->token);
            continue;
        }
        unsigned high = (unsigned)(*p <= '9' ? *p - '0' : *p - 'A' + 10);
        unsigned low = (unsigned)(p[1] <= '9' ? p[1] - '0' : p[1] - 'A' + 10);

        buffer_append_u8(out, (uint8_t)(high << 4 | low));
        p++;
    }
}

uint32_t builder_member(builder *b, uint32_t parent, const char *name, const char *marks,
                        const builder_mark *types)
{
    char memory[128];
    buffer signature;

    if (b->failed)
        return 0;
    buffer_fix(&signature, memory, sizeof memory);
    write_signature(&signature, marks, types);
    return builder_checked(
        b, b->tokens->member(b->tokens->context, parent, name, signature.data, signature.length));
}

uint32_t builder_spec(builder *b, const char *marks, const builder_mark *types)
{
    char memory[128];
    buffer signature;

    if (b->failed)
        return 0;
    buffer_fix(&signature, memory, sizeof memory);
    write_signature(&signature, marks, types);
    return builder_checked(
        b, b->tokens->type_spec(b->tokens->context, signature.data, signature.length));
}

/* ---- instructions ---- */

void builder_op(builder *b, unsigned opcode)
{
    cil_insert(b->body, b->at, opcode);
}

void builder_op_token(builder *b, unsigned opcode, uint32_t token)
{
    cil_insert_token(b->body, b->at, opcode, token);
}

void builder_op_number(builder *b, unsigned opcode, int64_t number)
{
    cil_insert_number(b->body, b->at, opcode, number);
}

void builder_op_branch(builder *b, unsigned opcode, cil_at target)
{
    cil_insert_branch(b->body, b->at, opcode, target);
}

void builder_load_string(builder *b, const char *text)
{
    builder_op_token(b, CIL_LDSTR, builder_string(b, text));
}

void builder_load_local(builder *b, uint32_t number)
{
    cil_insert_load_local(b->body, b->at, number);
}

void builder_store_local(builder *b, uint32_t number)
{
    cil_insert_store_local(b->body, b->at, number);
}

cil_at builder_label(builder *b)
{
    return cil_insert_label(b->body, b->at);
}

void builder_add_catch(builder *b, cil_at try_begin, cil_at handler_begin, cil_at handler_end)
{
    cil_clause clause;

    memset(&clause, 0, sizeof clause);
    clause.kind = CIL_CATCH;
    clause.token = b->exception_type;
    clause.try_begin = try_begin;
    clause.try_end = handler_begin;
    clause.handler_begin = handler_begin;
    clause.handler_end = handler_end;
    cil_insert_clause(b->body, &clause);
}

void builder_swallow(builder *b, cil_at try_begin, cil_at end)
{
    cil_at handler;

    builder_op_branch(b, CIL_LEAVE, end);
    handler = builder_label(b);
    builder_op(b, CIL_POP);
    builder_op_branch(b, CIL_LEAVE, end);
    builder_add_catch(b, try_begin, handler, end);
}

/* ---- boxes and arguments ---- */

/* The type to box with: its own token, or a TypeSpec of its bytes. */
static uint32_t box_token(builder *b, uint32_t type)
{
    const cil_signature *s = b->facts->signature;
    const cil_type *t = &s->types[cil_type_skip_modifiers(s, type)];
    buffer bytes = BUFFER_EMPTY;
    uint32_t token;

    if (t->element == CIL_TYPE_CLASS || t->element == CIL_TYPE_VALUETYPE)
        return t->token;
    cil_type_copy(s, type, &bytes);
    token = buffer_failed(&bytes)
                ? 0
                : builder_checked(
                      b, b->tokens->type_spec(b->tokens->context, bytes.data, bytes.length));
    buffer_free(&bytes);
    return token;
}

/* Primitives are boxed with the type reference of their name, as compilers do. */
uint32_t builder_box_type(builder *b, uint32_t type)
{
    static const char *const NAMES[] = {
        [CIL_TYPE_BOOLEAN] = "System.Boolean",  [CIL_TYPE_CHAR] = "System.Char",
        [CIL_TYPE_I1] = "System.SByte",         [CIL_TYPE_U1] = "System.Byte",
        [CIL_TYPE_I2] = "System.Int16",         [CIL_TYPE_U2] = "System.UInt16",
        [CIL_TYPE_I4] = "System.Int32",         [CIL_TYPE_U4] = "System.UInt32",
        [CIL_TYPE_I8] = "System.Int64",         [CIL_TYPE_U8] = "System.UInt64",
        [CIL_TYPE_R4] = "System.Single",        [CIL_TYPE_R8] = "System.Double",
        [CIL_TYPE_STRING] = "System.String",    [CIL_TYPE_INT_PTR] = "System.IntPtr",
        [CIL_TYPE_UINT_PTR] = "System.UIntPtr", [CIL_TYPE_OBJECT] = "System.Object"};
    const cil_signature *s = b->facts->signature;
    uint8_t element = s->types[cil_type_skip_modifiers(s, type)].element;

    if (element < sizeof NAMES / sizeof *NAMES && NAMES[element] != NULL)
        return builder_type(b, NAMES[element]);
    return box_token(b, type);
}

void builder_load_arguments(builder *b)
{
    const cil_signature *s = b->facts->signature;
    uint32_t shift = cil_signature_has_this(s->convention) ? 1 : 0;
    uint32_t type = cil_signature_first(s);

    builder_op_number(b, CIL_LDC_I4, s->count);
    builder_op_token(b, CIL_NEWARR, b->object_type);
    for (uint32_t i = 0; i < s->count; i++, type = cil_signature_after(s, type)) {
        builder_op(b, CIL_DUP);
        builder_op_number(b, CIL_LDC_I4, i);
        if (b->facts->can_box[i]) {
            cil_insert_load_argument(b->body, b->at, i + shift);
            builder_op_token(b, CIL_BOX, builder_box_type(b, type));
        } else {
            builder_op(b, CIL_LDNULL);
        }
        builder_op(b, CIL_STELEM_REF);
    }
}
