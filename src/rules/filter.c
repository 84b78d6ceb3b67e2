/* filter: see filter.h. Each step answers, or leaves the question to the next one. */
#include "rules/filter.h"

#include <string.h>

#include "base/text.h"

static const filter_decision UNDECIDED = {false, NULL, NULL};

static filter_decision yes(const char *rule, const char *reason)
{
    return (filter_decision){true, rule, reason};
}

static filter_decision no(const char *rule, const char *reason)
{
    return (filter_decision){false, rule, reason};
}

static bool is_decided(filter_decision d)
{
    return d.rule != NULL;
}

/* ---- text, letters in any case ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_n(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (lower(a[i]) != lower(b[i]))
            return false;
    }
    return true;
}

static bool contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    size_t whole = strlen(text);

    for (size_t i = 0; i + length <= whole; i++) {
        if (equal_n(text + i, part, length))
            return true;
    }
    return false;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(suffix);
    size_t whole = strlen(text);

    return whole >= length && equal_n(text + whole - length, suffix, length);
}

static const char *base_name(const char *path)
{
    const char *name = path;

    for (; *path != '\0'; path++) {
        if (*path == '/' || *path == '\\')
            name = path + 1;
    }
    return name;
}

static bool has_exact(filter_names list, const char *name)
{
    for (size_t i = 0; i < list.count; i++) {
        if (text_equal(list.names[i], name))
            return true;
    }
    return false;
}

/* ---- the steps ---- */

static filter_decision decide_pool(const filter_facts *f)
{
    if (has_exact(f->pools_denied, f->pool))
        return no("pool-denied", "the application pool is on the deny list");
    if (has_exact(f->pools_allowed, f->pool))
        return yes("pool-allowed", "the application pool is on the allow list");
    if (f->pool[0] == '~')
        return no("pool-background", "the application pool is a background pool ('~')");
    return f->pool_default
               ? yes("pool-default", "application pools are instrumented by default")
               : no("pool-default", "application pools are not instrumented by default");
}

static filter_decision decide_function(const filter_facts *f)
{
    static const char HOST[] = "/azure-functions-host/Microsoft.Azure.WebJobs.Script.WebHost";

    if (f->worker_runtime == NULL || f->worker_runtime[0] == '\0' || !f->function_mode)
        return UNDECIDED;
    if (text_equal_ignoring_case(f->worker_runtime, "dotnet"))
        return f->pool[0] == '~'
                   ? no("function-background", "the in-process function runs in a '~' pool")
                   : yes("function-in-process", "this is an in-process Azure function");
    if (f->pool[0] != '\0' && contains(f->command_line, f->pool))
        return no("function-pool-host", "the command line names the application pool");
    if (contains(f->command_line, HOST) || contains(f->process_path, HOST))
        return no("function-web-host", "this is the Azure functions web host");
    if (ends_with(f->process_path, "FUNCTIONSNETHOST.EXE"))
        return yes("function-net-host", "this is the isolated functions host");
    if (ends_with(f->process_path, "FUNC.EXE"))
        return no("function-tools", "this is the functions command-line tool");
    if (contains(f->command_line, "--functions-worker-id"))
        return yes("function-worker", "the command line has --functions-worker-id");
    if (contains(f->command_line, "--worker-id"))
        return yes("function-worker", "the command line has --worker-id");
    return UNDECIDED;
}

/* A token that ends with the dotnet program's name, alone or at the end of a path. */
static bool is_dotnet_token(const char *token, size_t length)
{
    static const char *const ENDINGS[] = {"dotnet",     "dotnet\"",     "dotnet'",
                                          "dotnet.exe", "dotnet.exe\"", "dotnet.exe'"};

    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
        size_t ending = strlen(ENDINGS[i]);

        if (length < ending || !equal_n(token + length - ending, ENDINGS[i], ending))
            continue;
        if (length == ending || strchr(" /\\'\"", token[length - ending - 1]) != NULL)
            return true;
    }
    return false;
}

/* Cuts the next token at blanks; NULL at the end. */
static const char *next_token(const char **p, size_t *length)
{
    const char *token;

    while (**p == ' ')
        ++*p;
    if (**p == '\0')
        return NULL;
    token = *p;
    while (**p != '\0' && **p != ' ')
        ++*p;
    *length = (size_t)(*p - token);
    return token;
}

