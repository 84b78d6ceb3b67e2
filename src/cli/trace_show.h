/*
 * trace_show: what `clarinet trace` prints of a recording: the table of methods, single calls and
 * log lines, the call tree, JSON; at the end, and while the recording grows.
 */
#ifndef CLARINET_CLI_TRACE_SHOW_H
#define CLARINET_CLI_TRACE_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/trace.h"

typedef struct {
    FILE *out;
    bool json;
    const char *json_file; /* NULL = to `out` */
    bool dry_run;
    bool all;   /* every method, not only the first ones */
    bool calls; /* single calls or log lines were asked for */
    bool tree;
    bool started;     /* the program was started by us, not attached to */
    bool live;        /* the table is drawn again while recording */
    bool file_failed; /* the recording could not be written to its end; that was told */
    const char *patterns;
    size_t printed;             /* single calls printed already */
    unsigned long long next_ns; /* of the next look while recording */
} trace_show;

/* Prints everything; returns the exit code. */
int trace_show_recording(trace_show *s, const char *file, error *e);
/* A look at the recording while it grows: new calls and lines, or the table. Errors are left to
 * the end. */
void trace_show_progress(trace_show *s, const char *file);

#endif
