/*
 * heap_groups: a snapshot by namespace or by assembly: objects, bytes, and what would go if all
 * objects of the group went.
 *
 * A namespace is the part of the name before the last dot; so a type inside another one counts to
 * that one. An array counts to its element, text and numbers to System.
 */
#ifndef CLARINET_ANALYSIS_HEAP_GROUPS_H
#define CLARINET_ANALYSIS_HEAP_GROUPS_H

#include "analysis/heap.h"

typedef enum { HEAP_GROUP_NONE, HEAP_GROUP_NAMESPACE, HEAP_GROUP_ASSEMBLY } heap_group_kind;

typedef struct {
    char *name; /* "" = not known */
    uint64_t count, bytes, retained;
    uint64_t types; /* classes of the runtime */
} heap_group;

typedef struct {
    heap_group *items; /* by the order that was asked for */
    size_t count, capacity;
} heap_groups;

int heap_find_groups(const heap *h, heap_group_kind kind, heap_order order, heap_groups *out,
                     error *e);
void heap_groups_free(heap_groups *groups);

#endif
