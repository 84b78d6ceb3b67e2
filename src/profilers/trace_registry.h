/*
 * trace_registry: which methods are traced, in which modules, and who inlined them.
 *
 * Methods are found by module and token, from threads of the target too; they never move and stay
 * for the life of the library, because probes keep their addresses. The lock guards the tables and
 * is never held across a call into the runtime.
 */
#ifndef CLARINET_PROFILERS_TRACE_REGISTRY_H
#define CLARINET_PROFILERS_TRACE_REGISTRY_H

#include "agent/lock.h"
#include "base/table.h"
#include "clarinet/clarinet.h"
#include "profilers/trace_counters.h"
#include "profilers/trace_rewrite.h"

enum { TRACE_WHOLE = 1 << 30 }; /* in the token of a `whole` entry, so that it is another one */
enum {
    TRACE_CHUNK = 512,
    TRACE_CHUNKS = TRACE_METHODS / TRACE_CHUNK,
    TRACE_MODULES = 2048,
    TRACE_BUCKETS_OF_METHODS = 1 << 14, /* chains of 16 when there are as many as there may be */
};

typedef enum {
    TRACE_WAITING = 0, /* requested; its probes come with its next call */
    TRACE_PROBED,
    TRACE_LEFT_ALONE, /* with a reason */
    TRACE_TOO_DEEP,   /* its probes were taken out: trace_deep.h */
} trace_state;

typedef struct trace_entry {
    trace_method probe;
    ModuleID module;
    mdMethodDef token;
    mdMethodDef key;    /* by which it is found: of a whole not its token */
    atomic_bool wanted; /* in this session */
    atomic_bool step;   /* the MoveNext of an async method */
    atomic_bool async;  /* and an async method itself */
    bool whole;         /* no method of its own: the calls of an async method as a whole */
    struct trace_entry *as_whole; /* of an async method: those */
    atomic_bool is_new;           /* its module was loaded while we were there */
    bool hurried;                 /* optimised at its first compile: trace_cycles.h */
    struct trace_entry *next;     /* of those */
    mdTypeDef type;
    uint8_t rounds;          /* since its probes went */
    bool is_generic;         /* of those: it, or its type */
    atomic_bool in_metadata; /* which say so for the moment */
    uint32_t impl_flags;     /* what they said before */
    atomic_bool lean;        /* no probes for the rest of the session */
    atomic_bool log;         /* the session's line of text is for it */
    atomic_int state;        /* trace_state */
    char *reason;            /* set before the state becomes TRACE_LEFT_ALONE; kept for good */
    /* by whoever makes its new body */
    trace_plan *plans; /* of its values; kept */
    _Atomic(const trace_plan *) plan;
    /* own thread */
    uint32_t name;
    int told; /* the state that was written, + 1 */
    uint64_t written_calls, written_begun;
    uint32_t written_active;
    uint32_t chained; /* the next one of its bucket, number + 1 */
} trace_entry;

typedef struct {
    ModuleID module;
    mdMethodDef token;
} trace_inliner;

typedef struct {
    lock_word guard;
    trace_counters counters;
    uint32_t buckets[TRACE_BUCKETS_OF_METHODS]; /* by module and token: number + 1 */
    trace_entry *chunks[TRACE_CHUNKS];
    uint32_t count;
    trace_module *modules[TRACE_MODULES]; /* opened */
    uint32_t module_count;
    table_u64 seen; /* modules that were looked through in this session */
    trace_inliner *inliners;
    uint32_t inliner_count, inliner_capacity;
    _Atomic(trace_entry *) hurried; /* the newest */
} trace_registry;

/* The entry of a method, made when it is new; NULL without memory or beyond TRACE_METHODS. */
trace_entry *trace_registry_add(trace_registry *r, ModuleID module, mdMethodDef token);
trace_entry *trace_registry_find(trace_registry *r, ModuleID module, mdMethodDef token);
static inline trace_entry *trace_registry_at(trace_registry *r, uint32_t number)
{
    return &r->chunks[number / TRACE_CHUNK][number % TRACE_CHUNK];
}
/* The module, opened for writing; NULL with *e when the runtime refuses. */
const trace_module *trace_registry_module(trace_registry *r, const clr_info *info, ModuleID module,
                                          error *e);
/* True for the first who asks in this session. */
bool trace_registry_take(trace_registry *r, ModuleID module);
/* Remembers a method that was recompiled only because it had inlined a traced one. */
void trace_registry_add_inliner(trace_registry *r, ModuleID module, mdMethodDef token);
/* Nothing is wanted and no module seen any more. Own thread. */
void trace_registry_end_session(trace_registry *r);

#endif
