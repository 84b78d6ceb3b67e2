/*
 * bundle: the files inside a program that was published as one file (PublishSingleFile). The host
 * has the place of the manifest in front of a mark of 32 bytes; the manifest, at the end of the
 * file, has each file's place, size and name. Files may be deflated. Nothing is mapped: the program
 * may be replaced meanwhile. Every byte is treated as hostile.
 *
 * Thread rules: one thread at a time per bundle.
 */
#ifndef CLARINET_SYMBOLS_BUNDLE_H
#define CLARINET_SYMBOLS_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct {
    int program;       /* descriptor; -1 = none */
    bool was_searched; /* the manifest is looked for when the first file is wanted */
    uint32_t version;  /* of the manifest */
    uint32_t count;    /* files */
    size_t files;      /* where they begin in it */
    buffer manifest;   /* empty: the program is no bundle */
} bundle;

/* Takes the descriptor, which may be -1, and closes it in the end. */
void bundle_open(bundle *b, int program);
void bundle_close(bundle *b);

/* What kind of file it is, as the manifest says. */
enum { BUNDLE_ASSEMBLY = 1, BUNDLE_SETTINGS = 4 /* X.runtimeconfig.json */ };

/* Visits all files in it; none when the program is no bundle. The name has no end of its own. */
void bundle_each(bundle *b, void *context,
                 void (*visit)(void *context, const char *name, size_t length, unsigned kind));

/* Appends the file of this name, which has no folders; 0 or a negative error code. */
int bundle_read(bundle *b, const char *name, size_t limit, buffer *out);

#endif
