/* static_fields: see static_fields.h. */
#include "symbols/static_fields.h"

#include <string.h>

#include "base/memory.h"

enum { FIELD_STATIC = 0x10, FIELD_LITERAL = 0x40 };
enum { MOST_NAMES = 64 << 20, MOST_FIELDS = 16 << 20, MOST_ROUNDS = 8 };

#define NOWHERE UINT32_MAX

void static_fields_init(static_fields *s)
{
    memset(s, 0, sizeof *s);
    type_tree_init(&s->types);
    table_text_init(&s->names);
}

void static_fields_free(static_fields *s)
{
    type_tree_free(&s->types);
    buffer_free(&s->classes);
    table_text_free(&s->names);
    memory_free(s->all);
    memory_free(s->latest);
}

/* ---- what there is ---- */

/* Whether the runtime may tell of such a field: it holds a reference, or a struct in a box. */
static bool may_be_told(metadata_span signature)
{
    uint8_t element;

    if (signature.data == NULL ||
        !cil_signature_field_element(signature.data, signature.length, &element))
        return false;
    return element >= CIL_TYPE_STRING && element != CIL_TYPE_POINTER &&
           element != CIL_TYPE_FUNCTION && element != CIL_TYPE_INT_PTR &&
           element != CIL_TYPE_UINT_PTR;
}

static bool has_room(static_fields *s, size_t names)
{
    if (s->count == s->capacity) {
        size_t wish = s->capacity * 2 + 4096;
        static_field *grown = memory_resize(s->all, wish * sizeof *grown);

        if (grown == NULL)
            return false;
        s->all = grown;
        s->capacity = wish;
    }
    if (names > s->latest_capacity) {
        size_t wish = s->latest_capacity * 2 + 4096;
        uint32_t *grown = memory_resize(s->latest, wish * sizeof *grown);

        if (grown == NULL)
            return false;
        s->latest = grown;
        s->latest_capacity = wish;
    }
    return true;
}

/* false: no room for more. */
static bool add_field(static_fields *s, const char *name, size_t class, type_tree_type type)
{
    uint64_t *number = table_text_at(&s->names, name, strlen(name), 0);

    if (number == NULL || s->count == MOST_FIELDS || !has_room(s, s->names.count))
        return false;
    if (*number == 0) {
        *number = s->names.count;
        s->latest[*number - 1] = 0;
    }
    s->all[s->count++] = (static_field){(uint32_t)*number, (uint32_t) class, s->assembly_count,
                                        s->latest[*number - 1], type};
    s->latest[*number - 1] = (uint32_t)s->count;
    return true;
}

/* Returns how many fields the class has. */
static uint32_t add_class(static_fields *s, const assembly *a, uint32_t row)
{
    size_t at = s->classes.length;
    uint32_t first, end;

    metadata_list(&a->tables, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FIELDS, &first, &end);
    for (uint32_t field = first; field < end; field++) {
        uint32_t flags = metadata_cell(&a->tables, METADATA_FIELD, field, METADATA_FIELD_FLAGS);
        const char *name =
            metadata_cell_string(&a->tables, METADATA_FIELD, field, METADATA_FIELD_NAME);
        metadata_span signature =
            metadata_cell_blob(&a->tables, METADATA_FIELD, field, METADATA_FIELD_SIGNATURE);

        if ((flags & (FIELD_STATIC | FIELD_LITERAL)) != FIELD_STATIC || !may_be_told(signature))
            continue;
        if (s->classes.length == at) {
            assembly_type_name(a, METADATA_TYPE_DEF << 24 | row, &s->classes);
            buffer_append_char(&s->classes, '\0');
            /* the runtime tells none of a generic class */
            if (buffer_failed(&s->classes) ||
                strchr((const char *)s->classes.data + at, '`') != NULL)
                break;
        }
        if (!add_field(s, name, at, type_tree_declared(&s->types, a, signature)))
            break;
    }
    return end - first;
}

