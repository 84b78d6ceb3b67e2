/*
 * root: files as a process sees them. Paths are resolved inside its root folder, links included,
 * and only regular files are read: what a stranger's file system holds must neither lead out of it
 * nor block.
 */
#ifndef CLARINET_SYMBOLS_ROOT_H
#define CLARINET_SYMBOLS_ROOT_H

#include <stddef.h>

#include "base/buffer.h"

typedef struct {
    int folder; /* descriptor; -1 = cannot be opened */
} root;

void root_open(root *r, const char *path);
void root_close(root *r);

/* Appends the whole file; 0 or a negative error code. */
int root_read(const root *r, const char *path, size_t limit, buffer *out);

#endif
