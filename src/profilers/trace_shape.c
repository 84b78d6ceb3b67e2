/* trace_shape: see trace_shape.h. */
#include "profilers/trace_shape.h"

#include <string.h>

#include "base/memory.h"
#include "base/secret_words.h"
#include "base/text.h"
#include "clarinet/lookup.h"
#include "clarinet/names.h"
#include "profilers/trace_counters.h"

enum {
    MOST_FIELDS = 512,
    SIMPLE_GETTER = 8,
    NAME = 64,
    OBJECT_HEAD = 8,    /* of a boxed value, before it */
    ARRAY_LENGTH = 8,   /* where an array has its length… */
    ARRAY_ELEMENTS = 16 /* …and, if it has one dimension from 0 on, its elements */
};

static const char SECRETS[][14] = {SECRET_WORDS};

typedef struct {
    const clr_info *info;
    const char *redact;
    trace_shape *out;
} making;

static bool contains_ignoring_case(const char *text, const char *word, size_t length)
{
    for (; length != 0 && *text != '\0'; text++) {
        size_t n = 0;

        while (n < length && (text[n] | 32) == (word[n] | 32))
            n++;
        if (n == length)
            return true;
    }
    return false;
}

bool trace_is_secret(const char *name, const char *more)
{
    for (size_t n = 0; n < sizeof SECRETS / sizeof SECRETS[0]; n++)
        if (contains_ignoring_case(name, SECRETS[n], strlen(SECRETS[n])))
            return true;
    while (*more != '\0') {
        size_t length = strcspn(more, ", ");

        if (contains_ignoring_case(name, more, length))
            return true;
        more += length;
        more += *more != '\0';
    }
    return false;
}

/* ---- fields ---- */

static void append_part(char *out, size_t size, const char *text, size_t length)
{
    size_t used = strlen(out);

    if (length > size - 1 - used)
        length = size - 1 - used;
    memcpy(out + used, text, length);
    out[used + length] = '\0';
}

/* The field that a property's getter returns, when it does nothing else. */
static mdFieldDef field_of_getter(const clr_info *info, const trace_class_place *at,
                                  const char *name)
{
    char getter[NAME + 8] = "get_";
    const uint8_t *body = NULL;
    uint32_t size = 0;
    uint32_t token = 0;
    mdMethodDef method = 0;

    append_part(getter, sizeof getter, name, strlen(name));
    if (clr_find_method(at->import, at->type, getter, &method) != S_OK || method == 0 ||
        clr_info_get_il_function_body(info, at->module, method, &body, &size) != S_OK ||
        body == NULL || size < SIMPLE_GETTER)
        return 0;
    /* a tiny header with 7 bytes of code: ldarg.0, ldfld, ret */
    if (body[0] != (7 << 2 | 2) || body[1] != 0x02 || body[2] != 0x7B || body[7] != 0x2A)
        return 0;
    memcpy(&token, body + 3, sizeof token);
    if (CLR_TOKEN_TYPE(token) == mdtMemberRef) { /* of a generic type: by its name */
        WCHAR units[NAME] = {0};
        uint32_t length = 0;
        buffer text = BUFFER_EMPTY;
        mdFieldDef field = 0;

        if (clr_import_get_member_ref_props(at->import, token, NULL, units, NAME, &length, NULL,
                                            NULL) == S_OK)
            text_append_utf16(&text, units, text_utf16_length(units, NAME));
        if (clr_find_field(at->import, at->type, buffer_text(&text), &field) != S_OK)
            field = 0;
        buffer_free(&text);
        return field;
    }
    return CLR_TOKEN_TYPE(token) == mdtFieldDef ? token : 0;
}

static mdFieldDef field_named(const clr_info *info, const trace_class_place *at, const char *name)
{
    char backing[NAME + 24] = "<";
    mdFieldDef field = 0;

    if (clr_find_field(at->import, at->type, name, &field) == S_OK && field != 0)
        return field;
    append_part(backing, sizeof backing, name, strlen(name));
    append_part(backing, sizeof backing, ">k__BackingField", 16);
    if (clr_find_field(at->import, at->type, backing, &field) == S_OK && field != 0)
        return field;
    return field_of_getter(info, at, name);
}

typedef struct {
    mdFieldDef token;
    uint32_t offset;
    trace_type type;
} field;

