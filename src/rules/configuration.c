/* configuration: see configuration.h. */
#include "rules/configuration.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "rules/xml.h"

static bool is_true(const char *value)
{
    return text_equal_ignoring_case(value, "true");
}

/* ---- lists ---- */

static int list_add_n(configuration_list *list, const char *text, size_t length, error *e)
{
    char *copy = memory_copy_text_n(text, length);

    if (copy != NULL && list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
        char **items = memory_resize(list->items, capacity * sizeof *items);

        if (items == NULL) {
            memory_free(copy);
            copy = NULL;
        } else {
            list->items = items;
            list->capacity = capacity;
        }
    }
    if (copy == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the configuration");
    list->items[list->count++] = copy;
    return 0;
}

static int list_add(configuration_list *list, const char *text, error *e)
{
    return list_add_n(list, text, strlen(text), e);
}

static void list_free(configuration_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        memory_free(list->items[i]);
    memory_free(list->items);
    memset(list, 0, sizeof *list);
}

/* Cut at commas only: blanks stay, an empty last element is dropped. */
static int list_set_from_commas(configuration_list *list, const char *text, error *e)
{
    list_free(list);
    for (;;) {
        const char *comma = strchr(text, ',');
        size_t length = comma != NULL ? (size_t)(comma - text) : strlen(text);
        int code;

        if (comma == NULL && length == 0)
            return 0;
        code = list_add_n(list, text, length, e);
        if (code != 0 || comma == NULL)
            return code;
        text = comma + 1;
    }
}

__attribute__((format(printf, 3, 4))) static int warn(configuration *c, error *e,
                                                      const char *format, ...)
{
    char text[700];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return list_add(&c->warnings, text, e);
}

filter_names configuration_names(const configuration_list *list)
{
    return (filter_names){(const char *const *)list->items, list->count};
}

/* ---- parts of the file ---- */

bool configuration_level_of(const char *name, configuration_level *level)
{
    static const struct {
        const char *name;
        configuration_level level;
    } NAMES[] = {{"off", LEVEL_ERROR},     {"error", LEVEL_ERROR},  {"warn", LEVEL_WARN},
                 {"info", LEVEL_INFO},     {"debug", LEVEL_DEBUG},  {"fine", LEVEL_DEBUG},
                 {"verbose", LEVEL_TRACE}, {"finest", LEVEL_TRACE}, {"all", LEVEL_TRACE}};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (text_equal_ignoring_case(name, NAMES[i].name)) {
            *level = NAMES[i].level;
            return true;
        }
    }
    return false;
}

static void read_log(configuration *c, const xml_element *log)
{
    const char *value;

    if (log == NULL)
        return;
    value = xml_attribute_value(log, "level");
    if (value != NULL)
        configuration_level_of(value, &c->level);
    value = xml_attribute_value(log, "console");
    if (value != NULL)
        c->console = is_true(value);
    value = xml_attribute_value(log, "enabled");
    if (value != NULL)
        c->log_enabled = is_true(value);
}

static int read_applications(configuration *c, const xml_element *applications, error *e)
{
    const xml_element *a =
        applications == NULL ? NULL : xml_find(applications->children, "application");
    int code = 0;

    for (; a != NULL && code == 0; a = xml_find_next(a, "application")) {
        const char *name = xml_attribute_value(a, "name");
        const char *include = xml_attribute_value(a, "include");

        if (name == NULL)
            continue;
        if (include != NULL && text_equal_ignoring_case(include, "false"))
            code = list_add(&c->excluded, name, e);
        else
            code = list_add(&c->included, name, e);
    }
    return code;
}

static int read_ignored(configuration *c, const xml_element *rules, error *e)
{
    const xml_element *i = rules == NULL ? NULL : xml_find(rules->children, "ignore");

    for (; i != NULL; i = xml_find_next(i, "ignore")) {
        const char *assembly = xml_attribute_value(i, "assemblyName");
        const char *class_name = xml_attribute_value(i, "className");
        configuration_ignore *grown;

        if (assembly == NULL)
            continue;
        grown = memory_resize(c->ignored, (c->ignored_count + 1) * sizeof *grown);
        if (grown == NULL)
            return error_set(e, ERROR_MEMORY, "no memory for the configuration");
        c->ignored = grown;
        grown += c->ignored_count;
        grown->assembly = memory_copy_text(assembly);
        grown->class_name = class_name == NULL ? NULL : memory_copy_text(class_name);
        c->ignored_count++;
        if (grown->assembly == NULL || (class_name != NULL && grown->class_name == NULL))
            return error_set(e, ERROR_MEMORY, "no memory for the configuration");
    }
    return 0;
}

static int read_pools(configuration *c, const xml_element *pools, error *e)
{
    const xml_element *p;
    const char *value;
    int code = 0;

    if (pools == NULL)
        return 0;
    p = xml_find(pools->children, "defaultBehavior");
    value = p == NULL ? NULL : xml_attribute_value(p, "instrument");
    if (value != NULL)
        c->pool_default = is_true(value);
    p = xml_find(pools->children, "applicationPool");
    for (; p != NULL && code == 0; p = xml_find_next(p, "applicationPool")) {
        const char *name = xml_attribute_value(p, "name");

        value = xml_attribute_value(p, "instrument");
        if (name == NULL || value == NULL)
            code = warn(c, e,
                        "line %u: an applicationPool needs both name and instrument; it is skipped",
                        p->line);
        else
            code = list_add(is_true(value) ? &c->pools_allowed : &c->pools_denied, name, e);
    }
    return code;
}

