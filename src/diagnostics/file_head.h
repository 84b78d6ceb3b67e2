/*
 * file_head: tells files of other tools by their first bytes. No state; any thread.
 */
#ifndef CLARINET_DIAGNOSTICS_FILE_HEAD_H
#define CLARINET_DIAGNOSTICS_FILE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the file begins with these bytes (at most 64). What cannot be read twice, a pipe, does
 * not, and is left as it was. */
bool file_head_is(const char *path, const char *bytes, size_t length);

#endif
