/* jit: see jit.h. */
#include "analysis/jit.h"

#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"

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

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

/* Where the number is that the library gives to every expression tree that it compiles, at the end
 * of the name (lambda_method103), and to every regular expression (Regex12_Scan); 0 = none. */
static uint32_t find_number(const char *name)
{
    enum { REGEX = sizeof "Regex" - 1 };
    size_t length = strlen(name), place = length;

    if (text_starts_with(name, "Regex") && digits_at(name + REGEX) != 0 &&
        name[REGEX + digits_at(name + REGEX)] == '_')
        return REGEX;
    while (place > 0 && name[place - 1] >= '0' && name[place - 1] <= '9')
        place--;
    return place == length ? 0 : (uint32_t)place;
}

/* The name with # in the place of its number. */
static const char *without_number(const char *name, uint32_t place, char room[JIT_NAME])
{
    snprintf(room, JIT_NAME, "%.*s#%s", (int)place, name, name + place + digits_at(name + place));
    return room;
}

const char *jit_method_name(const model *m, const model_process *process, const groups_item *item,
                            char room[JIT_NAME])
{
    const char *name =
        model_text(m, item->key[0] != 0 ? process->methods[item->key[0]].name : item->key[1]);

    if (item->key[2] != 0)
        return without_number(name, (uint32_t)item->key[2], room);
    return name[0] == '\0' ? "(name not known)" : name;
}

/* Methods made at run time are one where only that number differs: the first one's name stands for
 * all. */
static bool add_again(const model *m, jit *result, table_text *stems, uint32_t method,
                      uint32_t name, uint64_t length)
{
    const char *text = model_text(m, name);
    uint32_t place = method == 0 ? find_number(text) : 0;
    uint64_t first = name;
    char room[JIT_NAME];

    if (place != 0) {
        without_number(text, place, room);
        if (!table_text_get(stems, room, strlen(room), &first) &&
            !table_text_put(stems, room, strlen(room), name))
            return false;
    }
    return groups_add(&result->again, method, (uint32_t)first, place, 1, length);
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
