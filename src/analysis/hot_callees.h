/*
 * hot_callees: processor time in known callees that the compiler made part of their caller, so that
 * no frame names them: the code of the caller's statement (table `callees`) does. Private to the
 * rule of the hot path.
 */
#ifndef CLARINET_ANALYSIS_HOT_CALLEES_H
#define CLARINET_ANALYSIS_HOT_CALLEES_H

#include "analysis/findings_rule.h"
#include "recording/tables.h"

/* Adds to `marks` the stacks whose innermost frame of the program's own code is at a statement that
 * has the callee, with nothing below but the runtime and what the callee itself works with. */
void hot_callees_mark(findings_context *c, const uint64_t *weights, tables_callee callee,
                      uint8_t *marks);

#endif
