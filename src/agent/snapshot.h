/*
 * snapshot: the managed stack of the thread that asks, inside a callback of the runtime on that
 * thread. Needs COR_PRF_ENABLE_STACK_SNAPSHOT in the mask. About 1 us for 4 frames.
 */
#ifndef CLARINET_AGENT_SNAPSHOT_H
#define CLARINET_AGENT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clarinet/clarinet.h"

/* What is known of a stack. The caller sets the first two. */
typedef struct {
    uintptr_t *addresses; /* leaf first; all but a leaf that faulted are return addresses */
    size_t capacity;
    size_t count;
    bool cut;             /* there were more than `capacity` */
    FunctionID leaf;      /* 0 = no managed frame */
    FunctionID outermost; /* 0 = not reached: the stack is too deep */
} snapshot;

/* Walks the whole stack, but keeps only the first `capacity` addresses. */
void snapshot_walk(const clr_info *info, snapshot *s);
/* How many frames of the stack are of this function. */
uint32_t snapshot_count(const clr_info *info, FunctionID function);
/* The address in its innermost frame; 0 when it has none. */
uintptr_t snapshot_address_of(const clr_info *info, FunctionID function);
/* Only the addresses, and no further than they go; returns how many. 0: the thread has no managed
 * frame. */
size_t snapshot_take(const clr_info *info, uintptr_t *addresses, size_t capacity, bool *cut);

#endif
