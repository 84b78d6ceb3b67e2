/*
 * variables: the environment of the instrumentation agent, with all spellings of each variable.
 * Pure: values come through a getter, so that a test or `explain` can hand in any environment.
 */
#ifndef CLARINET_RULES_VARIABLES_H
#define CLARINET_RULES_VARIABLES_H

#include <stdbool.h>

typedef struct {
    /* The value of a variable or NULL. */
    const char *(*get)(void *context, const char *name);
    void *context;
    bool empty_is_unset; /* Windows */
} variables;

typedef enum {
    VARIABLE_HOME,           /* on CoreCLR */
    VARIABLE_HOME_FRAMEWORK, /* on the .NET Framework */
    VARIABLE_INSTALL_PATH,
    VARIABLE_FORCE,
    VARIABLE_PROFILER_LOG_DIRECTORY,
    VARIABLE_LOG_DIRECTORY,
    VARIABLE_LOG_LEVEL,
    VARIABLE_LOG_ENABLED,
    VARIABLE_LOG_CONSOLE,
    VARIABLE_INCLUDED_APPLICATIONS,
    VARIABLE_EXCLUDED_APPLICATIONS,
    VARIABLE_DISABLE_DOMAIN_CACHING,
    VARIABLE_AZURE_FUNCTION_MODE,
    VARIABLE_AZURE_LEVEL_OVERRIDE,
    VARIABLE_FUNCTIONS_WORKER_RUNTIME,
    VARIABLE_POOL,
    VARIABLE_HOME_EXPANDED,
    VARIABLE_USER_HOME,
    VARIABLE_DELAY,
    VARIABLE_DUMP_IL,
    VARIABLE_VALIDATION_ENABLED,
    VARIABLE_VALIDATION_OUTPUT,
    VARIABLE_EVENT_LOG,
    VARIABLE_MASK,
    VARIABLE_TEMPLATE,
    VARIABLE_COUNT
} variable;

typedef enum { BOOL_UNSET, BOOL_FALSE, BOOL_TRUE } variable_bool;

/* The value under the first spelling that is set, or NULL. */
const char *variables_get(const variables *v, variable which);
/* true/1/false/0 in any letter case; anything else is as if unset. */
variable_bool variables_bool(const variables *v, variable which);
/* The n-th spelling, NULL after the last. */
const char *variables_spelling(variable which, int n);

#endif
