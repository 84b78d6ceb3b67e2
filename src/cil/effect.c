/* effect: see effect.h. */
#include "cil/effect.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"
#include "cil/compressed.h"
#include "cil/signature.h"

static const char TOO_SHORT[] = "the stack is too short";

const char *cil_kind_name(uint8_t kind)
{
    static const char names[][18] = {"anything", "an int32",  "an int64",          "a native int",
                                     "a float",  "an object", "a managed pointer", "a value"};

    return kind < sizeof names / sizeof names[0] ? names[kind] : "nothing";
}

static bool is_number(uint8_t kind)
{
    return kind == CIL_KIND_INT32 || kind == CIL_KIND_INT64 || kind == CIL_KIND_NATIVE ||
           kind == CIL_KIND_FLOAT;
}

uint8_t cil_kind_merge(uint8_t a, uint8_t b)
{
    if (a == b)
        return a;
    if (a == CIL_KIND_ANY || b == CIL_KIND_ANY)
        return CIL_KIND_ANY;
    if (a > b) {
        uint8_t c = a;

        a = b;
        b = c;
    }
    if (b == CIL_KIND_VALUE && is_number(a)) /* the value may be an enum or a handle */
        return CIL_KIND_VALUE;
    if (a == CIL_KIND_INT32 && b == CIL_KIND_NATIVE)
        return CIL_KIND_NATIVE;
    if (a == CIL_KIND_NATIVE && b == CIL_KIND_POINTER)
        return CIL_KIND_POINTER;
    if (a == CIL_KIND_INT64 && b == CIL_KIND_NATIVE)
        return CIL_KIND_NATIVE;
    return CIL_KIND_CLASH;
}

uint8_t cil_kind_of_element(uint8_t element)
{
    switch (element) {
    case CIL_TYPE_BOOLEAN:
    case CIL_TYPE_CHAR:
    case CIL_TYPE_I1:
    case CIL_TYPE_U1:
    case CIL_TYPE_I2:
    case CIL_TYPE_U2:
    case CIL_TYPE_I4:
    case CIL_TYPE_U4:
        return CIL_KIND_INT32;
    case CIL_TYPE_I8:
    case CIL_TYPE_U8:
        return CIL_KIND_INT64;
    case CIL_TYPE_R4:
    case CIL_TYPE_R8:
        return CIL_KIND_FLOAT;
    case CIL_TYPE_INT_PTR:
    case CIL_TYPE_UINT_PTR:
    case CIL_TYPE_POINTER:
    case CIL_TYPE_FUNCTION:
        return CIL_KIND_NATIVE;
    case CIL_TYPE_STRING:
    case CIL_TYPE_CLASS:
    case CIL_TYPE_ARRAY:
    case CIL_TYPE_OBJECT:
    case CIL_TYPE_VECTOR:
        return CIL_KIND_OBJECT;
    case CIL_TYPE_BYREF:
        return CIL_KIND_POINTER;
    case CIL_TYPE_VALUETYPE:
    case CIL_TYPE_TYPED_REFERENCE:
        return CIL_KIND_VALUE;
    default:
        return CIL_KIND_ANY;
    }
}

/* --- the method --- */

static bool add_kind(uint8_t **kinds, uint32_t *count, uint32_t *capacity, uint8_t kind)
{
    if (*count == *capacity) {
        uint32_t more = *capacity == 0 ? 64 : *capacity * 2;
        uint8_t *memory = memory_resize(*kinds, more);

        if (memory == NULL)
            return false;
        *kinds = memory;
        *capacity = more;
    }
    (*kinds)[(*count)++] = kind;
    return true;
}

static uint8_t kind_of_type(const cil_signature *s, uint32_t type)
{
    type = cil_type_skip_modifiers(s, type);
    if (type < s->type_count && s->types[type].element == CIL_TYPE_GENERIC)
        type++;
    return type < s->type_count ? cil_kind_of_element(s->types[type].element) : CIL_KIND_ANY;
}

