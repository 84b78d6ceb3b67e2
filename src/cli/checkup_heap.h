/*
 * checkup_heap: the snapshot of the heap that a checkup takes after the rest, apart from the
 * recording, so that its pause is not the program's. The whole one when it is asked for, into a
 * file that stays; else a quick look that leaves no file and forces no collection, where it holds
 * the program up for less than a tenth of a second.
 */
#ifndef CLARINET_CLI_CHECKUP_HEAP_H
#define CLARINET_CLI_CHECKUP_HEAP_H

#include "analysis/findings.h"
#include "diagnostics/processes.h"
#include "report/checkup.h"
#include "session/session.h"

/* How long a quick look would hold the process up, in milliseconds; negative: not known, or there
 * is none on this runtime. `m` is the recording of the checkup. */
double checkup_heap_quick_ms(const model *m, const findings *found, const char *runtime_version);

typedef enum {
    CHECKUP_HEAP_QUICK, /* no collection, no roots */
    CHECKUP_HEAP_ROOTS, /* after a collection, without texts and values */
    CHECKUP_HEAP_WHOLE, /* everything; takes as long as it takes */
} checkup_heap_kind;

/* Takes it into session->file. */
int checkup_heap_take(const session_options *session, const diagnostics_process *process,
                      checkup_heap_kind kind, session_result *result, error *e);

/* The largest types come to leak-growth, where nothing is known of which of them grow. */
void checkup_heap_tell_largest(findings *found, const checkup_types *types);

/* What the snapshot says comes to the findings, as of the process that both are of; its largest
 * types go to `types`, whose names are to be freed, and the snapshot to `kept`, to be freed too
 * (both NULL = not wanted). */
int checkup_heap_judge(const char *file, const model *m, const findings_limits *limits,
                       findings *found, checkup_types *types, model *kept, error *e);
void checkup_heap_free(checkup_types *types);

#endif
