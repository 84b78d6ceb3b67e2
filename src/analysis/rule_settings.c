/*
 * rule_settings: runtime-settings. Settings of the runtime that cost every program speed or mislead
 * it about its container: from the variables that the recording keeps, the limits of the control
 * group, and compilations of the program's own methods without optimization (a debug build).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings_rule.h"
#include "analysis/groups.h"
#include "analysis/threads.h"
#include "base/text.h"

enum { TIER_NOT_OPTIMIZED = 1 };

typedef struct {
    const char *name; /* without DOTNET_ or COMPlus_ */
    const char *value;
    const char *meaning;
    bool is_grave;
} smell;

static const smell SMELLS[] = {
    {"JITMinOpts", "1", "nothing is optimized", true},
    {"TieredCompilation", "0",
     "precompiled code is never replaced by better code, and every other method is compiled in "
     "full before it first runs",
     false},
    {"TieredPGO", "0", "hot methods are compiled without what was learned about them", false},
    {"TC_QuickJit", "0", "every method is compiled in full before it first runs", false},
    {"ReadyToRun", "0", "the precompiled code of the framework is not used", false},
};

/* The value of a variable, "" when it is not set; both prefixes count. */
static void value_of(const char *environment, const char *name, char *out, size_t size)
{
    static const char *const PREFIXES[] = {"DOTNET_", "COMPlus_"};
    size_t length = strlen(name);

    out[0] = '\0';
    for (const char *line = environment; *line != '\0';) {
        size_t whole = strcspn(line, "\n");

        for (size_t i = 0; i < 2; i++) {
            size_t prefix = strlen(PREFIXES[i]);

            if (whole > prefix + length && strncmp(line, PREFIXES[i], prefix) == 0 &&
                strncmp(line + prefix, name, length) == 0 && line[prefix + length] == '=')
                snprintf(out, size, "%.*s", (int)(whole - prefix - length - 1),
                         line + prefix + length + 1);
        }
        line += whole + (line[whole] == '\n');
    }
}

static double number_of(const findings_context *c, const char *key)
{
    const char *text = model_info_value(c->m, c->process, key);

    return text == NULL ? 0 : strtod(text, NULL);
}

/* Own methods that were compiled without optimization while it was looked. */
static size_t count_unoptimized(const findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "compilations", "jit");
    const model_column *method, *tier;
    size_t count = 0;

    if (table == NULL)
        return 0;
    method = groups_column(c->m, table, "method", RECORDING_METHOD_ID);
    tier = groups_column(c->m, table, "tier", RECORDING_U64);
    for (size_t row = 0; row < table->rows; row++) {
        uint64_t number = groups_cell(method, row, 0);

        if (number != 0 && number < c->process->method_count &&
            groups_cell(tier, row, 0) == TIER_NOT_OPTIMIZED &&
            !threads_is_framework(model_text(c->m, c->process->methods[number].name)))
            count++;
    }
    return count;
}

typedef struct {
    char lines[8][240];
    size_t count;
    bool is_grave;
    const char *place;
} smells;

#define SMELL(s, grave, where, ...)                                                                \
    do {                                                                                           \
        if ((s)->count < sizeof(s)->lines / sizeof *(s)->lines)                                    \
            snprintf((s)->lines[(s)->count++], sizeof(s)->lines[0], __VA_ARGS__);                  \
        if ((grave) || (s)->place == NULL)                                                         \
            (s)->place = (where);                                                                  \
        (s)->is_grave = (s)->is_grave || (grave);                                                  \
    } while (0)

static void look_at_limits(const findings_context *c, const char *environment, smells *s)
{
    double processors = number_of(c, "cpu_limit"), memory = number_of(c, "memory_limit");
    char text[64];
    double set;

    value_of(environment, "PROCESSOR_COUNT", text, sizeof text);
    set = strtod(text, NULL);
    if (processors > 0 && set >= findings_limit(c, THRESHOLD_SETTINGS_TIMES) * processors)
        SMELL(s, true, "PROCESSOR_COUNT",
              "DOTNET_PROCESSOR_COUNT=%.20s, though the container may use %.1f processors: the "
              "runtime does not see that limit",
              text, processors);
    value_of(environment, "GCHeapHardLimit", text, sizeof text);
    set = (double)strtoull(text, NULL, 16);
    if (memory > 0 && set > memory)
        SMELL(s, true, "GCHeapHardLimit",
              "DOTNET_GCHeapHardLimit=%.20s is %.0f MiB, more than the %.0f MiB of the container: "
              "the "
              "program is killed before the collector tries hard",
              text, set / (1 << 20), memory / (1 << 20));
}

void findings_rule_settings(findings_context *c)
{
    const char *environment = model_info_value(c->m, c->process, "environment");
    size_t unoptimized = count_unoptimized(c);
    smells s = {.count = 0};
    finding *f;

    environment = environment == NULL ? "" : environment;
    if (unoptimized >= (size_t)findings_limit(c, THRESHOLD_SETTINGS_METHODS))
        SMELL(&s, true, "debug",
              "%zu methods of the program were compiled without optimization: it is a debug build, "
              "or a debugger is attached",
              unoptimized);
    look_at_limits(c, environment, &s);
    for (size_t i = 0; i < sizeof SMELLS / sizeof *SMELLS; i++) {
        char text[64];

        value_of(environment, SMELLS[i].name, text, sizeof text);
        if (text_equal(text, SMELLS[i].value))
            SMELL(&s, SMELLS[i].is_grave, SMELLS[i].name, "DOTNET_%s=%s: %s", SMELLS[i].name, text,
                  SMELLS[i].meaning);
    }
    if (s.count == 0)
        return;
    f = findings_add(c, s.is_grave ? FINDINGS_WARNING : FINDINGS_INFO, "%s", s.lines[0]);
    for (size_t i = 0; i < s.count; i++)
        findings_show(c, f, "%s", s.lines[i]);
    findings_set_place(c, f, s.place);
    findings_advise(c, f,
                    "Deploy a release build (dotnet publish -c Release), and leave the runtime its "
                    "own choice unless a measurement says otherwise: remove the variable, or give "
                    "it a value that fits the container.");
}