void static_fields_add(static_fields *s, const assembly *a)
{
    uint64_t left = metadata_rows(&a->tables, METADATA_FIELD); /* each belongs to one class */

    s->assembly_count++;
    type_tree_add(&s->types, a);
    for (uint32_t row = 1;
         row <= metadata_rows(&a->tables, METADATA_TYPE_DEF) && s->classes.length < MOST_NAMES;
         row++) {
        uint32_t fields = add_class(s, a, row);

        if (fields > left)
            return;
        left -= fields;
    }
}

/* ---- which is which ---- */

/* A field that was told. */
typedef struct {
    uint32_t name;  /* number, 0 = no class has such a field */
    uint32_t place; /* in `all`, or NOWHERE */
    uint32_t like;  /* one of several places whose classes have the same name, or NOWHERE */
    uint32_t left;  /* as far to the left as it goes behind its neighbours, or NOWHERE */
    uint32_t right;
    type_tree_type object;
} told_field;

/* Of an assembly: none of its fields has its place; fields in one row have; in more than one: it
 * was loaded twice, and may be anywhere. */
typedef enum { UNSEEN, SEEN, SEEN_APART } seen;

typedef struct {
    const static_fields *s;
    told_field *told;
    size_t count;
    seen *seen; /* by assembly */
} fitting;

static bool fits(const fitting *f, const told_field *t, uint32_t place)
{
    const static_field *field = &f->s->all[place];

    return field->name == t->name && type_tree_may_hold(&f->s->types, field->type, t->object);
}

static uint32_t assembly_of(const fitting *f, uint32_t place)
{
    return f->s->all[place].assembly;
}

/* Fields (from, to) are behind `from` in its assembly, at the latest before `end`. Returns whether
 * all find a place. */
static bool fit_left(const fitting *f, size_t from, size_t to, uint32_t end)
{
    uint32_t place = f->told[from].place + 1;
    uint32_t home = assembly_of(f, f->told[from].place);

    for (size_t k = from + 1; k < to; k++) {
        while (place < end && assembly_of(f, place) == home && !fits(f, &f->told[k], place))
            place++;
        if (place >= end || assembly_of(f, place) != home)
            return false;
        f->told[k].left = place++;
    }
    return true;
}

/* The same before `to`, not before `begin`. */
static bool fit_right(const fitting *f, size_t from, size_t to, uint32_t begin)
{
    uint32_t place = f->told[to].place;
    uint32_t home = assembly_of(f, place);

    for (size_t k = to; k-- > from + 1;) {
        while (place > begin && assembly_of(f, place - 1) == home &&
               !fits(f, &f->told[k], place - 1))
            place--;
        if (place <= begin || assembly_of(f, place - 1) != home)
            return false;
        f->told[k].right = --place;
    }
    return true;
}

static const char *class_at(const static_fields *s, uint32_t place)
{
    return (const char *)s->classes.data + s->all[place].class;
}

/* Gives the field the only place where it can be: in the assembly of the one before it, of the one
 * behind it, or in one that nothing else is in. */
static void find_place(const fitting *f, told_field *t, uint32_t before, uint32_t behind)
{
    const static_fields *s = f->s;
    uint32_t found = NOWHERE;
    uint32_t next = t->name == 0 ? 0 : s->latest[t->name - 1];
    bool is_alone = true;
    bool is_alike = true;

    while (next != 0 && is_alike) {
        uint32_t place = next - 1;
        uint32_t home = assembly_of(f, place);

        next = s->all[place].previous;
        if (!((t->left != NOWHERE && home == before && place >= t->left) ||
              (t->right != NOWHERE && home == behind && place <= t->right) ||
              f->seen[home] != SEEN) ||
            !fits(f, t, place))
            continue;
        is_alone = found == NOWHERE;
        is_alike = is_alone || strcmp(class_at(s, found), class_at(s, place)) == 0;
        found = place;
    }
    if (is_alone)
        t->place = found;
    if (is_alike)
        t->like = found;
}

/* Fields (from, to) have no place yet; those at the ends have one, or are the ends of all (SIZE_MAX
 * and count). Returns how many got one. */
