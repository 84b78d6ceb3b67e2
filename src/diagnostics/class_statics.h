/*
 * class_statics: where static fields are, also those of generic classes and those that every thread
 * has for itself, of which the events of a heap say nothing: read from the process's memory. Before
 * 9.0 only those of generic classes.
 *
 * Each module has a map of its plain classes and a table of the instances of its generic ones; a
 * class knows where its static fields are. Nothing of that is promised by the runtime: which words
 * of a module lead there is found by voting (they must lead to classes that were met), and every
 * step on the way must lead back to the class. No clear vote: no fields.
 *
 * Thread rules: one thread at a time.
 */
#ifndef CLARINET_DIAGNOSTICS_CLASS_STATICS_H
#define CLARINET_DIAGNOSTICS_CLASS_STATICS_H

#include "base/table.h"
#include "diagnostics/class_memory.h"

/* A class that was met. */
typedef struct {
    uint64_t class_id, module;
    uint32_t row; /* in the module's metadata; 0 = an instance of a generic class */
} class_statics_known;

typedef struct {
    uint64_t class_id, module;
    uint32_t token;
    uint32_t row;     /* of the class, in the metadata of its module */
    bool is_before_9; /* the module may be another one: one of the arguments of the class */
    uint64_t slot;    /* where its reference is kept; 0 = every thread has its own: */
    /* where it is in the class's array, and how threads number that. The first numbers are not
     * used; how many is for the reader to find out. */
    uint32_t index, thread_index;
} class_static;

typedef void class_statics_found(void *context, const class_static *found);
/* Of all classes that are loaded and have run their initializer. false: no memory. */
bool class_statics_each(const class_memory *m, const class_statics_known *known, size_t count,
                        class_statics_found *found, void *context);

#endif
