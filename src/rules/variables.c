/* variables: see variables.h. A row per variable, the spelling that wins first. */
#include "rules/variables.h"

#include <stddef.h>

#include "base/text.h"

enum { MOST_SPELLINGS = 3 };

static const char *const SPELLINGS[VARIABLE_COUNT][MOST_SPELLINGS + 1] = {
    [VARIABLE_HOME] = {"CORECLR_NEW_RELIC_HOME", "CORECLR_NEWRELIC_HOME"},
    [VARIABLE_HOME_FRAMEWORK] = {"NEW_RELIC_HOME", "NEWRELIC_HOME"},
    [VARIABLE_INSTALL_PATH] = {"NEW_RELIC_INSTALL_PATH", "NEWRELIC_INSTALL_PATH"},
    [VARIABLE_FORCE] = {"NEW_RELIC_FORCE_PROFILING", "NEWRELIC_FORCE_PROFILING",
                        "NEW_RELIC_PROFILER_FORCE_PROFILING"},
    [VARIABLE_PROFILER_LOG_DIRECTORY] = {"NEW_RELIC_PROFILER_LOG_DIRECTORY",
                                         "NEWRELIC_PROFILER_LOG_DIRECTORY"},
    [VARIABLE_LOG_DIRECTORY] = {"NEW_RELIC_LOG_DIRECTORY", "NEWRELIC_LOG_DIRECTORY"},
    [VARIABLE_LOG_LEVEL] = {"NEW_RELIC_LOG_LEVEL", "NEWRELIC_LOG_LEVEL"},
    [VARIABLE_LOG_ENABLED] = {"NEW_RELIC_LOG_ENABLED"},
    [VARIABLE_LOG_CONSOLE] = {"NEW_RELIC_LOG_CONSOLE"},
    [VARIABLE_INCLUDED_APPLICATIONS] = {"NEW_RELIC_INCLUDED_APPLICATION_NAMES"},
    [VARIABLE_EXCLUDED_APPLICATIONS] = {"NEW_RELIC_EXCLUDED_APPLICATION_NAMES"},
    [VARIABLE_DISABLE_DOMAIN_CACHING] = {"NEW_RELIC_DISABLE_APPDOMAIN_CACHING"},
    [VARIABLE_AZURE_FUNCTION_MODE] = {"NEW_RELIC_AZURE_FUNCTION_MODE_ENABLED"},
    [VARIABLE_AZURE_LEVEL_OVERRIDE] = {"NEW_RELIC_AZURE_FUNCTION_LOG_LEVEL_OVERRIDE"},
    [VARIABLE_FUNCTIONS_WORKER_RUNTIME] = {"FUNCTIONS_WORKER_RUNTIME"},
    [VARIABLE_POOL] = {"APP_POOL_ID", "ASPNETCORE_IIS_APP_POOL_ID"},
    [VARIABLE_HOME_EXPANDED] = {"HOME_EXPANDED"},
    [VARIABLE_USER_HOME] = {"HOME"},
    [VARIABLE_DELAY] = {"NEW_RELIC_PROFILER_DELAY_IN_SEC", "NEWRELIC_PROFILER_DELAY_IN_SEC"},
    [VARIABLE_DUMP_IL] = {"NEW_RELIC_PROFILER_DUMP_IL"},
    [VARIABLE_VALIDATION_ENABLED] = {"NEWRELIC_VALIDATION_ENABLED"},
    [VARIABLE_VALIDATION_OUTPUT] = {"NEWRELIC_VALIDATION_OUTPUT"},
    [VARIABLE_EVENT_LOG] = {"CLARINET_EVENT_LOG"},
    [VARIABLE_MASK] = {"CLARINET_MASK"},
    [VARIABLE_TEMPLATE] = {"CLARINET_TEMPLATE"},
};

const char *variables_spelling(variable which, int n)
{
    return SPELLINGS[which][n];
}

const char *variables_get(const variables *v, variable which)
{
    for (int i = 0; SPELLINGS[which][i] != NULL; i++) {
        const char *value = v->get(v->context, SPELLINGS[which][i]);

        if (value != NULL && !(v->empty_is_unset && value[0] == '\0'))
            return value;
    }
    return NULL;
}

variable_bool variables_bool(const variables *v, variable which)
{
    const char *value = variables_get(v, which);

    if (value == NULL)
        return BOOL_UNSET;
    if (text_equal_ignoring_case(value, "true") || text_equal(value, "1"))
        return BOOL_TRUE;
    if (text_equal_ignoring_case(value, "false") || text_equal(value, "0"))
        return BOOL_FALSE;
    return BOOL_UNSET;
}
