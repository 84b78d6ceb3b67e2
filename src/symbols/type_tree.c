/* type_tree: see type_tree.h. */
#include "symbols/type_tree.h"

#include <string.h>

#include "base/memory.h"

enum { INTERFACE = 0x20, MOST_CLASSES = 4 << 20, DEEPEST = 64 };

void type_tree_init(type_tree *t)
{
    memset(t, 0, sizeof *t);
    table_text_init(&t->names);
    table_u64_init(&t->by_name);
    table_u64_init(&t->by_token);
}

void type_tree_free(type_tree *t)
{
    table_text_free(&t->names);
    table_u64_free(&t->by_name);
    table_u64_free(&t->by_token);
    memory_free(t->classes);
    memory_free(t->by_number);
    buffer_free(&t->text);
}

static uint64_t key_of(const char *home, uint32_t token)
{
    return table_hash_bytes(home, strlen(home)) ^ table_hash_u64(token);
}

static uint32_t number_of(type_tree *t, const char *name, size_t length)
{
    uint64_t *number = table_text_at(&t->names, name, length, 0);

    if (number == NULL) {
        t->failed = true;
        return 0;
    }
    if (*number == 0)
        *number = t->names.count;
    return (uint32_t)*number;
}

uint32_t type_tree_number(type_tree *t, const assembly *a, uint32_t token)
{
    buffer_clear(&t->text);
    assembly_type_name(a, token, &t->text);
    t->failed = t->failed || buffer_failed(&t->text);
    return t->failed || t->text.length == 0 ? 0
                                            : number_of(t, buffer_text(&t->text), t->text.length);
}

/* Made when it is asked for, and again when there are more names. */
static bool list_names(type_tree *t)
{
    size_t count = t->names.count;

    if (t->by_number_count == count)
        return true;
    memory_free(t->by_number);
    t->by_number_count = 0;
    t->by_number = memory_allocate_array(count, sizeof *t->by_number);
    if (t->by_number == NULL)
        return false;
    for (size_t i = 0; i < t->names.capacity; i++)
        if (t->names.slots[i].key != NULL)
            t->by_number[t->names.slots[i].value - 1] = &t->names.slots[i];
    t->by_number_count = count;
    return true;
}

void type_tree_append_name(type_tree *t, uint32_t number, buffer *out)
{
    if (number != 0 && number <= t->names.count && list_names(t))
        buffer_append(out, t->by_number[number - 1]->key, t->by_number[number - 1]->length);
}

static type_tree_type type_of(type_tree *t, const assembly *a, const cil_signature *s)
{
    static const char STRING[] = "System.String";
    uint32_t at = cil_type_skip_modifiers(s, 0);
    type_tree_type found = {0};

    if (at < s->type_count && s->types[at].element == CIL_TYPE_GENERIC)
        at++;
    if (at >= s->type_count)
        return found;
    switch (s->types[at].element) {
    case CIL_TYPE_STRING:
        found = (type_tree_type){TYPE_TREE_CLASS, number_of(t, STRING, sizeof STRING - 1), 0};
        break;
    case CIL_TYPE_CLASS:
    case CIL_TYPE_VALUETYPE:
        found = (type_tree_type){TYPE_TREE_CLASS, type_tree_number(t, a, s->types[at].token), 0};
        break;
    case CIL_TYPE_ARRAY:
    case CIL_TYPE_VECTOR:
        found.kind = TYPE_TREE_ARRAY;
        break;
    default:
        break;
    }
    return found;
}

type_tree_type type_tree_declared(type_tree *t, const assembly *a, metadata_span signature)
{
    type_tree_type found = {0};
    cil_signature s;

    cil_signature_init(&s);
    if (cil_signature_read(&s, signature.data, signature.length, NULL) == 0)
        found = type_of(t, a, &s);
    cil_signature_free(&s);
    return found;
}

