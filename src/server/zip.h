/* zip: a few files as they are in one .zip; for recordings, which are packed already. */
#ifndef CLARINET_SERVER_ZIP_H
#define CLARINET_SERVER_ZIP_H

#include <stddef.h>

#include "base/error.h"

enum { ZIP_MAX_FILES = 16 };

/* Files of `folder` that there are, under `prefix`/ in the archive. Each up to 4 GB. */
int zip_write(int output, const char *folder, const char *const *files, size_t count,
              const char *prefix, error *e);

#endif