static bool enabled_of(const xml_element *root)
{
    const char *value = xml_attribute_value(root, "agentEnabled");

    return value == NULL || is_true(value);
}

static int read_file(configuration_file file, xml_document **document, const xml_element **root,
                     error *e)
{
    int code = xml_parse(file.bytes, file.length, document, e);

    *root = NULL;
    if (code != 0) {
        error_prefix(e, "%s", file.path);
        return code;
    }
    *root = xml_find(xml_root(*document), "configuration");
    if (*root == NULL)
        return error_set(e, ERROR_CORRUPT, "%s: there is no configuration element", file.path);
    return 0;
}

static int apply_environment(configuration *c, const variables *environment, error *e)
{
    const char *value = variables_get(environment, VARIABLE_LOG_LEVEL);
    variable_bool flag;
    int code = 0;

    if (value != NULL) {
        c->level = LEVEL_INFO;
        configuration_level_of(value, &c->level);
    }
    flag = variables_bool(environment, VARIABLE_LOG_ENABLED);
    if (flag != BOOL_UNSET)
        c->log_enabled = flag == BOOL_TRUE;
    flag = variables_bool(environment, VARIABLE_LOG_CONSOLE);
    if (flag != BOOL_UNSET)
        c->console = flag == BOOL_TRUE;
    value = variables_get(environment, VARIABLE_INCLUDED_APPLICATIONS);
    if (value != NULL)
        code = list_set_from_commas(&c->included, value, e);
    value = variables_get(environment, VARIABLE_EXCLUDED_APPLICATIONS);
    if (value != NULL && code == 0)
        code = list_set_from_commas(&c->excluded, value, e);
    return code;
}

/* ---- public ---- */

int configuration_read(configuration *c, configuration_file global, configuration_file local,
                       const variables *environment, error *e)
{
    xml_document *global_document = NULL;
    xml_document *local_document = NULL;
    const xml_element *global_root;
    const xml_element *local_root = NULL;
    const xml_element *root;
    int code;

    memset(c, 0, sizeof *c);
    c->level = LEVEL_INFO;
    c->log_enabled = true;
    c->pool_default = true;
    code = read_file(global, &global_document, &global_root, e);
    if (code != 0)
        goto out;
    if (local.bytes != NULL) {
        error problem;

        if (read_file(local, &local_document, &local_root, &problem) != 0)
            code = warn(c, e, "%s; the global newrelic.config is used", problem.message);
        if (code != 0)
            goto out;
    }
    c->agent_enabled = enabled_of(global_root) && (local_root == NULL || enabled_of(local_root));
    c->local_agent_enabled = local_root != NULL && enabled_of(local_root);
    root = local_root != NULL ? local_root : global_root;
    read_log(c, xml_path(root->children, "log", NULL));
    code =
        read_applications(c, xml_path(root->children, "instrumentation", "applications", NULL), e);
    if (code == 0)
        code = read_ignored(c, xml_path(root->children, "instrumentation", "rules", NULL), e);
    if (code == 0)
        code = read_pools(c, xml_path(root->children, "applicationPools", NULL), e);
    if (code == 0)
        code = apply_environment(c, environment, e);
out:
    xml_free(global_document);
    xml_free(local_document);
    if (code != 0)
        configuration_free(c);
    return code;
}

void configuration_free(configuration *c)
{
    list_free(&c->excluded);
    list_free(&c->included);
    list_free(&c->pools_denied);
    list_free(&c->pools_allowed);
    list_free(&c->warnings);
    for (size_t i = 0; i < c->ignored_count; i++) {
        memory_free(c->ignored[i].assembly);
        memory_free(c->ignored[i].class_name);
    }
    memory_free(c->ignored);
    c->ignored = NULL;
    c->ignored_count = 0;
}

int configuration_read_application(configuration_file file, bool *is_set, bool *enabled, error *e)
{
    xml_document *document;
    const xml_element *settings;
    const xml_element *add;
    int code;

    *is_set = false;
    *enabled = false;
    if (file.bytes == NULL)
        return 0;
    code = xml_parse(file.bytes, file.length, &document, e);
    if (code != 0)
        return error_prefix(e, "%s", file.path);
    settings = xml_path(xml_root(document), "configuration", "appSettings", NULL);
    add = settings == NULL ? NULL : xml_find(settings->children, "add");
    for (; add != NULL; add = xml_find_next(add, "add")) {
        const char *key = xml_attribute_value(add, "key");
        const char *value = xml_attribute_value(add, "value");

        if (key == NULL || !text_equal_ignoring_case(key, "NewRelic.AgentEnabled"))
            continue;
        *is_set = true;
        *enabled = value != NULL && is_true(value);
    }
    xml_free(document);
    return 0;
}

bool configuration_is_ignored(const configuration *c, const char *assembly, const char *class_name)
{
    for (size_t i = 0; i < c->ignored_count; i++) {
        if (text_equal_ignoring_case(c->ignored[i].assembly, assembly) &&
            (c->ignored[i].class_name == NULL ||
             text_equal_ignoring_case(c->ignored[i].class_name, class_name)))
            return true;
    }
    return false;
}
