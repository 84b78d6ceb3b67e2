/*
 * engine: what a profiler is inside the agent. A profiler is one file in src/profilers that fills
 * in an `engine`, one row in ENGINE_LIST below, and one row in the catalogue.
 *
 * Thread rules. start, configure, stop, record, drain, destroy: the agent's own thread only, and no
 * lock is held around them. The callbacks (on_…): threads of the target, several at once, also
 * while the engine stops; they copy into the ring and return. State that callbacks touch is
 * therefore allocated by the first start and freed only by destroy, which runs when the runtime
 * has let go of the agent.
 */
#ifndef CLARINET_AGENT_ENGINE_H
#define CLARINET_AGENT_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/events.h"
#include "base/error.h"
#include "catalogue/catalogue.h"
#include "clarinet/clarinet.h"
#include "recording/encode.h"

/* Every profiler, in the order of their start. X(name) stands for an `engine ENGINE_name`. */
#define ENGINE_LIST(X)                                                                             \
    X(cpu)                                                                                         \
    X(wall)                                                                                        \
    X(exceptions)                                                                                  \
    X(gc)                                                                                          \
    X(trace)                                                                                       \
    X(threads)                                                                                     \
    X(contention) X(heap) X(pauses) X(allocations) X(jit) X(counters) X(http) X(transitions)

enum {
#define X(name) ENGINE_INDEX_##name,
    ENGINE_LIST(X)
#undef X
        ENGINE_COUNT,
    ENGINE_MAX_LOSSES = 16,
    ENGINE_MAX_TABLES = 8,
};

typedef struct {
    const char *name; /* the catalogue's */
    /* The runtime's events that are wanted while the engine runs. */
    uint32_t mask_low;
    uint32_t mask_high;
    /* More of mask_low, by what the sessions ask for. May be NULL. */
    uint32_t (*further_mask)(agent *a);
    /* Events of the runtime and of libraries that are wanted; mask_high must then have
     * COR_PRF_HIGH_MONITOR_EVENT_PIPE. They come to on_event. */
    const events_wish *wishes;
    size_t wish_count;
    /* How many of them, from the first on, are wanted now (after configure); NULL = all. */
    size_t (*count_wishes)(agent *a);
    /* The filter of a wish, when it is not a constant. A text that changed stands at another
     * place. */
    const char *(*wish_filter)(agent *a, size_t wish);
    /* Its tables in the recording; table k of engine i has the id 16 i + k + 1. */
    const recording_table *tables;
    size_t table_count;
    /* Whether a session with these parameters gets that table; NULL = all of them. */
    bool (*has_table)(const catalogue_selected *user, size_t table);
    /* Names of its loss counters, by number: one behind the other, an empty one last. (Each pointer
     * in a table costs 32 bytes of a loaded library.) */
    const char *losses;

    /* The first session asks for it / the last one has gone (may be NULL: nothing is to be done).
     */
    int (*start)(agent *a, error *e);
    void (*stop)(agent *a);
    /* The set of sessions changed: work out the parameters in force (agent_user). May be NULL. */
    void (*configure)(agent *a);
    /* One record of the ring with this engine's kind (0 to 63). */
    void (*record)(agent *a, unsigned kind, const void *payload, size_t length);
    /* After the records of a round, every 100 ms at least unless longest_wait_ms says more. `last`:
     * no further one. */
    void (*drain)(agent *a, bool last);
    /* How long the next round may be put off, at most AGENT_LONGEST_TICK_MS: waking up is the
     * larger part of what a quiet engine costs. NULL = not at all. */
    unsigned (*longest_wait_ms)(agent *a);
    /* The runtime has let go: free everything. NULL: the state is one block of memory, or none. */
    void (*destroy)(agent *a);
    /* What a person should know about how it runs here, put beside its start. May be NULL. */
    const char *(*note)(agent *a);

    /* Callbacks of the runtime; NULL = not wanted. */
    void (*on_thread_assigned)(agent *a, ThreadID thread, uint32_t os_thread);
    void (*on_thread_destroyed)(agent *a, ThreadID thread); /* on that thread */
    void (*on_thread_named)(agent *a, ThreadID thread, uint32_t count, const WCHAR *name);
    void (*on_class_loading)(agent *a);
    void (*on_collection_started)(agent *a);
    void (*on_collection_finished)(agent *a);
    void (*on_event)(agent *a, const events_event *event);
    /* The same before the event's provider is asked for (which the runtime refuses while a session
     * is being made): true = it is this engine's alone. */
    bool (*on_raw_event)(agent *a, uint32_t id, const uint8_t *metadata, uint32_t metadata_length,
                         const uint8_t *data, uint32_t length);
    void (*on_module_loaded)(agent *a, ModuleID module);
    void (*on_module_unloading)(agent *a);
} engine;

extern const engine *const ENGINES[ENGINE_COUNT];

/* The error of an engine that cannot start for want of it. */
int engine_no_memory(unsigned index, error *e);

/* profilers/exceptions.c. One exception makes ten calls and more, and some programs throw half a
 * million a second: these come straight from the runtime. The second pass enters or leaves a frame:
 * exceptions_on_unwind. */
void exceptions_on_thrown(agent *a, ObjectID object);
void exceptions_on_catcher_found(agent *a, FunctionID function);
void exceptions_on_search_enter(agent *a, FunctionID function);
void exceptions_on_search_leave(agent *a);
void exceptions_on_filter_enter(agent *a);
void exceptions_on_filter_leave(agent *a);
void exceptions_on_unwind(agent *a);
void exceptions_on_finally_enter(agent *a);
void exceptions_on_finally_leave(agent *a);
void exceptions_on_caught(agent *a);

/* profilers/allocations.c: every object, where the program began with that */
void allocations_on_object(agent *a, ObjectID object, ClassID class_id);

/* profilers/trace.c */
void trace_on_exception_thrown(agent *a, ObjectID object);
void trace_on_exception_caught(agent *a, ObjectID object);
void trace_on_class_loaded(agent *a, ClassID class_id);
/* Also while no session uses the engine: what was asked of the runtime may come late. */
void trace_on_rejit_parameters(agent *a, ModuleID module, mdMethodDef method,
                               ICorProfilerFunctionControl *control);
void trace_on_rejit_error(agent *a, ModuleID module, mdMethodDef method, HRESULT status);

/* profilers/pauses.c */
void pauses_on_started(agent *a, COR_PRF_SUSPEND_REASON reason);
void pauses_on_finished(agent *a);
void pauses_on_resumed(agent *a);
void pauses_on_thread_suspended(agent *a, ThreadID thread);

/* profilers/transitions.c: every call between managed and native code and its return come here
 * straight from the runtime. */
void transitions_cross(agent *a, FunctionID function, bool to_native, bool is_call);

/* What the agent keeps per engine. */
typedef struct {
    void *state; /* the engine's own */
    atomic_uint_fast64_t lost[ENGINE_MAX_LOSSES];
} engine_slot;

#define ENGINE_TABLE_ID(index, table) ((uint32_t)((index)*16 + (table) + 1))

#endif
