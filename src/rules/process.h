/*
 * process: may the process be instrumented? Puts together what the filter wants to know: the
 * process as the caller sees it, the variables of its environment, and the configuration. The agent
 * asks for its own process, the tool for one that does not run yet.
 */
#ifndef CLARINET_RULES_PROCESS_H
#define CLARINET_RULES_PROCESS_H

#include "base/error.h"
#include "rules/configuration.h"
#include "rules/filter.h"
#include "rules/home.h"
#include "rules/variables.h"

typedef struct {
    const char *path;         /* of the program's file */
    const char *parent_path;  /* "." when not known */
    const char *command_line; /* as filter_append_command_line makes it */
} process_facts;

/* `settings` may be NULL: then nothing is excluded and the agent is enabled. On the .NET Framework
 * the application's own configuration is read; an unreadable one is the only error. */
int process_decide(const process_facts *process, const home_folders *folders,
                   const variables *environment, const configuration *settings,
                   filter_decision *decision, error *e);

#endif
