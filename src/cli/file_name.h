/* file_name: the names of recordings and reports: made when nobody gives one, kept apart from what
 * is read, and spelled for a shell. */
#ifndef CLARINET_CLI_FILE_NAME_H
#define CLARINET_CLI_FILE_NAME_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* NAME-PID-TIME and the extension, for the current folder; a path's folder is left out, and what
 * could mean something to a shell becomes '-'. */
void file_name_make(char *out, size_t size, const char *name, int process_id,
                    const char *extension);

/* Refuses to write to the file that is read, by whatever name ("-" = standard input). Either may
 * be NULL; a file that does not exist yet is nobody's. */
int file_name_check_apart(const char *read, const char *written, error *e);

/* The name as a word that a shell takes as it is: quoted when it must be. */
void file_name_append_quoted(buffer *out, const char *name);

/* "shop-heap.clarinet" for "shop.clarinet": the snapshot of the heap that belongs to it. */
void file_name_of_snapshot(const char *recording, char *out, size_t room);

#endif
