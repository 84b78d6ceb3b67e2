/*
 * signature: reading signatures into flat types. See signature.h. Text is in signature_text.c.
 */
#include "cil/signature.h"

#include <string.h>

#include "base/memory.h"
#include "base/reader.h"
#include "cil/compressed.h"

enum { DEPTH_LIMIT = 64, TYPE_LIMIT = 1 << 20, LOCAL_LIMIT = 0xFFFE };

static bool read_type(cil_signature *s, reader *r, unsigned depth);

void cil_signature_init(cil_signature *s)
{
    memset(s, 0, sizeof *s);
}

void cil_signature_free(cil_signature *s)
{
    memory_free(s->types);
    memset(s, 0, sizeof *s);
}

static uint32_t add_type(cil_signature *s, const reader *r, uint8_t element)
{
    cil_type *t;

    if (s->type_count == s->type_capacity) {
        uint32_t capacity = s->type_capacity == 0 ? 16 : s->type_capacity * 2;
        cil_type *types =
            capacity > TYPE_LIMIT ? NULL : memory_resize(s->types, capacity * sizeof *types);

        if (types == NULL)
            return UINT32_MAX;
        s->types = types;
        s->type_capacity = capacity;
    }
    t = &s->types[s->type_count];
    memset(t, 0, sizeof *t);
    t->element = element;
    t->begin = (uint32_t)reader_offset(r) - 1;
    return s->type_count++;
}

/* A function pointer's signature, or the parameters of any: `count` types, with one sentinel
 * allowed among them. */
static bool read_types(cil_signature *s, reader *r, uint32_t count, unsigned depth, bool sentinel)
{
    for (uint32_t n = 0; n < count; n++) {
        if (sentinel && !reader_at_end(r) && *r->position == CIL_TYPE_SENTINEL) {
            uint32_t at;

            reader_u8(r);
            at = add_type(s, r, CIL_TYPE_SENTINEL);
            if (at == UINT32_MAX)
                return false;
            s->types[at].nodes = 1;
            s->types[at].end = (uint32_t)reader_offset(r);
            sentinel = false;
        }
        if (!read_type(s, r, depth))
            return false;
    }
    return true;
}

static bool read_function(cil_signature *s, reader *r, uint32_t at, unsigned depth)
{
    uint8_t convention = reader_u8(r);
    uint32_t count;

    if (convention & CIL_CONVENTION_GENERIC)
        s->types[at].token = cil_read_compressed(r);
    count = cil_read_compressed(r);
    if (reader_failed(r) || count > reader_left(r))
        return false;
    s->types[at].convention = convention;
    s->types[at].number = count;
    return read_type(s, r, depth) && read_types(s, r, count, depth, true);
}

static bool read_shape(reader *r, cil_array_shape *shape)
{
    memset(shape, 0, sizeof *shape);
    shape->rank = cil_read_compressed(r);
    shape->size_count = cil_read_compressed(r);
    if (reader_failed(r) || shape->rank == 0 || shape->rank > 32 || shape->size_count > shape->rank)
        return false;
    for (uint32_t n = 0; n < shape->size_count; n++)
        shape->sizes[n] = cil_read_compressed(r);
    shape->bound_count = cil_read_compressed(r);
    if (reader_failed(r) || shape->bound_count > shape->rank)
        return false;
    for (uint32_t n = 0; n < shape->bound_count; n++)
        shape->bounds[n] = cil_read_compressed_signed(r);
    return !reader_failed(r);
}

