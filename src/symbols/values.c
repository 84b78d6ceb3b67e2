/* values: see values.h. */
#include "symbols/values.h"

#include <string.h>

#include "base/text.h"
#include "cil/body.h"
#include "symbols/values_size.h"

enum { MOST_FIELDS = 4096 }; /* in one statement: hostile types could nest without end */

typedef struct {
    const assembly *a;
    values_finder *finder;
    cil_signature method; /* of the method whose code is read */
    cil_signature locals;
    values_use *out;
    size_t count, most;
} search;

/* Adds a use unless its type is there already. Takes `type` over. */
static void add_use(search *f, bool is_box, uint64_t bytes, buffer type)
{
    bool known = buffer_failed(&type) || f->count == f->most;

    for (size_t i = 0; i < f->count && !known; i++)
        known = f->out[i].is_box == is_box &&
                text_equal(buffer_text(&f->out[i].type), buffer_text(&type));
    if (known)
        buffer_free(&type);
    else
        f->out[f->count++] = (values_use){is_box, bytes, type};
}

/* `Shop.Outer+Inner` is Shop.Outer.Inner. */
static void write_nested(buffer *name)
{
    for (size_t i = 0; i < name->length; i++)
        if (name->data[i] == '+')
            name->data[i] = '.';
}

/* !0 of a generic instance is called by what it stands for. */
static void take_typed(search *f, const values_type *type)
{
    uint64_t bytes = values_size(f->finder, type, 0);
    uint32_t node = cil_type_skip_modifiers(type->s, type->node);
    cil_type_namer namer = assembly_namer(type->a, true);
    buffer name = BUFFER_EMPTY;

    if (bytes < VALUES_SMALLEST || node >= type->s->type_count)
        return;
    if (type->s->types[node].element == CIL_TYPE_VARIABLE && type->instance != NULL) {
        const cil_signature *s = type->instance->s;
        uint32_t argument = type->instance->node + 1;

        for (uint32_t i = 0; i <= type->s->types[node].number && argument < s->type_count; i++)
            argument += s->types[argument].nodes;
        if (argument >= s->type_count)
            return;
        cil_type_text(s, argument, &namer, &name);
    } else {
        cil_type_text(type->s, node, &namer, &name);
    }
    write_nested(&name);
    add_use(f, false, bytes, name);
}

/* The operand of ldobj, ldelem, box and the like. */
static void take_token(search *f, uint32_t token, bool is_box)
{
    cil_type_namer namer = assembly_namer(f->a, true);
    buffer name = BUFFER_EMPTY;
    uint64_t bytes = 0;

    if (token >> 24 == METADATA_TYPE_SPEC) {
        metadata_span span = assembly_signature(f->a, token);
        cil_signature s;

        cil_signature_init(&s);
        if (span.data != NULL && cil_signature_read_type(&s, span.data, span.length, NULL) == 0 &&
            s.type_count != 0 && s.types[0].element == CIL_TYPE_GENERIC) {
            bytes = values_size(f->finder, &(values_type){f->a, &s, 0, NULL}, 0);
            cil_type_text(&s, 0, &namer, &name);
        }
        cil_signature_free(&s);
    } else {
        bytes = values_size_of_token(f->finder, f->a, token, NULL, 0);
        namer.name(namer.context, token, &name);
    }
    write_nested(&name);
    if (name.length != 0 && (is_box || bytes >= VALUES_SMALLEST))
        add_use(f, is_box, bytes, name);
    else
        buffer_free(&name);
}

/* The type of a field, or what a call gives back: !0 of a member of List<Order> is Order. */
static void take_member(search *f, uint32_t token)
{
    metadata_span span = assembly_signature(f->a, token), parent_span = {NULL, 0};
    uint32_t parent = 0;
    cil_signature s, around;
    values_type instance = {f->a, &around, 0, NULL};
    bool has_instance;

    if (token >> 24 == METADATA_METHOD_SPEC)
        return; /* what a generic method gives back is mostly its own affair */
    if (token >> 24 == METADATA_MEMBER_REF)
        parent = metadata_token(&f->a->tables, METADATA_MEMBER_REF, token & 0xffffff,
                                METADATA_MEMBER_REF_PARENT);
    if (parent >> 24 == METADATA_TYPE_SPEC)
        parent_span = assembly_signature(f->a, parent);
    cil_signature_init(&s);
    cil_signature_init(&around);
    has_instance =
        parent_span.data != NULL &&
        cil_signature_read_type(&around, parent_span.data, parent_span.length, NULL) == 0 &&
        around.type_count != 0 && around.types[0].element == CIL_TYPE_GENERIC;
    if (span.data != NULL && cil_signature_read(&s, span.data, span.length, NULL) == 0 &&
        s.type_count != 0)
        take_typed(f, &(values_type){f->a, &s, 0, has_instance ? &instance : NULL});
    cil_signature_free(&s);
    cil_signature_free(&around);
}

