/* values_size: see values_size.h. */
#include "symbols/values_size.h"

#include <string.h>

#include "base/text.h"

enum { POINTER = 8, MOST_DEPTH = 8, FIELD_STATIC = 0x10, LAYOUT_MASK = 0x18, EXPLICIT = 0x10 };
enum { LAYOUT_SIZE = 1, LAYOUT_PARENT = 2, OFFSET = 0, OFFSET_FIELD = 1 };

/* Of the core library, whose file need not be read for them. The arguments of a generic one are
 * added. */
static const struct {
    const char *name;
    uint64_t bytes;
} KNOWN[] = {
    {"System.Decimal", 16},
    {"System.Guid", 16},
    {"System.DateTime", 8},
    {"System.DateTimeOffset", 16},
    {"System.TimeSpan", 8},
    {"System.DateOnly", 4},
    {"System.TimeOnly", 8},
    {"System.Int128", 16},
    {"System.UInt128", 16},
    {"System.Nullable`1", 8},
    {"System.Numerics.Vector2", 8},
    {"System.Numerics.Vector3", 12},
    {"System.Numerics.Vector4", 16},
    {"System.Numerics.Quaternion", 16},
    {"System.Numerics.Matrix4x4", 64},
    {"System.Threading.CancellationToken", 8},
};

static bool sums_its_arguments(const char *name)
{
    return text_starts_with(name, "System.ValueTuple`") ||
           text_equal(name, "System.Collections.Generic.KeyValuePair`2") ||
           text_equal(name, "System.Nullable`1");
}

static bool is_span(const char *name)
{
    return text_equal(name, "System.Span`1") || text_equal(name, "System.ReadOnlySpan`1") ||
           text_equal(name, "System.Memory`1") || text_equal(name, "System.ReadOnlyMemory`1") ||
           text_equal(name, "System.ArraySegment`1");
}

/* The argument `number` of a generic instance; false when there is none. */
static bool argument_of(const values_type *instance, uint32_t number, values_type *out)
{
    const cil_signature *s = instance->s;
    uint32_t node = instance->node;

    if (node + 1 >= s->type_count || number >= s->types[node].number)
        return false;
    node++;
    for (uint32_t i = 0; i <= number; i++) {
        node += s->types[node].nodes;
        if (node >= s->type_count)
            return false;
    }
    *out = (values_type){instance->a, s, node, instance->instance};
    return true;
}

static uint64_t size_of_arguments(values_finder *finder, const values_type *instance,
                                  unsigned depth)
{
    uint64_t sum = 0;
    values_type argument;

    for (uint32_t i = 0; finder->left != 0 && argument_of(instance, i, &argument); i++) {
        finder->left--;
        sum += values_size(finder, &argument, depth + 1);
    }
    return sum;
}

static bool is_value_type(const assembly *a, uint32_t row)
{
    uint32_t base = metadata_token(&a->tables, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_EXTENDS);
    buffer name = BUFFER_EMPTY;
    bool is;

    assembly_type_name(a, base, &name);
    is = !buffer_failed(&name) && (text_equal(buffer_text(&name), "System.ValueType") ||
                                   text_equal(buffer_text(&name), "System.Enum"));
    buffer_free(&name);
    return is;
}

static uint64_t size_of_field(values_finder *finder, const assembly *a, uint32_t field,
                              const values_type *instance, unsigned depth)
{
    metadata_span span = assembly_signature(a, (uint32_t)METADATA_FIELD << 24 | field);
    cil_signature s;
    uint64_t bytes = 0;

    if (finder->left == 0)
        return 0;
    finder->left--;
    cil_signature_init(&s);
    if (span.data != NULL && cil_signature_read(&s, span.data, span.length, NULL) == 0)
        bytes = values_size(finder, &(values_type){a, &s, 0, instance}, depth + 1);
    cil_signature_free(&s);
    return bytes;
}

static uint64_t aligned(uint64_t offset, uint64_t to)
{
    return to <= 1 ? offset : (offset + to - 1) / to * to;
}

static uint64_t size_of_definition(values_finder *finder, const assembly *a, uint32_t row,
                                   const values_type *instance, unsigned depth)
{
    const metadata *m = &a->tables;
    uint32_t flags = metadata_cell(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FLAGS);
    uint32_t layout = metadata_find(m, METADATA_CLASS_LAYOUT, LAYOUT_PARENT, row);
    uint64_t said = layout == 0 ? 0 : metadata_cell(m, METADATA_CLASS_LAYOUT, layout, LAYOUT_SIZE);
    uint64_t end = 0;
    uint32_t first, past;

    metadata_list(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FIELDS, &first, &past);
    for (uint32_t field = first; field < past && finder->left != 0; field++) {
        uint64_t bytes, at;

        if (metadata_cell(m, METADATA_FIELD, field, METADATA_FIELD_FLAGS) & FIELD_STATIC)
            continue;
        bytes = size_of_field(finder, a, field, instance, depth);
        if ((flags & LAYOUT_MASK) == EXPLICIT) {
            uint32_t place = metadata_find(m, METADATA_FIELD_LAYOUT, OFFSET_FIELD, field);

            at = place == 0 ? 0 : metadata_cell(m, METADATA_FIELD_LAYOUT, place, OFFSET);
        } else {
            at = aligned(end, bytes > POINTER ? POINTER : bytes);
        }
        end = at + bytes > end ? at + bytes : end;
    }
    return aligned(said > end ? said : end, end > POINTER ? POINTER : 1);
}