/* The field's type; static and literal ones have no place. */
static bool describe_field(const clr_info *info, const trace_class_place *at,
                           const COR_FIELD_OFFSET *layout, uint32_t count, mdFieldDef token,
                           field *out)
{
    trace_types types = {.info = info,
                         .module = at->module,
                         .import = at->import,
                         .arguments = at->arguments,
                         .argument_count = at->argument_count};
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    cil_signature signature;
    bool found = false;

    for (uint32_t n = 0; n < count && !found; n++) {
        found = layout[n].ridOfField == token;
        out->offset = layout[n].ulOffset;
    }
    if (!found || !CLR_OK(clr_import_get_field_props(at->import, token, NULL, NULL, 0, NULL, NULL,
                                                     &bytes, &size, NULL, NULL, NULL)))
        return false;
    out->token = token;
    cil_signature_init(&signature);
    found = cil_signature_read(&signature, bytes, size, NULL) == 0;
    if (found)
        out->type = trace_type_of(&types, &signature.types[cil_type_skip_modifiers(&signature, 0)]);
    cil_signature_free(&signature);
    return found;
}

static COR_FIELD_OFFSET *layout_of(const clr_info *info, ClassID class_id, uint32_t *count,
                                   uint32_t *size)
{
    COR_FIELD_OFFSET *layout = memory_allocate_array(MOST_FIELDS, sizeof *layout);

    *count = 0;
    if (layout != NULL &&
        !CLR_OK(clr_info_get_class_layout(info, class_id, layout, MOST_FIELDS, count, size)))
        *count = 0;
    if (*count > MOST_FIELDS)
        *count = MOST_FIELDS;
    return layout;
}

/* Looks for the field in the class and its bases. */
static bool find_field(const clr_info *info, ClassID class_id, const char *name, field *out)
{
    bool found = false;

    while (class_id != 0 && !found) {
        trace_class_place at;
        mdFieldDef token = 0;
        uint32_t count = 0;
        uint32_t size = 0;

        if (trace_class_open(info, class_id, &at))
            token = field_named(info, &at, name);
        if (token != 0) {
            COR_FIELD_OFFSET *layout = layout_of(info, class_id, &count, &size);

            found = layout != NULL && describe_field(info, &at, layout, count, token, out);
            memory_free(layout);
        }
        class_id = token != 0 ? 0 : at.parent;
        trace_class_release(&at);
    }
    return found;
}

/* ---- the end of a path ---- */

static bool end_in(making *m, const trace_type *t, trace_leaf *leaf, trace_step *step);

/* Nullable<T>: what it has, one step further. */
static bool end_in_nullable(making *m, ClassID class_id, trace_leaf *leaf, trace_step *step)
{
    field value;

    if (step == NULL || step->nullable || !find_field(m->info, class_id, "value", &value))
        return false;
    step->nullable = true;
    step->flag = step->offset;
    step->offset += value.offset;
    return end_in(m, &value.type, leaf, step);
}

/* A span or a memory: its elements, if they are where they were in all versions until now. */
static bool end_in_items(making *m, const trace_type *t, const char *name, trace_leaf *leaf)
{
    bool memory = strcmp(name, "System.Memory`1") == 0 || //
                  strcmp(name, "System.ReadOnlyMemory`1") == 0;
    trace_class_place at;
    field length;

    if ((!memory && strcmp(name, "System.Span`1") != 0 &&
         strcmp(name, "System.ReadOnlySpan`1") != 0) ||
        !find_field(m->info, t->class_id, "_length", &length) || length.offset != (memory ? 12 : 8))
        return false;
    leaf->kind = TRACE_KIND_ITEMS;
    leaf->holder = memory ? TRACE_MEMORY : TRACE_SPAN;
    if (trace_class_open(m->info, t->class_id, &at) && at.argument_count == 1)
        leaf->items = trace_type_of_class(m->info, at.arguments[0]).element;
    trace_class_release(&at);
    if (!trace_type_is_plain(leaf->items))
        leaf->items = 0;
    return true;
}

/* A time with its distance from Greenwich, which newer runtimes keep in more bits. */
static bool end_in_date(making *m, ClassID class_id, trace_leaf *leaf)
{
    field date, minutes;

    if (!find_field(m->info, class_id, "_dateTime", &date) ||
        !find_field(m->info, class_id, "_offsetMinutes", &minutes) ||
        (minutes.type.element != CIL_TYPE_I2 && minutes.type.element != CIL_TYPE_I4))
        return false;
    leaf->kind = TRACE_KIND_DATE_TIME_OFFSET;
    leaf->date = (uint8_t)date.offset;
    leaf->minutes = (uint8_t)minutes.offset;
    return true;
}