int cil_effect_method_read(cil_effect_method *m, const cil_check_method *method, error *e)
{
    cil_signature s;
    bool enough = true;
    int code;

    m->argument_count = m->local_count = 0;
    m->resolver = method->resolver;
    cil_signature_init(&s);
    code = cil_signature_read_method(&s, method->signature, method->signature_length, e);
    if (code != 0)
        goto out;
    if (cil_signature_has_this(s.convention))
        enough &= add_kind(&m->arguments, &m->argument_count, &m->argument_capacity, CIL_KIND_ANY);
    m->has_result = s.types[cil_type_skip_modifiers(&s, 0)].element != CIL_TYPE_VOID;
    m->result = kind_of_type(&s, 0);
    for (uint32_t t = cil_signature_first(&s); t < s.type_count; t = cil_signature_after(&s, t))
        enough &=
            add_kind(&m->arguments, &m->argument_count, &m->argument_capacity, kind_of_type(&s, t));
    if (method->locals != NULL) {
        code = cil_signature_read(&s, method->locals, method->locals_length, e);
        for (uint32_t t = 0; code == 0 && t < s.type_count; t = cil_signature_after(&s, t))
            enough &=
                add_kind(&m->locals, &m->local_count, &m->local_capacity, kind_of_type(&s, t));
    }
    if (!enough)
        code = error_set(e, ERROR_MEMORY, "no memory to check a method body");
out:
    cil_signature_free(&s);
    return code;
}

void cil_effect_method_free(cil_effect_method *m)
{
    memory_free(m->arguments);
    memory_free(m->locals);
    memset(m, 0, sizeof *m);
}

/* --- instructions --- */

/* The number in ldloc.2, ldarg.s 7…; base is the family's form for 0. */
static uint64_t variable_of(const cil_instruction *i, unsigned base)
{
    return i->opcode >= base && i->opcode <= base + 3 ? (uint64_t)(i->opcode - base)
                                                      : (uint64_t)i->operand.number;
}

/* Instructions on arguments and locals. *known is false for all others. */
static const char *apply_variable(const cil_effect_method *m, const cil_instruction *i,
                                  uint8_t *stack, uint32_t *depth, bool *known)
{
    uint64_t number;
    bool argument = true;

    *known = true;
    switch (i->opcode) {
    case CIL_LDARG_0:
    case CIL_LDARG_1:
    case CIL_LDARG_2:
    case CIL_LDARG_3:
    case CIL_LDARG_S:
    case CIL_LDARG:
        number = variable_of(i, CIL_LDARG_0);
        if (number < m->argument_count)
            stack[(*depth)++] = m->arguments[number];
        break;
    case CIL_LDARGA_S:
    case CIL_LDARGA:
        number = (uint64_t)i->operand.number;
        stack[(*depth)++] = CIL_KIND_POINTER;
        break;
    case CIL_STARG_S:
    case CIL_STARG:
        number = (uint64_t)i->operand.number;
        if (*depth == 0)
            return TOO_SHORT;
        (*depth)--;
        break;
    case CIL_LDLOC_0:
    case CIL_LDLOC_1:
    case CIL_LDLOC_2:
    case CIL_LDLOC_3:
    case CIL_LDLOC_S:
    case CIL_LDLOC:
        argument = false;
        number = variable_of(i, CIL_LDLOC_0);
        if (number < m->local_count)
            stack[(*depth)++] = m->locals[number];
        break;
    case CIL_LDLOCA_S:
    case CIL_LDLOCA:
        argument = false;
        number = (uint64_t)i->operand.number;
        stack[(*depth)++] = CIL_KIND_POINTER;
        break;
    case CIL_STLOC_0:
    case CIL_STLOC_1:
    case CIL_STLOC_2:
    case CIL_STLOC_3:
    case CIL_STLOC_S:
    case CIL_STLOC:
        argument = false;
        number = variable_of(i, CIL_STLOC_0);
        if (*depth == 0)
            return TOO_SHORT;
        (*depth)--;
        if (number < m->local_count &&
            cil_kind_merge(stack[*depth], m->locals[number]) == CIL_KIND_CLASH)
            return "the value does not fit the local";
        break;
    default:
        *known = false;
        return NULL;
    }
    if (number >= (argument ? m->argument_count : m->local_count))
        return argument ? "there is no such argument" : "there is no such local";
    return NULL;
}

