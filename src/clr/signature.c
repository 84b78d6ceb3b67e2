/*
 * signature: type and method signatures of metadata as text. See clarinet/names.h.
 *
 * Every byte is foreign: reads go through a reader, nesting and counts are bounded.
 */
#include <string.h>

#include "base/buffer.h"
#include "base/reader.h"
#include "base/text.h"
#include "clarinet/names.h"

enum { MOST_DEPTH = 32, MOST_ARGUMENTS = 32, MOST_PARAMETERS = 1024 };

typedef struct {
    reader bytes;
    const clr_signature_names *names;
    unsigned style;
    int depth;
    uint32_t parameter; /* whose outermost type comes next, from 1; 0 = none */
    const char *marked; /* how a modifier says that the next by-ref is written; NULL = not */
} decoder;

/* No pointers, which would need relocations. */
static const char PRIMITIVES[][15] = {
    [ELEMENT_TYPE_VOID] = "void",     [ELEMENT_TYPE_BOOLEAN] = "bool",
    [ELEMENT_TYPE_CHAR] = "char",     [ELEMENT_TYPE_I1] = "sbyte",
    [ELEMENT_TYPE_U1] = "byte",       [ELEMENT_TYPE_I2] = "short",
    [ELEMENT_TYPE_U2] = "ushort",     [ELEMENT_TYPE_I4] = "int",
    [ELEMENT_TYPE_U4] = "uint",       [ELEMENT_TYPE_I8] = "long",
    [ELEMENT_TYPE_U8] = "ulong",      [ELEMENT_TYPE_R4] = "float",
    [ELEMENT_TYPE_R8] = "double",     [ELEMENT_TYPE_STRING] = "string",
    [ELEMENT_TYPE_I] = "nint",        [ELEMENT_TYPE_U] = "nuint",
    [ELEMENT_TYPE_OBJECT] = "object", [ELEMENT_TYPE_TYPEDBYREF] = "TypedReference",
};

static bool append_type(decoder *d, clr_text *out);

/* A compressed unsigned integer: 1, 2 or 4 bytes. */
static uint32_t take_number(reader *r)
{
    uint32_t first = reader_u8(r);

    if ((first & 0x80) == 0)
        return first;
    if ((first & 0x40) == 0)
        return (first & 0x3f) << 8 | reader_u8(r);
    first = (first & 0x1f) << 24;
    first |= (uint32_t)reader_u8(r) << 16;
    first |= (uint32_t)reader_u8(r) << 8;
    return first | reader_u8(r);
}

static mdToken take_token(reader *r)
{
    static const mdToken TABLES[4] = {mdtTypeDef, mdtTypeRef, mdtTypeSpec, mdtBaseType};
    uint32_t coded = take_number(r);

    return TABLES[coded & 3] | coded >> 2;
}

static void append_variable(clr_text *out, uint32_t index, const char *const *names, size_t count,
                            const char *prefix)
{
    if (index < count && names[index] != NULL)
        buffer_append_text(out, names[index]);
    else
        buffer_format(out, "%s%u", prefix, (unsigned)index);
}

static bool append_token(decoder *d, clr_text *out, const char *const *arguments, size_t count)
{
    mdToken token = take_token(&d->bytes);
    buffer path = BUFFER_EMPTY;

    if (reader_failed(&d->bytes))
        return false;
    d->names->append_path(d->names->context, token, &path);
    clr_name_append_type(out, buffer_text(&path), arguments, count, d->style);
    buffer_free(&path);
    return true;
}