static size_t fit(fitting *f, size_t from, size_t to)
{
    uint32_t first = from == SIZE_MAX ? NOWHERE : f->told[from].place;
    uint32_t last = to == f->count ? NOWHERE : f->told[to].place;
    uint32_t before = first == NOWHERE ? 0 : assembly_of(f, first);
    uint32_t behind = last == NOWHERE ? 0 : assembly_of(f, last);
    bool is_inside = before != 0 && before == behind && first < last;
    size_t found = 0;

    for (size_t k = from + 1; k < to; k++) {
        f->told[k].left = f->told[k].right = NOWHERE;
        if (f->told[k].name == 0)
            return 0; /* something that is in no assembly that could be read: no telling what */
    }
    if (is_inside) {
        if (!fit_left(f, from, to, last) || !fit_right(f, from, to, first + 1))
            return 0;
    } else {
        if (before == behind)
            return 0;
        if (before != 0)
            fit_left(f, from, to, (uint32_t)f->s->count);
        if (behind != 0)
            fit_right(f, from, to, 0);
    }
    for (size_t k = from + 1; k < to; k++) {
        told_field *t = &f->told[k];

        if (!is_inside)
            find_place(f, t, before, behind);
        else if (t->left == t->right)
            t->place = t->left;
        found += t->place != NOWHERE;
    }
    return found;
}

static void look_at_assemblies(fitting *f)
{
    uint32_t last = NOWHERE;

    memset(f->seen, 0, ((size_t)f->s->assembly_count + 1) * sizeof *f->seen);
    for (size_t k = 0; k < f->count; k++) {
        uint32_t place = f->told[k].place;
        seen *home = place == NOWHERE ? NULL : &f->seen[assembly_of(f, place)];

        if (home == NULL)
            continue;
        if (*home != UNSEEN && (assembly_of(f, last) != assembly_of(f, place) || last >= place))
            *home = SEEN_APART;
        else if (*home == UNSEEN)
            *home = SEEN;
        last = place;
    }
}

/* One look at all that lies between fields with a place. */
static size_t fit_all(fitting *f)
{
    size_t from = SIZE_MAX;
    size_t found = 0;

    look_at_assemblies(f);
    for (size_t k = 0; k <= f->count; k++) {
        if (k < f->count && f->told[k].place == NOWHERE)
            continue;
        if (k != from + 1)
            found += fit(f, from, k);
        from = k;
    }
    return found;
}

static void find_names(fitting *f, const static_told *told)
{
    for (size_t k = 0; k < f->count; k++) {
        told_field *t = &f->told[k];
        uint64_t number = 0;

        table_text_get(&f->s->names, told[k].name, strlen(told[k].name), &number);
        *t = (told_field){(uint32_t)number, NOWHERE, NOWHERE, NOWHERE, NOWHERE, {0}};
        if (told[k].is_array)
            t->object.kind = TYPE_TREE_ARRAY;
        else if (told[k].home[0] != '\0')
            t->object = type_tree_find(&f->s->types, told[k].home, told[k].token);
        find_place(f, t, 0, 0);
    }
}

void static_fields_name(const static_fields *s, const static_told *told, const char **classes,
                        size_t count)
{
    fitting f = {.s = s, .count = count};

    f.told = memory_allocate_array(count + 1, sizeof *f.told);
    f.seen = memory_allocate_array((size_t)s->assembly_count + 1, sizeof *f.seen);
    for (size_t k = 0; k < count; k++)
        classes[k] = NULL;
    if (f.told != NULL && f.seen != NULL) {
        find_names(&f, told);
        for (int round = 0; round < MOST_ROUNDS && fit_all(&f) != 0; round++)
            ;
        for (size_t k = 0; k < count; k++) {
            uint32_t place = f.told[k].place != NOWHERE ? f.told[k].place : f.told[k].like;

            if (place != NOWHERE)
                classes[k] = class_at(s, place);
        }
    }
    memory_free(f.told);
    memory_free(f.seen);
}
