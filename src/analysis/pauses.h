/*
 * pauses: the suspensions of the runtime put together: by reason, the spread of their length and of
 * the time until all threads had stopped, and the threads and places that were slow to stop. Works
 * on the table `pauses`; columns that are missing count as 0.
 */
#ifndef CLARINET_ANALYSIS_PAUSES_H
#define CLARINET_ANALYSIS_PAUSES_H

#include "analysis/groups.h"

typedef struct {
    uint64_t watched_ns;
    groups_list reasons; /* key: reason; sum: length */
    groups_list slow;    /* key: stack of the thread that stopped last, that thread; sum: the time
                            it took to stop all */
    groups_spread lengths;
    groups_spread suspending;
} pauses;

int pauses_summarise(const model *m, const model_process *process, const model_table *table,
                     pauses *result, error *e);
void pauses_free(pauses *result);

/* "garbage collection", "debugger", …; "other" for what is not known. */
const char *pauses_reason_name(uint64_t reason);

#endif
