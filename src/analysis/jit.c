/* jit: see jit.h. */
#include "analysis/jit.h"

#include <stdio.h>
#include <string.h>

#include "base/table.h"

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

const char *jit_method_name(const model *m, const model_process *process, const groups_item *item,
                            char room[JIT_NAME])
{
    const char *name =
        model_text(m, item->key[0] != 0 ? process->methods[item->key[0]].name : item->key[1]);

    if (item->key[2] != 0) {
        snprintf(room, JIT_NAME, "%.*s#", (int)item->key[2], name);
        return room;
    }
    return name[0] == '\0' ? "(name not known)" : name;
}

/* The length of a name without the number at its end, which the library gives to every expression
 * tree that it compiles (lambda_method103); 0 = there is none. */
static uint32_t numbered_stem(const char *name)
{
    size_t length = strlen(name);
    size_t stem = length;

    while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
        stem--;
    return stem == length ? 0 : (uint32_t)stem;
}

/* Methods made at run time are one where only that number differs: the first one's name stands for
 * all. */
static bool add_again(const model *m, jit *result, table_text *stems, uint32_t method,
                      uint32_t name, uint64_t length)
{
    const char *text = model_text(m, name);
    uint32_t stem = method == 0 ? numbered_stem(text) : 0;
    uint64_t first = name;

    if (stem != 0 && !table_text_get(stems, text, stem, &first) &&
        !table_text_put(stems, text, stem, name))
        return false;
    return groups_add(&result->again, method, (uint32_t)first, stem, 1, length);
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
    table_text stems;
    bool done = true;

    (void)process; /* times count from its start */
    memset(result, 0, sizeof *result);
    table_text_init(&stems);
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
               add_again(m, result, &stems, which, text, length);
    }
    table_text_free(&stems);
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
