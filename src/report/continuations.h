/*
 * continuations: what ran in a continuation of an async method. Such a stack begins with the thread
 * pool's dispatch: the methods that await it are not on it, and a report says so.
 */
#ifndef CLARINET_REPORT_CONTINUATIONS_H
#define CLARINET_REPORT_CONTINUATIONS_H

#include "analysis/profile.h"

#define CONTINUATIONS_NOTE_SIZE 400

/* The selected rows whose stack runs inside a continuation. */
int continuations_sum(const profile *p, const profile_selection *selection, profile_total *sum,
                      error *e);
/* What to tell about them; "" when there are none. `whole` is the weight of the selection. */
const char *continuations_note(const profile_total *sum, uint64_t whole,
                               char out[CONTINUATIONS_NOTE_SIZE]);

#endif
