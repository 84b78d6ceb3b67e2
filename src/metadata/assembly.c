/* assembly: see assembly.h. */
#include "metadata/assembly.h"

#include <string.h>

#include "base/text.h"

enum { NESTING_LIMIT = 32 };

static void type_name(const assembly *a, uint32_t token, buffer *out, bool plain, unsigned depth);

int assembly_open(assembly *a, const void *bytes, size_t length, error *e)
{
    pe_span span;
    int code = pe_open(&a->file, bytes, length, false, e);

    memset(&a->tables, 0, sizeof a->tables);
    if (code == 0)
        code = pe_metadata(&a->file, &span, e);
    if (code == 0)
        code = metadata_open(&a->tables, span.data, span.length, e);
    return code;
}

const char *assembly_name(const assembly *a)
{
    const metadata *m = &a->tables;

    if (metadata_rows(m, METADATA_ASSEMBLY) != 0)
        return metadata_cell_string(m, METADATA_ASSEMBLY, 1, METADATA_ASSEMBLY_NAME);
    return metadata_cell_string(m, METADATA_MODULE, 1, METADATA_MODULE_NAME);
}

/* Only bodies of IL: an RVA of a native method (IMPLFLAGS code type) points to machine code. */
pe_span assembly_body(const assembly *a, uint32_t row)
{
    uint32_t rva = metadata_cell(&a->tables, METADATA_METHOD_DEF, row, METADATA_METHOD_RVA);
    uint32_t flags =
        metadata_cell(&a->tables, METADATA_METHOD_DEF, row, METADATA_METHOD_IMPL_FLAGS);
    pe_span none = {NULL, 0};

    return rva == 0 || (flags & 3) != 0 ? none : pe_at(&a->file, rva, 0);
}

metadata_span assembly_signature(const assembly *a, uint32_t token)
{
    const metadata *m = &a->tables;
    uint32_t row = token & 0x00FFFFFF;
    metadata_span none = {NULL, 0};

    switch (token >> 24) {
    case METADATA_METHOD_DEF:
        return metadata_cell_blob(m, METADATA_METHOD_DEF, row, METADATA_METHOD_SIGNATURE);
    case METADATA_MEMBER_REF:
        return metadata_cell_blob(m, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_SIGNATURE);
    case METADATA_FIELD:
        return metadata_cell_blob(m, METADATA_FIELD, row, METADATA_FIELD_SIGNATURE);
    case METADATA_PROPERTY:
        return metadata_cell_blob(m, METADATA_PROPERTY, row, 2);
    case METADATA_STANDALONE_SIGNATURE:
        return metadata_cell_blob(m, METADATA_STANDALONE_SIGNATURE, row, 0);
    case METADATA_TYPE_SPEC:
        return metadata_cell_blob(m, METADATA_TYPE_SPEC, row, 0);
    case METADATA_METHOD_SPEC:
        token = metadata_token(m, METADATA_METHOD_SPEC, row, 0);
        return token >> 24 == METADATA_METHOD_SPEC ? none : assembly_signature(a, token);
    default:
        return none;
    }
}

static bool resolve_signature(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    metadata_span span = assembly_signature(context, token);

    *bytes = span.data;
    *length = span.length;
    return span.data != NULL;
}

cil_resolver assembly_resolver(const assembly *a)
{
    return (cil_resolver){(void *)(uintptr_t)a, resolve_signature};
}

uint32_t assembly_method_type(const assembly *a, uint32_t row)
{
    return metadata_list_owner(&a->tables, METADATA_TYPE_DEF, METADATA_TYPE_DEF_METHODS, row);
}

uint32_t assembly_field_type(const assembly *a, uint32_t row)
{
    return metadata_list_owner(&a->tables, METADATA_TYPE_DEF, METADATA_TYPE_DEF_FIELDS, row);
}

/* --- names --- */

static void qualified(const metadata *m, unsigned table, uint32_t row, buffer *out)
{
    const char *space = metadata_cell_string(m, table, row, METADATA_TYPE_DEF_NAMESPACE);
    const char *name = metadata_cell_string(m, table, row, METADATA_TYPE_DEF_NAME);

    if (space[0] != '\0') {
        text_append_cleaned(out, space, strlen(space));
        buffer_append_char(out, '.');
    }
    text_append_cleaned(out, name, strlen(name));
}

static void spec_name(const assembly *a, uint32_t row, buffer *out, bool plain);

