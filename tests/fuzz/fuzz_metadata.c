/* Fuzz target: a whole assembly of hostile bytes: PE, metadata, names, signatures and bodies. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cil/pattern.h"
#include "metadata/assembly.h"
#include "metadata/precompiled.h"
#include "symbols/event_sources.h"
#include "symbols/type_index.h"
#include "symbols/values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The assembly stands for every other one that it refers to. */
static const assembly *find_itself(void *context, const char *name)
{
    (void)name;
    return context;
}

static void examine_values(const assembly *a, uint32_t row)
{
    values_finder finder = {find_itself, (void *)(uintptr_t)a, 0};
    values_use found[4];
    size_t count =
        values_find(a, &finder, (uint32_t)METADATA_METHOD_DEF << 24 | row, 0, UINT32_MAX, found, 4);

    for (size_t i = 0; i < count; i++)
        buffer_free(&found[i].type);
}

static void examine(const assembly *a)
{
    static const unsigned named[] = {
        METADATA_TYPE_REF,   METADATA_TYPE_DEF,  METADATA_METHOD_DEF,  METADATA_FIELD,
        METADATA_MEMBER_REF, METADATA_TYPE_SPEC, METADATA_METHOD_SPEC, 0x70};
    buffer text = BUFFER_EMPTY;
    cil_body body;

    cil_body_init(&body);
    for (size_t t = 0; t < sizeof named / sizeof named[0]; t++)
        for (uint32_t row = 0; row < 40; row++) {
            assembly_token_text(a, named[t] << 24 | row, &text);
            buffer_clear(&text);
        }
    for (uint32_t row = 1; row <= metadata_rows(&a->tables, METADATA_METHOD_DEF) && row < 100;
         row++) {
        pe_span bytes = assembly_body(a, row);

        cil_decode(&body, bytes.data, bytes.length, NULL);
        examine_values(a, row);
        assembly_has_attribute(a, METADATA_METHOD_DEF << 24 | row, cil_pattern_attribute,
                               "Obsolete");
    }
    for (unsigned table = 0; table < METADATA_TABLE_LIMIT; table++)
        for (uint32_t row = 0; row < 4; row++)
            for (unsigned column = 0; column < 10; column++) {
                uint32_t first, end;

                metadata_cell_blob(&a->tables, table, row, column);
                metadata_token(&a->tables, table, row, column);
                metadata_list(&a->tables, table, row, column, &first, &end);
                if (row == 1)
                    metadata_find(&a->tables, table, column, row);
            }
    buffer_free(&text);
    cil_body_free(&body);
}

static void examine_code(const pe *p)
{
    precompiled code;
    precompiled_function function;

    if (precompiled_open(&code, p, 4096))
        for (uint32_t rva = 0; rva < 1u << 20; rva += 1u << 12)
            precompiled_find(&code, rva, &function);
    precompiled_close(&code);
}

static void spell(buffer *out, const char *field)
{
    buffer_append_text(out, field);
}

/* All fields, and what is in those that are structs; a variable stands for a reference. */
static void name_fields(const field_index *f)
{
    static const uint32_t TOKENS[] = {0x04000001, 0x04000002};
    buffer text = BUFFER_EMPTY, shape = BUFFER_EMPTY;
    field_index_arguments arguments = {.count = 1};

    field_index_put_reference(&shape);
    arguments.shapes[0] = shape.data;
    for (size_t i = 0; i < f->count && i < 1000; i++) {
        buffer_append_text(&text, field_index_name(f, &f->all[i]));
        for (uint32_t all = 1; all < 4; all++)
            field_index_name_inside(f, &f->all[i], &arguments, all - 1, all, spell, &text);
        field_index_append_class(f, "System.Runtime", f->all[i].class_row, &text);
        buffer_clear(&text);
    }
    field_index_is_class(f, "System.Object", 13, 2, TOKENS, 2);
    field_index_find(f, "System.Runtime", 0x04000001);
    buffer_free(&shape);
    buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const static_told FIELDS[] = {{"Empty", "", 0, false},
                                         {"Default", "System.Runtime", 0x02000002, false},
                                         {"Instance", "", 0, true},
                                         {"Empty", "System.Runtime", 0x02000003, false},
                                         {"s_cache", "", 0, false}};
    const char *classes[sizeof FIELDS / sizeof *FIELDS];
    assembly *a = malloc(sizeof *a);
    pe_debug_entry entry;
    buffer names = BUFFER_EMPTY;
    type_index index;

    if (a == NULL)
        return 0;
    type_index_init(&index);
    type_index_add(&index, data, size);
    type_index_nested(&index, "System.Runtime", 0x02000002);
    name_fields(&index.fields);
    static_fields_name(&index.statics, FIELDS, classes, sizeof FIELDS / sizeof *FIELDS);
    type_index_free(&index);
    event_sources_append(&names, data, size);
    buffer_free(&names);
    if (assembly_open(a, data, size, NULL) == 0)
        examine(a);
    else if (metadata_open(&a->tables, data, size, NULL) == 0) {
        a->file.section_count = 0;
        examine(a);
    }
    if (pe_open(&a->file, data, size, false, NULL) == 0) {
        for (size_t n = 0; pe_debug(&a->file, n, &entry) && n < 16; n++)
            pe_at(&a->file, entry.type, 4);
        examine_code(&a->file);
    }
    free(a);
    return 0;
}