/* How a value is shown; `step` is the last one to it. False = not at all. */
static bool end_in(making *m, const trace_type *t, trace_leaf *leaf, trace_step *step)
{
    buffer name = BUFFER_EMPTY;
    bool is_enum = false;
    bool nullable;
    bool items;

    leaf->kind = t->element;
    if (t->element == CIL_TYPE_OBJECT && t->vector) {
        leaf->kind = TRACE_KIND_ITEMS;
        leaf->items = t->items;
        leaf->holder = CIL_TYPE_OBJECT;
    }
    if (t->element != CIL_TYPE_VALUETYPE)
        return t->element != 0 && t->element != CIL_TYPE_VARIABLE &&
               t->element != CIL_TYPE_METHOD_VARIABLE;
    trace_class_append_name(m->info, t->class_id, &name);
    if (trace_type_kind_of_name(buffer_text(&name)) != 0)
        leaf->kind = trace_type_kind_of_name(buffer_text(&name));
    nullable = strcmp(buffer_text(&name), "System.Nullable`1") == 0;
    leaf->open = strcmp(buffer_text(&name), "System.Threading.CancellationToken") == 0;
    items = end_in_items(m, t, buffer_text(&name), leaf) ||
            (strcmp(buffer_text(&name), "System.DateTimeOffset") == 0 &&
             end_in_date(m, t->class_id, leaf));
    buffer_free(&name);
    if (items)
        return true;
    if (nullable)
        return end_in_nullable(m, t->class_id, leaf, step);
    if (leaf->kind == CIL_TYPE_VALUETYPE && trace_class_is_value(m->info, t->class_id, &is_enum) &&
        is_enum) {
        trace_class_place at;

        if (trace_class_open(m->info, t->class_id, &at)) {
            leaf->kind = trace_class_enum_element(&at);
            leaf->enum_module = at.module;
            leaf->enum_type = at.type;
        }
        trace_class_release(&at);
    }
    return leaf->kind != 0;
}

/* A struct is shown by its fields. */
static void take_fields(making *m, ClassID class_id)
{
    trace_class_place at;
    uint32_t count = 0;
    uint32_t size = 0;
    COR_FIELD_OFFSET *layout = layout_of(m->info, class_id, &count, &size);
    trace_shape *s = m->out;

    if (layout != NULL && trace_class_open(m->info, class_id, &at)) {
        for (uint32_t n = 0; n < count && s->field_count < TRACE_FIELDS; n++) {
            trace_field *f = &s->fields[s->field_count];
            buffer name = BUFFER_EMPTY;
            const char *text;
            field found;

            if (!describe_field(m->info, &at, layout, count, layout[n].ridOfField, &found) ||
                !CLR_OK(clr_get_field(at.import, found.token, &name, NULL, NULL))) {
                buffer_free(&name);
                continue;
            }
            text = buffer_text(&name);
            append_part(f->name, sizeof f->name, text + (text[0] == '<'),
                        strcspn(text + (text[0] == '<'), ">"));
            f->step.offset = found.offset;
            if (!end_in(m, &found.type, &f->leaf, &f->step) || f->leaf.kind == CIL_TYPE_VALUETYPE)
                f->leaf.kind = 0;
            f->secret = !f->leaf.open && trace_is_secret(f->name, m->redact);
            s->field_count++;
            buffer_free(&name);
        }
        trace_class_release(&at);
    }
    memory_free(layout);
}

/* ---- along a path ---- */

/* An element of an array, by its number, or the array's length. */
static bool step_into_array(making *m, ClassID class_id, const char *name, trace_step *step,
                            trace_type *out)
{
    CorElementType element = 0;
    ClassID of = 0;
    uint32_t rank = 0;
    uint32_t count = 0;
    uint32_t size = 8; /* of a reference */
    uint64_t number = 0;
    COR_FIELD_OFFSET *layout;

    if (clr_info_is_array_class(m->info, class_id, &element, &of, &rank) != S_OK)
        return false;
    if (strcmp(name, "Length") == 0) {
        step->offset = ARRAY_LENGTH;
        *out = (trace_type){.element = CIL_TYPE_I4};
        return rank == 1;
    }
    if (rank != 1 || of == 0 || !text_to_u64(name, &number) || number > INT32_MAX / 64)
        return false;
    *out = trace_type_of_class(m->info, of);
    if (out->element != CIL_TYPE_OBJECT && out->element != CIL_TYPE_STRING) {
        layout = layout_of(m->info, of, &count, &size);
        memory_free(layout);
    }
    step->bound = (uint32_t)number + 1;
    step->offset = (uint32_t)(ARRAY_ELEMENTS + number * size);
    return size != 0 && size < 4096;
}

