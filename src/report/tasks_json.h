/* tasks_json: the tasks of a heap snapshot as data; used by `tasks` and by the reports. */
#ifndef CLARINET_REPORT_TASKS_JSON_H
#define CLARINET_REPORT_TASKS_JSON_H

#include "analysis/tasks.h"
#include "report/json.h"

/* One kind of chains, as an object. */
void tasks_json_group(const tasks_view *view, const tasks_group *group, json *j);
/* "tasks": {…} for the page, with a bounded number of chains (docs/report-data.md); nothing when
 * the snapshot has no values of tasks. */
int tasks_json_page(const model *m, const model_process *p, json *j, error *e);

#endif
