/* template: see template.h. Code is written in the order in which it runs; `b->at` is the place. */
#include "instrumentation/builder.h"

#include "cil/compressed.h"
#include "rules/shim.h"

enum { CONVENTION_C = 1, AGENT_ARGUMENTS = 11, SHIM_STACK = 10, CACHED_STACK = 16 };

/* ---- tokens ---- */

static void find_tokens(builder *b)
{
    builder_mark types[] = {{'a', builder_type(b, "System.Action`2")}, {'e', b->exception_type}};

    b->action_spec = builder_spec(b, "15 12 a 02 1C 12 e", types);
    b->action_invoke = builder_member(b, b->action_spec, "Invoke", "20 02 01 13 00 13 01", types);
}

/* ---- what the agent is told ---- */

static void load_this(builder *b)
{
    if (cil_signature_has_this(b->facts->signature->convention))
        builder_op(b, CIL_LDARG_0);
    else
        builder_op(b, CIL_LDNULL);
}

/* One of the eleven facts, as it is passed to the delegate; boxed where it goes into an array. */
static void load_fact(builder *b, int index, bool boxed)
{
    const template_facts *f = b->facts;

    switch (index) {
    case 0:
        builder_load_string(b, f->factory);
        break;
    case 1:
        builder_op_number(b, CIL_LDC_I4, (int32_t)f->arguments);
        if (boxed)
            builder_op_token(b, CIL_BOX, builder_type(b, "System.UInt32"));
        break;
    case 2:
        builder_load_string(b, f->metric);
        break;
    case 3:
        builder_load_string(b, f->assembly);
        break;
    case 4:
        builder_op_token(b, CIL_LDTOKEN, f->type_token);
        builder_op_token(b, CIL_CALL, b->type_from_handle);
        break;
    case 5:
        builder_load_string(b, f->type_name);
        break;
    case 6:
        builder_load_string(b, f->method);
        break;
    case 7:
        builder_load_string(b, f->parameters);
        break;
    case 8:
        load_this(b);
        break;
    case 9:
        builder_load_arguments(b);
        break;
    default:
        builder_op_number(b, CIL_LDC_I8, (int64_t)f->function_id);
        if (boxed)
            builder_op_token(b, CIL_BOX, builder_type(b, "System.UInt64"));
        break;
    }
}

/* Leaves the MethodInfo of the shim's method on the stack. */
static void find_shim(builder *b)
{
    uint32_t assembly = builder_type(b, "System.Reflection.Assembly");
    uint32_t type = builder_type(b, "System.Type");
    uint32_t method = builder_type(b, "System.Reflection.MethodInfo");
    builder_mark types[] = {{'a', assembly}, {'t', type}, {'m', method}};

    builder_load_string(b, b->facts->agent_path);
    builder_op_token(b, CIL_CALL, builder_member(b, assembly, "LoadFrom", "00 01 12 a 0E", types));
    builder_load_string(b, b->facts->shim_type != NULL ? b->facts->shim_type : SHIM_TYPE);
    builder_op_token(b, CIL_CALLVIRT,
                     builder_member(b, assembly, "GetType", "20 01 12 t 0E", types));
    builder_load_string(b, SHIM_METHOD);
    builder_op_token(b, CIL_CALLVIRT, builder_member(b, type, "GetMethod", "20 01 12 m 0E", types));
}

static void ask_by_reflection(builder *b)
{
    uint32_t method_base = builder_type(b, "System.Reflection.MethodBase");

    find_shim(b);
    builder_op(b, CIL_LDNULL);
    builder_op_number(b, CIL_LDC_I4_S, AGENT_ARGUMENTS);
    builder_op_token(b, CIL_NEWARR, b->object_type);
    for (int i = 0; i < AGENT_ARGUMENTS; i++) {
        builder_op(b, CIL_DUP);
        cil_insert_constant(b->body, b->at, i);
        load_fact(b, i, true);
        builder_op(b, CIL_STELEM_REF);
    }
    builder_op_token(b, CIL_CALLVIRT,
                     builder_member(b, method_base, "Invoke", "20 02 1C 1C 1D 1C", NULL));
}

static void load_slot(builder *b)
{
    builder_op_number(b, CIL_LDC_I8, (int64_t)b->facts->slot);
    builder_op(b, CIL_CONV_I);
}

