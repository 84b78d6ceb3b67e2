/*
 * contention_owners: what the threads that held locks did meanwhile: for each wait whose owner is
 * known, the stack of that thread that was seen while the wait lasted: asked for by contention
 * itself (`holders`), or by the sampler of wall, else of cpu. A stack from before or after is not
 * taken: then the lock may have been somebody else's.
 */
#ifndef CLARINET_ANALYSIS_CONTENTION_OWNERS_H
#define CLARINET_ANALYSIS_CONTENTION_OWNERS_H

#include "analysis/model.h"

typedef struct {
    uint32_t thread;
    uint32_t stack;
    uint64_t start; /* since when the thread stood there, when it stood still; else = seen */
    uint64_t seen;
} contention_owner_sample;

/* The samples of all threads; zeroed = none. */
typedef struct {
    contention_owner_sample *items; /* by thread, then by `seen` */
    size_t count;
    bool is_sampled; /* such stacks were recorded */
} contention_owners;

/* False when there is no memory. */
bool contention_owners_load(const model *m, const model_process *process, contention_owners *o);
void contention_owners_free(contention_owners *o);
/* A stack that this thread had between the two times; 0 = none was seen. */
uint32_t contention_owners_stack(const contention_owners *o, uint32_t thread, uint64_t begin,
                                 uint64_t end);

#endif
