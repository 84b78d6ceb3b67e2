/*
 * trace_deep: methods whose recursion would not fit on the stack any more with probes.
 *
 * A traced call takes more of the stack. A method that calls itself can go on in its old code
 * (trace_rewrite_deep); for every other recursion (through other methods, generic ones, with loops)
 * the probes go away: when a thread is in more traced calls than its stack bears and a method is
 * entered that is among the last of them, the agent's own thread is asked to take its probes out,
 * and the probe waits a little at each such call until it is done. A method that the program has
 * never compiled without probes would start again with large frames, so it gets a lean body: its
 * own code, made so that the runtime optimises it at once.
 *
 * Waits are short (the thread holds up collections meanwhile) and bounded.
 */
#ifndef CLARINET_PROFILERS_TRACE_DEEP_H
#define CLARINET_PROFILERS_TRACE_DEEP_H

#include "clarinet/clarinet.h"
#include "profilers/trace_counters.h"
#include "profilers/trace_registry.h"

enum { TRACE_DEEP_NOT = 0, TRACE_DEEP_ASKED, TRACE_DEEP_DONE };

/* In the enter probe, beyond TRACE_DEPTH calls. */
void trace_deep_entered(const trace_method *m, trace_thread *t);

/* Own thread, inside the runtime: takes the probes out where it was asked for. */
void trace_deep_answer(const clr_info *info, trace_registry *r);

#endif
