/*
 * gates: semaphores and mutexes in static fields, by the code of a method. Who has taken one is
 * written nowhere; but a method that has called Wait on the field, and not yet Release, and that
 * stands at a later call, has it.
 *
 * The code is read in its order, without following branches: what is found is a guess, and called
 * so. Any thread; foreign bytes are read through the assembly only.
 */
#ifndef CLARINET_SYMBOLS_GATES_H
#define CLARINET_SYMBOLS_GATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metadata/assembly.h"

typedef struct {
    uint32_t field; /* token */
    bool is_held;   /* else it is waited for: the call is its Wait */
} gates_gate;

/* What the method has to do with static gates when it stands at the first call from `il_offset` on;
 * how many, at most `most`. */
size_t gates_find(const assembly *a, uint32_t method_token, uint32_t il_offset, gates_gate *out,
                  size_t most);

#endif
