/*
 * outside_walk: walks a copied stack of another process and defines what it meets (strings,
 * modules, methods, frames, stacks) for a recording. Private to src/session.
 *
 * Native code by the unwind tables in the target's memory; precompiled managed code by the shape of
 * its function; other managed code by the frame pointer.
 */
#ifndef CLARINET_SESSION_OUTSIDE_WALK_H
#define CLARINET_SESSION_OUTSIDE_WALK_H

#include "base/buffer.h"
#include "base/table.h"
#include "session/outside_stop.h"
#include "stackwalk/cfi.h"
#include "stackwalk/image.h"
#include "stackwalk/regions.h"
#include "symbols/symbols.h"

typedef struct outside_walker outside_walker;

/* What was defined so far: payloads of chunks of these kinds. */
typedef struct {
    buffer strings, modules, methods, frames, stacks;
} outside_definitions;

/* NULL when the memory map cannot be read; *e says why. */
outside_walker *outside_walker_open(int process, const char *root, error *e);
/* Over memory that is read in another way, with its map as the text of /proc/PID/maps; `memory`
 * must stay. */
outside_walker *outside_walker_open_memory(const peek *memory, const buffer *map, const char *root,
                                           error *e);
void outside_walker_close(outside_walker *w);

/* The id of the thread's stack; 0 = nothing of it could be read. */
uint64_t outside_walk(outside_walker *w, const outside_thread *thread);
/* The id of a text. */
uint64_t outside_string(outside_walker *w, const char *text);
const outside_definitions *outside_walker_definitions(const outside_walker *w);

#endif
