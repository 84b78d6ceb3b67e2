/* signature_text: types as text. Part of signature.h. */
#include "cil/signature.h"

/* Names of the elements that need no token: full, and as C# spells them. */
static const struct {
    uint8_t element;
    const char *full, *plain;
} PRIMITIVES[] = {
    {CIL_TYPE_VOID, "void", "void"},
    {CIL_TYPE_BOOLEAN, "System.Boolean", "bool"},
    {CIL_TYPE_CHAR, "System.Char", "char"},
    {CIL_TYPE_I1, "System.SByte", "sbyte"},
    {CIL_TYPE_U1, "System.Byte", "byte"},
    {CIL_TYPE_I2, "System.Int16", "short"},
    {CIL_TYPE_U2, "System.UInt16", "ushort"},
    {CIL_TYPE_I4, "System.Int32", "int"},
    {CIL_TYPE_U4, "System.UInt32", "uint"},
    {CIL_TYPE_I8, "System.Int64", "long"},
    {CIL_TYPE_U8, "System.UInt64", "ulong"},
    {CIL_TYPE_R4, "System.Single", "float"},
    {CIL_TYPE_R8, "System.Double", "double"},
    {CIL_TYPE_STRING, "System.String", "string"},
    {CIL_TYPE_INT_PTR, "System.IntPtr", "nint"},
    {CIL_TYPE_UINT_PTR, "System.UIntPtr", "nuint"},
    {CIL_TYPE_OBJECT, "System.Object", "object"},
    {CIL_TYPE_TYPED_REFERENCE, "System.TypedReference", "TypedReference"},
};

static const char *separator(const cil_type_namer *namer)
{
    return namer->plain ? ", " : ",";
}

static void array_text(const cil_signature *s, uint32_t at, buffer *out)
{
    cil_array_shape shape;

    cil_type_shape(s, at, &shape);
    buffer_append_char(out, '[');
    for (uint32_t n = 0; n < shape.rank; n++) {
        if (n != 0)
            buffer_append_char(out, ',');
        if (n < shape.size_count && shape.sizes[n] != 0)
            buffer_format(out, "%d...%lld", (int)shape.bounds[n],
                          (long long)shape.bounds[n] + shape.sizes[n] - 1);
        else if (n < shape.bound_count && shape.bounds[n] != 0)
            buffer_format(out, "%d...", (int)shape.bounds[n]);
    }
    buffer_append_char(out, ']');
}

/* `count` types joined, starting at `at`; returns the type after the last one. */
static uint32_t list_text(const cil_signature *s, uint32_t at, uint32_t count,
                          const cil_type_namer *namer, buffer *out)
{
    for (uint32_t n = 0; n < count && at < s->type_count; n++) {
        if (n != 0)
            buffer_append_text(out, separator(namer));
        if (s->types[at].element == CIL_TYPE_SENTINEL) {
            buffer_append_text(out, "...");
            buffer_append_text(out, separator(namer));
            at++;
        }
        cil_type_text(s, at, namer, out);
        at += s->types[at].nodes;
    }
    return at;
}

/* C# drops the `1 of a generic name. */
static void drop_arity(buffer *out, size_t from)
{
    size_t n = out->length;

    while (n > from && out->data[n - 1] >= '0' && out->data[n - 1] <= '9')
        n--;
    if (n > from && n < out->length && out->data[n - 1] == '`') {
        out->length = n - 1;
        out->data[out->length] = 0;
    }
}

void cil_type_text(const cil_signature *s, uint32_t type, const cil_type_namer *namer, buffer *out)
{
    const cil_type *t;
    size_t from = out->length;

    if (type >= s->type_count)
        return;
    t = &s->types[type];
    for (size_t n = 0; n < sizeof PRIMITIVES / sizeof PRIMITIVES[0]; n++) {
        if (PRIMITIVES[n].element == t->element) {
            buffer_append_text(out, namer->plain ? PRIMITIVES[n].plain : PRIMITIVES[n].full);
            return;
        }
    }
    switch (t->element) {
    case CIL_TYPE_CLASS:
    case CIL_TYPE_VALUETYPE:
        namer->name(namer->context, t->token, out);
        break;
    case CIL_TYPE_VARIABLE:
        buffer_format(out, "!%u", (unsigned)t->number);
        break;
    case CIL_TYPE_METHOD_VARIABLE:
        buffer_format(out, "!!%u", (unsigned)t->number);
        break;
    case CIL_TYPE_GENERIC:
        cil_type_text(s, type + 1, namer, out);
        if (namer->plain && !out->failed)
            drop_arity(out, from);
        buffer_append_char(out, namer->plain ? '<' : '[');
        list_text(s, type + 1 + s->types[type + 1].nodes, t->number, namer, out);
        buffer_append_char(out, namer->plain ? '>' : ']');
        break;
    case CIL_TYPE_FUNCTION:
        buffer_append_char(out, '(');
        cil_type_text(s, type + 1, namer, out);
        buffer_append_text(out, ")(");
        list_text(s, type + 1 + s->types[type + 1].nodes, t->number, namer, out);
        buffer_append_char(out, ')');
        break;
    case CIL_TYPE_REQUIRED:
    case CIL_TYPE_OPTIONAL:
    case CIL_TYPE_PINNED:
        cil_type_text(s, type + 1, namer, out);
        break;
    default: /* pointer, by-ref, arrays: the element type first */
        cil_type_text(s, type + 1, namer, out);
        if (t->element == CIL_TYPE_ARRAY)
            array_text(s, type, out);
        else
            buffer_append_text(out, t->element == CIL_TYPE_POINTER ? "*"
                                    : t->element == CIL_TYPE_BYREF ? "&"
                                                                   : "[]");
    }
}

void cil_signature_parameters_text(const cil_signature *s, const cil_type_namer *namer, buffer *out)
{
    uint32_t at = s->type_count == 0 ? 0 : s->types[0].nodes;

    if ((s->convention & CIL_CONVENTION_MASK) == CIL_CONVENTION_LOCALS ||
        (s->convention & CIL_CONVENTION_MASK) == CIL_CONVENTION_METHOD_SPEC)
        at = 0;
    list_text(s, at, s->count, namer, out);
}
