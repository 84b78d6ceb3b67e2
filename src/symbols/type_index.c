/* type_index: see type_index.h. */
#include "symbols/type_index.h"

#include <string.h>

#include "metadata/assembly.h"

enum { FIELD_STATIC = 0x10, FIELD_LITERAL = 0x40, MOST_NAMES = 64 << 20 };

#define SEVERAL UINT64_MAX

void type_index_init(type_index *t)
{
    memset(t, 0, sizeof *t);
    table_u64_init(&t->nested);
    table_text_init(&t->statics);
}

void type_index_free(type_index *t)
{
    buffer_free(&t->names);
    table_u64_free(&t->nested);
    table_text_free(&t->statics);
}

static uint64_t key_of(const char *home, uint32_t token)
{
    return table_hash_bytes(home, strlen(home)) ^ table_hash_u64(token);
}

/* Where the name begins that is put behind the others. */
static size_t add_name(type_index *t, const assembly *a, uint32_t row)
{
    size_t at = t->names.length;

    assembly_type_name(a, METADATA_TYPE_DEF << 24 | row, &t->names);
    buffer_append_char(&t->names, '\0');
    return at;
}

static void add_nested(type_index *t, const assembly *a)
{
    const char *name = assembly_name(a);

    for (uint32_t i = 1;
         i <= metadata_rows(&a->tables, METADATA_NESTED_CLASS) && t->names.length < MOST_NAMES;
         i++) {
        uint32_t row = metadata_cell(&a->tables, METADATA_NESTED_CLASS, i, METADATA_NESTED_INNER);

        table_u64_put(&t->nested, key_of(name, METADATA_TYPE_DEF << 24 | row), add_name(t, a, row));
    }
}

/* A class with parameters is several. Returns how many fields it has. */
static uint32_t add_statics(type_index *t, const assembly *a, uint32_t row)
{
    uint32_t first;
    uint32_t end;
    size_t at = SIZE_MAX;

    metadata_list(&a->tables, METADATA_TYPE_DEF, row, METADATA_TYPE_DEF_FIELDS, &first, &end);
    for (uint32_t field = first; field < end; field++) {
        uint32_t flags = metadata_cell(&a->tables, METADATA_FIELD, field, METADATA_FIELD_FLAGS);
        const char *name =
            metadata_cell_string(&a->tables, METADATA_FIELD, field, METADATA_FIELD_NAME);
        uint64_t *place;

        if ((flags & (FIELD_STATIC | FIELD_LITERAL)) != FIELD_STATIC)
            continue;
        if (at == SIZE_MAX)
            at = add_name(t, a, row);
        if (t->names.failed)
            break;
        place = table_text_at(&t->statics, name, strlen(name), at);
        if (place != NULL &&
            (*place != at || strchr((const char *)t->names.data + at, '`') != NULL))
            *place = SEVERAL;
    }
    return end - first;
}

void type_index_add(type_index *t, const void *bytes, size_t length)
{
    uint64_t left;
    error e = {0};
    assembly a;

    if (assembly_open(&a, bytes, length, &e) != 0)
        return;
    add_nested(t, &a);
    left = metadata_rows(&a.tables, METADATA_FIELD); /* each belongs to one type */
    for (uint32_t row = 1;
         row <= metadata_rows(&a.tables, METADATA_TYPE_DEF) && t->names.length < MOST_NAMES;
         row++) {
        uint32_t fields = add_statics(t, &a, row);

        if (fields > left)
            return;
        left -= fields;
    }
}

static const char *name_at(const type_index *t, uint64_t at)
{
    return t->names.failed || at >= t->names.length ? NULL : (const char *)t->names.data + at;
}

const char *type_index_nested(const type_index *t, const char *home, uint32_t token)
{
    uint64_t at;

    return table_u64_get(&t->nested, key_of(home, token), &at) ? name_at(t, at) : NULL;
}

const char *type_index_static(const type_index *t, const char *field)
{
    uint64_t at;

    return table_text_get(&t->statics, field, strlen(field), &at) ? name_at(t, at) : NULL;
}
