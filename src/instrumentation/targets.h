/*
 * targets: the methods that are instrumented, found by (module, method).
 *
 * Thread rules: any thread looks up without a lock; adding is lock-free too. An entry is never
 * freed while the profiler lives; taking one out only marks it.
 */
#ifndef CLARINET_INSTRUMENTATION_TARGETS_H
#define CLARINET_INSTRUMENTATION_TARGETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clarinet/types.h"
#include "clarinet/emit.h"
#include "rules/points.h"
#include "rules/tails.h"

typedef struct target {
    ModuleID module;
    mdMethodDef method;
    /* What to report, to the managed agent first, then to each shim; NULL = nothing. */
    _Atomic(const point *) points[POINTS_MOST_SHIMS];
    _Atomic(uint32_t) own; /* the method's own bits: async, attributes */
    _Atomic(bool) active;
    _Atomic(uint32_t) generation; /* of the points that last named it */
    _Atomic(bool) announced;      /* its line is in the log */
    _Atomic(bool) is_first_body;  /* rewritten before it was compiled: it stays so */
    _Atomic(bool) is_collectible; /* of a whole module: it may be unloaded at any time */
    _Atomic(uint32_t) unloads; /* of a whole module: how often one at this address was unloaded */
    _Atomic(FunctionID) function; /* what the managed agent knows it by; 0 = not told yet */
    struct target *next;
} target;

/* A module whose metadata we write; its emitter remembers the tokens that were made. */
typedef struct module_tokens {
    _Atomic(ModuleID) module; /* 0 = unloaded */
    clr_emitter *emitter;
    _Atomic(tails *) tails; /* which methods come back to themselves; NULL = nobody asked yet */
    struct module_tokens *next;
} module_tokens;

enum { TARGET_BUCKETS = 4096 };
/* A "method" that stands for its module: all the others have been looked at. It is active from the
 * module's load to its unload. */
enum { TARGET_WHOLE_MODULE = 0 };

typedef struct {
    _Atomic(target *) buckets[TARGET_BUCKETS];
    _Atomic(size_t) count;
    _Atomic(module_tokens *) modules;
    _Atomic(uint32_t) readers;
} targets;

target *targets_find(targets *t, ModuleID module, mdMethodDef method);
/* The entry, made when it is new; NULL without memory. */
target *targets_add(targets *t, ModuleID module, mdMethodDef method);
bool targets_has_module(targets *t, ModuleID module); /* is it loaded? */
/* Is it one that may be unloaded? What is not known, or gone already, may be. */
bool targets_is_collectible(targets *t, ModuleID module);
/* The runtime lists modules that may go before it is asked about them, and such a question ends the
 * process. Between these two a module that targets_has_module finds stays: its unloading waits, for
 * 2 s at most. Outside of callbacks about the module itself, nothing of one that is collectible may
 * be read in any other way. Short, and no ReJIT request inside. */
void targets_begin_reading(targets *t);
void targets_end_reading(targets *t);
/* Tells a module from one that had the same id before it. */
uint32_t targets_unloads(targets *t, ModuleID module);
/* The module's emitter, opened when it is first asked for; NULL with *result when it can't be. */
clr_emitter *targets_emitter(targets *t, const clr_info *info, ModuleID module, HRESULT *result);
/* Where a module that has an emitter keeps its tail calls; NULL when it has none. */
_Atomic(tails *) *targets_tails(targets *t, ModuleID module);
/* Marks every entry of a module as gone, and returns when nobody reads in it any more. */
void targets_forget_module(targets *t, ModuleID module);
void targets_each(targets *t, void (*each)(void *context, target *entry), void *context);

#endif