static uint32_t base_of(type_tree *t, const assembly *a, uint32_t row)
{
    uint32_t token = metadata_token(&a->tables, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_EXTENDS);
    metadata_span bytes;
    cil_signature s;
    uint32_t name = 0;

    if (token >> 24 != METADATA_TYPE_SPEC)
        return (token & 0xffffff) == 0 ? 0 : type_tree_number(t, a, token);
    bytes = assembly_signature(a, token);
    cil_signature_init(&s);
    if (bytes.data != NULL && cil_signature_read_type(&s, bytes.data, bytes.length, NULL) == 0)
        name = type_of(t, a, &s).name;
    cil_signature_free(&s);
    return name;
}

static void put_class(type_tree *t, type_tree_class class, uint64_t token_key)
{
    uint64_t place = t->count + 1;
    uint64_t *named;

    if (t->count == t->capacity) {
        size_t wish = t->capacity * 2 + 4096;
        type_tree_class *grown = memory_resize(t->classes, wish * sizeof *grown);

        if (grown == NULL) {
            t->failed = true;
            return;
        }
        t->classes = grown;
        t->capacity = wish;
    }
    t->classes[t->count++] = class;
    named = table_u64_at(&t->by_name, class.name, place);
    if (named != NULL && *named != place) {
        t->classes[*named - 1].is_several = true;
        t->classes[*named - 1].is_interface |= class.is_interface;
    }
    if (named == NULL || !table_u64_put(&t->by_token, token_key, place))
        t->failed = true;
}

void type_tree_add(type_tree *t, const assembly *a)
{
    const char *home = assembly_name(a);

    for (uint32_t row = 1; row <= metadata_rows(&a->tables, METADATA_TYPE_DEF) && !t->failed &&
                           t->count < MOST_CLASSES;
         row++) {
        uint32_t token = METADATA_TYPE_DEF << 24 | row;
        uint32_t flags = metadata_cell(&a->tables, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FLAGS);
        type_tree_class class = {type_tree_number(t, a, token), base_of(t, a, row),
                                 (flags & INTERFACE) != 0, false};

        if (class.name != 0)
            put_class(t, class, key_of(home, token));
    }
}

type_tree_type type_tree_find(const type_tree *t, const char *home, uint32_t token)
{
    uint64_t place;

    if (t->failed || !table_u64_get(&t->by_token, key_of(home, token), &place))
        return (type_tree_type){0};
    return (type_tree_type){TYPE_TREE_CLASS, t->classes[place - 1].name, (uint32_t)place};
}

/* The first class of this name; NULL when there is none. */
static const type_tree_class *class_of(const type_tree *t, uint32_t name)
{
    uint64_t place;

    return name != 0 && table_u64_get(&t->by_name, name, &place) ? &t->classes[place - 1] : NULL;
}

static bool is_named(const type_tree *t, uint32_t number, const char *name)
{
    uint64_t known;

    return table_text_get(&t->names, name, strlen(name), &known) && known == number;
}

bool type_tree_may_hold(const type_tree *t, type_tree_type field, type_tree_type object)
{
    const type_tree_class *declared = class_of(t, field.name);
    const type_tree_class *class = object.place == 0 ? NULL : &t->classes[object.place - 1];

    if (t->failed || field.kind == TYPE_TREE_ANY || object.kind == TYPE_TREE_ANY)
        return true;
    if (field.kind == TYPE_TREE_ARRAY)
        return object.kind == TYPE_TREE_ARRAY;
    if (declared == NULL || declared->is_interface || is_named(t, field.name, "System.Object"))
        return true;
    if (object.kind == TYPE_TREE_ARRAY)
        return is_named(t, field.name, "System.Array");
    for (int steps = 0; steps < DEEPEST; steps++) {
        if (class == NULL || class->name == field.name)
            return true;
        if (class->base == 0)
            return !is_named(t, class->name, "System.Object");
        class = class_of(t, class->base);
        if (class != NULL && class->is_several && class->name != field.name)
            return true;
    }
    return true;
}