/* What follows the element byte, by kind of element. */
static bool read_rest(cil_signature *s, reader *r, uint32_t at, unsigned depth)
{
    cil_array_shape shape;
    uint32_t count;

    switch (s->types[at].element) {
    case CIL_TYPE_CLASS:
    case CIL_TYPE_VALUETYPE:
        s->types[at].token = cil_read_compressed_token(r);
        return true;
    case CIL_TYPE_VARIABLE:
    case CIL_TYPE_METHOD_VARIABLE:
        s->types[at].number = cil_read_compressed(r);
        return true;
    case CIL_TYPE_REQUIRED:
    case CIL_TYPE_OPTIONAL:
        s->types[at].token = cil_read_compressed_token(r);
        return read_type(s, r, depth);
    case CIL_TYPE_POINTER:
    case CIL_TYPE_BYREF:
    case CIL_TYPE_VECTOR:
    case CIL_TYPE_PINNED:
        return read_type(s, r, depth);
    case CIL_TYPE_ARRAY:
        if (!read_type(s, r, depth))
            return false;
        s->types[at].shape = (uint32_t)reader_offset(r);
        if (!read_shape(r, &shape))
            return false;
        s->types[at].number = shape.rank;
        return true;
    case CIL_TYPE_GENERIC:
        if (reader_at_end(r) ||
            (*r->position != CIL_TYPE_CLASS && *r->position != CIL_TYPE_VALUETYPE) ||
            !read_type(s, r, depth))
            return false;
        count = cil_read_compressed(r);
        if (count > reader_left(r))
            return false;
        s->types[at].number = count;
        return read_types(s, r, count, depth, false);
    case CIL_TYPE_FUNCTION:
        return read_function(s, r, at, depth);
    default:
        return true;
    }
}

static bool known_element(uint8_t element)
{
    return (element >= CIL_TYPE_VOID && element <= CIL_TYPE_TYPED_REFERENCE) ||
           element == CIL_TYPE_INT_PTR || element == CIL_TYPE_UINT_PTR ||
           (element >= CIL_TYPE_FUNCTION && element <= CIL_TYPE_OPTIONAL) ||
           element == CIL_TYPE_PINNED;
}

static bool read_type(cil_signature *s, reader *r, unsigned depth)
{
    uint8_t element = reader_u8(r);
    uint32_t at;

    if (reader_failed(r) || depth == DEPTH_LIMIT || !known_element(element))
        return false;
    at = add_type(s, r, element);
    if (at == UINT32_MAX || !read_rest(s, r, at, depth + 1) || reader_failed(r))
        return false;
    s->types[at].nodes = s->type_count - at;
    s->types[at].end = (uint32_t)reader_offset(r);
    return true;
}

static void start(cil_signature *s, const void *bytes, size_t length)
{
    s->bytes = bytes;
    s->length = length;
    s->convention = 0;
    s->generic_count = s->count = s->type_count = 0;
}

static int broken(cil_signature *s, const reader *r, error *e)
{
    s->type_count = s->count = 0;
    return error_set(e, ERROR_CORRUPT, "the signature is wrong at byte %u of %u",
                     (unsigned)reader_offset(r), (unsigned)s->length);
}

int cil_signature_read_type(cil_signature *s, const void *bytes, size_t length, error *e)
{
    reader r = reader_of(bytes, length);

    start(s, bytes, length);
    return read_type(s, &r, 0) ? 0 : broken(s, &r, e);
}

int cil_signature_read(cil_signature *s, const void *bytes, size_t length, error *e)
{
    reader r = reader_of(bytes, length);
    bool has_result = true;

    start(s, bytes, length);
    s->convention = reader_u8(&r);
    switch (s->convention & CIL_CONVENTION_MASK) {
    case CIL_CONVENTION_FIELD:
        return read_type(s, &r, 0) ? 0 : broken(s, &r, e);
    case CIL_CONVENTION_LOCALS:
    case CIL_CONVENTION_METHOD_SPEC:
        has_result = false;
        break;
    default:
        if ((s->convention & CIL_CONVENTION_MASK) > CIL_CONVENTION_METHOD_SPEC)
            return broken(s, &r, e);
        if (s->convention & CIL_CONVENTION_GENERIC)
            s->generic_count = cil_read_compressed(&r);
    }
    s->count = cil_read_compressed(&r);
    if (reader_failed(&r) || s->count > reader_left(&r) || (has_result && !read_type(s, &r, 0)) ||
        !read_types(s, &r, s->count, 0, has_result))
        return broken(s, &r, e);
    return 0;
}

