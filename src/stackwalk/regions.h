/*
 * regions: the memory map of a process, from the text of /proc/PID/maps, sorted by address.
 *
 * Thread rules: built by one thread, then read-only. Not signal-safe (allocates).
 */
#ifndef CLARINET_STACKWALK_REGIONS_H
#define CLARINET_STACKWALK_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file */
    uint64_t inode;
    uint32_t path; /* index into `paths`; 0 = no name */
    bool readable;
    bool writable;
    bool executable;
} region;

typedef struct {
    region *items;
    size_t count;
    buffer paths; /* zero-terminated, one after the other; the first is "" */
} regions;

/* Parses the map; a line that cannot be read is left out. false when there is no memory. */
bool regions_parse(regions *r, const char *text, size_t length);
void regions_free(regions *r);

/* The region around `address`, or NULL. */
const region *regions_find(const regions *r, uint64_t address);
const char *regions_path(const regions *r, const region *item);

/* Where the file that `item` belongs to was mapped from its beginning (its ELF header), and the
 * end of its last neighbour of the same file; false when that is not to be seen. */
bool regions_find_image(const regions *r, const region *item, uint64_t *base, uint64_t *end);

#endif
