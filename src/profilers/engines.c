/* The engines of the agent, in the order of ENGINE_LIST (agent/engine.h). */
#include "agent/engine.h"

#define X(name) extern const engine ENGINE_##name;
ENGINE_LIST(X)
#undef X

const engine *const ENGINES[ENGINE_COUNT] = {
#define X(name) &ENGINE_##name,
    ENGINE_LIST(X)
#undef X
};

int engine_no_memory(unsigned index, error *e)
{
    return error_set(e, ERROR_MEMORY, "no memory for the profiler '%s'", ENGINES[index]->name);
}
