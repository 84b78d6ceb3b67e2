/* low_cost: what a checkup records: everything that is cheap. No state. */
#ifndef CLARINET_SESSION_LOW_COST_H
#define CLARINET_SESSION_LOW_COST_H

#include "base/buffer.h"
#include "catalogue/catalogue.h"

/* Names go to `names` ("cpu, wall, …") unless it is NULL. */
int session_select_low_cost(catalogue_selection *selection, buffer *names, error *e);
/* How often to look at the threads of this process, so that many cost no more than a few.
 * process_id and duration_ns 0: not known. */
int session_pace_low_cost(catalogue_selection *selection, int process_id, uint64_t duration_ns,
                          error *e);

#endif
