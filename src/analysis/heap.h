/*
 * heap: what fills the memory and what keeps it alive, worked out of a recorded snapshot: the graph
 * with one node per object, types, dominators, retained sizes, shortest paths to roots.
 *
 * Node 0 stands for all roots together; object i of the snapshot is node i + 1. Weak handles keep
 * nothing alive. A dependent handle is an edge from its key to its value. A reference to something
 * that is no object is counted and left out.
 *
 * Thread rules: a heap that was built is not changed; the model must stay.
 */
#ifndef CLARINET_ANALYSIS_HEAP_H
#define CLARINET_ANALYSIS_HEAP_H

#include "analysis/dominators.h"
#include "analysis/model.h"
#include "analysis/model_heap.h"
#include "base/table.h"

enum { HEAP_LEAST_SIZE = 24 }; /* of an object, whatever the events say of an empty string */

typedef struct {
    uint32_t name; /* string */
    uint64_t count;
    uint64_t bytes;
    uint64_t retained; /* what goes when all of them go, each object counted once */
    uint64_t largest;
    uint64_t in_generation[MODEL_HEAP_GENERATIONS]; /* bytes */
} heap_type;

/* A type as the runtime has it; several of them may have one name. */
typedef struct {
    uint32_t type;          /* index into types */
    uint32_t flags;         /* RECORDING_TYPE_… */
    uint32_t assembly;      /* string */
    uint64_t id;            /* of the runtime */
    uint32_t element, data; /* of an array: bytes of an element; where the first one is */
    uint64_t size;
} heap_class;

/* Where an object keeps a reference: a string, or HEAP_ELEMENT and the string of a field inside an
 * array's element. 0 = not known. */
typedef uint32_t heap_field;
#define HEAP_ELEMENT UINT32_C(0x80000000)

/* Objects that nothing but a root keeps alive, by that root. */
typedef struct {
    uint32_t root; /* index into roots, or HEAP_SEVERAL_ROOTS */
    uint32_t type; /* of the objects */
    uint64_t count;
    uint64_t retained;
} heap_holder;

#define HEAP_SEVERAL_ROOTS UINT32_MAX
/* With the number of a root: a stack leads there too. */
#define HEAP_AND_STACKS UINT32_C(0x80000000)

typedef struct heap {
    const model *m;
    const model_process *p;
    const model_heap *snapshot;
    uint32_t nodes;
    uint64_t *first; /* nodes + 1 */
    uint32_t *targets;
    uint32_t *places; /* of the targets, in bytes from the object's start */
    uint32_t *type;   /* by node; index into types */
    uint64_t *own;
    uint64_t *retained;
    uint32_t *towards_root; /* before roots on stacks, which go, those that stay */
    uint64_t lasting;       /* so many of node 0's references lead to what such a root holds */
    uint32_t *beginnings;   /* of the ways to what stacks hold too; NULL: there are none */
    dominators tree;
    model_heap_root *roots; /* the snapshot's, and statics found by their slots */
    size_t root_count, root_capacity;
    table_u64 root_of;            /* node to the most telling root */
    table_u64 dependents;         /* node of a key << 32 | that of its value */
    table_u64 functions, statics; /* id to string */
    table_u64 threads;            /* a method's name to the threads in it: heap_threads */
    table_u64 fields;             /* number of a class and place to string */
    heap_class *classes;          /* by number */
    size_t class_count, class_capacity;
    heap_type *types; /* not sorted */
    size_t type_count, type_capacity;
    heap_holder *holders; /* by retained bytes */
    size_t holder_count, holder_capacity;
    uint64_t objects, bytes, references;
    uint64_t unknown_references;
    uint64_t unreachable, unreachable_bytes;
    uint64_t root_counts[RECORDING_ROOT_KINDS];
    uint64_t weak_roots;
    uint64_t pinned_handles, counted_handles;       /* of those handles that are not weak */
    uint64_t in_generation[MODEL_HEAP_GENERATIONS]; /* bytes */
} heap;

