/*
 * writer: the recording file on the tool's side. Chunks of the agents come in as they were
 * received, chunks of the tool are built with recording/encode.h; both go to the end of the file.
 *
 * Only whole chunks are ever handed to the kernel in one write, so a tool killed at any moment
 * leaves a file that is readable up to its last chunk. What is written: everything as soon as
 * 256 KB have gathered or a quarter of a second has passed since the last write, whichever comes
 * first; a caller that waits longer than that calls recording_writer_flush before it waits.
 *
 * Behind the first chunk of a heap snapshot, all wait in memory until its END or 512 MB: the
 * program stands still while they come, so nothing may be slower than taking them.
 *
 * When a write fails (disk full, quota), the file is cut back to its last whole chunk, the writer
 * refuses everything after that with the same error, and the file stays a good recording.
 *
 * Thread rules: one thread at a time. Not compiled into the target's libraries.
 */
#ifndef CLARINET_RECORDING_WRITER_H
#define CLARINET_RECORDING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "recording/decode.h"

typedef struct recording_writer recording_writer;

/* Makes the file (mode 0600) and writes its header. What an existing file holds is replaced by the
 * first write after that, so that a recording that never began leaves an earlier one as it was. */
int recording_writer_create(const char *path, recording_writer **writer, error *e);

/* Appends the chunks of `bytes` (whole chunks, as recording_end_chunk leaves them). */
int recording_writer_append(recording_writer *writer, const buffer *chunks, error *e);
/* Appends one received chunk as the recording's process `process`: agents count from 0. */
int recording_writer_append_received(recording_writer *writer, const recording_chunk *chunk,
                                     uint32_t process, error *e);
/* Packs chunks from now on where that makes them smaller (default: on). */
void recording_writer_pack(recording_writer *writer, bool on);

int recording_writer_flush(recording_writer *writer, error *e);
/* Writes all that waits; a failure is the first one there was. */
int recording_writer_finish(recording_writer *writer, error *e);
/* Bytes in the file and waiting to be written. After a failed write: in the file. */
uint64_t recording_writer_size(const recording_writer *writer);
/* Flushes, closes and frees; the writer is gone also on failure. NULL is allowed. */
int recording_writer_close(recording_writer *writer, error *e);
/* For a recording that did not begin: removes the file, or leaves an earlier recording in it. */
void recording_writer_abandon(recording_writer *writer);

#endif
