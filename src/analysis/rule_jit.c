/*
 * rule_jit: jit-storm. A program that runs for a while has compiled its methods; one that goes on
 * compiling makes code at run time and throws it away, or makes new types all the time. From the
 * table `compilations` of a process that was attached to, and only when it goes on: both in the
 * first and in the last half.
 */
#include <stdio.h>

#include "analysis/findings_rule.h"
#include "analysis/groups.h"
#include "analysis/jit.h"
#include "base/text.h"

enum { ONE_LIFE = 4 }; /* compilations of a method: docs/profilers/jit.md */

typedef struct {
    double rates[2]; /* of methods made at run time, a second, by half */
    uint64_t spent_ns;
    uint64_t count;
} made;

static void count_made(const findings_context *c, const model_table *table, made *s)
{
    const model_column *time = groups_column(c->m, table, "time", RECORDING_TIME);
    const model_column *method = groups_column(c->m, table, "method", RECORDING_METHOD_ID);
    const model_column *weight = groups_column(c->m, table, "weight", RECORDING_DURATION);

    for (size_t row = 0; row < table->rows; row++) {
        bool late = groups_cell(time, row, 0) >= c->process->duration_ns / 2;

        if (groups_cell(method, row, 0) != 0)
            continue;
        s->rates[late] += 2 / c->seconds;
        s->spent_ns += groups_cell(weight, row, 0);
        s->count++;
    }
}

static void tell(findings_context *c, const jit *x, const made *s)
{
    char rate[32];
    finding *f = findings_add(
        c, FINDINGS_WARNING,
        "%s methods a second are made at run time and compiled, though the program has "
        "long started: %.0f ms of compiling in %.1f s",
        findings_number((double)s->count / c->seconds, rate), (double)s->spent_ns / 1e6,
        c->seconds);
    size_t shown = 0;

    for (size_t i = 0; i < x->again.count && shown < 5; i++) {
        const groups_item *item = &x->again.items[i];
        char room[JIT_NAME];

        if (item->key[0] != 0)
            continue;
        if (shown != 0 && item->count <= ONE_LIFE)
            break;
        if (shown++ == 0)
            findings_set_place(c, f, jit_method_name(c->m, c->process, item, room));
        findings_show(c, f, "%s: compiled %llu time%s, %.1f ms",
                      jit_method_name(c->m, c->process, item, room),
                      (unsigned long long)item->count, item->count == 1 ? "" : "s",
                      (double)item->sum / 1e6);
    }
    findings_advise(
        c, f,
        "Make such code once and keep it: compiled expression trees, DynamicMethod, "
        "RegexOptions.Compiled, serializers and proxies belong into a static field or a "
        "cache.");
}

/* Made at run time (also in an assembly that has no file), or compiled more often than the tiers of
 * one life explain. */
static bool is_made_anew(const findings_context *c, const groups_item *item)
{
    const model_method *method = &c->process->methods[item->key[0]];

    return item->key[0] == 0 || item->count > ONE_LIFE ||
           model_text(c->m, c->process->modules[method->module].path)[0] == '\0';
}

bool findings_compiles_anew(const findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "compilations", "jit");
    const model_column *time, *method, *weight;
    uint64_t anew = 0, all = 0;
    groups_list late = {0};

    if (table == NULL)
        return true;
    time = groups_column(c->m, table, "time", RECORDING_TIME);
    method = groups_column(c->m, table, "method", RECORDING_METHOD_ID);
    weight = groups_column(c->m, table, "weight", RECORDING_DURATION);
    for (size_t row = 0; row < table->rows; row++)
        if (groups_cell(time, row, 0) >= c->process->duration_ns / 2 &&
            !groups_add(&late, (uint32_t)groups_cell(method, row, 0), 0, 0, 1,
                        groups_cell(weight, row, 0)))
            c->list->failed = true;
    for (size_t i = 0; i < late.count; i++) {
        all += late.items[i].sum;
        anew += is_made_anew(c, &late.items[i]) ? late.items[i].sum : 0;
    }
    groups_free(&late);
    return 2 * anew >= all;
}

void findings_rule_jit(findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "compilations", "jit");
    const char *attach = model_info_value(c->m, c->process, "attach");
    double least = findings_limit(c, THRESHOLD_JIT_RATE);
    made s = {0};
    jit x;

    if (table == NULL || attach == NULL || !text_equal(attach, "attach"))
        return;
    count_made(c, table, &s);
    if (s.rates[0] < least || s.rates[1] < least)
        return;
    if (jit_summarise(c->m, c->process, table, &x, NULL) != 0) {
        c->list->failed = true;
        return;
    }
    tell(c, &x, &s);
    jit_free(&x);
}
