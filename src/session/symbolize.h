/*
 * symbolize: lines and native names for the frames that an agent sends, found while the target's
 * files can still be seen, and written into the recording as SYMBOL chunks.
 * Thread rules: one thread per symbolizer.
 */
#ifndef CLARINET_SESSION_SYMBOLIZE_H
#define CLARINET_SESSION_SYMBOLIZE_H

#include "base/buffer.h"
#include "recording/decode.h"

typedef struct symbolizer symbolizer;

/* `root` is the folder that the target sees as "/". NULL when there is no memory. */
symbolizer *symbolize_open(const char *root);
void symbolize_close(symbolizer *s);
/* Looks at a chunk of the agent (strings, modules, methods, frames); others are ignored. */
void symbolize_take(symbolizer *s, const recording_chunk *chunk);
/* Appends STRING and SYMBOL chunks for the frames that were taken and not yet written. */
void symbolize_write(symbolizer *s, uint32_t process, buffer *out);

#endif