static const char *apply_call(const cil_effect_method *m, const cil_instruction *i, uint8_t *stack,
                              uint32_t *depth)
{
    const uint8_t *bytes;
    size_t length;
    cil_call_shape shape;
    uint64_t pops;

    if (m->resolver == NULL ||
        !m->resolver->signature(m->resolver->context, i->operand.token, &bytes, &length))
        return "the signature of what it calls is not known";
    if (!cil_signature_call_shape(bytes, length, &shape))
        return "the signature of what it calls is wrong";
    pops = shape.parameters;
    if (i->opcode == CIL_CALLI)
        pops++; /* the address */
    if (i->opcode != CIL_NEWOBJ && cil_signature_has_this(shape.convention))
        pops++;
    if (pops > *depth)
        return TOO_SHORT;
    *depth -= (uint32_t)pops;
    if (i->opcode == CIL_NEWOBJ)
        stack[(*depth)++] = CIL_KIND_ANY; /* an object, or a value of a value type */
    else if (shape.result != CIL_TYPE_VOID)
        stack[(*depth)++] = cil_kind_of_element(shape.result);
    return NULL;
}

static const char *apply_return(const cil_effect_method *m, uint8_t *stack, uint32_t *depth)
{
    if (!m->has_result)
        return *depth == 0 ? NULL : "it returns nothing, but the stack is not empty";
    if (*depth != 1)
        return "it needs exactly its result on the stack";
    *depth = 0;
    return cil_kind_merge(stack[0], m->result) == CIL_KIND_CLASH ? "the result is of the wrong kind"
                                                                 : NULL;
}

/* Two operands give one: what add, and, shl and their like leave. */
static uint8_t arithmetic(unsigned opcode, uint8_t a, uint8_t b)
{
    if (opcode == CIL_SHL || opcode == CIL_SHR || opcode == CIL_SHR_UN)
        return a;
    if (a == CIL_KIND_POINTER || b == CIL_KIND_POINTER)
        return a == b || opcode == CIL_AND || opcode == CIL_OR || opcode == CIL_REM_UN
                   ? CIL_KIND_NATIVE
                   : CIL_KIND_POINTER;
    if (a == CIL_KIND_VALUE || b == CIL_KIND_VALUE)
        return CIL_KIND_VALUE;
    if (a == CIL_KIND_OBJECT || b == CIL_KIND_OBJECT)
        return CIL_KIND_ANY;
    a = cil_kind_merge(a, b);
    return a == CIL_KIND_CLASH ? CIL_KIND_ANY : a;
}

