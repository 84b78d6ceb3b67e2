/* file_name: the names that recordings and reports get when nobody gives one. */
#ifndef CLARINET_CLI_FILE_NAME_H
#define CLARINET_CLI_FILE_NAME_H

#include <stddef.h>

/* NAME-PID-TIME and the extension, for the current folder; a path's folder is left out, and what
 * could mean something to a shell becomes '-'. */
void file_name_make(char *out, size_t size, const char *name, int process_id,
                    const char *extension);

#endif
