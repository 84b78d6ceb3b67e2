/*
 * heap_owners: whose a container is. That an array or a collection of System.Collections holds
 * something says little; its owner is the field of another object, or the root, at which the
 * shortest way to it leaves the containers. A list in a dictionary has the dictionary's owner.
 */
#ifndef CLARINET_ANALYSIS_HEAP_OWNERS_H
#define CLARINET_ANALYSIS_HEAP_OWNERS_H

#include "analysis/heap.h"

typedef struct {
    const heap *h;
    uint8_t *is_container; /* by type */
    uint32_t *of_node;     /* of containers, as found: owner + 1 */
    char **texts;          /* by owner; the first one is empty: none is known */
    size_t count, capacity;
    table_text known;
} heap_owners;

/* False without memory. Either way to be freed. */
bool heap_owners_init(heap_owners *o, const heap *h);
void heap_owners_free(heap_owners *o);
/* The room to find more is freed, the texts stay. */
void heap_owners_finish(heap_owners *o);

/* The owner's number, 0 where the object is no container or its owner is not known. False without
 * memory. */
bool heap_owners_find(heap_owners *o, uint32_t node, uint32_t *owner);
/* "Shop.Store.names", of a static field too; "stack of Shop.Program.Main". */
static inline const char *heap_owners_text(const heap_owners *o, uint32_t owner)
{
    return owner == 0 ? "" : o->texts[owner];
}

/* A root's text; of a static field the bare name, as that of any other field. */
void heap_owners_append_root(const heap *h, uint32_t root, buffer *out);

#endif
