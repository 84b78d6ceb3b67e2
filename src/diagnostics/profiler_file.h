/*
 * profiler_file: will this library load as a CLR profiler? The runtime says nothing when it does
 * not, so the file is looked at beforehand: its ELF headers, and a trial load in a child process.
 */
#ifndef CLARINET_DIAGNOSTICS_PROFILER_FILE_H
#define CLARINET_DIAGNOSTICS_PROFILER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "clarinet/types.h"

typedef struct {
    bool is_elf;
    bool is_library; /* ET_DYN */
    unsigned bits;   /* 32 or 64 */
    bool big_endian;
    uint16_t machine;     /* EM_… */
    bool has_symbols;     /* the dynamic symbols could be read */
    bool has_entry_point; /* DllGetClassObject is exported */
    bool is_cut;          /* parts that are to be loaded lie behind the end */
    bool needs_musl;      /* linked against musl: cannot be tried out in a glibc process */
} profiler_file;

/* Reads headers and symbols out of a file's bytes; every offset in it is foreign. Never fails: what
 * cannot be read is false. */
void profiler_file_parse(const void *bytes, size_t length, profiler_file *file);

/* "x64", "arm64" … of an EM_ number, "an unknown processor" otherwise. */
const char *profiler_file_architecture(uint16_t machine);
/* The machine of the program at `path`, or of ourselves when it is a script or cannot be read. */
uint16_t profiler_file_machine_of(const char *path);

/* Looks at the file; fails with words of their own when it is missing, unreadable, not ELF, for
 * another architecture than `machine`, or has no DllGetClassObject. */
int profiler_file_check(const char *path, uint16_t machine, profiler_file *file, error *e);

/* Loads it in a child process of ours and asks it for the class; says what is missing. The child's
 * output goes nowhere; a crash of the library is a result like others. */
int profiler_file_try(const char *path, const GUID *clsid, error *e);

#endif
