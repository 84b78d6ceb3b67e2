/* field_index: see field_index.h. */
#include "symbols/field_index.h"

#include <string.h>

#include "base/array.h"

enum {
    FIELD_STATIC = 0x10,
    FIELD_LITERAL = 0x40,
    LAYOUT_EXPLICIT = 0x10, /* of a class */
    MOST_BYTES = 64 << 20,
    MOST_FIELDS = 8 << 20,
    DEEPEST = 8,
    MOST_NAME = 256,
    MOST_STEPS = 4096, /* of one question: structs in structs */
    /* the bytes of shapes */
    NUMBER = 0,
    REFERENCE,
    VARIABLE, /* then which */
    STRUCT,   /* then the number of its name, how many arguments, and these */
    NOTHING_KNOWN,
    NAME_BYTES = 4,
};

void field_index_init(field_index *f, type_tree *types)
{
    memset(f, 0, sizeof *f);
    f->types = types;
    table_u64_init(&f->by_token);
    table_u64_init(&f->classes);
}

void field_index_free(field_index *f)
{
    table_u64_free(&f->by_token);
    table_u64_free(&f->classes);
    memory_free(f->all);
    memory_free(f->class_list);
    buffer_free(&f->names);
    buffer_free(&f->shapes);
}

static uint64_t key_of(const char *home, uint32_t token)
{
    return table_hash_bytes(home, strlen(home)) ^ table_hash_u64(token);
}

/* ---- what there is ---- */

static void put_name(uint32_t name, uint8_t count, buffer *out)
{
    buffer_append_char(out, STRUCT);
    buffer_append(out, &name, NAME_BYTES);
    buffer_append(out, &count, sizeof count);
}

static void put_shape(field_index *f, const assembly *a, const cil_signature *s, uint32_t at,
                      unsigned depth);

/* Of an instance of a generic struct, whose name is at `name`. */
static void put_generic(field_index *f, const assembly *a, const cil_signature *s, uint32_t at,
                        uint32_t name, unsigned depth)
{
    uint32_t end = at + s->types[at].nodes;
    size_t count_at = f->shapes.length + 1 + NAME_BYTES;
    uint8_t count = 0;

    put_name(type_tree_number(f->types, a, s->types[name].token), 0, &f->shapes);
    at = name + s->types[name].nodes;
    for (; at < end && at < s->type_count && count < UINT8_MAX; at += s->types[at].nodes, count++)
        put_shape(f, a, s, at, depth + 1);
    if (!buffer_failed(&f->shapes))
        f->shapes.data[count_at] = count;
}

/* Of one type of a signature. */
static void put_shape(field_index *f, const assembly *a, const cil_signature *s, uint32_t at,
                      unsigned depth)
{
    buffer *out = &f->shapes;
    uint32_t inner;

    at = cil_type_skip_modifiers(s, at);
    if (at >= s->type_count || depth > DEEPEST) {
        buffer_append_char(out, NOTHING_KNOWN);
        return;
    }
    switch (s->types[at].element) {
    case CIL_TYPE_STRING:
    case CIL_TYPE_CLASS:
    case CIL_TYPE_ARRAY:
    case CIL_TYPE_OBJECT:
    case CIL_TYPE_VECTOR:
        buffer_append_char(out, REFERENCE);
        break;
    case CIL_TYPE_VARIABLE:
        buffer_append_char(out, VARIABLE);
        buffer_append_char(out, (char)(s->types[at].number & 0xff));
        break;
    case CIL_TYPE_VALUETYPE:
        put_name(type_tree_number(f->types, a, s->types[at].token), 0, out);
        break;
    case CIL_TYPE_GENERIC:
        inner = cil_type_skip_modifiers(s, at + 1);
        if (inner < s->type_count && s->types[inner].element == CIL_TYPE_VALUETYPE)
            put_generic(f, a, s, at, inner, depth);
        else
            buffer_append_char(out, REFERENCE);
        break;
    default:
        buffer_append_char(out, NUMBER);
        break;
    }
}

