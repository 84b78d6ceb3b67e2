/*
 * heap_statics: which class a static field belongs to. The heap-dump events name the field and its
 * address only; the class that has it at this address is looked for among the loaded ones.
 *
 * The runtime offers no list of loaded classes without loading more: they are in the maps of the
 * modules (loaded.h). Where those are not found, the fields stay without their class.
 *
 * Thread rules: the agent's own thread, while the program runs.
 */
#ifndef CLARINET_AGENT_HEAP_STATICS_H
#define CLARINET_AGENT_HEAP_STATICS_H

#include "agent/heap_walk.h"
#include "agent/names.h"

typedef struct {
    uint32_t name; /* string */
    /* the slot as the root record has it, or in an array that does not move (a generic class's) */
    uint64_t slot;
    /* a struct's whose box has moved: no slot, but the class of the box; a thread's: no slot, but
     * the place in an array of that length, and what is kept there (a struct's: only its box) */
    uint32_t length, index;
    ClassID class_id;
    uint64_t array;  /* where it was, or where the box was; it moves */
    uint64_t handle; /* the root that holds it; 0 = not known */
    /* of a thread's static: how threads number the array; of a generic class only this is known,
     * and the index in it */
    uint32_t thread_index;
} heap_static;

/* Called for each field found. */
typedef void heap_statics_found(void *context, const heap_static *found);
/* How many threads were not asked for their statics: the program stood still for long enough. */
size_t heap_statics_name(names *n, const heap_walk *w, heap_statics_found *found, void *context);

#endif
