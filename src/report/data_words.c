/* data_words: what the codes in columns of the known tables mean, for the report page. */
#include "analysis/contention.h"
#include "analysis/gc.h"
#include "analysis/jit.h"
#include "analysis/pauses.h"
#include "base/text.h"
#include "report/data.h"

static const char *name_of(const char *const *names, size_t count, uint64_t code)
{
    return code < count ? names[code] : "other";
}

static const char *allocation_kind(uint64_t code)
{
    static const char *const NAMES[] = {"sampled", "tick", "large object", "every object"};

    return name_of(NAMES, 4, code);
}

static const char *request_kind(uint64_t code)
{
    static const char *const NAMES[] = {"served", "made"};

    return name_of(NAMES, 2, code);
}

static const char *request_state(uint64_t code)
{
    static const char *const NAMES[] = {"done", "failed", "under way"};

    return name_of(NAMES, 3, code);
}

static const char *counter_kind(uint64_t code)
{
    static const char *const NAMES[] = {"level", "increase"};

    return name_of(NAMES, 2, code);
}

static const char *yes_or_no(uint64_t code)
{
    return code == 0 ? "no" : "yes";
}

static const struct {
    const char *table;
    const char *column;
    const char *(*name)(uint64_t code);
    uint64_t count;
} CODES[] = {
    {"allocations", "kind", allocation_kind, 4},   {"collections", "kind", gc_kind_name, 4},
    {"collections", "reason", gc_reason_name, 14}, {"collections", "compacting", yes_or_no, 2},
    {"pauses", "reason", pauses_reason_name, 10},  {"waits", "kind", contention_kind_name, 4},
    {"compilations", "tier", jit_tier_name, 8},    {"requests", "kind", request_kind, 2},
    {"requests", "state", request_state, 3},       {"counters", "kind", counter_kind, 2},
    {"meters", "kind", counter_kind, 2},
};

void data_put_words(const model *m, const model_table *table, json *j)
{
    const char *name = model_text(m, table->name);

    json_begin_object_at(j, "words");
    for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++) {
        if (!text_equal(name, CODES[i].table) ||
            model_find_column(m, table, CODES[i].column) == NULL)
            continue;
        json_begin_array_at(j, CODES[i].column);
        for (uint64_t code = 0; code < CODES[i].count; code++)
            json_text(j, CODES[i].name(code));
        json_end_array(j);
    }
    json_end_object(j);
}
