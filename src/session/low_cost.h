/* low_cost: what a checkup records: everything that is cheap. No state. */
#ifndef CLARINET_SESSION_LOW_COST_H
#define CLARINET_SESSION_LOW_COST_H

#include "base/buffer.h"
#include "catalogue/catalogue.h"

/* duration_ns 0: not known. Names go to `names` ("cpu, wall, …") unless it is NULL. */
int session_select_low_cost(catalogue_selection *selection, uint64_t duration_ns, buffer *names,
                            error *e);

#endif