/* Leaves the delegate on the stack: from the handle in the slot, or made and kept there. */
static void load_delegate(builder *b, uint32_t function_spec)
{
    uint32_t handle = builder_type(b, "System.Runtime.InteropServices.GCHandle");
    uint32_t delegate = builder_type(b, "System.Delegate");
    builder_mark types[] = {{'g', handle},
                            {'d', delegate},
                            {'t', builder_type(b, "System.Type")},
                            {'m', builder_type(b, "System.Reflection.MethodInfo")}};
    cil_at ready = builder_label(b); /* moves behind: what follows is inserted before it */

    b->at = ready;
    load_slot(b);
    builder_op(b, CIL_LDIND_I);
    cil_at known = cil_insert_label(b->body, ready);
    b->at = known;
    builder_op_branch(b, CIL_BRTRUE, known);
    load_slot(b);
    builder_op_token(b, CIL_LDTOKEN, function_spec);
    builder_op_token(b, CIL_CALL, b->type_from_handle);
    find_shim(b);
    builder_op_token(b, CIL_CALL,
                     builder_member(b, delegate, "CreateDelegate", "00 02 12 d 12 t 12 m", types));
    builder_op_token(b, CIL_CALL, builder_member(b, handle, "Alloc", "00 01 11 g 1C", types));
    builder_op_token(b, CIL_CALL, builder_member(b, handle, "ToIntPtr", "00 01 18 11 g", types));
    builder_op(b, CIL_STIND_I);
    b->at = ready;
    load_slot(b);
    builder_op(b, CIL_LDIND_I);
    builder_op_token(b, CIL_CALL, builder_member(b, handle, "FromIntPtr", "00 01 11 g 18", types));
    builder_store_local(b, b->handle);
    builder_op_number(b, b->handle <= 255 ? CIL_LDLOCA_S : CIL_LDLOCA, b->handle);
    builder_op_token(b, CIL_CALL, builder_member(b, handle, "get_Target", "20 00 1C", types));
    builder_op_token(b, CIL_CASTCLASS, function_spec);
}

