/*
 * heap_values: which objects of a snapshot have the values of their fields written and not only
 * their references: tasks, the boxes of async methods, timers, semaphores, threads and the parts
 * of the thread pool; and objects of the types that the person names. What the values mean is
 * worked out by the tool.
 *
 * Types are looked up by name before the walk; within it the runtime is asked for tokens and
 * parents only, which takes no lock.
 *
 * Thread rules: heap_values_open and the naming on the agent's own thread while the program runs,
 * heap_values_wants on the thread that walks.
 */
#ifndef CLARINET_AGENT_HEAP_VALUES_H
#define CLARINET_AGENT_HEAP_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clarinet/clarinet.h"

enum {
    HEAP_VALUES_TYPES = 8,
    HEAP_VALUES_COLLECTIONS = 4,
    HEAP_VALUES_LEAST = 16,     /* elements that a collection has room for, to be counted */
    HEAP_VALUES_NAMED = 16,     /* types that a person may name */
    HEAP_VALUES_ROOM = 1 << 20, /* words that are written of these in all */
    HEAP_VALUES_WORDS = 256,    /* of 4 bytes, of one object; what lies behind is not written */
    HEAP_VALUES_AWAITS = 24,    /* of one async method, whose lines are asked for */
};

typedef struct {
    const clr_info *info;
    ModuleID core; /* 0 = not found: nothing is written */
    bool tasks, counts;
    mdTypeDef tokens[HEAP_VALUES_TYPES];
    mdTypeDef collections[HEAP_VALUES_COLLECTIONS];
    const char *fields; /* names of types, by commas */
    struct {
        ModuleID module;
        mdTypeDef token;
    } named[HEAP_VALUES_NAMED];
    size_t named_count;
} heap_values;

/* `tasks`: those of tasks and what belongs to them; `counts`: else those of collections; `fields`:
 * names of types, by commas; "" = none. */
void heap_values_open(heap_values *v, const clr_info *info, bool tasks, bool counts,
                      const char *fields);
/* Whether it is a collection of values, or by values: by references nobody sees how full it is. */
bool heap_values_counts(const heap_values *v, ClassID class_id);
/* Whether a person named the class. */
bool heap_values_names(const heap_values *v, ClassID class_id);
/* Whether the values of objects of this class are written. *machine: the class of the state
 * machine in such a box, 0 = none. *is_apart: it is an object of its own. */
bool heap_values_wants(const heap_values *v, ClassID class_id, ClassID *machine, bool *is_apart);

#endif
