/*
 * peek: reading memory that may not be there.
 *
 * The walker never follows a pointer: code bytes, unwind tables and stack slots all come through
 * this interface, so that the same code works inside the target (process_vm_readv on itself), over
 * a copied stack, and from outside (/proc/PID/mem).
 */
#ifndef CLARINET_STACKWALK_PEEK_H
#define CLARINET_STACKWALK_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    /* Copies `size` bytes at `address`; false when not all of them can be read. */
    bool (*read)(void *context, uint64_t address, void *out, size_t size);
    void *context;
} peek;

static inline bool peek_read(const peek *p, uint64_t address, void *out, size_t size)
{
    return p->read(p->context, address, out, size);
}

/* As many bytes as are there, up to size: tries size, then halves down to 1. */
size_t peek_read_some(const peek *p, uint64_t address, void *out, size_t size);

/* A run of bytes that lay at `address` when they were copied; context of peek_copy_read. */
typedef struct {
    uint64_t address;
    const uint8_t *bytes;
    size_t length;
} peek_copy;

bool peek_copy_read(void *context, uint64_t address, void *out, size_t size);

/* The memory of a process by process_vm_readv, or by `descriptor` (/proc/PID/mem) when that is
 * not allowed. */
typedef struct {
    int process;
    int descriptor; /* -1 = none */
} peek_process;

bool peek_process_read(void *context, uint64_t address, void *out, size_t size);

/*
 * Memory that does not change while it is mapped (a library's code and unwind tables), read a page
 * at a time and kept: one step in an unwind table is many small reads of a few places. Who knows
 * that the map has changed says peek_pages_forget.
 */
enum { PEEK_PAGE = 4096, PEEK_PAGES = 32 };
typedef struct {
    const peek *below;
    uint64_t number[PEEK_PAGES]; /* address / PEEK_PAGE + 1; 0 = empty */
    uint8_t bytes[PEEK_PAGES][PEEK_PAGE];
} peek_pages;

void peek_pages_init(peek_pages *p, const peek *below);
void peek_pages_forget(peek_pages *p);
bool peek_pages_read(void *context, uint64_t address, void *out, size_t size);

#endif
