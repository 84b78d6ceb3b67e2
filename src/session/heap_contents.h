/*
 * heap_contents: what the events of a heap leave out of its objects, from the process's memory,
 * where the kernel allows this tool to read it. Thread rules: any thread.
 */
#ifndef CLARINET_SESSION_HEAP_CONTENTS_H
#define CLARINET_SESSION_HEAP_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the process's memory may be read. */
bool heap_contents_may_read(int process_id);
/* How many of the bytes from `address` on could be read; `context`: &process_id. */
size_t heap_contents_read(void *context, uint64_t address, void *out, size_t size);

#endif
