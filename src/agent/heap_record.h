/*
 * heap_record: one object at a time into the records of a snapshot (docs/recording.md): its shape,
 * generation, size, references with the places they are kept at, and what a string says.
 *
 * A shape is a type with the places of its references that are not null. Objects of one type have
 * few shapes, so a shape's number says type, number of references and places in one or two bytes.
 * Arrays, and objects beyond the limits, list the places one by one.
 *
 * Thread rules: one thread at a time, while the program stands still (memory of objects is read in
 * place); the tables may be read later by the agent's own thread.
 */
#ifndef CLARINET_AGENT_HEAP_RECORD_H
#define CLARINET_AGENT_HEAP_RECORD_H

#include "agent/heap_layout.h"
#include "agent/heap_stream.h"
#include "agent/heap_strings.h"
#include "agent/heap_values.h"
#include "base/table.h"
#include "clarinet/clarinet.h"

enum {
    HEAP_RECORD_CACHE = 1024,
    HEAP_RECORD_SLOTS = 64,       /* references of an object that has a shape */
    HEAP_RECORD_FROZEN = 5,       /* generation */
    HEAP_RECORD_STRING_BASE = 22, /* bytes; no other type with elements is that small */
};

typedef struct {
    ClassID class_id;
    uint64_t size;          /* of the first instance met; others of another size say theirs */
    uint32_t base;          /* bytes without elements, as the runtime has it */
    uint32_t element;       /* bytes of an element of an array or string; 0 = neither */
    uint32_t last_shape;    /* met last, of those with places; 0 = none */
    uint32_t sized, listed; /* shapes without places; 0 = none yet */
    bool is_string;
    bool is_finalizable;
    bool is_collectible;   /* may be unloaded */
    bool is_laid_out;      /* where its references are is known */
    bool is_references;    /* its elements are references */
    uint8_t asked;         /* objects for which the runtime was asked, too */
    uint32_t layout_count; /* of them, from `layout` on in `layouts` */
    size_t layout;
    bool has_values;       /* its objects have their values written */
    bool is_named;         /* as a person wishes, as long as there is room */
    bool is_counted;       /* to see how full it is, as long as there is room */
    bool machine_is_apart; /* as an object of its own */
    ClassID machine;       /* of an async method's box: the state machine's class; 0 = none */
} heap_record_type;

typedef struct {
    uint32_t type;
    uint32_t flags; /* RECORDING_SHAPE_… */
    uint32_t first; /* place in `places` */
    uint32_t count;
} heap_record_shape;

/* The last reference of those that are listed one by one. */
typedef struct {
    uint64_t place, step, step_before;
    uint64_t count; /* with it */
} heap_record_listed;

typedef struct {
    const clr_info *info;
    heap_stream stream;
    heap_strings strings;
    heap_values values;
    uint64_t attempt;
    bool failed; /* no memory */
    /* types, numbered as they are met; over all attempts */
    heap_record_type *types;
    size_t type_count, type_capacity;
    table_u64 type_numbers;
    uint16_t *layouts; /* places */
    size_t layout_count, layout_capacity;
    bool distrusts_layouts; /* the runtime said otherwise once */
    struct {
        ClassID class_id;
        uint32_t number;
    } cache[HEAP_RECORD_CACHE];
    /* shapes of the attempt, numbered from 1 */
    heap_record_shape *shapes;
    size_t shape_count, shape_capacity;
    uint16_t *places; /* in words of 8 bytes from the object's start */
    size_t place_count, place_capacity;
    table_u64 shape_numbers; /* by hash */
    /* the walk under way */
    uint64_t previous;                /* address of the last object */
    uint64_t range_start, range_size; /* of the addresses whose generation is known */
    uint32_t generation, generation_said;
    uint64_t objects, references, bad_references;
    uint32_t values_left;  /* words of the types that a person named */
    uint32_t counted_left; /* of collections */
    /* the object in hand */
    uint64_t object, size;
    uint32_t number; /* of its type */
    bool listing;
    uint32_t count;            /* references kept so far */
    heap_record_listed listed; /* when listing */
    uint16_t slots[HEAP_RECORD_SLOTS];
    uint64_t targets[HEAP_RECORD_SLOTS];
} heap_record;

typedef struct {
    bool strings;     /* their texts are compared */
    bool values;      /* those of heap_values.h are written, */
    char fields[512]; /* and of the types with these names */
    bool counts;      /* how full collections of values are; only of objects that are alive */
} heap_record_wishes;

bool heap_record_open(heap_record *r, const clr_info *info, const heap_record_wishes *wishes);
void heap_record_close(heap_record *r);
/* A walk begins anew. */
void heap_record_begin(heap_record *r);
/* One object; false: given up. `has_references`: they are worth asking for. */
bool heap_record_put(heap_record *r, uint64_t address, ClassID class_id, bool has_references);

#endif
