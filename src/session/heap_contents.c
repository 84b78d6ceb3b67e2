/* heap_contents: see heap_contents.h. */
#include "session/heap_contents.h"

#include <errno.h>
#include <sys/uio.h>

size_t heap_contents_read(void *context, uint64_t address, void *out, size_t size)
{
    const int *process_id = context;
    struct iovec here = {out, size};
    struct iovec there = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(*process_id, &here, 1, &there, 1, 0);

    return got < 0 ? 0 : (size_t)got;
}

bool heap_contents_may_read(int process_id)
{
    uint64_t word;

    /* nothing is there: the kernel looks at the right first */
    errno = 0;
    return heap_contents_read(&process_id, 8, &word, sizeof word) != 0 || errno == EFAULT;
}
