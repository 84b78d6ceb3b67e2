/*
 * points: what to instrument. Reads extension files into points and answers, quickly and without
 * locks, whether a method is one of them.
 *
 * A set is built once (points_add_file…, then points_finish) and is immutable afterwards: any
 * number of threads may look up. The look-up goes assembly, method name, type name, parameters,
 * version, so that most methods are turned away by the first table.
 */
#ifndef CLARINET_RULES_POINTS_H
#define CLARINET_RULES_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "rules/configuration.h"
#include "rules/version.h"

/* Bits of the tracer arguments that others set too. */
enum {
    POINT_ASYNC = 1 << 23,
    POINT_OTHER_TRANSACTION = 1 << 22,
    POINT_WEB_TRANSACTION = 1 << 21,
    POINT_ATTRIBUTE = 1 << 20
};

enum { POINTS_MOST_SHIMS = 8 }; /* with the home folder's managed agent */

/* Who is told of calls. Each file may bring its own. */
typedef struct {
    const char *path; /* of its library */
    const char *type; /* full name of the class with the eleven-argument method; NULL = as usual */
    const char *assembly; /* name of the library without folder and ending */
} points_shim;

typedef struct {
    const char *assembly;
    const char *class_name;
    const char *method;
    const char *parameters; /* NULL = every overload; "" = the one without parameters */
    const char *factory;
    const char *metric;
    uint32_t arguments;
    const points_shim *shim; /* NULL = the managed agent of the home folder */
    bool has_minimum, has_maximum;
    version minimum;  /* inclusive */
    version maximum;  /* exclusive */
    const char *file; /* where it stands */
    unsigned line;
} point;

/* A name that is `*` alone stands for every assembly (except the core library and the managed
 * agent), class or method. */
bool point_is_any(const char *name);

/* Is the assembly given by the name of its file? No assembly is called so, with hardly an
 * exception: the point finds nothing. */
bool point_names_file(const point *p);

typedef struct points points;

/* Sentences for the log, warnings and errors; NULL drops them. */
typedef struct {
    void (*write)(void *context, bool is_error, const char *sentence);
    void *context;
} points_log;

extern const char POINTS_DEFAULT_FACTORY[];

points *points_new(points_log log);
void points_free(points *set);

/* Adds what a file says. An invalid file is a warning and is counted; points before the error
 * stay. Only a lack of memory is an error. `ignored` may be NULL. */
int points_add_file(points *set, const char *path, const void *bytes, size_t length,
                    const configuration *ignored, error *e);
/* The method of `assembly::class::method` in the environment, unless such a point exists. */
int points_add_serverless(points *set, const char *handler, error *e);
/* Builds the tables. Nothing may be added afterwards. */
int points_finish(points *set, error *e);

size_t points_count(const points *set);
const point *points_at(const points *set, size_t index);
size_t points_invalid_files(const points *set);
/* Is there a point for the home folder's managed agent? Without any point there might be. */
bool points_need_agent(const points *set);
/* The shims that files brought along; they live as long as the set. */
size_t points_shim_count(const points *set);
const points_shim *points_shim_at(const points *set, size_t index);
bool points_same_shim(const points_shim *a, const points_shim *b);

/* Cheap tests before any detailed work. */
bool points_know_assembly(const points *set, const char *assembly);
bool points_know_method(const points *set, const char *assembly, const char *method);
/* The point of a shim (NULL = the managed agent) for a method; `parameters` is its list of types as
 * text without blanks, `alternative` a second spelling of it or NULL. */
const point *points_find(const points *set, const points_shim *shim, const char *assembly,
                         version assembly_version, const char *class_name, const char *method,
                         const char *parameters, const char *alternative);
/* The points of one assembly, in order: calls `each` until it answers false. */
void points_each_of(const points *set, const char *assembly,
                    bool (*each)(void *context, const point *p), void *context);

#endif
