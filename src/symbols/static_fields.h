/*
 * static_fields: the classes of static fields of which the runtime tells only the bare names, one
 * after the other: assembly by assembly, in each by the order of its tables, those left out that
 * hold nothing. A field's class is sure where only one field of that name may hold the object that
 * is in it, or where only one fits between its neighbours; all else has no class rather than a
 * guess. Every byte of an assembly is treated as hostile. Thread rules: one thread at a time.
 */
#ifndef CLARINET_SYMBOLS_STATIC_FIELDS_H
#define CLARINET_SYMBOLS_STATIC_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/table.h"
#include "symbols/type_tree.h"

typedef struct {
    uint32_t name;     /* its number, from 1 */
    uint32_t class;    /* where the class's name begins */
    uint32_t assembly; /* number */
    uint32_t previous; /* place of another with the same name + 1, 0 = none */
    type_tree_type type;
} static_field;

typedef struct {
    type_tree types;
    buffer classes;    /* names, each closed by a zero */
    table_text names;  /* of fields → number */
    static_field *all; /* in the order of the tables */
    uint32_t *latest;  /* by the number of a name: place of its last field + 1 */
    size_t count, capacity, latest_capacity;
    uint32_t assembly_count;
} static_fields;

/* A field as the runtime tells of it. */
typedef struct {
    const char *name;
    const char *home; /* assembly of its object's class, "" = not known */
    uint32_t token;   /* of that class */
    bool is_array;    /* the object */
} static_told;

void static_fields_init(static_fields *s);
void static_fields_free(static_fields *s);
void static_fields_add(static_fields *s, const assembly *a);
/* Namespace.Outer+Inner of each, which are in the order in which they were told; NULL where it is
 * not sure. The answers live until the next assembly is added. */
void static_fields_name(const static_fields *s, const static_told *told, const char **classes,
                        size_t count);

#endif
