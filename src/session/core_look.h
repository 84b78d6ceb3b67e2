/*
 * core_look: a look at the threads of a core dump, with the walker and the names of looks from
 * outside. Memory that the dump left out because it stands in a file is read from that file, where
 * it still is the same one.
 *
 * Thread rules: one look belongs to one thread.
 */
#ifndef CLARINET_SESSION_CORE_LOOK_H
#define CLARINET_SESSION_CORE_LOOK_H

#include "base/error.h"

/* Writes the look into a recording. */
int core_look(const char *core, const char *file, error *e);

#endif
