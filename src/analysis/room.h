/*
 * room: how much memory this process may still take, and how much a heap snapshot needs, so that
 * one that does not fit is refused with the facts and not by the kernel.
 *
 * Thread rules: nothing is shared.
 */
#ifndef CLARINET_ANALYSIS_ROOM_H
#define CLARINET_ANALYSIS_ROOM_H

#include <stdint.h>

#include "base/error.h"
#include "recording/file.h"

/* What the machine, the control groups and the limits of the process leave; UINT64_MAX = no limit
 * is known. */
uint64_t room_left(void);

/* What reading and analysing a snapshot takes, about. */
uint64_t room_for_heap(uint64_t objects, uint64_t references);
/* Fills *e with what a snapshot needs and what there is; returns ERROR_MEMORY. */
int room_refuse_heap(uint64_t objects, uint64_t references, error *e);
/* Reads on to the end of a snapshot that did not fit, and says what it needs: true when *e does. */
bool room_explain(recording_file *file, error *e);

#endif
