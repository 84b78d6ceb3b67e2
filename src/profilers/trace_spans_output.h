/*
 * trace_spans_output: the spans out of their ring into rows of the table trace_spans.
 *
 * A program can make ten million spans a second, and the agent's thread must keep up with it beside
 * the program: so they are written here by hand, some thousand at a time, each into about 13 bytes.
 * Own thread.
 */
#ifndef CLARINET_PROFILERS_TRACE_SPANS_OUTPUT_H
#define CLARINET_PROFILERS_TRACE_SPANS_OUTPUT_H

#include "profilers/trace_output.h"

/* Those that are in the ring now, as far as the tool takes them (`last`: all, with some patience).
 * The others stay in the ring; what finds no room there is told as lost. */
void trace_spans_write(agent *a, trace_state_of_engine *s, bool last);

#endif
