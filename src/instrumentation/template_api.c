/*
 * template_api: the body of an API method. The API library does nothing by itself: each of its
 * methods asks the managed agent's class of the same shape, and what the compiler wrote is what
 * runs when there is no agent.
 *
 *   try { r = <AgentApi method of this name and these parameter types>.Invoke(null, arguments) }
 *   catch (Exception) { the method }
 *   return r
 */
#include "instrumentation/builder.h"

enum { API_STACK = 10 };

static const char API_TYPE[] = "NewRelic.Agent.Core.AgentApi";

/* Leaves the Type[] of the parameters on the stack. */
static void load_parameter_types(builder *b, uint32_t type_class)
{
    const cil_signature *s = b->facts->signature;
    uint32_t type = cil_signature_first(s);

    builder_op_number(b, CIL_LDC_I4, s->count);
    builder_op_token(b, CIL_NEWARR, type_class);
    for (uint32_t i = 0; i < s->count; i++, type = cil_signature_after(s, type)) {
        builder_op(b, CIL_DUP);
        builder_op_number(b, CIL_LDC_I4, i);
        builder_op_token(b, CIL_LDTOKEN, builder_box_type(b, type));
        builder_op_token(b, CIL_CALL, b->type_from_handle);
        builder_op(b, CIL_STELEM_REF);
    }
}

/* Leaves what the agent's method gave on the stack, as an object. */
static void ask_agent(builder *b)
{
    uint32_t assembly = builder_type(b, "System.Reflection.Assembly");
    uint32_t type = builder_type(b, "System.Type");
    uint32_t method = builder_type(b, "System.Reflection.MethodInfo");
    uint32_t base = builder_type(b, "System.Reflection.MethodBase");
    builder_mark types[] = {{'a', assembly}, {'t', type}, {'m', method}};

    builder_load_string(b, b->facts->agent_path);
    builder_op_token(b, CIL_CALL, builder_member(b, assembly, "LoadFrom", "00 01 12 a 0E", types));
    builder_load_string(b, API_TYPE);
    builder_op_token(b, CIL_CALLVIRT,
                     builder_member(b, assembly, "GetType", "20 01 12 t 0E", types));
    builder_load_string(b, b->facts->method);
    load_parameter_types(b, type);
    builder_op_token(b, CIL_CALLVIRT,
                     builder_member(b, type, "GetMethod", "20 02 12 m 0E 1D 12 t", types));
    builder_op(b, CIL_LDNULL);
    builder_load_arguments(b);
    builder_op_token(b, CIL_CALLVIRT, builder_member(b, base, "Invoke", "20 02 1C 1C 1D 1C", NULL));
}

static void keep_result(builder *b)
{
    if (!b->has_result) {
        builder_op(b, CIL_POP);
        return;
    }
    builder_op_token(b, CIL_UNBOX_ANY, builder_box_type(b, 0));
    builder_store_local(b, b->result);
}

static int append_result(builder *b, error *e)
{
    buffer types = BUFFER_EMPTY;
    int code;

    if (!b->has_result)
        return 0;
    cil_type_copy(b->facts->signature, 0, &types);
    code = builder_append_locals(b, &types, 1, &b->result, e);
    buffer_free(&types);
    return code;
}

/* The method's own code stands between `handler` and `end`, in the handler. */
static void write_around(builder *b, cil_at user)
{
    cil_at handler = cil_insert_label(b->body, user);
    cil_at end;
    cil_at begin;

    b->at = user;
    builder_op(b, CIL_POP); /* the exception */
    b->at = CIL_END;
    if (b->has_result)
        builder_store_local(b, b->result);
    end = builder_label(b);
    b->at = end;
    builder_op_branch(b, CIL_LEAVE, end);
    b->at = handler;
    begin = builder_label(b);
    ask_agent(b);
    keep_result(b);
    builder_op_branch(b, CIL_LEAVE, end);
    builder_add_catch(b, begin, handler, end);
    b->at = CIL_END;
    if (b->has_result)
        builder_load_local(b, b->result);
    builder_op(b, CIL_RET);
}

static bool can_pass_everything(const template_facts *f, bool has_result)
{
    for (uint32_t i = 0; i < f->signature->count; i++) {
        if (!f->can_box[i])
            return false;
    }
    return !has_result || f->can_box_result;
}

int template_apply_api(cil_body *body, const template_facts *facts, const template_tokens *tokens,
                       error *e)
{
    builder b;
    int code = builder_open(&b, body, facts, tokens, e);

    if (code == 0 && !can_pass_everything(facts, b.has_result))
        code = error_set(e, ERROR_UNSUPPORTED, "a value of it can't be passed as an object");
    if (code == 0)
        code = append_result(&b, e);
    if (code != 0)
        return code;
    write_around(&b, builder_prepare(&b));
    return builder_close(&b, API_STACK, e);
}