/* A name after a dot. `inside`: the address is that of the object already. */
static bool step_along(making *m, trace_type *t, const char *name, bool inside)
{
    trace_shape *s = m->out;
    trace_step *step = &s->steps[s->step_count];
    bool is_reference = t->element == CIL_TYPE_OBJECT;
    field found;

    if (s->step_count == TRACE_STEPS || t->class_id == 0 ||
        (!is_reference && t->element != CIL_TYPE_VALUETYPE))
        return false;
    memset(step, 0, sizeof *step);
    if (is_reference && step_into_array(m, t->class_id, name, step, t)) {
        step->load = !inside;
    } else if (find_field(m->info, t->class_id, name, &found)) {
        step->offset = found.offset;
        step->load = is_reference && !inside;
        *t = found.type;
    } else {
        return false;
    }
    s->step_count++;
    return true;
}

/* `inside`: only the object of this class is known yet, the first step begins at it. */
static bool follow(making *m, trace_type t, bool inside, const char *path, size_t rest)
{
    trace_shape *s = m->out;
    trace_step *last;

    while (path[rest] == '.') {
        char name[NAME] = "";
        size_t length = strcspn(path + rest + 1, ".");

        append_part(name, sizeof name, path + rest + 1, length);
        if (!step_along(m, &t, name, inside)) {
            /* a reference: its object may be of a class that has it */
            s->onward = t.element == CIL_TYPE_OBJECT ? TRACE_BY_CLASS : TRACE_BY_TYPE;
            s->rest = (uint8_t)rest;
            return !inside && (t.element == CIL_TYPE_OBJECT || t.element == CIL_TYPE_VARIABLE ||
                               t.element == CIL_TYPE_METHOD_VARIABLE);
        }
        inside = false;
        rest += 1 + length;
    }
    s->rest = (uint8_t)rest;
    if (t.element == CIL_TYPE_VARIABLE || t.element == CIL_TYPE_METHOD_VARIABLE) {
        s->onward = TRACE_BY_TYPE;
        return s->step_count == 0;
    }
    if (t.anything && !inside) {
        s->onward = TRACE_BY_CLASS;
        return true;
    }
    s->itself = inside;
    if (s->step_count == 0) { /* so that a Nullable has one */
        memset(&s->steps[0], 0, sizeof s->steps[0]);
        s->step_count = 1;
    }
    last = &s->steps[s->step_count - 1];
    if (!end_in(m, &t, &s->leaf, last))
        return false;
    if (s->leaf.kind == CIL_TYPE_VALUETYPE)
        take_fields(m, t.class_id);
    return true;
}

bool trace_shape_declared(const trace_types *types, const cil_type *t, const char *path,
                          size_t rest, trace_shape *out)
{
    making m = {types->info, types->redact, out};

    return rest < UINT8_MAX && follow(&m, trace_type_of(types, t), false, path, rest);
}

bool trace_shape_this(const trace_types *types, mdTypeDef type, const char *path, size_t rest,
                      trace_shape *out, bool *by_ref)
{
    making m = {types->info, types->redact, out};
    trace_type t = {.element = CIL_TYPE_OBJECT};
    mdToken extends = 0;
    buffer name = BUFFER_EMPTY;

    if (CLR_OK(clr_get_type_def(types->import, type, NULL, NULL, &extends)))
        clr_append_type_path(types->import, extends, &name);
    *by_ref = strcmp(buffer_text(&name), "System.ValueType") == 0;
    buffer_free(&name);
    if (*by_ref)
        t.element = CIL_TYPE_VALUETYPE;
    t.class_id = trace_class_of_token(types, type);
    return rest < UINT8_MAX && (t.class_id != 0 || !*by_ref) && follow(&m, t, false, path, rest);
}

bool trace_shape_of_class(const clr_info *info, const char *redact, ClassID class_id, bool inside,
                          const char *path, size_t rest, trace_shape *out)
{
    making m = {info, redact, out};
    trace_type t = trace_type_of_class(info, class_id);

    if (!inside) {
        t.anything = t.element == CIL_TYPE_OBJECT; /* objects of it may know more */
        return follow(&m, t, false, path, rest);
    }
    t.anything = false;
    if (t.element == CIL_TYPE_OBJECT || t.element == CIL_TYPE_STRING)
        return follow(&m, t, true, path, rest);
    /* boxed: the value lies behind the object's head */
    out->steps[0].offset = OBJECT_HEAD;
    out->step_count = 1;
    return follow(&m, t, false, path, rest);
}
