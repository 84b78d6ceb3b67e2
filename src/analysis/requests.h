/*
 * requests: what the profiler `http` saw put together: requests that the program served and those
 * that it made itself, by name (and by host), and which are still under way. Works on the table
 * `requests`; columns that are missing count as 0. Texts belong to the model.
 */
#ifndef CLARINET_ANALYSIS_REQUESTS_H
#define CLARINET_ANALYSIS_REQUESTS_H

#include "analysis/groups.h"

typedef enum { REQUESTS_SERVED, REQUESTS_MADE, REQUESTS_KINDS } requests_kind;

typedef struct {
    const char *name;
    size_t length;     /* of the name, which need not end there */
    uint64_t failures; /* no answer, an exception, or the server's own error (500 and up) */
    uint64_t refused;  /* answered with 400 to 499 */
    groups_spread lengths;
} requests_group;

typedef struct {
    requests_group *items; /* most time in all first */
    size_t count;
    size_t capacity;
    table_text index;
} requests_list;

typedef struct {
    requests_group all;
    requests_list names;
    requests_list hosts; /* of made requests: scheme, host and port */
} requests_side;

/* One that was not over when the recording ended. */
typedef struct {
    requests_kind kind;
    const char *name;
    const char *inside; /* the request that it was made for; "" = none */
    uint32_t thread;    /* index; where it began */
    uint64_t age_ns;
} requests_open;

typedef struct {
    uint64_t watched_ns;
    requests_side sides[REQUESTS_KINDS];
    requests_open *open; /* oldest first */
    size_t open_count;
    const char **routes; /* names of served ones with values in them */
    size_t route_count, route_capacity;
    table_u64 known; /* string of a name to the place of its route, + 1; 0 = it has none */
} requests;

int requests_summarise(const model *m, const model_process *process, const model_table *table,
                       requests *result, error *e);
void requests_free(requests *result);
/* How a served request of this name (a string) is called among the groups: one that is under way,
 * or was when it made another, is known by its path only, and the route that fits it best may be
 * known from others. */
const char *requests_route(requests *x, const model *m, uint32_t name);

#endif
