/*
 * home: the files of the instrumentation agent's home folder: newrelic.config, the extension
 * files, the managed agent's library. Files are reached through functions that the caller brings,
 * so that the agent and the tool read a home folder in the same way.
 */
#ifndef CLARINET_RULES_HOME_H
#define CLARINET_RULES_HOME_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "rules/configuration.h"
#include "rules/points.h"
#include "rules/variables.h"

typedef struct {
    bool (*exists)(const char *path); /* and is a file: no folder, no pipe */
    int (*read)(const char *path, buffer *out, error *e);
    /* Calls `each` with every name in the folder, in no order; false when it can't be read. */
    bool (*list)(const char *path, void (*each)(void *context, const char *name), void *context);
    char separator; /* of paths */
} home_files;

typedef struct {
    const home_files *files;
    const char *home; /* points into the environment; NULL = not set */
    const char *install;
    const char *local; /* folder of a local newrelic.config, with a separator; "" = the current */
    bool is_core_clr;
} home_folders;

void home_find(home_folders *folders, const home_files *files, const variables *environment,
               bool is_core_clr);

/* newrelic.config of the home folder and of the local one, with the environment over it. */
int home_read_configuration(const home_folders *folders, const variables *environment,
                            configuration *c, error *e);
/* The application's own .config beside the program; nothing set when there is none. */
int home_read_application(const home_folders *folders, const char *process_path, bool *is_set,
                          bool *enabled, error *e);

/* The managed agent's library: the first file that exists; ERROR_NOT_FOUND names the places. */
int home_find_agent(const home_folders *folders, buffer *path, error *e);

/* Live instrumentation: the XML given by the managed agent under a name. */
typedef struct {
    char *name;
    char *xml;
} home_live_file;

/* All extension files in the order of their paths, then the live ones (one of the same name as a
 * file takes its place), then the serverless method; finished and ready for look-ups. */
int home_read_points(const home_folders *folders, const variables *environment,
                     const configuration *ignored, const home_live_file *live, size_t live_count,
                     points_log log, points **set, error *e);
/* The same without the tables for look-ups: points_finish makes them. */
int home_collect_points(const home_folders *folders, const variables *environment,
                        const configuration *ignored, const home_live_file *live, size_t live_count,
                        points_log log, points **set, error *e);
/* Of points whose assembly is the name of a file, which finds nothing; once for all of a match. */
void home_warn_of_file_names(const points *set, points_log log);

/* Looks at the libraries that the points tell of calls: the managed agent's (`agent`, NULL or ""
 * when there is none) and each shim's. Says of each that can't be used what is wrong with it;
 * returns how many. */
size_t home_check_shims(const home_folders *folders, const char *agent, const points *set,
                        points_log log);

#endif
