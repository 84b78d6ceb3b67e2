/*
 * gcdump: a .gcdump file (dotnet-gcdump, PerfView) as a recording with a heap snapshot. Such a file
 * has objects, types, sizes, references and roots by kind; no names of fields, no generations, no
 * strings. Docs: docs/heap.md. Every byte is hostile.
 *
 * Thread rules: nothing is shared.
 */
#ifndef CLARINET_DIAGNOSTICS_GCDUMP_H
#define CLARINET_DIAGNOSTICS_GCDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Whether a file begins like one; false also when it cannot be read. */
bool gcdump_is_file(const char *path);
/* The whole file as a recording in *out. `note` says in one sentence when the file holds only a
 * sample of the objects, else it is "". */
int gcdump_import_file(const char *path, buffer *out, char *note, size_t note_size, error *e);

/* The same for bytes; `name` and `time_unix_ns` stand in where the file does not tell them. */
int gcdump_import(const void *bytes, size_t length, const char *name, uint64_t time_unix_ns,
                  buffer *out, char *note, size_t note_size, error *e);

#endif