static void ask_by_delegate(builder *b, cil_at before)
{
    builder_mark types[] = {{'f', builder_type(b, "System.Func`12")},
                            {'t', builder_type(b, "System.Type")},
                            {'a', builder_type(b, "System.Action`2")},
                            {'e', b->exception_type}};
    uint32_t spec = builder_spec(b,
                                 "15 12 f 0C 0E 09 0E 0E 12 t 0E 0E 0E 1C 1D 1C 0B "
                                 "15 12 a 02 1C 12 e",
                                 types);

    load_delegate(b, spec);
    b->at = before;
    for (int i = 0; i < AGENT_ARGUMENTS; i++)
        load_fact(b, i, false);
    builder_op_token(
        b, CIL_CALLVIRT,
        builder_member(b, spec, "Invoke",
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
    builder_op(b, CIL_LDNULL);
    builder_store_local(b, b->tracer);
    builder_op(b, CIL_LDNULL);
    builder_store_local(b, b->exception);
    begin = builder_label(b);
    if (b->facts->reference_form)
        ask_by_reflection(b);
    else
        ask_by_delegate(b, user_try);
    b->at = user_try;
    builder_store_local(b, b->tracer);
    builder_swallow(b, begin, user_try);
    return user_try;
}

/* Tells the delegate in a try of its own; `load_values` leaves result and exception on the stack.
 */
static void tell(builder *b, bool after_exception, cil_at end)
{
    cil_at begin;

    builder_load_local(b, b->tracer);
    builder_op_branch(b, CIL_BRFALSE, end);
    begin = builder_label(b);
    builder_load_local(b, b->tracer);
    builder_op_token(b, CIL_CASTCLASS, b->action_spec);
    if (after_exception) {
        builder_op(b, CIL_LDNULL);
        builder_load_local(b, b->exception);
    } else {
        if (b->has_result && b->facts->can_box_result) {
            builder_load_local(b, b->result);
            builder_op_token(b, CIL_BOX, builder_box_type(b, 0));
        } else {
            builder_op(b, CIL_LDNULL);
        }
        builder_op(b, CIL_LDNULL);
    }
    builder_op_token(b, CIL_CALLVIRT, b->action_invoke);
    builder_swallow(b, begin, end);
}

/* On the stack is the exception; leaves 1 to catch it, 0 to let it pass. The runtime is asked too:
 * only it knows how much is left of the thread's stack, which may be small or nearly used up. What
 * is no Exception (code of other languages may throw anything) passes, and is not told. */
static void write_filter(builder *b)
{
    static const uint8_t SIGNATURE[] = {CONVENTION_C, 1, CIL_TYPE_I4, CIL_TYPE_INT_PTR};

    builder_op_token(b, CIL_ISINST, b->exception_type);
    builder_store_local(b, b->exception);
    builder_op_number(b, b->handle <= 255 ? CIL_LDLOCA_S : CIL_LDLOCA, b->handle);
    builder_op(b, CIL_CONV_U);
    builder_op_number(b, CIL_LDC_I8, (int64_t)b->facts->is_shallow);
    builder_op(b, CIL_CONV_I);
    builder_op_token(
        b, CIL_CALLI,
        builder_checked(b, b->tokens->signature(b->tokens->context, SIGNATURE, sizeof SIGNATURE)));
    builder_op_token(
        b, CIL_CALL,
        builder_member(b, builder_type(b, "System.Runtime.CompilerServices.RuntimeHelpers"),
                       "TryEnsureSufficientExecutionStack", "00 00 02", NULL));
    builder_op(b, CIL_AND);
    builder_load_local(b, b->exception);
    builder_op(b, CIL_LDNULL);
    builder_op(b, CIL_CGT_UN);
    builder_op(b, CIL_AND);
    builder_op(b, CIL_ENDFILTER);
}

/* Tells of the exception in the local, `perhaps` none; the code goes before `end`. */
static void tell_exception(builder *b, bool perhaps, cil_at end)
{
    cil_at told = cil_insert_label(b->body, end);

    b->at = told;
    if (perhaps) {
        builder_load_local(b, b->exception);
        builder_op_branch(b, CIL_BRFALSE, told);
    }
    tell(b, true, told);
    b->at = end;
}

/* The handler of the reference's form, before `end`. */
static void write_catch(builder *b, cil_at user_try, cil_at end)
{
    cil_at handler = builder_label(b);

    builder_store_local(b, b->exception);
    tell_exception(b, false, end);
    builder_op(b, CIL_RETHROW);
    builder_op_branch(b, CIL_LEAVE, end);
    builder_add_catch(b, user_try, handler, end);
}

/* Those of the cached form. */
static void write_filtered(builder *b, cil_at user_try, cil_at end)
{
    cil_clause filtered = {.kind = CIL_FILTER, .try_begin = user_try};
    cil_clause passed = {.kind = CIL_FAULT, .try_begin = user_try, .handler_end = end};

    filtered.filter_begin = filtered.try_end = builder_label(b);
    write_filter(b);
    filtered.handler_begin = builder_label(b);
    builder_op(b, CIL_POP);
    tell_exception(b, false, end);
    builder_op(b, CIL_LDNULL);
    builder_store_local(b, b->tracer); /* it is told; the rethrow goes through the fault clause */
    builder_op(b, CIL_RETHROW);
    builder_op_branch(b, CIL_LEAVE, end);
    passed.handler_begin = passed.try_end = filtered.handler_end = builder_label(b);
    cil_insert_clause(b->body, &filtered);
    tell_exception(b, true, end);
    builder_op(b, CIL_ENDFINALLY);
    cil_insert_clause(b->body, &passed);
}

/* Behind the method: handler, normal way out, ret. The end of the code moves, so every label is
 * put at the end first and the code before it. */
static void write_exit(builder *b, cil_at user_try)
{
    cil_at normal;
    cil_at out;

    b->at = CIL_END;
    if (b->has_result)
        builder_store_local(b, b->result);
    normal = cil_insert_label(b->body, CIL_END);
    b->at = normal;
    builder_op_branch(b, CIL_LEAVE, normal);
    if (b->facts->reference_form)
        write_catch(b, user_try, normal);
    else
        write_filtered(b, user_try, normal);

    out = cil_insert_label(b->body, CIL_END);
    b->at = out;
    tell(b, false, out);
    b->at = CIL_END;
    if (b->has_result)
        builder_load_local(b, b->result);
    builder_op(b, CIL_RET);
}

static int append_locals(builder *b, error *e)
{
    buffer types = BUFFER_EMPTY;
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
        cil_append_compressed_token(&types,
                                    builder_type(b, "System.Runtime.InteropServices.GCHandle"));
        count++;
    }
    code = builder_append_locals(b, &types, count, &first, e);
    b->tracer = first;
    b->exception = first + 1;
    b->result = first + 2;
    b->handle = first + count - 1;
    buffer_free(&types);
    return code;
}

static uint32_t stack_for(const builder *b)
{
    uint32_t least = b->facts->reference_form ? SHIM_STACK : CACHED_STACK;
    uint32_t parameters = b->facts->signature->count + 1;

    return parameters > least ? parameters : least;
}

int template_apply(cil_body *body, const template_facts *facts, const template_tokens *tokens,
                   error *e)
{
    builder b;
    int code = builder_open(&b, body, facts, tokens, e);

    if (code != 0)
        return code;
    find_tokens(&b);
    code = append_locals(&b, e);
    if (code != 0)
        return code;
    write_exit(&b, write_entry(&b, builder_prepare(&b)));
    return builder_close(&b, stack_for(&b), e);
}
