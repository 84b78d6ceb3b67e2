/*
 * core_file: an ELF core dump of a 64-bit x86 process: its threads with their registers, its memory
 * as far as it was written, and which files were mapped. Written by the kernel, by createdump or by
 * a debugger. Every byte is hostile; nothing is copied that the file does not hold.
 *
 * Thread rules: never changed once parsed. The bytes belong to the caller and must stay.
 */
#ifndef CLARINET_DIAGNOSTICS_CORE_FILE_H
#define CLARINET_DIAGNOSTICS_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Memory. */
typedef struct {
    uint64_t address, size;
    uint64_t offset, stored; /* in the file; what is not stored was left out */
    bool readable, writable, executable;
} core_segment;

/* A file that was mapped. */
typedef struct {
    uint64_t start, end;
    uint64_t offset;
    const char *path; /* ends with a zero; inside the bytes */
} core_mapping;

/* Registers in the order of the kernel's user_regs_struct. */
enum {
    CORE_R15,
    CORE_R14,
    CORE_R13,
    CORE_R12,
    CORE_RBP,
    CORE_RBX,
    CORE_R11,
    CORE_R10,
    CORE_R9,
    CORE_R8,
    CORE_RAX,
    CORE_RCX,
    CORE_RDX,
    CORE_RSI,
    CORE_RDI,
    CORE_CALL, /* the system call it was in */
    CORE_RIP,
    CORE_CS,
    CORE_FLAGS,
    CORE_RSP,
    CORE_REGISTERS
};

typedef struct {
    int id;
    uint64_t cpu_ns;
    uint64_t registers[CORE_REGISTERS];
} core_thread;

typedef struct {
    const uint8_t *data;
    size_t size;
    core_segment *segments; /* by address */
    size_t segment_count, segment_capacity;
    core_mapping *mappings; /* by address */
    size_t mapping_count, mapping_capacity;
    core_thread *threads; /* the one that crashed first, as a rule */
    size_t thread_count, thread_capacity;
    int process_id; /* 0 = not said */
    char name[17];
    char command_line[81];
    bool is_cut; /* memory that should be in the file is behind its end */
} core_file;

/* Fails when the bytes are no core dump of such a process, or one without threads. On failure
 * nothing is left to free. */
int core_file_parse(core_file *c, const uint8_t *data, size_t size, error *e);
void core_file_free(core_file *c);

/* Copies memory that the dump holds, up to the first byte that it does not; returns how much. */
size_t core_file_read(const core_file *c, uint64_t address, void *out, size_t size);
/* The mapping around an address, or NULL. */
const core_mapping *core_file_mapping(const core_file *c, uint64_t address);
/* The memory map as /proc/PID/maps would show it. */
void core_file_append_map(const core_file *c, buffer *out);

#endif
