/*
 * tail_calls: asks the runtime for what rules/tails.h needs: every body of a module that has
 * `tail.` calls. Each module is read once, when the first method with such a call is rewritten.
 * May run on several threads at once; takes no lock.
 */
#ifndef CLARINET_INSTRUMENTATION_TAIL_CALLS_H
#define CLARINET_INSTRUMENTATION_TAIL_CALLS_H

#include "clarinet/calls.h"
#include "instrumentation/targets.h"

/* Does the method come back to itself through `tail.` calls? Yes, when there is no memory to find
 * out. The module must have an emitter. */
bool tail_calls_come_back(const clr_info *info, targets *all, ModuleID module,
                          IMetaDataImport2 *import, mdMethodDef method, bool with_virtual);

#endif
