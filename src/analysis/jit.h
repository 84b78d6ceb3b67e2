/*
 * jit: compilations put together: by tier and by method, and how much of them kept the program's
 * own threads busy. Works on the table `compilations`; columns that are missing count as 0.
 */
#ifndef CLARINET_ANALYSIS_JIT_H
#define CLARINET_ANALYSIS_JIT_H

#include "analysis/groups.h"

typedef struct {
    uint64_t total;
    uint64_t spent_ns;
    uint64_t waited_ns;       /* of it, while the program waited: all but the background tiers */
    uint64_t first_second_ns; /* of waited_ns, in the first second of the recording */
    uint64_t il_bytes;
    uint64_t code_bytes;
    groups_list tiers;   /* key: tier; sum: ns */
    groups_list methods; /* key: method (0 = made at run time), name then; sum: ns */
    /* The same, most compilations first. Methods made at run time whose names differ by the number
     * that their maker gave them are one; the third key is then where it stands. */
    groups_list again;
} jit;

int jit_summarise(const model *m, const model_process *process, const model_table *table,
                  jit *result, error *e);
void jit_free(jit *result);

/* "quick", "optimized after many calls", … */
const char *jit_tier_name(uint64_t tier);
enum { JIT_NAME = 200 };
/* The name of a group of `methods` or `again`; `room` is used for one of several names. */
const char *jit_method_name(const model *m, const model_process *process, const groups_item *item,
                            char room[JIT_NAME]);

#endif
