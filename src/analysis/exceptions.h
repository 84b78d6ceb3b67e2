/*
 * exceptions: what was thrown: by type, by place (type, stack and catching method), by message, and
 * the rate over time. Works on the table `exceptions`; columns that are missing count as unknown.
 */
#ifndef CLARINET_ANALYSIS_EXCEPTIONS_H
#define CLARINET_ANALYSIS_EXCEPTIONS_H

#include "analysis/model.h"

#define EXCEPTIONS_BUCKETS 60

/* What became of an exception. */
enum {
    EXCEPTIONS_NOT_KNOWN,
    EXCEPTIONS_CAUGHT,
    EXCEPTIONS_UNCAUGHT,
    EXCEPTIONS_REPLACED,
    EXCEPTIONS_RUNTIME, /* taken by the runtime itself */
};

typedef struct {
    uint32_t type;      /* string */
    uint32_t message;   /* string; of a place: the first one seen */
    uint32_t stack;     /* of the process; 0 where not asked for */
    uint32_t caught_in; /* method of the process, 0 = not known */
    uint32_t fate;      /* EXCEPTIONS_… */
    uint32_t inner; /* string, a line for each inner exception; of a place: the first one seen */
    bool message_is_cut;
    bool only_counted; /* of a message: whether they had one is not known */
    uint64_t count;
    uint64_t first; /* time, ns */
    uint64_t last;
} exceptions_group;

typedef struct {
    exceptions_group *items; /* of places those nobody caught, then the most frequent first */
    size_t count;
    size_t capacity;
} exceptions_groups;

typedef struct {
    uint64_t total;
    exceptions_groups types;    /* by type */
    exceptions_groups places;   /* by type, stack and caught_in */
    exceptions_groups messages; /* by type and message */
    uint64_t bucket_ns;
    size_t bucket_count; /* at most EXCEPTIONS_BUCKETS */
    uint64_t buckets[EXCEPTIONS_BUCKETS];
} exceptions;

/* table: the process's `exceptions` table. */
int exceptions_summarise(const model *m, const model_process *process, const model_table *table,
                         exceptions *result, error *e);
/* "caught", "uncaught", "replaced", "runtime", "unknown". */
const char *exceptions_fate_name(uint32_t fate);
void exceptions_free(exceptions *result);

#endif
