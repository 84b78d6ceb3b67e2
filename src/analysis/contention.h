/*
 * contention: waits for locks put together: by type of the lock, by place (type and stack of the
 * waiter), by the thread that held it and what that did meanwhile, and the spread of the single
 * waits. Works on the table
 * `waits`; columns that are missing count as unknown.
 */
#ifndef CLARINET_ANALYSIS_CONTENTION_H
#define CLARINET_ANALYSIS_CONTENTION_H

#include "analysis/groups.h"

/* Bits of the column `flags`. */
enum { CONTENTION_COUNTED = 1, CONTENTION_OPEN = 2, CONTENTION_REST = 4 };

typedef struct {
    uint64_t total;     /* waits */
    uint64_t waited_ns; /* of all of them */
    uint64_t open;      /* of them, not over when the recording ended */
    uint64_t counted;   /* of them, without a stack: beyond the allowance */
    uint64_t watched_ns;
    groups_list types;    /* key: type, kind */
    groups_list places;   /* key: stack, type, kind; only waits with a stack */
    groups_list owners;   /* key: thread that held the lock, type */
    groups_list holding;  /* key: stack of that thread meanwhile, type, thread */
    uint64_t holding_ns;  /* waiting time for which that stack is known … */
    uint64_t owned_ns;    /* … of the time for which the owner is */
    bool is_sampled;      /* stacks of threads were recorded along */
    groups_spread single; /* waits that were recorded one by one and are over */
} contention;

int contention_summarise(const model *m, const model_process *process, const model_table *table,
                         contention *result, error *e);
void contention_free(contention *result);

/* "monitor", "Lock", "handle", "Monitor.Wait". */
const char *contention_kind_name(uint64_t kind);

#endif
