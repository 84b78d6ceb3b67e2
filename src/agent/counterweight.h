/*
 * counterweight: a second profiler of ours that does nothing, where the runtime would tell the
 * first one nothing.
 *
 * When a main profiler returns an error from its Initialize (an APM's that declines), or is
 * detached, the runtime counts one notification-only profiler less than there are, and calls none
 * of them while that count is 0: one of ours alone hears nothing, two hear all. Seen on 8.0, 9.0
 * and 10.0. From start the tool names both where a main profiler is set; by attach the agent
 * listens whether it is called, and says so to the tool, which attaches the other.
 *
 * There is no way out then: a profiler that the runtime does not count and that asks to be detached
 * ends the program (the runtime looks for it, finds nothing, and reads from there). So the agent
 * stays, idle, and with it the counterweight.
 */
#ifndef CLARINET_AGENT_COUNTERWEIGHT_H
#define CLARINET_AGENT_COUNTERWEIGHT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "clarinet/profiler.h"

struct agent;

typedef struct {
    clr_profiler_callbacks callbacks; /* filled at the start: a constant would fill the library */
    atomic_bool is_there;
    bool has_listened; /* own thread */
    bool is_needed;    /* own thread: the agent was not called */
    atomic_bool heard; /* by a callback */
} counterweight;

/* Fills the agent's third profiler. */
void counterweight_prepare(struct agent *a);

/* Own thread, once after attach: whether the runtime calls us. It only looks where another profiler
 * was to be loaded. */
void counterweight_listen(struct agent *a);
/* Whether the agent hears nothing until a counterweight comes. */
static inline bool counterweight_is_missing(const counterweight *c)
{
    return c->is_needed && !atomic_load(&c->is_there);
}
/* Whether asking the runtime to let go could end the program. */
bool counterweight_holds(const struct agent *a);

#endif