/* CLASS or VALUETYPE, token, count, arguments. */
static bool append_instance(decoder *d, clr_text *out)
{
    buffer text = BUFFER_EMPTY;
    size_t offsets[MOST_ARGUMENTS];
    const char *arguments[MOST_ARGUMENTS];
    decoder generic = *d;
    uint32_t count;
    bool good = true;

    take_number(&d->bytes);
    generic.bytes = d->bytes; /* the token is written last, when the arguments are known */
    take_number(&d->bytes);
    count = take_number(&d->bytes);
    if (reader_failed(&d->bytes) || count > MOST_ARGUMENTS)
        return false;
    for (uint32_t i = 0; i < count && good; i++) {
        offsets[i] = text.length;
        good = append_type(d, &text);
        buffer_append_u8(&text, 0);
    }
    if (good && !buffer_failed(&text)) {
        for (uint32_t i = 0; i < count; i++)
            arguments[i] = buffer_text(&text) + offsets[i];
        good = append_token(&generic, out, arguments, count);
    }
    out->failed |= text.failed;
    buffer_free(&text);
    return good;
}

/* Element, rank, sizes, lower bounds. */
static bool append_array(decoder *d, clr_text *out)
{
    size_t start = out->length;
    uint32_t rank;

    if (!append_type(d, out))
        return false;
    rank = take_number(&d->bytes);
    for (int list = 0; list < 2; list++) {
        uint32_t count = take_number(&d->bytes);

        for (uint32_t i = 0; i < count && !reader_failed(&d->bytes); i++)
            take_number(&d->bytes);
    }
    if (reader_failed(&d->bytes))
        return false;
    clr_name_make_array(out, start, rank);
    return true;
}

/* A required modifier: those that make a by-ref `in` or `out`. */
static void take_modifier(decoder *d)
{
    mdToken token = take_token(&d->bytes);
    buffer path = BUFFER_EMPTY;

    if (reader_failed(&d->bytes) || d->marked != NULL)
        return;
    d->names->append_path(d->names->context, token, &path);
    if (text_equal(buffer_text(&path), "System.Runtime.InteropServices.InAttribute"))
        d->marked = "in";
    else if (text_equal(buffer_text(&path), "System.Runtime.InteropServices.OutAttribute"))
        d->marked = "out";
    buffer_free(&path);
}

/* What the parameter's own row says goes before what its signature requires. */
static void append_mark(decoder *d, clr_text *out)
{
    const char *mark = NULL;

    if (d->parameter != 0 && d->names->by_reference != NULL)
        mark = d->names->by_reference(d->names->context, d->parameter);
    if (mark == NULL)
        mark = d->marked == NULL ? "ref" : d->marked;
    buffer_format(out, "%s ", mark);
    d->parameter = 0;
    d->marked = NULL;
}

/* delegate*<int, void>, delegate* unmanaged[Cdecl]<int, void>: parameters, then the result. */
static bool append_function_pointer(decoder *d, clr_text *out)
{
    static const char *const UNMANAGED[] = {
        [IMAGE_CEE_CS_CALLCONV_C] = " unmanaged[Cdecl]",
        [IMAGE_CEE_CS_CALLCONV_STDCALL] = " unmanaged[Stdcall]",
        [IMAGE_CEE_CS_CALLCONV_THISCALL] = " unmanaged[Thiscall]",
        [IMAGE_CEE_CS_CALLCONV_FASTCALL] = " unmanaged[Fastcall]",
        [IMAGE_CEE_CS_CALLCONV_UNMANAGED] = " unmanaged",
        [IMAGE_CEE_CS_CALLCONV_MASK] = NULL,
    };
    uint32_t convention = reader_u8(&d->bytes);
    buffer result = BUFFER_EMPTY;
    const char *kind;
    uint32_t count;
    bool good;

    if (convention & IMAGE_CEE_CS_CALLCONV_GENERIC)
        take_number(&d->bytes);
    count = take_number(&d->bytes);
    if (reader_failed(&d->bytes) || count > MOST_PARAMETERS)
        return false;
    kind = UNMANAGED[convention & IMAGE_CEE_CS_CALLCONV_MASK];
    buffer_format(out, "delegate*%s<", kind == NULL ? "" : kind);
    d->parameter = 0;
    d->marked = "ref"; /* whatever a modifier says: a result is never `in` */
    good = append_type(d, &result);
    for (uint32_t i = 0; i < count && good; i++) {
        d->marked = NULL;
        good = append_type(d, out);
        buffer_append_text(out, ", ");
    }
    buffer_append_text(out, buffer_text(&result));
    buffer_append_char(out, '>');
    out->failed |= result.failed;
    buffer_free(&result);
    return good;
}