/* The kind of a single result that its letter does not tell. */
static uint8_t pushed_kind(const cil_effect_method *m, const cil_instruction *i, char letter,
                           const uint8_t *popped, uint32_t pop_count)
{
    const uint8_t *bytes;
    size_t length;
    uint8_t element;

    switch (i->opcode) {
    case CIL_LDFLDA:
    case CIL_LDSFLDA: /* may be a native pointer to data of the file */
    case CIL_LDELEMA:
    case CIL_UNBOX:
    case CIL_REFANYVAL:
        return CIL_KIND_POINTER;
    case CIL_CONV_I:
    case CIL_CONV_U:
    case CIL_CONV_OVF_I:
    case CIL_CONV_OVF_U:
    case CIL_CONV_OVF_I_UN:
    case CIL_CONV_OVF_U_UN:
    case CIL_LDFTN:
    case CIL_LDVIRTFTN:
    case CIL_LOCALLOC:
    case CIL_LDLEN:
    case CIL_LDIND_I:
    case CIL_LDELEM_I:
        return CIL_KIND_NATIVE;
    case CIL_LDTOKEN:
    case CIL_ARGLIST:
    case CIL_MKREFANY:
    case CIL_REFANYTYPE:
        return CIL_KIND_VALUE;
    case CIL_LDFLD:
    case CIL_LDSFLD:
        if (m->resolver != NULL &&
            m->resolver->signature(m->resolver->context, i->operand.token, &bytes, &length) &&
            cil_signature_field_element(bytes, length, &element))
            return cil_kind_of_element(element);
        return CIL_KIND_ANY;
    case CIL_NEG:
    case CIL_NOT:
        return popped[0];
    default:
        break;
    }
    switch (letter) {
    case 'i':
        return CIL_KIND_INT32;
    case 'I':
        return CIL_KIND_INT64;
    case 'r':
    case 'R':
        return CIL_KIND_FLOAT;
    case 'o':
        return CIL_KIND_OBJECT;
    default:
        return pop_count == 2 && cil_opcode_of(i->opcode)->operand == CIL_OPERAND_NONE
                   ? arithmetic(i->opcode, popped[0], popped[1])
                   : CIL_KIND_ANY;
    }
}

/* Numbers where an object must be, and the like. */
static bool acceptable(char letter, uint8_t kind)
{
    switch (letter) {
    case 'o':
        return kind != CIL_KIND_INT32 && kind != CIL_KIND_INT64 && kind != CIL_KIND_FLOAT;
    case 'i':
        return kind != CIL_KIND_FLOAT;
    case 'r':
    case 'R':
        return kind == CIL_KIND_FLOAT || kind == CIL_KIND_ANY || kind == CIL_KIND_VALUE;
    default:
        return true;
    }
}

const char *cil_effect_apply(const cil_effect_method *m, const cil_body *body, cil_at at,
                             uint8_t *stack, uint32_t *depth, uint32_t limit)
{
    const cil_instruction *i = cil_get(body, at);
    const cil_opcode_info *info = cil_opcode_of(i->opcode);
    const uint8_t *popped;
    uint8_t kinds[2];
    uint32_t pop_count;
    const char *wrong;
    bool known;

    if (*depth + 2 > limit)
        return "the stack grows too deep";
    wrong = apply_variable(m, i, stack, depth, &known);
    if (known)
        return wrong;
    if (i->opcode == CIL_RET)
        return apply_return(m, stack, depth);
    if (i->opcode == CIL_JMP)
        return *depth == 0 ? NULL : "the stack is not empty";
    if (info->pops[0] == '*')
        return apply_call(m, i, stack, depth);
    pop_count = (uint32_t)strlen(info->pops);
    if (pop_count > *depth)
        return TOO_SHORT;
    popped = stack + *depth - pop_count;
    for (uint32_t n = 0; n < pop_count; n++)
        if (!acceptable(info->pops[n], popped[n]))
            return "a value on the stack is of the wrong kind";
    *depth -= pop_count;
    kinds[0] = pop_count > 0 ? popped[0] : CIL_KIND_ANY;
    kinds[1] = pop_count > 1 ? popped[1] : CIL_KIND_ANY;
    if (i->opcode == CIL_DUP) {
        *depth += 2;
        stack[*depth - 1] = kinds[0];
    } else if (i->opcode == CIL_ENDFILTER || i->opcode == CIL_ENDFINALLY) {
        *depth = 0;
    } else if (info->pushes[0] != '\0') {
        stack[(*depth)++] = pushed_kind(m, i, info->pushes[0], kinds, pop_count);
    }
    return NULL;
}
