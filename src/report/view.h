/*
 * view: one profile of one process, weighed and ranked: what the text formats print.
 * Built once per profile and never changed after.
 */
#ifndef CLARINET_REPORT_VIEW_H
#define CLARINET_REPORT_VIEW_H

#include "analysis/calltree.h"
#include "report/continuations.h"
#include "report/report.h"

typedef struct {
    const model *m;
    const model_process *process;
    profile profile;
    profile_selection selection;
    profile_total total;
    continuations continuations; /* of it, what ran in continuations of async methods */
    uint64_t *weight_by_stack;
    uint64_t *weight_by_thread;
    uint64_t *samples_by_thread;
    uint64_t states[PROFILE_STATES];
    calltree functions;
    calltree places;
    calltree_rank *methods; /* by self */
    size_t method_count;
    calltree_rank *methods_by_total;
    calltree_rank *lines; /* by self; only places with a known line */
    size_t line_count;
    uint32_t *paths; /* nodes of `functions` with the most self weight */
    size_t path_count;
} view;

/* Owns everything it builds; view_free also after a failure. */
int view_open(view *v, const profile *p, const report_options *options, size_t paths, error *e);
void view_free(view *v);

/* The path from the outermost frame to `node`, as keys, outermost first. At most `limit`; returns
 * the count. The outermost ones are left out when there are more. */
size_t view_path(const calltree *tree, uint32_t node, uint32_t *keys, size_t limit);
/* Threads with weight, heaviest first: indexes into `order` (thread_count entries). */
size_t view_order_threads(const view *v, uint32_t *order);

const char *view_function_name(const view *v, uint32_t function);
const char *view_module_name(const view *v, uint32_t function);

#endif
