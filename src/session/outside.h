/*
 * outside: a look at the threads of a process that does not help: stopped, stuck, without a
 * diagnostics port. Nothing is loaded into it and nothing asked of it: registers come by ptrace,
 * memory by process_vm_readv, names from its files, the rest from /proc.
 *
 * One thread at a time is interrupted, for the copying of its registers and its stack; it then goes
 * on, or stays stopped when it was. Where another tracer has the thread, the kernel's word for
 * where it stands must do. The look is written as a recording with the tables of the profiler
 * `threads`, so that whatever reads looks reads this one.
 *
 * Thread rules: one look belongs to one thread.
 */
#ifndef CLARINET_SESSION_OUTSIDE_H
#define CLARINET_SESSION_OUTSIDE_H

#include "base/error.h"
#include "diagnostics/processes.h"

/* Values of the column waits_for that only a look from outside has. */
enum { OUTSIDE_WAITS = 16, OUTSIDE_SLEEPS = 17, OUTSIDE_READS = 18, OUTSIDE_RUNS = 19 };

/* `reason`: why the process could not be looked at from inside; goes into the recording (INFO
 * `look_from` = "outside", `look_reason`). On failure no file is left. */
int outside_look(const diagnostics_process *process, const char *reason, const char *file,
                 error *e);

#endif
