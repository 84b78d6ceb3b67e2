/*
 * heap_values: which objects of a snapshot have the values of their fields written and not only
 * their references: tasks, the boxes of async methods, timers, semaphores, threads and the parts
 * of the thread pool. What the values mean is worked out by the tool.
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
    HEAP_VALUES_WORDS = 256, /* of 4 bytes, of one object; what lies behind is not written */
    HEAP_VALUES_AWAITS = 24, /* of one async method, whose lines are asked for */
};

typedef struct {
    const clr_info *info;
    ModuleID core; /* 0 = not wanted, or not found: nothing is written */
    mdTypeDef tokens[HEAP_VALUES_TYPES];
} heap_values;

void heap_values_open(heap_values *v, const clr_info *info);
/* Whether the values of objects of this class are written. *machine: the class of the state
 * machine in such a box, 0 = none. *is_apart: it is an object of its own. */
bool heap_values_wants(const heap_values *v, ClassID class_id, ClassID *machine, bool *is_apart);

#endif
