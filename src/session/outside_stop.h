/*
 * outside_stop: registers and stack of one thread of another process. Private to src/session.
 */
#ifndef CLARINET_SESSION_OUTSIDE_STOP_H
#define CLARINET_SESSION_OUTSIDE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "stackwalk/peek.h"
#include "stackwalk/stackwalk.h"

enum { OUTSIDE_STACK = 256 << 10 }; /* bytes of a stack that are copied */

typedef struct {
    stackwalk_registers registers;
    long call;           /* number of the system call it is in; -1 = none */
    size_t copied;       /* bytes of stack, from the stack pointer up */
    uint64_t stopped_ns; /* how long the thread stood still for us */
    bool is_traced;      /* somebody else traces it: only rip and rsp are known */
    uint8_t stack[OUTSIDE_STACK];
} outside_thread;

/* 0; ERROR_GONE: the thread has ended; ERROR_PERMISSION; ERROR_BUSY: it runs and is not ours to
 * stop, or does not stop. */
int outside_stop(int process, int thread, outside_thread *out);
/* The stack from the stack pointer up, as much of it as there is. */
void outside_copy_stack(const peek *memory, outside_thread *out);

#endif
