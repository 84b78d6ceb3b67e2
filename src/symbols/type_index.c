/* type_index: see type_index.h. */
#include "symbols/type_index.h"

#include <string.h>

#include "metadata/assembly.h"

enum { MOST_NAMES = 64 << 20 };

void type_index_init(type_index *t)
{
    memset(t, 0, sizeof *t);
    table_u64_init(&t->nested);
    static_fields_init(&t->statics);
    field_index_init(&t->fields, &t->statics.types);
}

void type_index_free(type_index *t)
{
    buffer_free(&t->names);
    table_u64_free(&t->nested);
    static_fields_free(&t->statics);
    field_index_free(&t->fields);
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

void type_index_add(type_index *t, const void *bytes, size_t length)
{
    error e = {0};
    assembly a;

    if (assembly_open(&a, bytes, length, &e) != 0)
        return;
    add_nested(t, &a);
    static_fields_add(&t->statics, &a);
    field_index_add(&t->fields, &a);
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
