/*
 * configuration: what newrelic.config says to the instrumentation agent, with the environment laid
 * over it. Pure: file contents come in as bytes. Everything else in those files belongs to the
 * managed agent and is ignored.
 */
#ifndef CLARINET_RULES_CONFIGURATION_H
#define CLARINET_RULES_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "rules/filter.h"
#include "rules/variables.h"

typedef enum { LEVEL_TRACE, LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR } configuration_level;

/* A growing list of owned texts. */
typedef struct {
    char **items;
    size_t count;
    size_t capacity;
} configuration_list;

typedef struct {
    char *assembly;
    char *class_name; /* NULL = every class */
} configuration_ignore;

typedef struct {
    bool agent_enabled; /* global and local */
    bool local_agent_enabled;
    configuration_level level;
    bool console;
    bool log_enabled;
    configuration_list excluded;
    configuration_list included;
    configuration_list pools_denied;
    configuration_list pools_allowed;
    bool pool_default;
    configuration_ignore *ignored;
    size_t ignored_count;
    configuration_list warnings; /* sentences to be logged as warnings once the log is open */
} configuration;

/* One file; bytes NULL = there is none. */
typedef struct {
    const void *bytes;
    size_t length;
    const char *path; /* for messages */
} configuration_file;

/* Reads the global file and, where there is one, the local file. A global file that can't be used
 * is an error; a local one is a warning. */
int configuration_read(configuration *c, configuration_file global, configuration_file local,
                       const variables *environment, error *e);
void configuration_free(configuration *c);

/* The application's own .config: does it set NewRelic.AgentEnabled, and to true? */
int configuration_read_application(configuration_file file, bool *is_set, bool *enabled, error *e);

/* "off", "fine", "finest", …: false and the level untouched for an unknown name. */
bool configuration_level_of(const char *name, configuration_level *level);

/* Whether the ignore list holds this assembly and class, in any letter case. */
bool configuration_is_ignored(const configuration *c, const char *assembly, const char *class_name);

filter_names configuration_names(const configuration_list *list);

#endif
