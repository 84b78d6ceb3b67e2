/*
 * sampling_async: puts the stack of an async continuation under the methods that await it.
 *
 * A stack that runs inside a method of a state machine's box was resumed by someone (mostly the
 * thread pool) who has nothing to do with it. The handler has read the chain of awaiting boxes
 * (sampling_chain.h); here the right box is picked, and the chain becomes frames.
 *
 * Nothing is known before the first continuation was met: then the runtime is asked for the types
 * that chains are made of, and the heap is found through a box on the stack.
 *
 * Thread rules: the agent's own thread only.
 */
#ifndef CLARINET_AGENT_SAMPLING_ASYNC_H
#define CLARINET_AGENT_SAMPLING_ASYNC_H

#include "agent/sampling_chain.h"
#include "agent/sampling_code.h"

typedef struct {
    agent *agent;
    sampling_code *code;
    uint32_t module_at; /* in a type: the module it belongs to */
    bool has_types;
    bool gave_chains;             /* the heap that was found */
    unsigned attempts;            /* to find the heap or a chain, since the last success */
    unsigned unloads;             /* of the agent's unloads_met */
    uint64_t unload_ns;           /* when that was noticed: types of older captures may be gone */
    table_u64 types;              /* type of a box: the frame of its method; 0 = shows none */
    uint32_t frames[CHAIN_STEPS]; /* of the last chain, innermost first */
    unsigned count;
} sampling_async;

void sampling_async_init(sampling_async *s, agent *a, sampling_code *code);
void sampling_async_free(sampling_async *s);

/*
 * The logical callers of the method `resumed` (a frame id), whose frame begins at `stack_pointer`:
 * s->frames and s->count. false: not known. `sure`: it was resumed, so there is something to learn.
 */
bool sampling_async_find(sampling_async *s, const sampling_capture *c, uint32_t resumed,
                         uint64_t stack_pointer, bool sure);

#endif
