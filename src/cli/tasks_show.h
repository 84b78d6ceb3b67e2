/*
 * tasks_show: the tasks of a snapshot in words or as JSON on standard output: what is wrong first,
 * then the chains, equal ones as one with a count.
 */
#ifndef CLARINET_CLI_TASKS_SHOW_H
#define CLARINET_CLI_TASKS_SHOW_H

#include "analysis/tasks.h"
#include "analysis/threads.h"

typedef struct {
    const char *filter; /* of methods and of what is waited for; NULL = all */
    size_t top;         /* groups */
    bool json;
    double apart; /* seconds between the two looks; 0 = one look */
} tasks_show_options;

/* `threads` may be NULL: there was no look at them. */
int tasks_show(const tasks_view *view, const threads_view *threads,
               const tasks_show_options *options, error *e);

#endif
