/*
 * model_heap: a heap snapshot as it was recorded, in arrays, every byte of it checked. Objects are
 * in the order of the walk; references and roots are addresses still: analysis/heap.h makes the
 * graph. Part of a model; see model.h.
 */
#ifndef CLARINET_ANALYSIS_MODEL_HEAP_H
#define CLARINET_ANALYSIS_MODEL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t kind; /* RECORDING_ROOT_… */
    uint32_t flags;
    uint64_t object; /* address; of a dependent handle: the key's */
    uint64_t id;     /* function, handle or slot; of a dependent handle: the value's address */
    uint32_t name;   /* string: the field's name, of a static variable */
} model_heap_root;

typedef struct model_heap {
    uint64_t attempt; /* the walk that is kept: the last one */
    bool ended;       /* END was read */
    uint32_t trouble; /* string: why it is not whole; 0 = it is */
    uint64_t *addresses;
    uint32_t *types; /* numbers of the table heap_types */
    uint64_t *sizes; /* 0 = as its type says */
    uint64_t *first; /* index into targets of each object's first reference */
    size_t object_count, address_capacity, type_capacity, size_capacity, first_capacity;
    uint64_t *targets; /* addresses */
    size_t target_count, target_capacity;
    model_heap_root *roots;
    size_t root_count, root_capacity;
    /* as END says */
    uint64_t objects_said, references_said, roots_said;
    uint64_t walk_ns, session_ns;
    /* while loading */
    bool in_object;
    uint64_t previous;
} model_heap;

void model_heap_free(model_heap *heap);

#endif
