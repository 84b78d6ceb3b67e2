/*
 * class_memory: what the runtime's own record of a class says of the layout of its objects, read
 * from the memory of the process: where an object may keep references, as the collector goes
 * through them, and the fields of the class. The same in 8.0, 9.0 and 10.0; what is read counts
 * only where one part of it confirms the other, else the class is not known.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_DIAGNOSTICS_CLASS_MEMORY_H
#define CLARINET_DIAGNOSTICS_CLASS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many of the bytes from `address` on could be read. */
typedef size_t class_memory_read(void *context, uint64_t address, void *out, size_t size);
typedef struct {
    class_memory_read *read; /* NULL: nothing is read */
    void *context;
} class_memory;

/* References in a row. Of a class: from a place on, `length` bytes more than the object is large
 * (mostly a negative number). Of one element of an array of structs: `length` bytes of references,
 * then `place` bytes without. */
typedef struct {
    uint64_t place;
    uint64_t length;
} class_memory_run;

typedef struct {
    bool is_known;
    bool is_collectible; /* its objects have a reference that is not inside of them */
    uint32_t base;       /* bytes of an object, without elements */
    uint32_t element;    /* bytes of an array's element, 0 = it has none */
    uint64_t repeated;   /* not 0: the runs are those of an element, from this place on */
    class_memory_run *runs;
    uint32_t run_count;
} class_memory_shape;

/* What can be had of a class; is_known says whether that is anything. */
class_memory_shape class_memory_shape_of(const class_memory *m, uint64_t class_id);
void class_memory_shape_free(class_memory_shape *s);
/* Whether the objects may keep references. */
static inline bool class_memory_has_references(const class_memory_shape *s)
{
    return s->run_count != 0;
}

/* Goes through the places of one object's references, in bytes from its start, in the order in
 * which the runtime tells them. */
typedef struct {
    const class_memory_shape *shape;
    uint64_t end; /* of the object */
    uint64_t at, run_end;
    uint32_t next;
} class_memory_places;
class_memory_places class_memory_begin(const class_memory_shape *s, uint64_t size);
bool class_memory_next(class_memory_places *p, uint64_t *place);

/* Fields of the class itself, without static ones. */
typedef struct {
    uint32_t offset; /* from behind the object's head, as in a struct */
    uint32_t token;
    uint8_t kind; /* CorElementType; a reference of any kind is CLASS or STRING */
} class_memory_field;
typedef struct {
    uint64_t class_id;
    uint64_t parent;  /* class; 0 = none */
    uint64_t module;  /* the runtime's id; before 9.0 of a generic class maybe another one */
    bool is_generic;  /* an instance of a generic class */
    uint32_t rows[2]; /* its row in the metadata of its module, as 8.0 and as later ones have it */
    uint64_t field_list; /* of all its fields, static ones too: where the runtime has it */
    class_memory_field *fields;
    uint32_t field_count;
} class_memory_class;

bool class_memory_class_of(const class_memory *m, uint64_t class_id, class_memory_class *out);
void class_memory_class_free(class_memory_class *c);

#endif
