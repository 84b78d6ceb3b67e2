/*
 * sampling_waits: what a blocked thread waits for, by its stack.
 *
 * Most waits have a managed method of their own near the leaf. The entry of a contended monitor has
 * none on 8.0 and 9.0: the method that locks calls straight into the runtime, whose functions have
 * no names. But the runtime keeps a record of what a thread is blocked on, on that thread's stack,
 * and so in the copy that was taken of it.
 *
 * Thread rules: the agent's own thread only.
 */
#ifndef CLARINET_AGENT_SAMPLING_WAITS_H
#define CLARINET_AGENT_SAMPLING_WAITS_H

#include "agent/agent.h"
#include "agent/sampling.h"
#include "base/table.h"

typedef struct {
    agent *agent;
    table_u64 states;      /* stack id: RECORDING_STATE_…; 0 = the copy of the stack decides */
    AppDomainID appdomain; /* the only one; 0 = not asked for yet */
} sampling_waits;

/* A walked stack, leaf first; places are sampling_place. */
typedef struct {
    const uint32_t *frames;
    const uint8_t *places;
    unsigned count;
    uint32_t id;
} sampling_walked;

void sampling_waits_init(sampling_waits *w, agent *a);
void sampling_waits_free(sampling_waits *w);
/* RECORDING_STATE_… of a thread that stood at a system call in this stack. */
uint32_t sampling_waits_find(sampling_waits *w, const sampling_walked *stack,
                             const sampling_capture *c, bool in_runtime);

#endif
