/*
 * cfi: unwind rules of native code, from a loaded ELF image's .eh_frame.
 *
 * The image's sorted .eh_frame_hdr is searched and one entry's program is run for one address: the
 * result is a stackwalk_rule. Callers keep rules per address, so each is worked out once. An index
 * of every 64th table entry is kept; everything else is read when needed, through peek, because
 * the library may be closed at any moment. All bytes are treated as hostile.
 *
 * Thread rules: one thread at a time per cfi. Not signal-safe (allocates the index).
 */
#ifndef CLARINET_STACKWALK_CFI_H
#define CLARINET_STACKWALK_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "stackwalk/peek.h"
#include "stackwalk/stackwalk.h"

typedef struct {
    peek memory;
    uint64_t header;       /* address of .eh_frame_hdr */
    uint64_t table;        /* address of its search table */
    uint32_t count;        /* entries of 8 bytes, relative to header */
    int32_t *index;        /* start of every 64th entry */
    uint32_t index_length; /* 0 = the image has no usable table */
} cfi;

/* Reads the header at `header`; false (and an empty cfi) when it cannot be used. */
bool cfi_open(cfi *c, const peek *memory, uint64_t header);
void cfi_close(cfi *c);

/* The rule for the instruction at `address` (for a caller: return address - 1). false when the
 * address is not covered or its entry cannot be understood. */
bool cfi_find_rule(const cfi *c, uint64_t address, stackwalk_rule *rule);

/* Address range of the function around `address`, from the same table. */
bool cfi_find_range(const cfi *c, uint64_t address, uint64_t *start, uint64_t *end);

#endif
