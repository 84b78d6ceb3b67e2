/* trace_types: see trace_types.h. */
#include "profilers/trace_types.h"

#include <string.h>

#include "agent/loaded_type.h"
#include "base/memory.h"
#include "base/text.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "profilers/trace_counters.h"

/* ---- classes ---- */

bool trace_class_open(const clr_info *info, ClassID class_id, trace_class_place *out)
{
    memset(out, 0, sizeof *out);
    out->class_id = class_id;
    return class_id != 0 &&
           CLR_OK(clr_info_get_class_id_info2(info, class_id, &out->module, &out->type,
                                              &out->parent, TRACE_TYPE_ARGUMENTS,
                                              &out->argument_count, out->arguments)) &&
           out->argument_count <= TRACE_TYPE_ARGUMENTS && out->module != 0 &&
           CLR_OK(clr_open_import(info, out->module, &out->import));
}

void trace_class_release(trace_class_place *at)
{
    if (at->import != NULL)
        clr_release(at->import);
    at->import = NULL;
}

/* The class's full name without arguments: System.Nullable`1. */
void trace_class_append_name(const clr_info *info, ClassID class_id, buffer *out)
{
    trace_class_place at;

    if (trace_class_open(info, class_id, &at))
        clr_append_type_path(at.import, at.type, out);
    trace_class_release(&at);
}

static loaded_type_scope scope_of(const trace_types *types)
{
    return (loaded_type_scope){types->info, types->module, types->import, types->arguments,
                               types->argument_count};
}

ClassID trace_class_of_token(const trace_types *types, mdToken token)
{
    loaded_type_scope scope = scope_of(types);

    return loaded_type_of_token(&scope, token, NULL, 0);
}

/* ---- kinds ---- */

static const struct {
    char name[9]; /* no pointer, which would need a relocation */
    uint8_t kind;
} KNOWN[] = {
    {"Guid", TRACE_KIND_GUID},          {"DateTime", TRACE_KIND_DATE_TIME},
    {"Decimal", TRACE_KIND_DECIMAL},    {"TimeSpan", TRACE_KIND_TIME_SPAN},
    {"DateOnly", TRACE_KIND_DATE_ONLY}, {"TimeOnly", TRACE_KIND_TIME_ONLY},
};

/* A type of the system that is shown in a way of its own; 0 = it is none. */
uint8_t trace_type_kind_of_name(const char *name)
{
    if (!text_starts_with(name, "System."))
        return 0;
    for (size_t n = 0; n < sizeof KNOWN / sizeof KNOWN[0]; n++)
        if (strcmp(name + 7, KNOWN[n].name) == 0)
            return KNOWN[n].kind;
    for (size_t n = 0; n < LOADED_TYPE_SIMPLE; n++)
        if (strcmp(name + 7, LOADED_TYPES_SIMPLE[n].name) == 0)
            return LOADED_TYPES_SIMPLE[n].element;
    return 0;
}

/* Is it a value type? Its base class tells. */
bool trace_class_is_value(const clr_info *info, ClassID class_id, bool *is_enum)
{
    trace_class_place at;
    buffer name = BUFFER_EMPTY;
    bool value;

    if (trace_class_open(info, class_id, &at))
        trace_class_append_name(info, at.parent, &name);
    *is_enum = strcmp(buffer_text(&name), "System.Enum") == 0;
    value = *is_enum || strcmp(buffer_text(&name), "System.ValueType") == 0;
    buffer_clear(&name);
    trace_class_append_name(info, class_id, &name);
    value &= strcmp(buffer_text(&name), "System.Enum") != 0; /* itself a class */
    buffer_free(&name);
    trace_class_release(&at);
    return value;
}

/* Of an enum: the element of its values. */
uint8_t trace_class_enum_element(const trace_class_place *at)
{
    mdFieldDef field = 0;
    const uint8_t *signature = NULL;
    uint32_t size = 0;
    uint8_t element = 0;

    if (!CLR_OK(clr_find_field(at->import, at->type, "value__", &field)) ||
        !CLR_OK(clr_import_get_field_props(at->import, field, NULL, NULL, 0, NULL, NULL, &signature,
                                           &size, NULL, NULL, NULL)) ||
        signature == NULL || !cil_signature_field_element(signature, size, &element))
        return 0;
    return element;
}

bool trace_type_is_plain(uint8_t element)
{
    return (element >= CIL_TYPE_BOOLEAN && element <= CIL_TYPE_R8) || element == CIL_TYPE_INT_PTR ||
           element == CIL_TYPE_UINT_PTR;
}

/* What a class is as the type of a variable. */
trace_type trace_type_of_class(const clr_info *info, ClassID class_id)
{
    trace_type t = {.element = CIL_TYPE_OBJECT, .class_id = class_id};
    buffer name = BUFFER_EMPTY;
    bool is_enum = false;
    uint8_t kind;
    CorElementType element = 0;
    ClassID of = 0;
    uint32_t rank = 0;

    if (clr_info_is_array_class(info, class_id, &element, &of, &rank) == S_OK) {
        t.vector = rank == 1;
        if (rank == 1 && trace_type_is_plain((uint8_t)element))
            t.items = (uint8_t)element;
        return t;
    }
    trace_class_append_name(info, class_id, &name);
    kind = trace_type_kind_of_name(buffer_text(&name));
    if (kind == CIL_TYPE_STRING || (kind != 0 && kind < TRACE_KIND_NULL))
        t.element = kind;
    else if (kind != 0 || trace_class_is_value(info, class_id, &is_enum))
        t.element = CIL_TYPE_VALUETYPE;
    t.anything = strcmp(buffer_text(&name), "System.Object") == 0;
    buffer_free(&name);
    return t;
}

/* A type of a signature. Element 0 = one that cannot be shown. */
trace_type trace_type_of(const trace_types *types, const cil_type *t)
{
    trace_type known = {.element = t->element};
    loaded_type_scope scope = scope_of(types);

    switch (t->element) {
    case CIL_TYPE_CLASS:
        known.class_id = trace_class_of_token(types, t->token);
        known.element = CIL_TYPE_OBJECT;
        return known;
    case CIL_TYPE_OBJECT:
        known.anything = true;
        return known;
    case CIL_TYPE_VECTOR:
        if (trace_type_is_plain(t[1].element))
            known.items = t[1].element;
        known.vector = true;
        known.element = CIL_TYPE_OBJECT;
        return known;
    case CIL_TYPE_ARRAY:
        known.element = CIL_TYPE_OBJECT;
        return known;
    case CIL_TYPE_VALUETYPE:
        known.class_id = trace_class_of_token(types, t->token);
        break;
    case CIL_TYPE_GENERIC:
        known.element = t[1].element == CIL_TYPE_CLASS ? CIL_TYPE_OBJECT : CIL_TYPE_VALUETYPE;
        if (known.element == CIL_TYPE_OBJECT)
            return known;
        known.class_id = loaded_type_class(&scope, t);
        break;
    case CIL_TYPE_VARIABLE:
        if (t->number < types->argument_count)
            return trace_type_of_class(types->info, types->arguments[t->number]);
        return known;
    case CIL_TYPE_METHOD_VARIABLE:
        return known;
    case CIL_TYPE_VOID:
    case CIL_TYPE_BYREF:
    case CIL_TYPE_TYPED_REFERENCE:
        return (trace_type){0};
    case CIL_TYPE_POINTER:
    case CIL_TYPE_FUNCTION:
        known.element = CIL_TYPE_UINT_PTR;
        return known;
    default:
        return known;
    }
    return known.class_id == 0 ? (trace_type){0} : known;
}
