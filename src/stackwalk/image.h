/*
 * image: a loaded ELF file, read from the memory it was loaded into: where its unwind table is,
 * how far its addresses are moved, its build-id. Works for the vdso, for deleted files and in
 * containers, because no file is opened. All bytes are treated as hostile.
 */
#ifndef CLARINET_STACKWALK_IMAGE_H
#define CLARINET_STACKWALK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackwalk/peek.h"

enum { IMAGE_BUILD_ID = 64 };

typedef struct {
    uint64_t base;      /* where the ELF header lies */
    uint64_t bias;      /* address in memory - address in the file's address space */
    uint64_t size;      /* of the loaded span */
    uint64_t eh_header; /* address of .eh_frame_hdr; 0 = none */
    uint8_t build_id[IMAGE_BUILD_ID];
    size_t build_id_length;
} image;

/* Reads the headers at `base`; false when there is no 64-bit x86-64 ELF image. */
bool image_open(image *i, const peek *memory, uint64_t base);

#endif
