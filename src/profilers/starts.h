/*
 * starts: who starts threads, for the profiler `threads`: the managed stack of the thread that
 * calls Thread.Start, from the runtime's own event, which comes on that thread.
 *
 * Thread rules: starts_on_event on any thread of the target, without locks; the others on the
 * agent's own. Zeroed memory is a `starts` that takes nothing.
 */
#ifndef CLARINET_PROFILERS_STARTS_H
#define CLARINET_PROFILERS_STARTS_H

#include "agent/agent.h"
#include "agent/tally.h"

enum {
    STARTS_TABLE = 5, /* of the tables of `threads` */
    STARTS_LOSS_RATE = 4,
    STARTS_LOSS_STACK,
};

typedef struct {
    allowance allowed;
} starts;

void starts_reset(starts *s);
void starts_on_event(agent *a, starts *s, const events_event *event);
/* A record of the ring: writes its row. */
void starts_take(agent *a, const void *payload);

#endif
