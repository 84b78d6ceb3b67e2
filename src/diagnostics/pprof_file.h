/*
 * pprof_file: a profile in pprof's format, made by whatever program, as a recording, so that every
 * report works on it: a protocol buffer, packed with gzip or not. Each of its values (time, bytes,
 * counts) becomes a table with stacks. It has no times of samples. Docs: docs/report.md. Every byte
 * is hostile.
 *
 * Thread rules: nothing is shared.
 */
#ifndef CLARINET_DIAGNOSTICS_PPROF_FILE_H
#define CLARINET_DIAGNOSTICS_PPROF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Whether a file begins like one: packed, or with what its values mean. */
bool pprof_file_is(const char *path);
/* The whole file as a recording in *out. `note` says in one sentence what was left out, else it is
 * "". */
int pprof_file_import(const char *path, buffer *out, char *note, size_t note_size, error *e);
/* The same for bytes; `name` is the program's where the file does not tell it. */
int pprof_file_import_bytes(const void *bytes, size_t length, const char *name, buffer *out,
                            char *note, size_t note_size, error *e);

#endif
