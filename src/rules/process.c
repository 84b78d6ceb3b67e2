/* process: see process.h. */
#include "rules/process.h"

#include <string.h>

#include "base/text.h"

/* Unset or empty means on; otherwise only "true" and "1" do. */
static bool function_mode(const variables *environment)
{
    const char *mode = variables_get(environment, VARIABLE_AZURE_FUNCTION_MODE);

    return mode == NULL || mode[0] == '\0' || text_equal_ignoring_case(mode, "true") ||
           text_equal(mode, "1");
}

static void take_settings(filter_facts *f, const configuration *settings)
{
    f->agent_enabled = true;
    f->pool_default = true;
    if (settings == NULL)
        return;
    f->agent_enabled = settings->agent_enabled;
    f->local_agent_enabled = settings->local_agent_enabled;
    f->excluded = configuration_names(&settings->excluded);
    f->included = configuration_names(&settings->included);
    f->pools_denied = configuration_names(&settings->pools_denied);
    f->pools_allowed = configuration_names(&settings->pools_allowed);
    f->pool_default = settings->pool_default;
}

int process_decide(const process_facts *process, const home_folders *folders,
                   const variables *environment, const configuration *settings,
                   filter_decision *decision, error *e)
{
    const char *named_pool = variables_get(environment, VARIABLE_POOL);
    buffer pool = BUFFER_EMPTY;
    filter_facts f;
    int code = 0;

    memset(&f, 0, sizeof f);
    if (named_pool != NULL)
        buffer_append_text(&pool, named_pool);
    else
        filter_pool_of_command_line(process->command_line, &pool);
    f.is_core_clr = folders->is_core_clr;
    f.process_path = process->path;
    f.parent_path = process->parent_path;
    f.command_line = process->command_line;
    f.pool = buffer_text(&pool);
    f.forced = variables_get(environment, VARIABLE_FORCE) != NULL;
    f.worker_runtime = variables_get(environment, VARIABLE_FUNCTIONS_WORKER_RUNTIME);
    f.function_mode = function_mode(environment);
    take_settings(&f, settings);
    if (!f.is_core_clr)
        code = home_read_application(folders, process->path, &f.application_set,
                                     &f.application_enabled, e);
    if (code == 0)
        *decision = filter_decide(&f);
    buffer_free(&pool);
    return code;
}