int cil_signature_read_method(cil_signature *s, const void *bytes, size_t length, error *e)
{
    int code = cil_signature_read(s, bytes, length, e);
    uint8_t kind = s->convention & CIL_CONVENTION_MASK;

    if (code != 0 || kind <= CIL_CONVENTION_VARARG || kind == CIL_CONVENTION_UNMANAGED)
        return code;
    return error_set(e, ERROR_CORRUPT, "the signature is not a method's");
}

uint32_t cil_signature_first(const cil_signature *s)
{
    uint8_t kind = s->convention & CIL_CONVENTION_MASK;

    if (s->type_count == 0 || kind == CIL_CONVENTION_LOCALS || kind == CIL_CONVENTION_METHOD_SPEC)
        return 0;
    return cil_signature_after(s, 0);
}

uint32_t cil_signature_after(const cil_signature *s, uint32_t type)
{
    uint32_t next = type < s->type_count ? type + s->types[type].nodes : s->type_count;

    if (next < s->type_count && s->types[next].element == CIL_TYPE_SENTINEL)
        next++;
    return next;
}

uint32_t cil_type_skip_modifiers(const cil_signature *s, uint32_t type)
{
    while (type < s->type_count && (s->types[type].element == CIL_TYPE_REQUIRED ||
                                    s->types[type].element == CIL_TYPE_OPTIONAL ||
                                    s->types[type].element == CIL_TYPE_PINNED))
        type++;
    return type;
}

bool cil_type_shape(const cil_signature *s, uint32_t type, cil_array_shape *shape)
{
    reader r = reader_of(s->bytes, s->length);

    memset(shape, 0, sizeof *shape);
    return type < s->type_count && s->types[type].element == CIL_TYPE_ARRAY &&
           reader_seek(&r, s->types[type].shape) && read_shape(&r, shape);
}

/* --- writing --- */

static uint32_t write_type(const cil_signature *s, uint32_t at, buffer *out, bool bare)
{
    const cil_type *t = &s->types[at];
    uint32_t end = at + t->nodes;
    uint32_t inner = at + 1;
    bool modifier = t->element == CIL_TYPE_REQUIRED || t->element == CIL_TYPE_OPTIONAL;
    cil_array_shape shape;

    if (!(bare && modifier))
        buffer_append_u8(out, t->element);
    switch (t->element) {
    case CIL_TYPE_REQUIRED:
    case CIL_TYPE_OPTIONAL:
        if (bare)
            break;
        cil_append_compressed_token(out, t->token);
        break;
    case CIL_TYPE_CLASS:
    case CIL_TYPE_VALUETYPE:
        cil_append_compressed_token(out, t->token);
        break;
    case CIL_TYPE_VARIABLE:
    case CIL_TYPE_METHOD_VARIABLE:
        cil_append_compressed(out, t->number);
        break;
    case CIL_TYPE_FUNCTION:
        /* A function pointer's modifiers are part of its type: they stay. */
        buffer_append_u8(out, t->convention);
        if (t->convention & CIL_CONVENTION_GENERIC)
            cil_append_compressed(out, t->token);
        cil_append_compressed(out, t->number);
        bare = false;
        break;
    case CIL_TYPE_GENERIC:
        inner = write_type(s, inner, out, bare);
        cil_append_compressed(out, t->number);
        break;
    default:
        break;
    }
    while (inner < end)
        inner = write_type(s, inner, out, bare && (modifier || t->element == CIL_TYPE_BYREF));
    if (t->element == CIL_TYPE_ARRAY && cil_type_shape(s, at, &shape)) {
        cil_append_compressed(out, shape.rank);
        cil_append_compressed(out, shape.size_count);
        for (uint32_t n = 0; n < shape.size_count; n++)
            cil_append_compressed(out, shape.sizes[n]);
        cil_append_compressed(out, shape.bound_count);
        for (uint32_t n = 0; n < shape.bound_count; n++)
            cil_append_compressed_signed(out, shape.bounds[n]);
    }
    return end;
}

