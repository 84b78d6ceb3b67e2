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
    bool is_statics; /* a handle that keeps an array of static fields; in the analysis only */
} model_heap_root;

/* Objects of one type whose references are at the same places. */
typedef struct {
    uint32_t type;  /* number of the table heap_types */
    uint32_t flags; /* RECORDING_SHAPE_… */
    uint32_t count; /* places; 0 where the objects list them */
    size_t first;   /* index into shape_places */
} model_heap_shape;

/* A string object. */
typedef struct {
    uint32_t object; /* index */
    uint32_t number; /* the same for strings that say the same; MODEL_HEAP_NOT_COMPARED */
} model_heap_string;

/* What the strings of a number say: the beginning of it. Only of numbers met twice. */
typedef struct {
    uint32_t number;
    uint32_t text; /* string */
} model_heap_text;

/* An object whose values are kept: its words behind its type, without those of its references. */
typedef struct {
    uint32_t object; /* index */
    uint32_t count;
    uint32_t apart; /* words of the state machine that is an object of its own, all of them */
    size_t first;   /* index into values */
} model_heap_valued;

#define MODEL_HEAP_NOT_COMPARED UINT32_MAX
/* 0 to 2, large, pinned, frozen, not known */
enum { MODEL_HEAP_NOT_KNOWN = 6, MODEL_HEAP_GENERATIONS };

/* Addresses of one generation. */
typedef struct {
    uint64_t start, end;
    uint8_t generation;
} model_heap_range;

typedef struct model_heap {
    uint64_t attempt; /* the walk that is kept: the last one */
    bool ended;       /* END was read */
    uint32_t trouble; /* string: why it is not whole; 0 = it is */
    uint64_t *addresses;
    uint32_t *shape_of; /* by object */
    uint64_t *sizes;    /* 0 = as its type says */
    uint64_t *first;    /* index into targets of each object's first reference */
    uint8_t *generations;
    size_t object_count, address_capacity, shape_of_capacity, size_capacity, first_capacity,
        generation_capacity;
    uint64_t *targets; /* addresses */
    uint32_t *places;  /* of each reference, in bytes from the object's start; 0 = not inside */
    size_t target_count, target_capacity, place_capacity;
    model_heap_shape *shapes;
    size_t shape_count, shape_capacity;
    uint32_t *shape_places; /* in bytes */
    size_t shape_place_count, shape_place_capacity;
    model_heap_root *roots;
    size_t root_count, root_capacity;
    model_heap_string *strings; /* by object */
    size_t string_count, string_capacity;
    model_heap_string *contents; /* small arrays without references, the same way */
    size_t content_count, content_capacity;
    model_heap_text *texts;
    size_t text_count, text_capacity;
    model_heap_valued *valued; /* by object */
    size_t valued_count, valued_capacity;
    model_heap_range *ranges; /* for objects that do not say their generation */
    size_t range_count, range_capacity;
    uint32_t *values; /* words of 4 bytes */
    size_t value_count, value_capacity;
    /* as END says */
    uint64_t objects_said, references_said, roots_said;
    uint64_t walk_ns, session_ns;
    uint64_t flags;             /* RECORDING_HEAP_… */
    uint64_t strings_forgotten; /* that were not compared with all others */
    struct heap *built;         /* its analysis, once one was made: heap_shared */
    /* while loading */
    bool in_object; /* one that lists its references */
    uint64_t previous;
    int64_t place, step, step_before;
    uint32_t next_string;
    uint8_t generation;
} model_heap;

void model_heap_free(model_heap *h);
/* The 4 bytes at a place of the object that has values, 0 where they are not kept. */
uint32_t model_heap_value(const model_heap *heap, const model_heap_valued *valued, uint32_t place);
/* The same for its state machine. */
uint32_t model_heap_apart(const model_heap *heap, const model_heap_valued *valued, uint32_t place);

#endif
