/*
 * gates: what a method has to do with locks, by its code. Who has taken a semaphore or mutex is
 * written nowhere; but a method that has called Wait on the field that has it, and not yet Release,
 * and that stands at a later call, has it. And whether a wait gives up after a time is
 * told by which overload is called, also where that is compiled into its caller and on no stack.
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
#include "recording/tables.h"

typedef struct {
    uint32_t field; /* token; 0 where the row is about the call itself */
    tables_gate kind;
} gates_gate;

/* What the method has to do with gates in fields when it stands at the first call from `il_offset`
 * on, and how long that call waits; how many, at most `most`. */
size_t gates_find(const assembly *a, uint32_t method_token, uint32_t il_offset, gates_gate *out,
                  size_t most);

#endif
