/*
 * continuations: what ran in a continuation of an async method. Where the methods that await it
 * could be read at the moment of the sample, its stack stands under them, below a frame (async);
 * else it begins with the thread pool's dispatch. A report says how much is of which kind.
 */
#ifndef CLARINET_REPORT_CONTINUATIONS_H
#define CLARINET_REPORT_CONTINUATIONS_H

#include "analysis/profile.h"

#define CONTINUATIONS_NOTE_SIZE 500

typedef struct {
    profile_total all;
    profile_total known; /* of them, under their logical callers */
} continuations;

/* The selected rows whose stack runs inside a continuation. */
int continuations_sum(const profile *p, const profile_selection *selection, continuations *sum,
                      error *e);
/* What to tell about them; "" when there are none, or too few to show (0.0 %). `whole` is the
 * weight of the selection. */
const char *continuations_note(const continuations *sum, uint64_t whole,
                               char out[CONTINUATIONS_NOTE_SIZE]);

#endif
