/* template: see template.h. Code is written in the order in which it runs; `b->at` is the place. */
#include "instrumentation/template.h"

#include <string.h>

#include "cil/compressed.h"
#include "cil/edit.h"
#include "cil/wrap.h"

enum { AGENT_ARGUMENTS = 11, SHIM_STACK = 10, CACHED_STACK = 16 };

static const char SHIM_TYPE[] = "NewRelic.Agent.Core.AgentShim";
static const char SHIM_METHOD[] = "GetFinishTracerDelegate";

typedef struct {
    cil_body *body;
    const template_facts *facts;
    const template_tokens *tokens;
    error *error;
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

/* ---- tokens ---- */

static uint32_t checked(builder *b, uint32_t token)
{
    if (token == 0)
        b->failed = true;
    return token;
}

static uint32_t type_of(builder *b, const char *name)
{
    return checked(b, b->tokens->core_type(b->tokens->context, name));
}

static uint32_t string_of(builder *b, const char *text)
{
    return checked(b, b->tokens->string(b->tokens->context, text));
}

/* A signature by a row of marks: two hex digits are a byte, a letter a type from `types`. */
typedef struct {
    char mark;
    uint32_t token;
} marked_type;

static void write_signature(buffer *out, const char *marks, const marked_type *types)
{
    for (const char *p = marks; *p != '\0'; p++) {
        if (*p == ' ')
            continue;
        if (*p >= 'a' && *p <= 'z') {
            const marked_type *t = types;

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

static uint32_t member_of(builder *b, uint32_t parent, const char *name, const char *marks,
                          const marked_type *types)
{
    char memory[128];
    buffer signature;

    if (b->failed)
        return 0;
    buffer_fix(&signature, memory, sizeof memory);
    write_signature(&signature, marks, types);
    return checked(
        b, b->tokens->member(b->tokens->context, parent, name, signature.data, signature.length));
}

static uint32_t spec_of(builder *b, const char *marks, const marked_type *types)
{
    char memory[128];
    buffer signature;

    if (b->failed)
        return 0;
    buffer_fix(&signature, memory, sizeof memory);
    write_signature(&signature, marks, types);
    return checked(b, b->tokens->type_spec(b->tokens->context, signature.data, signature.length));
}

static void find_tokens(builder *b)
{
    uint32_t type = type_of(b, "System.Type");
    uint32_t type_handle = type_of(b, "System.RuntimeTypeHandle");
    marked_type types[] = {{'a', 0}, {'e', 0}, {'t', type}, {'h', type_handle}};

    b->exception_type = type_of(b, "System.Exception");
    b->object_type = type_of(b, "System.Object");
    types[0].token = type_of(b, "System.Action`2");
    types[1].token = b->exception_type;
    b->action_spec = spec_of(b, "15 12 a 02 1C 12 e", types);
    b->action_invoke = member_of(b, b->action_spec, "Invoke", "20 02 01 13 00 13 01", types);
    b->type_from_handle = member_of(b, type, "GetTypeFromHandle", "00 01 12 t 11 h", types);
}

/* ---- instructions ---- */

static void op(builder *b, unsigned opcode)
{
    cil_insert(b->body, b->at, opcode);
}

static void op_token(builder *b, unsigned opcode, uint32_t token)
{
    cil_insert_token(b->body, b->at, opcode, token);
}

static void op_number(builder *b, unsigned opcode, int64_t number)
{
    cil_insert_number(b->body, b->at, opcode, number);
}

static void op_branch(builder *b, unsigned opcode, cil_at target)
{
    cil_insert_branch(b->body, b->at, opcode, target);
}

static void load_string(builder *b, const char *text)
{
    op_token(b, CIL_LDSTR, string_of(b, text));
}

static void load_local(builder *b, uint32_t number)
{
    cil_insert_load_local(b->body, b->at, number);
}

static void store_local(builder *b, uint32_t number)
{
    cil_insert_store_local(b->body, b->at, number);
}

static cil_at label(builder *b)
{
    return cil_insert_label(b->body, b->at);
}

static void add_catch(builder *b, cil_at try_begin, cil_at handler_begin, cil_at handler_end)
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

/* Ends a try that began at `try_begin`: leave, and a handler that swallows everything. `end` is a
 * label that stands behind. */
static void swallow(builder *b, cil_at try_begin, cil_at end)
{
    cil_at handler;

    op_branch(b, CIL_LEAVE, end);
    handler = label(b);
    op(b, CIL_POP);
    op_branch(b, CIL_LEAVE, end);
    add_catch(b, try_begin, handler, end);
}

/* ---- what the agent is told ---- */

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
                : checked(b, b->tokens->type_spec(b->tokens->context, bytes.data, bytes.length));
    buffer_free(&bytes);
    return token;
}

/* Primitives are boxed with the type reference of their name, as compilers do. */
static uint32_t box_type(builder *b, uint32_t type)
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
        return type_of(b, NAMES[element]);
    return box_token(b, type);
}

static void load_this(builder *b)
{
    if (cil_signature_has_this(b->facts->signature->convention))
        op(b, CIL_LDARG_0);
    else
        op(b, CIL_LDNULL);
}

static void load_argument_array(builder *b)
{
    const cil_signature *s = b->facts->signature;
    uint32_t shift = cil_signature_has_this(s->convention) ? 1 : 0;
    uint32_t type = cil_signature_first(s);

    op_number(b, CIL_LDC_I4, s->count);
    op_token(b, CIL_NEWARR, b->object_type);
    for (uint32_t i = 0; i < s->count; i++, type = cil_signature_after(s, type)) {
        op(b, CIL_DUP);
        op_number(b, CIL_LDC_I4, i);
        if (b->facts->can_box[i]) {
            cil_insert_load_argument(b->body, b->at, i + shift);
            op_token(b, CIL_BOX, box_type(b, type));
        } else {
            op(b, CIL_LDNULL);
        }
        op(b, CIL_STELEM_REF);
    }
}

/* One of the eleven facts, as it is passed to the delegate; boxed where it goes into an array. */
static void load_fact(builder *b, int index, bool boxed)
{
    const template_facts *f = b->facts;

    switch (index) {
    case 0:
        load_string(b, f->factory);
        break;
    case 1:
        op_number(b, CIL_LDC_I4, (int32_t)f->arguments);
        if (boxed)
            op_token(b, CIL_BOX, type_of(b, "System.UInt32"));
        break;
    case 2:
        load_string(b, f->metric);
        break;
    case 3:
        load_string(b, f->assembly);
        break;
    case 4:
        op_token(b, CIL_LDTOKEN, f->type_token);
        op_token(b, CIL_CALL, b->type_from_handle);
        break;
    case 5:
        load_string(b, f->type_name);
        break;
    case 6:
        load_string(b, f->method);
        break;
    case 7:
        load_string(b, f->parameters);
        break;
    case 8:
        load_this(b);
        break;
    case 9:
        load_argument_array(b);
        break;
    default:
        op_number(b, CIL_LDC_I8, (int64_t)f->function_id);
        if (boxed)
            op_token(b, CIL_BOX, type_of(b, "System.UInt64"));
        break;
    }
}

/* Leaves the MethodInfo of the shim's method on the stack. */
static void find_shim(builder *b)
{
    uint32_t assembly = type_of(b, "System.Reflection.Assembly");
    uint32_t type = type_of(b, "System.Type");
    uint32_t method = type_of(b, "System.Reflection.MethodInfo");
    marked_type types[] = {{'a', assembly}, {'t', type}, {'m', method}};

    load_string(b, b->facts->agent_path);
    op_token(b, CIL_CALL, member_of(b, assembly, "LoadFrom", "00 01 12 a 0E", types));
    load_string(b, SHIM_TYPE);
    op_token(b, CIL_CALLVIRT, member_of(b, assembly, "GetType", "20 01 12 t 0E", types));
    load_string(b, SHIM_METHOD);
    op_token(b, CIL_CALLVIRT, member_of(b, type, "GetMethod", "20 01 12 m 0E", types));
}

static void ask_by_reflection(builder *b)
{
    uint32_t method_base = type_of(b, "System.Reflection.MethodBase");

    find_shim(b);
    op(b, CIL_LDNULL);
    op_number(b, CIL_LDC_I4_S, AGENT_ARGUMENTS);
    op_token(b, CIL_NEWARR, b->object_type);
    for (int i = 0; i < AGENT_ARGUMENTS; i++) {
        op(b, CIL_DUP);
        cil_insert_constant(b->body, b->at, i);
        load_fact(b, i, true);
        op(b, CIL_STELEM_REF);
    }
    op_token(b, CIL_CALLVIRT, member_of(b, method_base, "Invoke", "20 02 1C 1C 1D 1C", NULL));
}

static void load_slot(builder *b)
{
    op_number(b, CIL_LDC_I8, (int64_t)b->facts->slot);
    op(b, CIL_CONV_I);
}

/* Leaves the delegate on the stack: from the handle in the slot, or made and kept there. */
static void load_delegate(builder *b, uint32_t function_spec)
{
    uint32_t handle = type_of(b, "System.Runtime.InteropServices.GCHandle");
    uint32_t delegate = type_of(b, "System.Delegate");
    marked_type types[] = {{'g', handle},
                           {'d', delegate},
                           {'t', type_of(b, "System.Type")},
                           {'m', type_of(b, "System.Reflection.MethodInfo")}};
    cil_at ready = label(b); /* moves behind: what follows is inserted before it */

    b->at = ready;
    load_slot(b);
    op(b, CIL_LDIND_I);
    cil_at known = cil_insert_label(b->body, ready);
    b->at = known;
    op_branch(b, CIL_BRTRUE, known);
    load_slot(b);
    op_token(b, CIL_LDTOKEN, function_spec);
    op_token(b, CIL_CALL, b->type_from_handle);
    find_shim(b);
    op_token(b, CIL_CALL, member_of(b, delegate, "CreateDelegate", "00 02 12 d 12 t 12 m", types));
    op_token(b, CIL_CALL, member_of(b, handle, "Alloc", "00 01 11 g 1C", types));
    op_token(b, CIL_CALL, member_of(b, handle, "ToIntPtr", "00 01 18 11 g", types));
    op(b, CIL_STIND_I);
    b->at = ready;
    load_slot(b);
    op(b, CIL_LDIND_I);
    op_token(b, CIL_CALL, member_of(b, handle, "FromIntPtr", "00 01 11 g 18", types));
    store_local(b, b->handle);
    op_number(b, b->handle <= 255 ? CIL_LDLOCA_S : CIL_LDLOCA, b->handle);
    op_token(b, CIL_CALL, member_of(b, handle, "get_Target", "20 00 1C", types));
    op_token(b, CIL_CASTCLASS, function_spec);
}

static void ask_by_delegate(builder *b, cil_at before)
{
    marked_type types[] = {{'f', type_of(b, "System.Func`12")},
                           {'t', type_of(b, "System.Type")},
                           {'a', type_of(b, "System.Action`2")},
                           {'e', b->exception_type}};
    uint32_t spec = spec_of(b,
                            "15 12 f 0C 0E 09 0E 0E 12 t 0E 0E 0E 1C 1D 1C 0B "
                            "15 12 a 02 1C 12 e",
                            types);

    load_delegate(b, spec);
    b->at = before;
    for (int i = 0; i < AGENT_ARGUMENTS; i++)
        load_fact(b, i, false);
    op_token(b, CIL_CALLVIRT,
             member_of(b, spec, "Invoke",
                       "20 0B 13 0B 13 00 13 01 13 02 13 03 13 04 13 05 13 06 13 07 13 08 13 09 "
                       "13 0A",
                       types));
}

/* ---- the parts around the method ---- */

/* Before the method: everything goes before `user`, which stays its first instruction. Returns
 * the label where the method's own try begins. */
static cil_at write_entry(builder *b, cil_at user)
{
    cil_at begin;
    cil_at user_try = cil_insert_label(b->body, user);

    b->at = user_try;
    op(b, CIL_LDNULL);
    store_local(b, b->tracer);
    op(b, CIL_LDNULL);
    store_local(b, b->exception);
    begin = label(b);
    if (b->facts->reference_form)
        ask_by_reflection(b);
    else
        ask_by_delegate(b, user_try);
    b->at = user_try;
    store_local(b, b->tracer);
    swallow(b, begin, user_try);
    return user_try;
}

/* Tells the delegate in a try of its own; `load_values` leaves result and exception on the stack.
 */
static void tell(builder *b, bool after_exception, cil_at end)
{
    cil_at begin;

    load_local(b, b->tracer);
    op_branch(b, CIL_BRFALSE, end);
    begin = label(b);
    load_local(b, b->tracer);
    op_token(b, CIL_CASTCLASS, b->action_spec);
    if (after_exception) {
        op(b, CIL_LDNULL);
        load_local(b, b->exception);
    } else {
        if (b->has_result && b->facts->can_box_result) {
            load_local(b, b->result);
            op_token(b, CIL_BOX, box_type(b, 0));
        } else {
            op(b, CIL_LDNULL);
        }
        op(b, CIL_LDNULL);
    }
    op_token(b, CIL_CALLVIRT, b->action_invoke);
    swallow(b, begin, end);
}

/* Behind the method: handler, normal way out, ret. The end of the code moves, so every label is
 * put at the end first and the code before it. */
static void write_exit(builder *b, cil_at user_try)
{
    cil_at handler;
    cil_at failed;
    cil_at normal;
    cil_at out;

    b->at = CIL_END;
    if (b->has_result)
        store_local(b, b->result);
    normal = cil_insert_label(b->body, CIL_END);
    b->at = normal;
    op_branch(b, CIL_LEAVE, normal);
    handler = label(b);
    store_local(b, b->exception);
    failed = cil_insert_label(b->body, normal);
    b->at = failed;
    tell(b, true, failed);
    b->at = normal;
    op(b, CIL_RETHROW);
    op_branch(b, CIL_LEAVE, normal);
    add_catch(b, user_try, handler, normal);

    out = cil_insert_label(b->body, CIL_END);
    b->at = out;
    tell(b, false, out);
    b->at = CIL_END;
    if (b->has_result)
        load_local(b, b->result);
    op(b, CIL_RET);
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

static int append_locals(builder *b, error *e)
{
    buffer types = BUFFER_EMPTY;
    buffer whole = BUFFER_EMPTY;
    uint32_t count = 2;
    uint32_t first = 0;
    int code;

    buffer_append_u8(&types, CIL_TYPE_OBJECT);
    buffer_append_u8(&types, CIL_TYPE_CLASS);
    cil_append_compressed_token(&types, b->exception_type);
    if (b->has_result) {
        cil_type_copy(b->facts->signature, 0, &types);
        count++;
    }
    if (!b->facts->reference_form) {
        buffer_append_u8(&types, CIL_TYPE_VALUETYPE);
        cil_append_compressed_token(&types, type_of(b, "System.Runtime.InteropServices.GCHandle"));
        count++;
    }
    code = cil_signature_append_locals(b->facts->locals, b->facts->locals_length, &types, count,
                                       &whole, &first, e);
    if (code == 0) {
        b->tracer = first;
        b->exception = first + 1;
        b->result = first + 2;
        b->handle = first + count - 1;
        b->body->local_signature =
            checked(b, b->tokens->signature(b->tokens->context, whole.data, whole.length));
    }
    buffer_free(&types);
    buffer_free(&whole);
    return code;
}

static uint16_t stack_for(const builder *b)
{
    uint32_t least = b->facts->reference_form ? SHIM_STACK : CACHED_STACK;
    uint32_t parameters = b->facts->signature->count + 1;

    if (parameters > least)
        least = parameters;
    return (uint16_t)(b->body->max_stack > least ? b->body->max_stack : least);
}

int template_apply(cil_body *body, const template_facts *facts, const template_tokens *tokens,
                   error *e)
{
    builder b;
    cil_at user_try;
    uint32_t result;
    int code;

    memset(&b, 0, sizeof b);
    b.body = body;
    b.facts = facts;
    b.tokens = tokens;
    b.error = e;
    if (cil_has(body, CIL_JMP))
        return error_set(e, ERROR_UNSUPPORTED, "the method has `jmp`");
    result = cil_type_skip_modifiers(facts->signature, 0);
    b.has_result = facts->signature->types[result].element != CIL_TYPE_VOID;
    find_tokens(&b);
    if (b.failed)
        return error_set(e, ERROR_RUNTIME, "no tokens for the template's types");
    code = append_locals(&b, e);
    if (code != 0)
        return code;
    if (body->tiny)
        body->header_flags |= CIL_HEADER_INIT_LOCALS;
    body->tiny = false;
    cil_drop_tail_calls(body);
    if (cil_join_returns(body) == CIL_END)
        fence_off_end(body);
    user_try = write_entry(&b, cil_first(body));
    write_exit(&b, user_try);
    body->max_stack = stack_for(&b);
    if (b.failed)
        return error_set(e, ERROR_RUNTIME, "a token for the template could not be made");
    return body->failed ? error_set(e, ERROR_MEMORY, "no memory for a method body") : 0;
}
