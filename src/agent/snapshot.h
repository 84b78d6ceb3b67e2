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

/* Instruction addresses, leaf first; returns how many. 0: the thread has no managed frame. *cut:
 * there were more than `capacity`. All but a leaf that faulted are return addresses. */
size_t snapshot_take(const clr_info *info, uintptr_t *addresses, size_t capacity, bool *cut);

#endif
