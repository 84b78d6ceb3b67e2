/* peek: see peek.h. */
#include "stackwalk/peek.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

size_t peek_read_some(const peek *p, uint64_t address, void *out, size_t size)
{
    while (size > 0 && !peek_read(p, address, out, size))
        size /= 2;
    return size;
}

bool peek_copy_read(void *context, uint64_t address, void *out, size_t size)
{
    const peek_copy *copy = context;

    if (address < copy->address || size > copy->length ||
        address - copy->address > copy->length - size)
        return false;
    memcpy(out, copy->bytes + (address - copy->address), size);
    return true;
}

bool peek_process_read(void *context, uint64_t address, void *out, size_t size)
{
    const peek_process *process = context;
    struct iovec local = {out, size};
    struct iovec remote = {(void *)(uintptr_t)address, size};

    if (process_vm_readv(process->process, &local, 1, &remote, 1, 0) == (ssize_t)size)
        return true;
    if (process->descriptor < 0 || address > INT64_MAX)
        return false;
    return pread(process->descriptor, out, size, (off_t)address) == (ssize_t)size;
}

void peek_pages_init(peek_pages *p, const peek *below)
{
    p->below = below;
    peek_pages_forget(p);
}

void peek_pages_forget(peek_pages *p)
{
    memset(p->number, 0, sizeof p->number);
}

bool peek_pages_read(void *context, uint64_t address, void *out, size_t size)
{
    peek_pages *p = context;
    uint64_t number = address / PEEK_PAGE;
    size_t at = (size_t)(number % PEEK_PAGES), offset = (size_t)(address % PEEK_PAGE);

    if (size > PEEK_PAGE - offset)
        return peek_read(p->below, address, out, size);
    if (p->number[at] != number + 1) {
        p->number[at] = 0;
        if (!peek_read(p->below, number * PEEK_PAGE, p->bytes[at], PEEK_PAGE))
            return peek_read(p->below, address, out, size);
        p->number[at] = number + 1;
    }
    memcpy(out, p->bytes[at] + offset, size);
    return true;
}
