/*
 * trace_capture: single calls of traced methods with their values, from the probes to the sink.
 * Probes: no lock, no runtime call, no wait. No collection can run while a probe does, so objects
 * stay where they are.
 */
#ifndef CLARINET_PROFILERS_TRACE_CAPTURE_H
#define CLARINET_PROFILERS_TRACE_CAPTURE_H

#include "profilers/trace_counters.h"
#include "profilers/trace_plan.h"

/* ---- addresses that go into jitted code ---- */

/* A value of the method that was just entered, or its result just before it is left: `capture`
 * says what, `address` where the variable lies; `type` is a type parameter's, else 0. */
void trace_value(const trace_method *method, int64_t capture, int64_t address);
void trace_value_of_type(const trace_method *method, int64_t capture, int64_t address,
                         int64_t type);
/* Only looks whether all classes on the way are known, and notes the first one that is not. */
void trace_look(const trace_method *method, int64_t capture, int64_t address, int64_t type);
/* All values of the entry were taken. */
void trace_entered(const trace_method *method);
/* A step of an async method is about to hand on the result that lies there. */
void trace_step_result(const trace_method *method, int64_t address, int64_t type);

/* ---- for probes ---- */

/* A call ends: hands it on if it is wanted. */
void trace_capture_left(trace_counters *c, const trace_thread *t, const trace_frame *f,
                        uint64_t time, bool failed);

/* The same of an async call, which is complete. `event` has the rest. */
void trace_capture_whole(trace_counters *c, const trace_method *whole, trace_event *event,
                         const uint8_t *values, size_t length);

#endif
