/*
 * file: reads a recording chunk by chunk, from a file, a pipe or memory. Every byte is treated as
 * hostile. Needs one chunk's memory, whatever the size of the file, and never maps the file, so
 * that one that shrinks meanwhile does no harm.
 *
 * The recording ends at the first chunk that is not whole or whose check fails: everything before
 * it is good, and recording_file_cut() says what was cut off. A packed chunk that cannot be
 * unpacked is skipped and counted as damaged. Unknown kinds are handed out like known ones.
 *
 * Thread rules: one thread at a time. Not compiled into the target's libraries.
 */
#ifndef CLARINET_RECORDING_FILE_H
#define CLARINET_RECORDING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "recording/decode.h"

typedef struct recording_file recording_file;

/* Opens and checks the file's first 16 bytes; "-" reads standard input. */
int recording_file_open(const char *path, recording_file **file, error *e);
/* The same over memory, which must stay until recording_file_close. */
int recording_file_open_bytes(const void *bytes, size_t length, recording_file **file, error *e);

/* The next chunk, unpacked; its payload is valid until the next call. 1 = a chunk, 0 = the end
 * (see recording_file_cut), negative = reading failed. */
int recording_file_next(recording_file *file, recording_chunk *chunk, error *e);

/* "" or one sentence that says what is missing at the end; valid until closed. */
const char *recording_file_cut(const recording_file *file);
/* Chunks that were skipped because they could not be unpacked. */
uint64_t recording_file_damaged(const recording_file *file);
/* Bytes of whole chunks read so far, the file's header included. */
uint64_t recording_file_size(const recording_file *file);
void recording_file_close(recording_file *file);

#endif
