/*
 * own_memory: memory of this process whose layout is only guessed at, read through the kernel: a
 * wrong guess answers false and does not fault.
 *
 * Thread rules: any thread outside signal handlers.
 */
#ifndef CLARINET_AGENT_OWN_MEMORY_H
#define CLARINET_AGENT_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/os.h"

static inline bool own_memory_read(uintptr_t address, void *into, size_t length)
{
    struct iovec here = {into, length};
    struct iovec there = {(void *)address, length};

    return address >= 4096 &&
           process_vm_readv(os_process_id(), &here, 1, &there, 1, 0) == (ssize_t)length;
}

#endif