static void type_name(const assembly *a, uint32_t token, buffer *out, bool plain, unsigned depth)
{
    const metadata *m = &a->tables;
    uint32_t row = token & 0x00FFFFFF;
    uint32_t outer = 0;

    if (depth > NESTING_LIMIT)
        return;
    switch (token >> 24) {
    case METADATA_TYPE_DEF: {
        uint32_t nested = metadata_find(m, METADATA_NESTED_CLASS, METADATA_NESTED_INNER, row);

        if (nested != 0) {
            outer = metadata_cell(m, METADATA_NESTED_CLASS, nested, METADATA_NESTED_OUTER);
            type_name(a, METADATA_TYPE_DEF << 24 | (outer & 0x00FFFFFF), out, plain, depth + 1);
            buffer_append_char(out, '+');
        }
        qualified(m, METADATA_TYPE_DEF, row, out);
        break;
    }
    case METADATA_TYPE_REF:
        outer = metadata_token(m, METADATA_TYPE_REF, row, METADATA_TYPE_REF_SCOPE);
        if (outer >> 24 == METADATA_TYPE_REF) {
            type_name(a, outer, out, plain, depth + 1);
            buffer_append_char(out, '+');
        }
        qualified(m, METADATA_TYPE_REF, row, out);
        break;
    case METADATA_TYPE_SPEC:
        spec_name(a, row, out, plain);
        break;
    default:
        buffer_format(out, "?%08X", (unsigned)token);
    }
}

/* The namers: a spec inside of a spec would let hostile bytes nest for ever, so a token inside of
 * a signature is named without going into further specs. */
static void name_inside(void *context, uint32_t token, buffer *out)
{
    if (token >> 24 == METADATA_TYPE_SPEC)
        buffer_format(out, "?%08X", (unsigned)token);
    else
        type_name(context, token, out, false, 0);
}

cil_type_namer assembly_namer(const assembly *a, bool plain)
{
    return (cil_type_namer){name_inside, (void *)(uintptr_t)a, plain};
}

static void spec_name(const assembly *a, uint32_t row, buffer *out, bool plain)
{
    metadata_span span = metadata_cell_blob(&a->tables, METADATA_TYPE_SPEC, row, 0);
    cil_type_namer namer = assembly_namer(a, plain);
    cil_signature s;

    cil_signature_init(&s);
    if (cil_signature_read_type(&s, span.data, span.length, NULL) == 0)
        cil_type_text(&s, 0, &namer, out);
    else
        buffer_format(out, "?1B%06X", (unsigned)row);
    cil_signature_free(&s);
}

void assembly_type_name(const assembly *a, uint32_t token, buffer *out)
{
    type_name(a, token, out, false, 0);
}

static void append_name(const metadata *m, unsigned table, uint32_t row, unsigned column,
                        buffer *out)
{
    const char *name = metadata_cell_string(m, table, row, column);

    text_append_cleaned(out, name, strlen(name));
}

static void member_name(const assembly *a, uint32_t token, buffer *out, bool plain)
{
    const metadata *m = &a->tables;
    uint32_t row = token & 0x00FFFFFF;
    uint32_t parent;

    switch (token >> 24) {
    case METADATA_METHOD_DEF:
        type_name(a, METADATA_TYPE_DEF << 24 | assembly_method_type(a, row), out, plain, 0);
        buffer_append_text(out, "::");
        append_name(m, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME, out);
        break;
    case METADATA_FIELD:
        type_name(a, METADATA_TYPE_DEF << 24 | assembly_field_type(a, row), out, plain, 0);
        buffer_append_text(out, "::");
        append_name(m, METADATA_FIELD, row, METADATA_FIELD_NAME, out);
        break;
    case METADATA_MEMBER_REF:
        parent = metadata_token(m, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_PARENT);
        if (parent >> 24 == METADATA_METHOD_DEF)
            member_name(a, parent, out, plain); /* the extra arguments of a vararg call */
        else if (parent >> 24 != METADATA_MODULE_REF)
            type_name(a, parent, out, plain, 0);
        buffer_append_text(out, "::");
        append_name(m, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_NAME, out);
        break;
    case METADATA_METHOD_SPEC:
        parent = metadata_token(m, METADATA_METHOD_SPEC, row, 0);
        if (parent >> 24 != METADATA_METHOD_SPEC)
            member_name(a, parent, out, plain);
        break;
    default:
        type_name(a, token, out, plain, 0);
    }
}

void assembly_member_name(const assembly *a, uint32_t token, buffer *out)
{
    member_name(a, token, out, false);
}

void assembly_parameters_text(const assembly *a, uint32_t token, bool plain, buffer *out)
{
    metadata_span span = assembly_signature(a, token);
    cil_type_namer namer = assembly_namer(a, plain);
    cil_signature s;

    cil_signature_init(&s);
    if (cil_signature_read(&s, span.data, span.length, NULL) == 0)
        cil_signature_parameters_text(&s, &namer, out);
    cil_signature_free(&s);
}

/* <int, string> after the method's name. */
static void method_spec_arguments(const assembly *a, uint32_t row, buffer *out)
{
    metadata_span span = metadata_cell_blob(&a->tables, METADATA_METHOD_SPEC, row, 1);
    cil_type_namer namer = assembly_namer(a, true);
    cil_signature s;

    cil_signature_init(&s);
    buffer_append_char(out, '<');
    if (cil_signature_read(&s, span.data, span.length, NULL) == 0)
        cil_signature_parameters_text(&s, &namer, out);
    buffer_append_char(out, '>');
    cil_signature_free(&s);
}

