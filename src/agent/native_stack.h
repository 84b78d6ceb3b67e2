/*
 * native_stack: the native frames of a thread that is blocked in the kernel, and the threads that
 * have nothing but native frames.
 *
 * The kernel tells where a blocked thread stands (instruction and stack pointer). From there the
 * walk goes by unwind tables over the live stack; a thread that has moved on meanwhile is noticed,
 * because it is asked for again, and then shows no native frames.
 *
 * Thread rules: the agent's own thread. native_stack_place asks only the kernel.
 */
#ifndef CLARINET_AGENT_NATIVE_STACK_H
#define CLARINET_AGENT_NATIVE_STACK_H

#include "agent/agent.h"
#include "agent/sampling_code.h"

typedef struct {
    uintptr_t stack; /* 0 = not blocked in the kernel */
    uintptr_t instruction;
    long call; /* number of the system call; -1 = none */
} native_stack_spot;

/* Where a thread of this process stands. */
native_stack_spot native_stack_place(uint32_t os_thread);

/* The stack id of its native frames on top of `managed` (0 = it has no managed frames). Gives
 * `managed` back when the thread has moved since `spot`. */
uint32_t native_stack_walk(sampling_code *code, uint32_t os_thread, native_stack_spot spot,
                           uint32_t managed);

/* The threads of this process; `visit` gets each OS id. */
void native_stack_each_thread(void (*visit)(void *context, uint32_t os_thread), void *context);

#endif