static bool has_room(field_index *f)
{
    return array_reserve(&f->all, &f->capacity, f->count + 1, sizeof *f->all) &&
           array_reserve(&f->class_list, &f->class_capacity, f->class_count + 1,
                         sizeof *f->class_list) &&
           f->count < MOST_FIELDS && f->names.length < MOST_BYTES && f->shapes.length < MOST_BYTES;
}

static void add_field(field_index *f, const assembly *a, uint32_t row, uint32_t class_row)
{
    metadata_span bytes =
        metadata_cell_blob(&a->tables, METADATA_FIELD, row, METADATA_FIELD_SIGNATURE);
    field_index_field *field = &f->all[f->count++];
    cil_signature s;

    *field = (field_index_field){(uint32_t)f->names.length, (uint32_t)f->shapes.length, row,
                                 class_row, 0};
    if (bytes.data != NULL)
        cil_signature_field_element(bytes.data, bytes.length, &field->element);
    buffer_append_text(&f->names,
                       metadata_cell_string(&a->tables, METADATA_FIELD, row, METADATA_FIELD_NAME));
    buffer_append_char(&f->names, '\0');
    cil_signature_init(&s);
    if (bytes.data != NULL && cil_signature_read(&s, bytes.data, bytes.length, NULL) == 0)
        put_shape(f, a, &s, 0, 0);
    else
        buffer_append_char(&f->shapes, NOTHING_KNOWN);
    cil_signature_free(&s);
    f->failed = f->failed || buffer_failed(&f->names) || buffer_failed(&f->shapes);
}

/* Those that are static, or those that are not. */
static void add_fields(field_index *f, const assembly *a, uint32_t class_row, uint32_t wanted)
{
    const char *home = assembly_name(a);
    uint32_t first, end;

    metadata_list(&a->tables, METADATA_TYPE_DEF, class_row, METADATA_TYPE_DEF_FIELDS, &first, &end);
    for (uint32_t row = first; row < end && !f->failed && has_room(f); row++) {
        uint32_t flags = metadata_cell(&a->tables, METADATA_FIELD, row, METADATA_FIELD_FLAGS);

        if ((flags & (FIELD_STATIC | FIELD_LITERAL)) != wanted)
            continue;
        add_field(f, a, row, class_row);
        if (!table_u64_put(&f->by_token, key_of(home, METADATA_FIELD << 24 | row), f->count))
            f->failed = true;
    }
}

static void add_class(field_index *f, const assembly *a, uint32_t row)
{
    uint32_t flags = metadata_cell(&a->tables, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FLAGS);
    field_index_class class = {(uint32_t)f->count, 0, row, (flags & LAYOUT_EXPLICIT) != 0};
    uint32_t number = type_tree_number(f->types, a, METADATA_TYPE_DEF << 24 | row);
    uint64_t *place;

    add_fields(f, a, row, 0);
    class.count = (uint32_t)f->count - class.first;
    place =
        f->failed || !has_room(f) ? NULL : table_u64_at(&f->classes, number, f->class_count + 1);
    if (place != NULL && *place <= f->class_count)
        f->class_list[*place - 1].is_unsure = true;
    else if (place != NULL)
        f->class_list[f->class_count++] = class;
    add_fields(f, a, row, FIELD_STATIC);
}

void field_index_add(field_index *f, const assembly *a)
{
    uint64_t left = metadata_rows(&a->tables, METADATA_FIELD); /* each belongs to one class */

    for (uint32_t row = 1;
         row <= metadata_rows(&a->tables, METADATA_TYPE_DEF) && !f->failed && has_room(f); row++) {
        uint32_t first, end;

        metadata_list(&a->tables, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FIELDS, &first, &end);
        if (end - first > left)
            return;
        left -= end - first;
        add_class(f, a, row);
    }
}

/* ---- questions ---- */

const field_index_field *field_index_find(const field_index *f, const char *home, uint32_t token)
{
    uint64_t place;

    return !f->failed && table_u64_get(&f->by_token, key_of(home, token), &place)
               ? &f->all[place - 1]
               : NULL;
}

