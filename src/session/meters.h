/*
 * meters: the meters of a process, through its diagnostics port, beside the agent's recording. The
 * agent does not read them: the runtime's source for them is made for readers outside.
 *
 * Opened before the agent's counters start: 8.0 can lock up when meters are switched on while
 * counters are published (docs/profilers/counters.md). Private to src/session. Thread rules: one
 * thread at a time.
 */
#ifndef CLARINET_SESSION_METERS_H
#define CLARINET_SESSION_METERS_H

#include "catalogue/catalogue.h"
#include "diagnostics/processes.h"

typedef struct meters meters;

/* *m is NULL when the selection wants none. */
int meters_open(const diagnostics_process *process, const catalogue_selection *selection,
                meters **m, error *e);
/* Readable when there is something; -1 = not any more. */
int meters_descriptor(const meters *m);
/* Appends chunks of process 0 with what has come. `begin_ns`: the recording's, 0 = it has not begun
 * and values are not kept. */
void meters_take(meters *m, uint64_t begin_ns, buffer *chunks);
/* A sentence, when the source told that something is not told; else "". */
const char *meters_trouble(const meters *m);
/* What of them is left out; "" = nothing was. */
const char *meters_note(const meters *m);
void meters_close(meters *m);

#endif
