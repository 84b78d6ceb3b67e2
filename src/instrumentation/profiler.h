/*
 * profiler: the root of the instrumentation agent: its one struct, and what the parts share.
 *
 * One profiler per process. Everything hangs off `instrumentation`; points and settings are
 * replaced as a whole (atomically) on a reload and old ones kept, because callbacks on other
 * threads may still read them.
 */
#ifndef CLARINET_INSTRUMENTATION_PROFILER_H
#define CLARINET_INSTRUMENTATION_PROFILER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/table.h"
#include "clarinet/profiler.h"
#include "instrumentation/events.h"
#include "instrumentation/journal.h"
#include "instrumentation/sampler.h"
#include "instrumentation/targets.h"
#include "rules/home.h"
#include "rules/points.h"

typedef struct retired {
    points *set;
    struct retired *next;
} retired;

/* Where the cached form keeps the delegate of a shim that a file brought along; never freed. */
typedef struct shim_slot {
    points_shim shim; /* its texts are of a set of points, which stay */
    intptr_t slot;
    struct shim_slot *next;
} shim_slot;

typedef struct {
    clr_info info;
    bool is_core_clr;
    journal log;
    events events;
    const char *dump_folder; /* bodies are written there; NULL = not asked for */
    variables environment;
    home_folders folders;
    configuration settings;
    buffer local_folder;
    buffer agent_path;   /* empty: there is no managed agent, and no point for one */
    bool reference_form; /* CLARINET_TEMPLATE=reference */
    bool light_mask;     /* CLARINET_MASK=light */
    intptr_t slot;       /* the cached form keeps the delegate's handle here */
    _Atomic(shim_slot *) shim_slots;
    _Atomic(points *) points;
    _Atomic(uint32_t) generation; /* counts replacements of the points */
    retired *old_points;
    targets targets;
    _Atomic(bool) has_targets; /* until then no call needs to be looked at */
    home_live_file *live;      /* in force */
    size_t live_count;
    home_live_file *collected; /* by AddCustomInstrumentation */
    size_t collected_count;
    atomic_flag reloading;
    sampler sampler; /* what its exports handed out */
    _Atomic(bool) started;
} instrumentation;

/* The process's profiler; calls before it has started find started == false. */
extern instrumentation instrumentation_root;

/* What the log is told by the points reader. */
points_log instrumentation_points_log(instrumentation *root);

/* matching.c: the methods of a module that the points or attributes name become targets; calls
 * `found` for each. Returns how many. */
typedef struct {
    ModuleID *modules;
    mdMethodDef *methods;
    size_t count;
    size_t capacity;
    table_text seen; /* a method is listed once */
    bool failed;
} method_list;
void method_list_add(method_list *list, ModuleID module, mdMethodDef method);
void method_list_free(method_list *list);
/* In a module that is new the methods of the agent's API, when it is that library, get their bodies
 * at once, before anybody can have compiled or inlined them. */
void matching_scan_module(instrumentation *root, ModuleID module, bool is_new, method_list *found);
/* The same as matching_scan_module for one method, at its first JIT; true when it became a target.
 */
bool matching_scan_method(instrumentation *root, ModuleID module, mdMethodDef method);

/* rewrite.c: the body for a target; the original stays when anything fails. */
void rewrite_method(instrumentation *root, target *t, ICorProfilerFunctionControl *control);
/* The same for a target that was never compiled and that the runtime would not compile again: in
 * a module that can be unloaded. The body stays for as long as the module. */
void rewrite_first_body(instrumentation *root, target *t);
/* The same for a method of the agent's API that was never compiled. */
void rewrite_api_method(instrumentation *root, ModuleID module, mdMethodDef method);

#endif
