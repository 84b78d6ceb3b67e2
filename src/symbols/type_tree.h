/*
 * type_tree: what the classes of many assemblies derive from, by names: enough to say that an
 * object cannot be in a field of some type. Generic types are known without their arguments. What
 * is not known may be anything. Every byte of an assembly is treated as hostile. Thread rules: one
 * thread at a time.
 */
#ifndef CLARINET_SYMBOLS_TYPE_TREE_H
#define CLARINET_SYMBOLS_TYPE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/table.h"
#include "metadata/assembly.h"

typedef struct {
    uint32_t name;     /* number */
    uint32_t base;     /* its name's number, 0 = none or not known */
    bool is_interface; /* of several with the same name: one of them */
    bool is_several;   /* in the first of them */
} type_tree_class;

typedef struct {
    table_text names;   /* → number, from 1 */
    table_u64 by_name;  /* number of a name → place of its first class + 1 */
    table_u64 by_token; /* of assembly and token → place of the class + 1 */
    type_tree_class *classes;
    size_t count, capacity;
    const table_text_slot **by_number; /* names again; NULL = not made yet */
    size_t by_number_count;
    buffer text;
    bool failed; /* no memory: nothing is known */
} type_tree;

/* What a field is declared to hold, or what an object is. */
typedef enum { TYPE_TREE_ANY, TYPE_TREE_CLASS, TYPE_TREE_ARRAY } type_tree_kind;
typedef struct {
    type_tree_kind kind;
    uint32_t name;  /* of a class: its number; 0 = not known */
    uint32_t place; /* of an object's class + 1 */
} type_tree_type;

void type_tree_init(type_tree *t);
void type_tree_free(type_tree *t);
void type_tree_add(type_tree *t, const assembly *a);
/* The number of the name of a TypeDef or TypeRef; 0 = it has none. */
uint32_t type_tree_number(type_tree *t, const assembly *a, uint32_t token);
/* Appends the name with a number: Namespace.Outer+Inner`1. */
void type_tree_append_name(type_tree *t, uint32_t number, buffer *out);
/* What a field signature declares. */
type_tree_type type_tree_declared(type_tree *t, const assembly *a, metadata_span signature);
/* The class of an object by the name of its assembly and its token; TYPE_TREE_ANY if not known. */
type_tree_type type_tree_find(const type_tree *t, const char *home, uint32_t token);
/* Whether a field may hold the object. */
bool type_tree_may_hold(const type_tree *t, type_tree_type field, type_tree_type object);

#endif
