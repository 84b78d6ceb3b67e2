/*
 * child: runs this same program on a file, for analysis. What it says is taken as the error. At
 * most two at a time, others wait. Thread rules: any thread.
 */
#ifndef CLARINET_SERVER_CHILD_H
#define CLARINET_SERVER_CHILD_H

#include "base/error.h"

enum { CHILD_MAX_ARGUMENTS = 32 };

/* arguments without the program, closed by NULL; its standard output goes to `output`. */
int child_run(const char *program, const char *const *arguments, int output, error *e);
/* The same into a file that is there, whole, or not at all. */
int child_run_to_file(const char *program, const char *const *arguments, const char *path,
                      error *e);

#endif