static void quoted(metadata_span text, buffer *out)
{
    buffer plain = BUFFER_EMPTY;

    text_append_utf16_bytes(&plain, text.data, text.length / 2);
    buffer_append_char(out, '"');
    for (size_t n = 0; n < plain.length; n++) {
        char c = (char)plain.data[n];

        if (c == '"' || c == '\\')
            buffer_append_char(out, '\\');
        if (c == '\n')
            buffer_append_text(out, "\\n");
        else if (c == '\r')
            buffer_append_text(out, "\\r");
        else if (c == '\t')
            buffer_append_text(out, "\\t");
        else if ((unsigned char)c < ' ' || c == 0x7F)
            buffer_format(out, "\\u%04x", (unsigned)c);
        else
            buffer_append_char(out, c);
    }
    buffer_append_char(out, '"');
    buffer_free(&plain);
}

/* "int Shop.Orders::Place(string)", "string Shop.Orders::name", "instance" in front as in IL. */
static void member_text(const assembly *a, uint32_t token, buffer *out)
{
    metadata_span span = assembly_signature(a, token);
    cil_type_namer namer = assembly_namer(a, true);
    cil_signature s;
    bool good;

    cil_signature_init(&s);
    good = cil_signature_read(&s, span.data, span.length, NULL) == 0;
    if (good && cil_signature_has_this(s.convention))
        buffer_append_text(out, "instance ");
    if (good) {
        cil_type_text(&s, 0, &namer, out);
        buffer_append_char(out, ' ');
    }
    member_name(a, token, out, true);
    if (token >> 24 == METADATA_METHOD_SPEC)
        method_spec_arguments(a, token & 0x00FFFFFF, out);
    if (good && (s.convention & CIL_CONVENTION_MASK) != CIL_CONVENTION_FIELD) {
        buffer_append_char(out, '(');
        cil_signature_parameters_text(&s, &namer, out);
        buffer_append_char(out, ')');
    }
    cil_signature_free(&s);
}

void assembly_token_text(const assembly *a, uint32_t token, buffer *out)
{
    metadata_span span;
    cil_type_namer namer = assembly_namer(a, true);
    cil_signature s;

    switch (token >> 24) {
    case 0x70:
        quoted(metadata_user_string(&a->tables, token & 0x00FFFFFF), out);
        break;
    case METADATA_METHOD_DEF:
    case METADATA_FIELD:
    case METADATA_MEMBER_REF:
    case METADATA_METHOD_SPEC:
        member_text(a, token, out);
        break;
    case METADATA_STANDALONE_SIGNATURE:
        span = assembly_signature(a, token);
        cil_signature_init(&s);
        if (cil_signature_read(&s, span.data, span.length, NULL) == 0) {
            cil_type_text(&s, 0, &namer, out);
            buffer_append_char(out, '(');
            cil_signature_parameters_text(&s, &namer, out);
            buffer_append_char(out, ')');
        }
        cil_signature_free(&s);
        break;
    default:
        type_name(a, token, out, true, 0);
    }
}

/* The type whose constructor an attribute names. */
static uint32_t attribute_type(const assembly *a, uint32_t row)
{
    const metadata *m = &a->tables;
    uint32_t constructor =
        metadata_token(m, METADATA_CUSTOM_ATTRIBUTE, row, METADATA_ATTRIBUTE_TYPE);

    if (constructor >> 24 == METADATA_MEMBER_REF)
        return metadata_token(m, METADATA_MEMBER_REF, constructor & 0x00FFFFFF,
                              METADATA_MEMBER_REF_PARENT);
    return METADATA_TYPE_DEF << 24 | assembly_method_type(a, constructor & 0x00FFFFFF);
}

bool assembly_has_attribute(const assembly *a, uint32_t token,
                            bool (*matches)(const char *pattern, const char *type_name),
                            const char *pattern)
{
    const metadata *m = &a->tables;
    uint32_t coded, row;
    bool found = false;

    if (!metadata_code(METADATA_CUSTOM_ATTRIBUTE, METADATA_ATTRIBUTE_PARENT, token, &coded))
        return false;
    row = metadata_find(m, METADATA_CUSTOM_ATTRIBUTE, METADATA_ATTRIBUTE_PARENT, coded);
    for (; row != 0 && row <= metadata_rows(m, METADATA_CUSTOM_ATTRIBUTE) && !found; row++) {
        buffer text = BUFFER_EMPTY;

        if (metadata_cell(m, METADATA_CUSTOM_ATTRIBUTE, row, METADATA_ATTRIBUTE_PARENT) != coded)
            break;
        type_name(a, attribute_type(a, row), &text, false, 0);
        found = matches(pattern, buffer_text(&text));
        buffer_free(&text);
    }
    return found;
}
