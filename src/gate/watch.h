/*
 * watch: what a profiler's Initialize returns. The runtime throws a profiler out again whose
 * Initialize fails, and tells nobody why.
 *
 * Invariant: the profiler's object is as it was before its Initialize runs; nothing of the gate is
 * called after that. Thread rules: the thread that starts the runtime.
 */
#ifndef CLARINET_GATE_WATCH_H
#define CLARINET_GATE_WATCH_H

#include <stdint.h>

/* Puts a factory of ours before the one that a library gave out. `entered` is called before
 * Initialize runs, `returned` is told what it returned. */
void watch_factory(void **factory, void (*entered)(void), void (*returned)(int32_t result));

#endif
