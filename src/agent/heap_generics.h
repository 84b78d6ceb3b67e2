/*
 * heap_generics: the static fields of generic classes, which the runtime has no answer for.
 *
 * Each module has a table of the instances of generic types that were made; an instance knows its
 * static fields with their places, and where their slots are. Nothing of that is promised by the
 * runtime, so the words that lead there are found by voting (they must lead to classes and objects
 * that were met), and every step on the way must lead back to the class. No clear vote: no names.
 *
 * Thread rules: the agent's own thread, while the program runs. Memory of the runtime is only read
 * through the kernel.
 */
#ifndef CLARINET_AGENT_HEAP_GENERICS_H
#define CLARINET_AGENT_HEAP_GENERICS_H

#include "agent/heap_walk.h"
#include "agent/names.h"

typedef struct {
    ClassID class_id;
    mdFieldDef token;
    uint64_t slot;
    /* of a thread's field no slot: where the class's array has it, and how threads number that */
    uint32_t place, thread_index;
    /* before 9.0 the class's number in a module instead, and how long the array is */
    ModuleID module;
    uint64_t number;
    uint32_t length;
} heap_generic;

/* Called for each static field that holds a reference or a boxed value. */
typedef void heap_generics_found(void *context, const heap_generic *found);
/* From 9.0 on: the number by which threads keep the references of a class's thread statics; 0 =
 * none. The first numbers are not used, how many is for the reader to find out. */
uint32_t heap_generics_thread_index(ClassID class_id);
void heap_generics_each(names *n, const heap_walk *w, heap_generics_found *found, void *context);

#endif
