/*
 * aggregate: the rows of a profile put together by stack, thread, state and stretch of time, so
 * that a report stays small however long the recording is.
 *
 * The selected time is cut into equal buckets; rows of a bucket that agree in node, thread and
 * state become one. A row that lasts is cut at the buckets' ends; it counts as a sample of the
 * first of them. Results come bucket by bucket, in order of time.
 */
#ifndef CLARINET_ANALYSIS_AGGREGATE_H
#define CLARINET_ANALYSIS_AGGREGATE_H

#include "analysis/profile.h"

typedef struct {
    uint32_t node;
    uint32_t thread; /* index of the process's threads; 0 when not told apart */
    uint32_t bucket;
    uint8_t state; /* as recorded below PROFILE_STATES, else 0 */
    uint64_t weight;
    uint64_t samples;
} aggregate_row;

typedef struct {
    const uint32_t *node_of_stack; /* a call tree's; NULL: the stack itself is the node */
    bool by_thread;
    bool by_state;
    uint32_t buckets;  /* wanted, at least 1 */
    uint32_t fewest;   /* buckets may be made fewer down to this … */
    size_t rows_limit; /* … as long as there are more rows than this; 0 = no limit */
} aggregate_options;

typedef struct {
    aggregate_row *rows;
    size_t count;
    uint64_t start_ns;
    uint64_t bucket_ns;
    uint32_t buckets;
} aggregate;

int aggregate_build(const profile *p, const profile_selection *selection,
                    const aggregate_options *options, aggregate *result, error *e);
void aggregate_free(aggregate *result);

#endif
