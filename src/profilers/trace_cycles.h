/*
 * trace_cycles: small methods that call themselves or each other, in a module that is just loaded.
 *
 * The JIT inlines them into each other, but not while they have probes, nor with a body of ours. So
 * recursion near the end of the stack needs their own code, optimised, and there is none yet: the
 * runtime would begin with unoptimised code. Before the runtime has loaded their types, the
 * metadata say for a moment that these methods are to be optimised at once (as
 * MethodImplOptions.AggressiveOptimization does). When their probes go (trace_deep), the next call
 * then compiles them as the JIT alone would have.
 *
 * The metadata are put back when the method's type is loaded, before the program can look at it.
 * 9.0 and 10.0 have remembered then what 8.0 asks when it compiles; there it is said again while
 * the method that lost its probes is compiled. For generic ones (which are made as they are needed)
 * the metadata stay until the end of the session. Precompiled modules are left out: there such
 * methods would stay with the code they have.
 */
#ifndef CLARINET_PROFILERS_TRACE_CYCLES_H
#define CLARINET_PROFILERS_TRACE_CYCLES_H

#include "profilers/trace_select.h"

/* While the module is loaded, for the methods in the list. */
void trace_cycles_prepare(const clr_info *info, trace_registry *r, ModuleID module,
                          const trace_list *list);
/* The type of some of them is loaded. Any thread. */
void trace_cycles_class_loaded(const clr_info *info, trace_registry *r, ClassID class_id);
/* The same again, before its probes go. Own thread. */
void trace_cycles_hurry(const clr_info *info, trace_entry *entry);
/* Puts the metadata back of those that are compiled meanwhile, or of all. Own thread. */
void trace_cycles_restore(const clr_info *info, trace_registry *r, bool at_end);

#endif
