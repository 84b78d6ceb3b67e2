/*
 * heap_locals: where threads keep the thread statics of generic classes before 9.0, which the
 * runtime has no answer for.
 *
 * A thread has a table with a place for each module, by the module's number. What is there leads to
 * a handle on the array with the references of the module's plain classes, and to a table of its
 * generic ones by the number that each has in the module, with a handle on an array of its own.
 * Nothing of that is promised by the runtime. Where a thread has its table is found by the arrays
 * that the runtime does tell of; where a module has its number, by those too, and no two modules
 * may have the same one there. No single answer: nothing is found.
 *
 * Thread rules: the agent's own thread. While threads are looked at, the runtime stands still.
 * Memory of the runtime is only read through the kernel.
 */
#ifndef CLARINET_AGENT_HEAP_LOCALS_H
#define CLARINET_AGENT_HEAP_LOCALS_H

#include "clarinet/clarinet.h"

enum {
    HEAP_LOCALS_NUMBERS = 512, /* of 4 bytes, of a module that are looked at */
};

typedef struct {
    bool is_out[HEAP_LOCALS_NUMBERS]; /* not the module's number */
    size_t thread_word;               /* 0 = not known yet */
    size_t number;                    /* of those of a module; 0 = not known */
    ModuleID module;                  /* learnt from last */
    unsigned learnt, asked;
} heap_locals;

/* Before the runtime stands still; false without memory. */
bool heap_locals_open(heap_locals *l, const clr_info *info);
/* The thread keeps references of the module's plain classes in this array. */
void heap_locals_learn(heap_locals *l, ThreadID thread, ModuleID module, uint64_t array);
/* After the last of them: whether anything can be found. */
bool heap_locals_is_clear(heap_locals *l);
/* The handle of the thread's array for a generic class with this number in its module; 0 = none. */
uint64_t heap_locals_find(const heap_locals *l, ThreadID thread, ModuleID module, uint64_t number);

#endif