const char *field_index_name(const field_index *f, const field_index_field *field)
{
    return (const char *)f->names.data + field->name;
}

/* An enumeration is kept as its number, and a type variable stands for anything. */
bool field_index_may_be(const field_index_field *field, uint8_t kind)
{
    switch (field->element) {
    case CIL_TYPE_STRING:
    case CIL_TYPE_CLASS:
    case CIL_TYPE_ARRAY:
    case CIL_TYPE_OBJECT:
    case CIL_TYPE_VECTOR:
        return kind == CIL_TYPE_CLASS;
    case CIL_TYPE_VALUETYPE:
        return kind != CIL_TYPE_CLASS;
    case CIL_TYPE_VARIABLE:
    case CIL_TYPE_GENERIC:
        return true;
    case CIL_TYPE_POINTER:
    case CIL_TYPE_FUNCTION:
    case CIL_TYPE_INT_PTR:
    case CIL_TYPE_UINT_PTR:
        return kind != CIL_TYPE_CLASS && kind != CIL_TYPE_VALUETYPE;
    default:
        return field->element == kind;
    }
}

void field_index_append_class(const field_index *f, const char *home, uint32_t row, buffer *out)
{
    uint32_t token = METADATA_TYPE_DEF << 24 | row;

    type_tree_append_name(f->types, type_tree_find(f->types, home, token).name, out);
}

/* The class with that name; of its dots the last ones may stand before nested classes. */
static const field_index_class *class_named(const field_index *f, const char *name, size_t length)
{
    char path[MOST_NAME];
    uint64_t number, place;

    if (length >= sizeof path)
        return NULL;
    memcpy(path, name, length);
    path[length] = '\0';
    while (!table_text_get(&f->types->names, path, length, &number) ||
           !table_u64_get(&f->classes, number, &place)) {
        char *dot = strrchr(path, '.');

        if (dot == NULL)
            return NULL;
        *dot = '+';
    }
    return &f->class_list[place - 1];
}

bool field_index_is_class(const field_index *f, const char *name, size_t length, uint32_t class_row,
                          const uint32_t *tokens, size_t count)
{
    const field_index_class *class = f->failed ? NULL : class_named(f, name, length);

    if (class == NULL || class->count != count || class->row != class_row)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < count && f->all[class->first + k].row != (tokens[i] & 0xffffff))
            k++;
        if (k == count)
            return false;
    }
    return true;
}

void field_index_put_reference(buffer *out)
{
    buffer_append_char(out, REFERENCE);
}

void field_index_put_number(buffer *out)
{
    buffer_append_char(out, NUMBER);
}

void field_index_put_struct(const field_index *f, const char *home, uint32_t token, uint8_t count,
                            buffer *out)
{
    put_name(type_tree_find(f->types, home, token).name, count, out);
}

/* ---- inside of structs ---- */

/* A shape with what its variables stand for. */
typedef struct meaning {
    const uint8_t *arguments[FIELD_INDEX_ARGUMENTS];
    uint32_t count;
    const struct meaning *of; /* the arguments' own variables */
} meaning;

typedef struct {
    const field_index *f;
    field_index_spell *spell;
    unsigned steps;
    bool is_unsure;
} search;

static uint32_t name_of(const uint8_t *shape)
{
    uint32_t name;

    memcpy(&name, shape + 1, NAME_BYTES);
    return name;
}

/* Behind a shape; NULL when it goes too far. */
static const uint8_t *behind(search *s, const uint8_t *shape)
{
    const uint8_t *next = shape + 1;

    if (++s->steps > MOST_STEPS)
        s->is_unsure = true;
    if (s->is_unsure)
        return NULL;
    if (*shape == VARIABLE)
        return shape + 2;
    if (*shape != STRUCT)
        return next;
    next = shape + 2 + NAME_BYTES;
    for (uint8_t i = 0; i < shape[1 + NAME_BYTES] && next != NULL; i++)
        next = behind(s, next);
    return next;
}

