/*
 * describe: processes and profilers as JSON objects, the same for the API and for `--json`.
 * The caller owns what comes back. No state.
 */
#ifndef CLARINET_SERVER_DESCRIBE_H
#define CLARINET_SERVER_DESCRIBE_H

#include <jansson.h>

#include "catalogue/catalogue.h"
#include "diagnostics/processes.h"

json_t *describe_process(const diagnostics_process *process);
/* The catalogue. */
json_t *describe_profilers(void);

#endif
