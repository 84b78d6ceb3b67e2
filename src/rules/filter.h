/*
 * filter: may this process be instrumented? A pure function of what is known of the process, its
 * configuration and its environment, so that every rule can be tested and explained.
 */
#ifndef CLARINET_RULES_FILTER_H
#define CLARINET_RULES_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

typedef struct {
    const char *const *names;
    size_t count;
} filter_names;

typedef struct {
    bool is_core_clr;
    const char *process_path;   /* as the system gives it; letter case does not matter */
    const char *parent_path;    /* "." when not known */
    const char *command_line;   /* filter_append_command_line makes it from arguments */
    const char *pool;           /* IIS application pool, "" when none */
    bool forced;                /* the force variable is present */
    const char *worker_runtime; /* FUNCTIONS_WORKER_RUNTIME, NULL or "" when none */
    bool function_mode;         /* Azure function mode, on by default */
    bool agent_enabled;         /* global and local newrelic.config */
    bool local_agent_enabled;   /* a local newrelic.config exists and says true */
    bool application_set;       /* the application's own config names NewRelic.AgentEnabled */
    bool application_enabled;   /* ... and says true */
    filter_names excluded;
    filter_names included;
    filter_names pools_denied;
    filter_names pools_allowed;
    bool pool_default; /* initially true */
} filter_facts;

typedef struct {
    bool instrument;
    const char *rule;   /* short fixed name of the rule that answered */
    const char *reason; /* one sentence in words */
} filter_decision;

filter_decision filter_decide(const filter_facts *facts);

/* Arguments joined with blanks; one that holds a blank stands in single quotes; a blank at the
 * end. */
void filter_append_command_line(buffer *out, const char *const *arguments, size_t count);
/* The pool named by the argument after -ap, quotes removed; false when there is none. */
bool filter_pool_of_command_line(const char *command_line, buffer *pool);

#endif