/* What a shape is once its variables are replaced; *of: what those of the answer stand for. */
static const uint8_t *resolve(search *s, const uint8_t *shape, const meaning **of)
{
    while (shape != NULL && *shape == VARIABLE) {
        uint8_t which = shape[1];

        if (++s->steps > MOST_STEPS || *of == NULL || which >= (*of)->count) {
            s->is_unsure = true;
            return NULL;
        }
        shape = (*of)->arguments[which];
        *of = (*of)->of;
    }
    if (shape != NULL && *shape == NOTHING_KNOWN)
        s->is_unsure = true;
    return s->is_unsure ? NULL : shape;
}

/* The struct's fields, and what their variables stand for. */
static const field_index_class *enter(search *s, const uint8_t *shape, const meaning *of,
                                      meaning *inner)
{
    const field_index_class *class;
    const uint8_t *at = shape + 2 + NAME_BYTES;
    uint64_t place;

    *inner = (meaning){.of = of};
    for (uint8_t i = 0; i < shape[1 + NAME_BYTES] && at != NULL; i++) {
        if (inner->count == FIELD_INDEX_ARGUMENTS)
            s->is_unsure = true;
        else
            inner->arguments[inner->count++] = at;
        at = behind(s, at);
    }
    if (at == NULL || name_of(shape) == 0 ||
        !table_u64_get(&s->f->classes, name_of(shape), &place)) {
        s->is_unsure = true;
        return NULL;
    }
    class = &s->f->class_list[place - 1];
    s->is_unsure = s->is_unsure || class->is_unsure;
    return s->is_unsure ? NULL : class;
}

/* How many references there are in a struct; where `out` is there, the name of the one with that
 * number is appended. */
static uint32_t look_inside(search *s, const uint8_t *shape, const meaning *of, uint32_t number,
                            unsigned depth, buffer *out)
{
    meaning inner;
    const field_index_class *class = depth > DEEPEST ? NULL : enter(s, shape, of, &inner);
    uint32_t found = 0;

    if (class == NULL) {
        s->is_unsure = true;
        return 0;
    }
    for (int turn = 0; turn < 2; turn++) { /* references, then structs */
        for (uint32_t i = 0; i < class->count && !s->is_unsure; i++, s->steps++) {
            const field_index_field *field = &s->f->all[class->first + i];
            const meaning *from = &inner;
            const uint8_t *type = resolve(s, s->f->shapes.data + field->shape, &from);
            uint32_t here = 0;

            if (type != NULL && *type == REFERENCE && turn == 0)
                here = 1;
            if (type != NULL && *type == STRUCT && turn == 1)
                here = look_inside(s, type, from, 0, depth + 1, NULL);
            if (out != NULL && number >= found && number < found + here) {
                s->spell(out, field_index_name(s->f, field));
                if (turn == 1) {
                    buffer_append_char(out, '.');
                    look_inside(s, type, from, number - found, depth + 1, out);
                }
            }
            found += here;
        }
    }
    return found;
}

bool field_index_name_inside(const field_index *f, const field_index_field *field,
                             const field_index_arguments *arguments, uint32_t number, uint32_t all,
                             field_index_spell *spell, buffer *out)
{
    search s = {.f = f, .spell = spell};
    meaning outer = {.count = arguments->count};
    const meaning *of = &outer;
    size_t before = out->length;
    const uint8_t *shape;

    memcpy(outer.arguments, arguments->shapes, sizeof outer.arguments);
    shape = f->failed ? NULL : resolve(&s, f->shapes.data + field->shape, &of);
    if (shape == NULL || *shape != STRUCT || number >= all ||
        look_inside(&s, shape, of, 0, 0, NULL) != all || s.is_unsure)
        return false;
    s.steps = 0;
    look_inside(&s, shape, of, number, 0, out);
    if (s.is_unsure)
        out->length = before;
    return !s.is_unsure;
}
