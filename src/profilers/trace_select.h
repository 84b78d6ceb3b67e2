/*
 * trace_select: which methods of a module the patterns mean, and asking the runtime for them.
 */
#ifndef CLARINET_PROFILERS_TRACE_SELECT_H
#define CLARINET_PROFILERS_TRACE_SELECT_H

#include "cil/pattern.h"
#include "profilers/trace_registry.h"

/* A growing list for one request. */
typedef struct {
    ModuleID *modules;
    mdMethodDef *tokens;
    uint32_t count, capacity;
    uint32_t failed;   /* methods for which there was no memory */
    uint32_t bodiless; /* that are meant and have no CIL */
    uint32_t nameable; /* of these, so many at most become known, as left alone */
} trace_list;

void trace_list_add(trace_list *l, ModuleID module, mdMethodDef token);
void trace_list_free(trace_list *l);

/* Puts every method of the module that the patterns mean into the registry, as wanted, and into
 * the list. Methods without CIL are counted, and the first few left alone; those that must never
 * carry a probe are wanted, but left alone with the reason, and are not in the list. Those that
 * `log` means (NULL = none) are marked. */
void trace_select_module(const clr_info *info, trace_registry *r, const cil_patterns *patterns,
                         const cil_patterns *log, ModuleID module, trace_list *out);

/* Adds the precompiled methods of the module that inlined one of the listed ones. For a module that
 * is just being loaded, where the runtime does not look for them itself. */
void trace_select_inliners(const clr_info *info, ModuleID module, trace_list *list);

#endif
