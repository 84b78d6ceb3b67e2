/*
 * sampling_types: which functions of the runtime load types.
 *
 * libcoreclr.so has no names for them. But the runtime tells of a class that has been loaded while
 * the functions that loaded it are still on the stack. The first of these stacks are copied into
 * the ring of samples. Innermost is who tells of it, then who completes the type, then the one
 * function that every load of a type goes through; further out stacks differ by what the type was
 * needed for. A sample with one of these functions in its native run is type loading.
 *
 * Thread rules: sampling_on_class_loading on threads of the target; the rest on the agent's own.
 */
#ifndef CLARINET_AGENT_SAMPLING_TYPES_H
#define CLARINET_AGENT_SAMPLING_TYPES_H

#include "agent/sampling.h"
#include "agent/sampling_code.h"

/* The same four on 8.0, 9.0 and 10.0: the callback's caller, the teller, who completes, the load.
 */
enum { SAMPLING_LOADERS = 4 };

typedef struct {
    uint32_t functions[SAMPLING_LOADERS]; /* their frames, innermost first */
    unsigned count;                       /* as far as all stacks agree */
    unsigned stacks;                      /* looked at so far */
} sampling_types;

/* Lets the callback take stacks, as long as they are needed. */
void sampling_types_start(const sampling_types *t);
/* Takes a stack of the callback into account. */
void sampling_types_learn(sampling_types *t, sampling_code *code, const sampling_capture *c);
/* Whether a native frame is one of the loader's functions. */
bool sampling_types_has(const sampling_types *t, uint32_t frame);

#endif