static bool append_composed(decoder *d, clr_text *out, uint32_t element)
{
    size_t start = out->length;

    switch (element) {
    case ELEMENT_TYPE_PTR:
        if (!append_type(d, out))
            return false;
        buffer_append_char(out, '*');
        return true;
    case ELEMENT_TYPE_BYREF:
        append_mark(d, out);
        return append_type(d, out);
    case ELEMENT_TYPE_SZARRAY:
        if (!append_type(d, out))
            return false;
        clr_name_make_array(out, start, 1);
        return true;
    case ELEMENT_TYPE_ARRAY:
        return append_array(d, out);
    case ELEMENT_TYPE_GENERICINST:
        return append_instance(d, out);
    case ELEMENT_TYPE_FNPTR:
        return append_function_pointer(d, out);
    case ELEMENT_TYPE_CMOD_REQD:
        take_modifier(d);
        return append_type(d, out);
    case ELEMENT_TYPE_CMOD_OPT:
        take_number(&d->bytes);
        return append_type(d, out);
    case ELEMENT_TYPE_INTERNAL: /* a type handle: in signatures made at run time */
        reader_skip(&d->bytes, sizeof(void *));
        buffer_append_char(out, '?');
        return true;
    case ELEMENT_TYPE_PINNED:
    case ELEMENT_TYPE_SENTINEL:
        return append_type(d, out);
    default:
        return false;
    }
}

static bool append_type(decoder *d, clr_text *out)
{
    uint32_t element = reader_u8(&d->bytes);
    bool good = true;

    if (reader_failed(&d->bytes) || d->depth >= MOST_DEPTH)
        return false;
    if (element < sizeof PRIMITIVES / sizeof *PRIMITIVES && PRIMITIVES[element][0] != '\0') {
        buffer_append_text(out, PRIMITIVES[element]);
        return true;
    }
    d->depth++;
    switch (element) {
    case ELEMENT_TYPE_CLASS:
    case ELEMENT_TYPE_VALUETYPE:
        good = append_token(d, out, NULL, 0);
        break;
    case ELEMENT_TYPE_VAR:
        append_variable(out, take_number(&d->bytes), d->names->type_arguments,
                        d->names->type_argument_count, "T");
        break;
    case ELEMENT_TYPE_MVAR:
        append_variable(out, take_number(&d->bytes), d->names->method_arguments,
                        d->names->method_argument_count, "M");
        break;
    default:
        good = append_composed(d, out, element);
        break;
    }
    d->depth--;
    return good && !reader_failed(&d->bytes);
}

int clr_signature_append_type(clr_text *out, const uint8_t **position, const uint8_t *end,
                              const clr_signature_names *names, unsigned style)
{
    decoder d = {reader_of(*position, (size_t)(end - *position)), names, style, 0, 0, NULL};
    bool good = append_type(&d, out);

    *position = d.bytes.position;
    return good;
}

int clr_signature_append_parameters(clr_text *out, const uint8_t *signature, size_t size,
                                    const clr_signature_names *names, unsigned style)
{
    decoder d = {reader_of(signature, size), names, style, 0, 0, NULL};
    uint32_t convention = reader_u8(&d.bytes);
    buffer result = BUFFER_EMPTY;
    uint32_t count;
    bool good;

    if (convention & IMAGE_CEE_CS_CALLCONV_GENERIC)
        take_number(&d.bytes);
    count = take_number(&d.bytes);
    if (reader_failed(&d.bytes) || count > MOST_PARAMETERS)
        return 0;
    good = append_type(&d, &result);
    buffer_free(&result);
    buffer_append_char(out, '(');
    for (uint32_t i = 0; i < count && good; i++) {
        if (i > 0)
            buffer_append_text(out, ", ");
        d.parameter = i + 1;
        d.marked = NULL;
        good = append_type(&d, out);
    }
    buffer_append_char(out, ')');
    return good;
}
