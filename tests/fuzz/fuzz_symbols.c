/* Fuzz target: a portable PDB, an ELF file and a program that is one file, of hostile bytes. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/bundle.h"
#include "symbols/elf.h"
#include "symbols/pdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_bundle(const uint8_t *data, size_t size)
{
    int program = memfd_create("bundle", MFD_CLOEXEC);
    buffer out = BUFFER_EMPTY;
    bundle b;

    bundle_open(&b, program);
    if (program >= 0 && write(program, data, size) == (ssize_t)size) {
        bundle_read(&b, "a.dll", 1 << 16, &out);
        bundle_read(&b, "b.dll", 1 << 16, &out);
    }
    bundle_close(&b);
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdb p;
    elf f;

    read_bundle(data, size);
    if (pdb_open(&p, data, size, NULL) == 0) {
        for (uint32_t row = 1; row <= metadata_rows(&p.tables, METADATA_PDB_METHOD) && row < 64;
             row++) {
            buffer text = BUFFER_EMPTY;
            pdb_point point;

            if (pdb_find_line(&p, 0x06000000 | row, 10, &point))
                pdb_append_document(&p, point.document, &text);
            pdb_find_kickoff(&p, 0x06000000 | row);
            buffer_free(&text);
        }
    }
    if (elf_open(&f, data, size, NULL) == 0) {
        for (size_t i = 0; i < f.count && i < 64; i++) {
            const elf_symbol *symbol = elf_find(&f, f.symbols[i].address);
            buffer text = BUFFER_EMPTY;

            if (symbol != NULL)
                elf_append_demangled(&text, symbol->name);
            buffer_free(&text);
        }
        elf_close(&f);
    }
    return 0;
}