void cil_signature_write(const cil_signature *s, buffer *out)
{
    uint8_t kind = s->convention & CIL_CONVENTION_MASK;

    buffer_append_u8(out, s->convention);
    if (s->convention & CIL_CONVENTION_GENERIC && kind != CIL_CONVENTION_LOCALS &&
        kind != CIL_CONVENTION_METHOD_SPEC && kind != CIL_CONVENTION_FIELD)
        cil_append_compressed(out, s->generic_count);
    if (kind != CIL_CONVENTION_FIELD)
        cil_append_compressed(out, s->count);
    for (uint32_t at = 0; at < s->type_count;)
        at = write_type(s, at, out, false);
}

void cil_type_copy(const cil_signature *s, uint32_t type, buffer *out)
{
    if (type < s->type_count)
        write_type(s, type, out, true);
}

/* --- quick looks --- */

/* Reads modifiers and the element; for a generic instance whether it is a class or a value. */
static bool leading_element(reader *r, uint8_t *element)
{
    *element = reader_u8(r);
    while (*element == CIL_TYPE_REQUIRED || *element == CIL_TYPE_OPTIONAL ||
           *element == CIL_TYPE_PINNED) {
        if (*element != CIL_TYPE_PINNED)
            cil_read_compressed_token(r);
        *element = reader_u8(r);
    }
    if (*element == CIL_TYPE_GENERIC)
        *element = reader_u8(r);
    return !reader_failed(r);
}

bool cil_signature_call_shape(const uint8_t *bytes, size_t length, cil_call_shape *shape)
{
    reader r = reader_of(bytes, length);

    memset(shape, 0, sizeof *shape);
    shape->convention = reader_u8(&r);
    if (shape->convention & CIL_CONVENTION_GENERIC)
        shape->generic_count = cil_read_compressed(&r);
    shape->parameters = cil_read_compressed(&r);
    return (shape->convention & CIL_CONVENTION_MASK) != CIL_CONVENTION_FIELD &&
           leading_element(&r, &shape->result);
}

bool cil_signature_field_element(const uint8_t *bytes, size_t length, uint8_t *element)
{
    reader r = reader_of(bytes, length);

    *element = 0;
    return (reader_u8(&r) & CIL_CONVENTION_MASK) == CIL_CONVENTION_FIELD &&
           leading_element(&r, element);
}

int cil_signature_append_locals(const uint8_t *old, size_t old_length, const buffer *types,
                                uint32_t count, buffer *out, uint32_t *first, error *e)
{
    static const uint8_t none[] = {CIL_CONVENTION_LOCALS, 0};
    reader r = old != NULL ? reader_of(old, old_length) : reader_of(none, sizeof none);
    uint8_t convention = reader_u8(&r);
    uint32_t before = cil_read_compressed(&r);

    if (reader_failed(&r) || (convention & CIL_CONVENTION_MASK) != CIL_CONVENTION_LOCALS)
        return error_set(e, ERROR_CORRUPT, "the local signature is wrong");
    if (before > LOCAL_LIMIT || count > LOCAL_LIMIT - before)
        return error_set(e, ERROR_LIMIT, "the method has %u locals already", (unsigned)before);
    *first = before;
    buffer_append_u8(out, convention);
    cil_append_compressed(out, before + count);
    buffer_append(out, r.position, reader_left(&r));
    buffer_append(out, types->data, types->length);
    return buffer_failed(out) || buffer_failed(types)
               ? error_set(e, ERROR_MEMORY, "no memory for a local signature")
               : 0;
}
