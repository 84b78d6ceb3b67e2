/*
 * watch_rules: when a watched process gives reason to look at it at once: processor time, memory,
 * failed requests. Only arithmetic: the caller reads the values and the clock. No thread of its
 * own.
 */
#ifndef CLARINET_SERVER_WATCH_RULES_H
#define CLARINET_SERVER_WATCH_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A limit, and the time that belongs to it; 0 = not looked at. */
typedef struct {
    double cpu_percent; /* of all processors, without a break for … */
    uint64_t cpu_ns;
    double memory_percent; /* more than the least of the last … */
    uint64_t memory_ns;
    double errors; /* requests that failed in the last … */
    uint64_t errors_ns;
} watch_rules;

/* What is remembered of one process; begins with zeros. */
typedef struct {
    uint64_t high_since_ns;
    uint64_t least_bytes, least_at_ns;
    uint64_t failed_before, failed_at_ns;
} watch_pulse;

typedef struct {
    double cpu_percent;    /* of all processors; negative = not known */
    uint64_t memory_bytes; /* 0 = not known */
    uint64_t failed;       /* requests so far */
    bool has_failed;       /* that is known */
} watch_values;

/* "cpu=80/30s,memory=50/10m,errors=5/10s"; any of them, a name alone takes these values.
 * "none": no trigger. */
int watch_rules_parse(const char *text, watch_rules *rules, error *e);
/* "cpu", "memory" or "errors" when there is reason; NULL. It has to come again to be told again. */
const char *watch_judge(const watch_rules *rules, watch_pulse *pulse, const watch_values *values,
                        uint64_t now_ns);

#endif
