/*
 * events: the validation log. Each callback of the runtime that matters becomes a line of JSON, so
 * that two runs, or two profilers, can be compared (clarinet instrument compare).
 *
 *   {"timestamp_micros":…,"event_type":"JITCompilationStarted","function_id":…,"module_id":…,
 *    "method_name":"Shop.Orders.Place(System.Int32)","assembly_name":"Shop","parameters":{…}}
 *
 * What is not known is null. Off unless a variable asks for it, and then off with one test. Thread
 * rules: any thread; a line is one write, so that a crash loses nothing.
 */
#ifndef CLARINET_INSTRUMENTATION_EVENTS_H
#define CLARINET_INSTRUMENTATION_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "clarinet/calls.h"
#include "rules/variables.h"

typedef struct {
    intptr_t file; /* negative = off; set once, before any callback */
    const clr_info *info;
} events;

/* Opens the file that the environment asks for, and leaves its name in *path. The one of
 * CLARINET_EVENT_LOG gets the process's number behind its name when another process has written to
 * it. Returns false when one was asked for and can't be had. */
bool events_open(events *log, const clr_info *info, const variables *environment, buffer *path);
/* The folder for validation output, without a separator at its end; "." when none is set. */
const char *events_folder(const variables *environment);

static inline bool events_on(const events *log)
{
    return log->file >= 0;
}

/* One event; any id may be 0 = unknown. `name` and `value` are its one parameter, or NULL. */
void events_module(events *log, const char *type, ModuleID module, const char *name,
                   const char *value);
void events_function(events *log, const char *type, FunctionID function, const char *name,
                     const char *value);
void events_method(events *log, const char *type, ModuleID module, mdMethodDef method,
                   const char *name, const char *value);

#endif
