/*
 * field_index: the names of fields, and of the fields inside of structs, from the metadata
 * of a process's assemblies. Where a struct keeps its references is in no metadata, but their order
 * is known: its own ones first, then those in its structs, both as they are declared. Every byte of
 * an assembly is treated as hostile. Thread rules: one thread at a time.
 */
#ifndef CLARINET_SYMBOLS_FIELD_INDEX_H
#define CLARINET_SYMBOLS_FIELD_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/table.h"
#include "symbols/type_tree.h"

enum { FIELD_INDEX_ARGUMENTS = 8 };

typedef struct {
    uint32_t name;           /* where it begins */
    uint32_t shape;          /* where its bytes begin */
    uint32_t row, class_row; /* in the tables of its assembly */
    uint8_t element;         /* cil_element of its type as declared; 0 = not known */
} field_index_field;

/* Fields of a class without static ones, by the number of its name. */
typedef struct {
    uint32_t first, count;
    uint32_t row;   /* in the tables of its assembly */
    bool is_unsure; /* its fields are where it says, or several classes have the name */
} field_index_class;

typedef struct {
    type_tree *types;   /* of the same assemblies; somebody else's */
    table_u64 by_token; /* of assembly and field → place in `all` + 1 */
    table_u64 classes;  /* number of the name → place + 1 */
    field_index_field *all;
    field_index_class *class_list;
    size_t count, capacity, class_count, class_capacity;
    buffer names;  /* each closed by a zero */
    buffer shapes; /* of fields: what their types are, in bytes of our own */
    bool failed;   /* no memory: nothing is known */
} field_index;

void field_index_init(field_index *f, type_tree *types);
void field_index_free(field_index *f);
/* After the assembly was added to `types`. */
void field_index_add(field_index *f, const assembly *a);

/* A field by the name of its assembly and its token; NULL when it is not known. The answer and its
 * name live until the next assembly is added. */
const field_index_field *field_index_find(const field_index *f, const char *home, uint32_t token);
const char *field_index_name(const field_index *f, const field_index_field *field);
/* Whether the runtime may keep the field as one of this kind (CorElementType, all references are
 * CLASS). */
bool field_index_may_be(const field_index_field *field, uint8_t kind);
/* Appends the name of a class by its assembly's name and its row: Namespace.Outer+Inner`1. */
void field_index_append_class(const field_index *f, const char *home, uint32_t row, buffer *out);
/* Whether a class with these fields (tokens) may be the one with that name: it has them all. */
bool field_index_is_class(const field_index *f, const char *name, size_t length, uint32_t class_row,
                          const uint32_t *tokens, size_t count);

/* Shapes of types that the runtime tells, appended: of type arguments. */
void field_index_put_reference(buffer *out);
void field_index_put_number(buffer *out);
/* Its arguments follow. */
void field_index_put_struct(const field_index *f, const char *home, uint32_t token, uint8_t count,
                            buffer *out);

/* What the type variables of a class stand for: shapes, one for each. */
typedef struct {
    const uint8_t *shapes[FIELD_INDEX_ARGUMENTS];
    uint32_t count;
} field_index_arguments;

/* Appends the name of one field as it is shown. */
typedef void field_index_spell(buffer *out, const char *field);
/* Names of the references in the struct that is the field's type: "key", "inner.list". false when
 * there are not `all` in it, or that is not known. */
bool field_index_name_inside(const field_index *f, const field_index_field *field,
                             const field_index_arguments *arguments, uint32_t number, uint32_t all,
                             field_index_spell *spell, buffer *out);

#endif
