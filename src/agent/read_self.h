/*
 * read_self: memory of our own process through the kernel, so that a wrong pointer is an answer and
 * not a crash. Thread rules: any thread.
 */
#ifndef CLARINET_AGENT_READ_SELF_H
#define CLARINET_AGENT_READ_SELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/os.h"

/* Asked for once: the agent does not live on in a child of fork. */
static inline int read_self_process(void)
{
    static _Atomic int known;
    int process = atomic_load_explicit(&known, memory_order_relaxed);

    if (process == 0) {
        process = os_process_id();
        atomic_store_explicit(&known, process, memory_order_relaxed);
    }
    return process;
}

static inline bool read_self(uintptr_t address, void *into, size_t length)
{
    struct iovec here = {into, length};
    struct iovec there = {(void *)address, length};

    return address >= 4096 &&
           process_vm_readv(read_self_process(), &here, 1, &there, 1, 0) == (ssize_t)length;
}

/* 0 when it cannot be read. */
static inline uintptr_t read_self_word(uintptr_t address)
{
    uintptr_t word = 0;

    return read_self(address, &word, sizeof word) ? word : 0;
}

#endif