static bool is_development_command(const char *command_line)
{
    static const char *const COMMANDS[] = {"run", "publish", "restore", "new"};
    const char *p = command_line;
    const char *token;
    size_t length;

    while ((token = next_token(&p, &length)) != NULL) {
        if (!is_dotnet_token(token, length))
            continue;
        token = next_token(&p, &length);
        if (token == NULL)
            return false;
        for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
            if (strlen(COMMANDS[i]) == length && equal_n(token, COMMANDS[i], length))
                return true;
        }
        return false;
    }
    return false;
}

static filter_decision decide_core_clr(const filter_facts *f)
{
    static const char *const TOOLS[] = {"MSBuild.dll", "Kudu.Services.Web", "kuduagent.dll",
                                        "./DiagServer"};

    if (is_development_command(f->command_line))
        return no("dotnet-command", "the command line is dotnet run, publish, restore or new");
    for (size_t i = 0; i < sizeof TOOLS / sizeof *TOOLS; i++) {
        if (contains(f->command_line, TOOLS[i]))
            return no("tool-process", "the command line names MSBuild.dll, Kudu.Services.Web, "
                                      "kuduagent.dll or ./DiagServer");
    }
    if (ends_with(f->process_path, "W3WP.EXE") || ends_with(f->parent_path, "W3WP.EXE"))
        return decide_pool(f);
    return yes("core-clr", "nothing excludes this process");
}

static filter_decision decide_framework(const filter_facts *f)
{
    static const char *const HOSTS[] = {
        "WEBDEV.WEBSERVER40.EXE", "WEBDEV.WEBSERVER20.EXE", "INETINFO.EXE",
        "WAWORKERHOST.EXE",       "WAWEBHOST.EXE",          "WCFSVCHOST.EXE",
        "ASPNET_WP.EXE",          "IISEXPRESS.EXE",         "DOTNET.EXE"};

    if (ends_with(f->process_path, "SMSvcHost.exe"))
        return no("smsvchost", "SMSvcHost is never instrumented: it broke connections");
    if (f->application_set)
        return f->application_enabled
                   ? yes("application-config", "the application's config enables the agent")
                   : no("application-config", "the application's config disables the agent");
    for (size_t i = 0; i < f->included.count; i++) {
        if (ends_with(f->process_path, f->included.names[i]))
            return yes("included", "the process is on the include list");
    }
    if (ends_with(f->process_path, "W3WP.EXE"))
        return decide_pool(f);
    for (size_t i = 0; i < sizeof HOSTS / sizeof *HOSTS; i++) {
        if (ends_with(f->process_path, HOSTS[i]))
            return yes("web-host", "the process is a known web host");
    }
    if (f->local_agent_enabled)
        return yes("local-config", "the local newrelic.config enables the agent");
    return no("framework-default", "nothing asks for this process to be instrumented");
}

filter_decision filter_decide(const filter_facts *facts)
{
    const char *name = base_name(facts->process_path);
    filter_decision decision;

    if (facts->forced)
        return yes("forced", "the force variable is set");
    if (!facts->agent_enabled)
        return no("agent-disabled", "newrelic.config says agentEnabled=\"false\"");
    for (size_t i = 0; i < facts->excluded.count; i++) {
        if (text_equal_ignoring_case(facts->excluded.names[i], name))
            return no("excluded", "the process name is on the exclude list");
    }
    decision = decide_function(facts);
    if (is_decided(decision))
        return decision;
    return facts->is_core_clr ? decide_core_clr(facts) : decide_framework(facts);
}

void filter_append_command_line(buffer *out, const char *const *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *quote = strchr(arguments[i], ' ') != NULL ? "'" : "";

        buffer_format(out, "%s%s%s ", quote, arguments[i], quote);
    }
}

bool filter_pool_of_command_line(const char *command_line, buffer *pool)
{
    const char *p = command_line;
    const char *token;
    size_t length;

    while ((token = next_token(&p, &length)) != NULL) {
        if (length != 3 || !equal_n(token, "-ap", 3))
            continue;
        while (*p == ' ')
            p++;
        if (*p == '"') {
            const char *close = strchr(p + 1, '"');

            if (close == NULL)
                return false;
            buffer_append(pool, p + 1, (size_t)(close - p - 1));
            return true;
        }
        token = next_token(&p, &length);
        if (token == NULL)
            return false;
        buffer_append(pool, token, length);
        return true;
    }
    return false;
}