/* Taken without a collection: dead objects are in it, roots are not, and nothing is retained. */
static inline bool heap_is_quick(const heap *h)
{
    return (h->snapshot->flags & RECORDING_HEAP_QUICK) != 0;
}

/* The process of the recording with a snapshot, NULL when there is none. */
const model_process *heap_find(const model *m);
/* Fails when the snapshot is not whole. */
int heap_build(const model *m, const model_process *p, heap *h, error *e);
/* The same, made once for a model and freed with it. */
int heap_shared(const model *m, const model_process *p, const heap **h, error *e);
/* The graph and the names only: no types' counts, dominators and retained sizes. */
int heap_open(const model *m, const model_process *p, heap *h, error *e);
void heap_free(heap *h);

/* What keeps an object alive that no other one does: a root, with HEAP_AND_STACKS where one that
 * stays leads to what a stack holds, or HEAP_SEVERAL_ROOTS. */
uint32_t heap_holding_root(const heap *h, uint32_t node);
/* "static field Shop.Cache.items", "stack of Shop.Program.Main", "pinned handle", … */
void heap_root_text(const heap *h, uint32_t root, buffer *out);
const char *heap_root_kind(uint32_t kind);
static inline const char *heap_type_name(const heap *h, uint32_t type)
{
    return model_text(h->m, h->types[type].name);
}

/* "gen0" to "gen2", "large", "pinned", "frozen". */
const char *heap_generation_name(uint32_t generation);

/* The class of an object. */
static inline const heap_class *heap_class_of(const heap *h, uint32_t node)
{
    return &h->classes[h->snapshot->shapes[h->snapshot->shape_of[node - 1]].type];
}
/* The values that were kept of an object; NULL = none. */
const model_heap_valued *heap_values_of(const heap *h, uint32_t node);
/* Bytes of an object by its index, also before the analysis is whole. */
uint64_t heap_object_size(const heap *h, size_t object);
/* Whether it is known where in the object its references are: of one that was told without the
 * agent, and has changed since, it is not. */
bool heap_knows_places(const heap *h, uint32_t node);
heap_field heap_field_at(const heap *h, uint32_t node, uint32_t place);
/* "items", "[]", "[].value", or nothing. */
void heap_field_text(const heap *h, heap_field field, buffer *out);

typedef enum { HEAP_BY_RETAINED, HEAP_BY_BYTES, HEAP_BY_COUNT } heap_order;
/* The types in order, largest first; to be freed. NULL without memory. */
uint32_t *heap_sorted_types(const heap *h, heap_order order);

/* What goes when all objects of a group go, for each group; `retained` is zeroed and has room for
 * all groups. False without memory. */
typedef uint32_t heap_group_of(const void *context, uint32_t node);
bool heap_sum_retained(const heap *h, heap_group_of *group_of, const void *context, size_t groups,
                       uint64_t *retained);

/* The shortest ways from roots to the objects of some types, merged by the types on the way. */
typedef struct {
    uint32_t parent;        /* 0 = a root */
    uint32_t type;          /* of the objects on this step */
    uint32_t root;          /* of a first step; else 0 */
    heap_field field;       /* of the object before that keeps this one; 0 of a first step */
    bool is_dependent;      /* by a dependent handle, and no field */
    bool repeated;          /* several of the type in a row */
    heap_field repeated_by; /* the field that leads from one to the next */
    uint64_t count;         /* objects asked for that end here */
    uint64_t bytes;         /* theirs */
    uint64_t below;         /* objects asked for that end here or further on */
    uint64_t bytes_below;
} heap_step;

typedef struct {
    heap_step *steps; /* steps[0] is empty; parents come first */
    size_t count, capacity;
    uint64_t objects, bytes;
    uint64_t without_path, bytes_without_path; /* not reachable */
} heap_paths;

/* `wanted` has one entry per type. */
int heap_find_paths(const heap *h, const uint8_t *wanted, heap_paths *paths, error *e);
void heap_paths_free(heap_paths *paths);

#endif
