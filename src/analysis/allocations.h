/*
 * allocations: samples of allocations put together: bytes and objects by type and by place (type
 * and stack), each with its sampling error. Works on the table `allocations`; columns that are
 * missing count as 0.
 *
 * A sampled row stands for `bytes` bytes in objects of `size`. The variance of such an estimate is
 * about its square (the chance to be seen is small), so that of a group is the sum of squares.
 * Large objects are told one by one and add no error; a row that counts every object (`count` of
 * them) neither.
 */
#ifndef CLARINET_ANALYSIS_ALLOCATIONS_H
#define CLARINET_ANALYSIS_ALLOCATIONS_H

#include "analysis/model.h"
#include "base/table.h"

/* Values of the column `kind`. */
enum { ALLOCATIONS_SAMPLED, ALLOCATIONS_TICK, ALLOCATIONS_LARGE, ALLOCATIONS_EXACT };

typedef struct {
    uint32_t type;
    uint32_t stack;
    uint64_t bytes;
    double objects;
    double variance; /* of bytes */
    uint64_t rows;   /* samples, and large objects */
} allocations_group;

typedef struct {
    allocations_group *items;
    size_t count;
    size_t capacity;
    table_text index;
} allocations_groups;

typedef struct {
    uint64_t watched_ns;
    allocations_group all;   /* type and stack 0 */
    allocations_group large; /* of it, large objects */
    uint64_t ticks;          /* rows that came by the runtime's ticks */
    uint64_t exact;          /* rows that count every object */
    allocations_groups types;
    allocations_groups places;
} allocations;

int allocations_summarise(const model *m, const model_process *process, const model_table *table,
                          allocations *result, error *e);
void allocations_free(allocations *result);
/* How far off the estimate is at most, in percent of it, 19 times of 20. */
double allocations_error_percent(const allocations_group *group);

#endif
