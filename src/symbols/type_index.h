/*
 * type_index: what events about a heap leave out, from the metadata of the process's assemblies:
 * the outer classes of nested types, the classes of static fields (static_fields.h), and the names
 * of fields (field_index.h). Every byte of an assembly is treated as hostile. Thread rules: one
 * thread at a time.
 */
#ifndef CLARINET_SYMBOLS_TYPE_INDEX_H
#define CLARINET_SYMBOLS_TYPE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/table.h"
#include "symbols/field_index.h"
#include "symbols/static_fields.h"

typedef struct {
    buffer names;     /* each closed by a zero */
    table_u64 nested; /* of assembly and token: where its name begins */
    static_fields statics;
    field_index fields;
} type_index;

void type_index_init(type_index *t);
void type_index_free(type_index *t);
/* Nothing happens for bytes that are no assembly. */
void type_index_add(type_index *t, const void *bytes, size_t length);

/* Of the assembly with that name: Namespace.Outer+Inner, until the next is added; NULL for what is
 * not nested, or not known. */
const char *type_index_nested(const type_index *t, const char *home, uint32_t token);

#endif
