/*
 * instrument_tails: which methods of an assembly file come back to themselves through `tail.`
 * calls, as rules/tails.h finds them in the process.
 */
#ifndef CLARINET_CLI_INSTRUMENT_TAILS_H
#define CLARINET_CLI_INSTRUMENT_TAILS_H

#include "metadata/assembly.h"
#include "rules/tails.h"

/* The caller frees (tails_free); NULL with ERROR_MEMORY. */
tails *instrument_tails_read(const assembly *a, error *e);

#endif
