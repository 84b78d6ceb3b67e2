/*
 * symbols: lines and native names of a process's frames, read from its files while it runs.
 *
 * Files are opened inside the process's root (/proc/PID/root), so that containers work, never
 * followed out of it, and only when they are regular files. A dll must have the module's MVID and
 * a PDB the dll's id, an ELF file the loaded image's build-id: a wrong line is worse than none.
 * Every file is read once and kept. Dlls inside a program that was published as one file are read
 * from there.
 *
 * Thread rules: one thread at a time per symbols.
 */
#ifndef CLARINET_SYMBOLS_SYMBOLS_H
#define CLARINET_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "recording/tables.h"

typedef struct symbols symbols;

/* `root` is the folder that the target sees as "/" ("/proc/PID/root", or "/"). NULL when there is
 * no memory. */
symbols *symbols_open(const char *root);
/* The file that the target runs, where it is not /proc/PID/exe beside `root`: dlls that have a name
 * only, without a folder, are inside of it (PublishSingleFile). */
void symbols_use_program(symbols *s, const char *path);
void symbols_close(symbols *s);

typedef struct {
    const char *file; /* as the compiler wrote it; belongs to symbols */
    uint32_t line;    /* 0 = not known */
} symbols_place;

/* Lines of a managed frame: `mvid` has 16 bytes or is NULL (not checked); `il_offset` < 0 = not
 * known, then only the file is found. false when there are no lines. */
bool symbols_line(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                  int64_t il_offset, symbols_place *out);

/* The line of an async method's await, counted from 0; `token` is its MoveNext. false when it has
 * no such await, or no lines. */
bool symbols_await(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                   uint64_t number, symbols_place *out);

/* The precompiled managed function at a place of a dll's file. */
typedef struct {
    const char *name;    /* "Shop.Cart.Add"; NULL = not known. Belongs to symbols */
    uint32_t token;      /* 0 = not known */
    uint64_t start, end; /* places in the file */
} symbols_code;

/* false: the dll has no precompiled code there. */
bool symbols_precompiled(symbols *s, const char *path, uint64_t file_offset, symbols_code *out);

/* The name of a method of a dll by its token, as its source has it (lambdas and async methods under
 * the method they stand in), or NULL. Belongs to symbols. */
const char *symbols_method_name(symbols *s, const char *path, uint32_t token);

/* A semaphore or mutex in a static field that a method has taken, or waits for; or how long the
 * call waits where it stands. */
typedef struct {
    const char *field; /* "Shop.Desk.gate"; belongs to symbols; "" where it is the call's */
    tables_gate kind;
} symbols_gate;

/* Those of a method that stands at `il_offset`, by its code; how many, at most `most`. `mvid` has
 * 16 bytes or is NULL (not checked). */
size_t symbols_gates(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                     uint32_t il_offset, symbols_gate *out, size_t most);

/* A value type that a method boxes, or one of its statements copies. */
typedef struct {
    const char *type; /* "Shop.Order"; belongs to symbols */
    uint64_t bytes;   /* at least */
    bool is_box;      /* else a copy */
} symbols_value;

/* Those of a method and of its statement at `il_offset`, by its code; how many, at most `most`: 0
 * where no lines tell where the statement ends. `mvid` as above. */
size_t symbols_values(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                      uint32_t il_offset, symbols_value *out, size_t most);

/* Known callees of the statement at `il_offset`, as bits 1 << tables_callee; `mvid` as above. */
uint32_t symbols_callees(symbols *s, const char *path, const uint8_t *mvid, uint32_t token,
                         uint32_t il_offset);

/* Name of the native function at `offset` of the file's own address space, demangled, or NULL.
 * Belongs to symbols. */
const char *symbols_native_name(symbols *s, const char *path, const uint8_t *build_id,
                                size_t build_id_length, uint64_t offset);

#endif
