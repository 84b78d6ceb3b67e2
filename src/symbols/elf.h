/*
 * elf: names of native functions, from an ELF file's .symtab, else .dynsym. The names stay in the
 * file's bytes, which the caller keeps alive; the sorted table is ours. Every byte is treated as
 * hostile. Any thread once opened.
 */
#ifndef CLARINET_SYMBOLS_ELF_H
#define CLARINET_SYMBOLS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum { ELF_BUILD_ID = 64 };

typedef struct {
    uint64_t address;
    uint64_t size;
    const char *name; /* zero-terminated, in the file's bytes */
    bool local;
} elf_symbol;

typedef struct {
    uint8_t build_id[ELF_BUILD_ID];
    size_t build_id_length;
    elf_symbol *symbols; /* functions, sorted by address */
    size_t count;
    bool has_full_table; /* .symtab, not only .dynsym */
} elf;

int elf_open(elf *f, const void *bytes, size_t length, error *e);
void elf_close(elf *f);

/* The function around an address of the file's own address space, or NULL. */
const elf_symbol *elf_find(const elf *f, uint64_t address);

/* Appends a C++ name as a person writes it, without parameters (`_ZN3gc4markEv` as `gc::mark`);
 * names it cannot read are appended as they are. */
void elf_append_demangled(buffer *out, const char *name);

#endif