/* The parameter or local of that number. */
static void take_variable(search *f, const cil_signature *s, int64_t number)
{
    uint32_t node;

    if (number < 0 || s->type_count == 0)
        return;
    node = cil_signature_first(s);
    for (int64_t i = 0; i < number && node < s->type_count; i++)
        node = cil_signature_after(s, node);
    if (node < s->type_count)
        take_typed(f, &(values_type){f->a, s, node, NULL});
}

static void take_argument(search *f, int64_t number)
{
    take_variable(f, &f->method, number - cil_signature_has_this(f->method.convention));
}

/* A value of which one field is taken is not copied for that. */
static bool is_for_a_field(const cil_body *body, const cil_instruction *i)
{
    cil_at next = i->next;

    while (next != CIL_END && cil_get(body, next)->opcode == CIL_NOP)
        next = cil_get(body, next)->next;
    return next != CIL_END && cil_get(body, next)->opcode == CIL_LDFLD;
}

static void take_instruction(search *f, const cil_instruction *i)
{
    switch (i->opcode) {
    case CIL_LDOBJ:
    case CIL_CPOBJ:
    case CIL_LDELEM:
    case CIL_UNBOX_ANY:
        take_token(f, i->operand.token, false);
        break;
    case CIL_LDFLD:
    case CIL_LDSFLD:
    case CIL_CALL:
    case CIL_CALLVIRT:
        take_member(f, i->operand.token);
        break;
    case CIL_LDARG_0:
    case CIL_LDARG_1:
    case CIL_LDARG_2:
    case CIL_LDARG_3:
        take_argument(f, i->opcode - CIL_LDARG_0);
        break;
    case CIL_LDARG_S:
    case CIL_LDARG:
        take_argument(f, i->operand.number);
        break;
    case CIL_LDLOC_0:
    case CIL_LDLOC_1:
    case CIL_LDLOC_2:
    case CIL_LDLOC_3:
        take_variable(f, &f->locals, i->opcode - CIL_LDLOC_0);
        break;
    case CIL_LDLOC_S:
    case CIL_LDLOC:
        take_variable(f, &f->locals, i->operand.number);
        break;
    default:
        break;
    }
}

static void read_signature(const assembly *a, uint32_t token, cil_signature *s)
{
    metadata_span span = assembly_signature(a, token);

    if (span.data == NULL || cil_signature_read(s, span.data, span.length, NULL) != 0)
        s->type_count = 0;
}

size_t values_find(const assembly *a, values_finder *finder, uint32_t method_token, uint32_t from,
                   uint32_t to, values_use *out, size_t most)
{
    pe_span span = assembly_body(a, method_token & 0xffffff);
    search f = {.a = a, .finder = finder, .out = out, .most = most};
    cil_body body;

    finder->left = MOST_FIELDS;
    cil_body_init(&body);
    cil_signature_init(&f.method);
    cil_signature_init(&f.locals);
    if (span.data != NULL && cil_decode(&body, span.data, span.length, NULL) == 0) {
        read_signature(a, method_token, &f.method);
        if (body.local_signature != 0)
            read_signature(a, body.local_signature, &f.locals);
        for (cil_at at = cil_first(&body); at != CIL_END; at = cil_get(&body, at)->next) {
            const cil_instruction *i = cil_get(&body, at);

            if (i->offset >= from && i->offset < to && !is_for_a_field(&body, i))
                take_instruction(&f, i);
        }
        for (cil_at at = cil_first(&body); at != CIL_END; at = cil_get(&body, at)->next)
            if (cil_get(&body, at)->opcode == CIL_BOX)
                take_token(&f, cil_get(&body, at)->operand.token, true);
    }
    cil_signature_free(&f.method);
    cil_signature_free(&f.locals);
    cil_body_free(&body);
    return f.count;
}
