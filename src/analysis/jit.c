/* jit: see jit.h. */
#include "analysis/jit.h"

#include <string.h>

/* Tiers as the runtime numbers them. */
enum { TIER_OPTIMIZED_LATER = 4, TIER_INSTRUMENTED = 6, TIER_INSTRUMENTED_OPTIMIZED = 7 };
#define FIRST_SECOND_NS UINT64_C(1000000000)

const char *jit_tier_name(uint64_t tier)
{
    static const char *const NAMES[] = {
        "not known",
        "not optimized",
        "optimized at once",
        "quick",
        "optimized after many calls",
        "optimized inside a long loop",
        "instrumented",
        "instrumented, optimized",
    };

    return NAMES[tier < sizeof NAMES / sizeof *NAMES ? tier : 0];
}

const char *jit_method_name(const model *m, const model_process *process, const groups_item *item)
{
    const char *name =
        model_text(m, item->key[0] != 0 ? process->methods[item->key[0]].name : item->key[1]);

    return name[0] == '\0' ? "(name not known)" : name;
}

/* These are compiled by a thread of the runtime while the program goes on. */
static bool is_in_background(uint64_t tier)
{
    return tier == TIER_OPTIMIZED_LATER || tier == TIER_INSTRUMENTED ||
           tier == TIER_INSTRUMENTED_OPTIMIZED;
}

int jit_summarise(const model *m, const model_process *process, const model_table *table,
                  jit *result, error *e)
{
    const model_column *time = groups_column(m, table, "time", RECORDING_TIME);
    const model_column *method = groups_column(m, table, "method", RECORDING_METHOD_ID);
    const model_column *name = groups_column(m, table, "name", RECORDING_STRING_ID);
    const model_column *weight = groups_column(m, table, "weight", RECORDING_DURATION);
    const model_column *tier = groups_column(m, table, "tier", RECORDING_U64);
    const model_column *il = groups_column(m, table, "il_size", RECORDING_U64);
    const model_column *code = groups_column(m, table, "code_size", RECORDING_U64);
    bool done = true;

    (void)process; /* times count from its start */
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < table->rows && done; i++) {
        uint64_t length = groups_cell(weight, i, 0);
        uint32_t level = (uint32_t)groups_cell(tier, i, 0);
        uint32_t which = (uint32_t)groups_cell(method, i, 0);
        uint32_t text = (uint32_t)groups_cell(name, i, 0);

        result->total++;
        result->spent_ns += length;
        result->il_bytes += groups_cell(il, i, 0);
        result->code_bytes += groups_cell(code, i, 0);
        if (!is_in_background(level)) {
            result->waited_ns += length;
            if (groups_cell(time, i, 0) < FIRST_SECOND_NS)
                result->first_second_ns += length;
        }
        done = groups_add(&result->tiers, level, 0, 0, 1, length) &&
               groups_add(&result->methods, which, text, 0, 1, length) &&
               groups_add(&result->again, which, text, 0, 1, length);
    }
    if (!done) {
        jit_free(result);
        return error_set(e, ERROR_MEMORY, "no memory to count the compilations");
    }
    groups_sort(&result->tiers);
    groups_sort(&result->methods);
    groups_sort_by_count(&result->again);
    return 0;
}

void jit_free(jit *result)
{
    groups_free(&result->tiers);
    groups_free(&result->methods);
    groups_free(&result->again);
    memset(result, 0, sizeof *result);
}
