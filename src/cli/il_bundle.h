/*
 * il_bundle: assemblies inside a program that was published as one file.
 */
#ifndef CLARINET_CLI_IL_BUNDLE_H
#define CLARINET_CLI_IL_BUNDLE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Is the file such a program? */
bool il_bundle_is(const char *path);
/* Prints the names of its assemblies. */
void il_bundle_list(const char *path);
/* Reads one of its assemblies: by name, with or without .dll, or (NULL) the program's own. *name
 * gets its whole name. */
int il_bundle_read(const char *path, const char *wanted, buffer *out, buffer *name, error *e);

#endif