static uint32_t find_definition(const assembly *a, const char *space, const char *name)
{
    const metadata *m = &a->tables;

    for (uint32_t row = 1; row <= metadata_rows(m, METADATA_TYPE_DEF); row++)
        if (text_equal(metadata_cell_string(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_NAME),
                       name) &&
            text_equal(metadata_cell_string(m, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_NAMESPACE),
                       space))
            return row;
    return 0;
}

/* A type of another assembly: one of the program's own that lies beside. */
static uint64_t size_elsewhere(values_finder *finder, const assembly *a, uint32_t row,
                               const values_type *instance, unsigned depth)
{
    const metadata *m = &a->tables;
    uint32_t scope = metadata_token(m, METADATA_TYPE_REF, row, METADATA_TYPE_REF_SCOPE);
    const assembly *other;
    uint32_t found;

    if (scope >> 24 != METADATA_ASSEMBLY_REF || finder->find == NULL)
        return 0;
    other = finder->find(finder->context,
                         metadata_cell_string(m, METADATA_ASSEMBLY_REF, scope & 0xffffff,
                                              METADATA_ASSEMBLY_REF_NAME));
    if (other == NULL)
        return 0;
    found = find_definition(
        other, metadata_cell_string(m, METADATA_TYPE_REF, row, METADATA_TYPE_REF_NAMESPACE),
        metadata_cell_string(m, METADATA_TYPE_REF, row, METADATA_TYPE_REF_NAME));
    return found == 0
               ? 0
               : values_size_of_token(finder, other, (uint32_t)METADATA_TYPE_DEF << 24 | found,
                                      instance, depth + 1);
}

static uint64_t size_of_reference(values_finder *finder, const assembly *a, uint32_t row,
                                  const values_type *instance, unsigned depth)
{
    buffer name = BUFFER_EMPTY;
    uint64_t bytes = 0;
    bool known = false;

    assembly_type_name(a, (uint32_t)METADATA_TYPE_REF << 24 | row, &name);
    if (buffer_failed(&name))
        goto out;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (text_equal(buffer_text(&name), KNOWN[i].name)) {
            bytes = KNOWN[i].bytes;
            known = true;
        }
    if (is_span(buffer_text(&name))) {
        bytes = 2 * POINTER;
    } else if (sums_its_arguments(buffer_text(&name))) {
        bytes += instance == NULL ? 0 : size_of_arguments(finder, instance, depth);
    } else if (!known) {
        bytes = size_elsewhere(finder, a, row, instance, depth);
    }
out:
    buffer_free(&name);
    return bytes;
}

uint64_t values_size_of_token(values_finder *finder, const assembly *a, uint32_t token,
                              const values_type *instance, unsigned depth)
{
    uint32_t row = token & 0xffffff;

    if (depth > MOST_DEPTH)
        return 0;
    if (token >> 24 == METADATA_TYPE_REF)
        return size_of_reference(finder, a, row, instance, depth);
    if (token >> 24 != METADATA_TYPE_DEF)
        return 0;
    return is_value_type(a, row) ? size_of_definition(finder, a, row, instance, depth) : POINTER;
}

uint64_t values_size(values_finder *finder, const values_type *type, unsigned depth)
{
    uint32_t node = cil_type_skip_modifiers(type->s, type->node);
    const cil_type *t;
    values_type inner = {type->a, type->s, node, type->instance};

    if (node >= type->s->type_count || depth > MOST_DEPTH)
        return 0;
    t = &type->s->types[node];
    switch (t->element) {
    case CIL_TYPE_VOID:
    case CIL_TYPE_METHOD_VARIABLE:
        return 0;
    case CIL_TYPE_BOOLEAN:
    case CIL_TYPE_I1:
    case CIL_TYPE_U1:
        return 1;
    case CIL_TYPE_CHAR:
    case CIL_TYPE_I2:
    case CIL_TYPE_U2:
        return 2;
    case CIL_TYPE_I4:
    case CIL_TYPE_U4:
    case CIL_TYPE_R4:
        return 4;
    case CIL_TYPE_VALUETYPE:
        return values_size_of_token(finder, type->a, t->token, NULL, depth);
    case CIL_TYPE_GENERIC:
        if (node + 1 >= type->s->type_count ||
            type->s->types[node + 1].element != CIL_TYPE_VALUETYPE)
            return POINTER;
        return values_size_of_token(finder, type->a, type->s->types[node + 1].token, &inner, depth);
    case CIL_TYPE_VARIABLE:
        return type->instance != NULL && argument_of(type->instance, t->number, &inner)
                   ? values_size(finder, &inner, depth + 1)
                   : 0;
    default:
        return POINTER; /* references, pointers, 8-byte numbers */
    }
}
