/*
 * pe: finds things in a PE file (a .dll or .exe of any machine, IL only or precompiled): sections,
 * data directories, the CLI metadata, method bodies by RVA. Portable, no OS calls, nothing copied:
 * the caller keeps the bytes alive. Every byte is treated as hostile. Any thread once opened.
 */
#ifndef CLARINET_METADATA_PE_H
#define CLARINET_METADATA_PE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    PE_DIRECTORY_EXPORT = 0,
    PE_DIRECTORY_DEBUG = 6,
    PE_DIRECTORY_CLI = 14,
    PE_DIRECTORY_COUNT = 16,
    PE_SECTION_LIMIT = 96
};

typedef struct {
    const uint8_t *data;
    size_t length;
} pe_span;

typedef struct {
    uint32_t rva, virtual_size;
    uint32_t file_offset, file_size;
} pe_section;

typedef struct {
    const uint8_t *bytes;
    size_t length;
    bool mapped; /* sections lie at their RVA (a loaded image), not at their file offset */
    uint16_t machine;
    bool is_64;
    uint32_t timestamp;
    uint32_t image_size;
    struct {
        uint32_t rva, size;
    } directories[PE_DIRECTORY_COUNT];
    uint32_t section_count;
    pe_section sections[PE_SECTION_LIMIT];
} pe;

/* Reads the headers. ERROR_CORRUPT says what is wrong with the file. */
int pe_open(pe *p, const void *bytes, size_t length, bool mapped, error *e);

/* `size` bytes at an RVA; data is NULL when they don't lie in the file. size 0: as many as there
 * are up to the end of the section. */
pe_span pe_at(const pe *p, uint32_t rva, size_t size);
pe_span pe_directory(const pe *p, unsigned index);

/* The CLI metadata (for metadata_open); ERROR_NOT_FOUND for a file that has none: not .NET. */
int pe_metadata(const pe *p, pe_span *out, error *e);

/* The debug directory: entry `index`; false past the last one. */
typedef struct {
    uint32_t type; /* 2 CodeView (path and id of the PDB), 17 embedded portable PDB, … */
    uint32_t timestamp;
    uint16_t major, minor;
    pe_span data;
} pe_debug_entry;
bool pe_debug(const pe *p, size_t index, pe_debug_entry *out);

#endif
