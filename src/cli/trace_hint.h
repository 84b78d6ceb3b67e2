/*
 * trace_hint: which traced methods code made at run time may have inlined before. Nobody can
 * recompile such code or list what it has inlined, so this looks at the program's files: a small
 * method that may be inlined and is handed on as a delegate, or answers a route, in an assembly
 * that uses ASP.NET Core or compiled expressions.
 */
#ifndef CLARINET_CLI_TRACE_HINT_H
#define CLARINET_CLI_TRACE_HINT_H

#include <stdio.h>

#include "analysis/trace.h"

/* Says so, with the names of the first ones; nothing when there are none. */
void trace_hint_print(const model *m, const trace_results *results, FILE *out);

#endif
