/*
 * library: where the libraries that go into a target are found.
 *
 * The order: what CLARINET_LIBRARY names (a file, or a folder that holds the libraries); beside the
 * program, as in a build tree; ../lib/clarinet/ from the program, as installed.
 */
#ifndef CLARINET_CLI_LIBRARY_H
#define CLARINET_CLI_LIBRARY_H

#include "base/buffer.h"
#include "base/error.h"

#define LIBRARY_AGENT      "libclarinet.so"
#define LIBRARY_INSTRUMENT "libclarinet_instrument.so"

/* Appends the absolute path of the library to `path`; ERROR_NOT_FOUND names the places. */
int library_find(const char *name, buffer *path, error *e);

#endif
