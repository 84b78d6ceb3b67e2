/*
 * rule_large: large-object-churn. Large objects are garbage that only a full collection finds; who
 * makes many of them pays with full collections. From `allocations`, which tells of each one.
 */
#include <stdio.h>

#include "analysis/allocations.h"
#include "analysis/findings_rule.h"

/* The place with the most bytes of large objects: such rows have no sampling error. */
static const allocations_group *heaviest(const allocations *x)
{
    for (size_t i = 0; i < x->places.count; i++)
        if (x->places.items[i].variance == 0 && x->places.items[i].bytes != 0)
            return &x->places.items[i]; /* they are sorted */
    return NULL;
}

/* Full collections that the runtime began for large objects, background ones too. */
static size_t count_full(const findings_context *c)
{
    enum { LARGE = 4, LARGE_FULL = 6 };
    const model_table *table = model_find_table(c->m, c->process, "collections", "gc");
    const model_column *reason = table == NULL ? NULL : model_find_column(c->m, table, "reason");
    size_t count = 0;

    for (size_t row = 0; reason != NULL && row < table->rows; row++)
        count += model_cell(reason, row) == LARGE || model_cell(reason, row) == LARGE_FULL;
    return count;
}

static void tell(findings_context *c, const allocations *x, double seconds)
{
    const allocations_group *worst = heaviest(x);
    uint32_t own = worst == NULL ? 0 : findings_own_frame(c, worst->stack);
    char title[FINDINGS_NAME];
    char rate[32], count[32];
    finding *f;

    f = findings_add(
        c, FINDINGS_WARNING, "%s MB of large objects are allocated a second (%s objects)%s%s%s%s",
        findings_number((double)x->large.bytes / seconds / 1e6, rate),
        findings_number((double)x->large.rows / seconds, count),
        worst == NULL ? "" : ", most of it ", worst == NULL ? "" : model_text(c->m, worst->type),
        own == 0 ? "" : " in ", findings_frame_title(c, own, title));
    if (worst != NULL) {
        findings_show(c, f, "%llu objects of %.0f KB on average at this place:",
                      (unsigned long long)worst->rows,
                      (double)worst->bytes / (double)worst->rows / 1e3);
        findings_show_stack(c, f, worst->stack);
        findings_set_place(c, f, own == 0 ? "" : findings_frame_name(c, own));
    }
    if (count_full(c) != 0)
        findings_show(c, f, "%zu full collections came of it", count_full(c));
    findings_advise(
        c, f,
        "Objects of 85,000 bytes and more are freed by full collections only. Rent such "
        "buffers from ArrayPool, work in smaller pieces (streams, segments), or give "
        "lists and builders their capacity.");
}

static bool is_churn(const findings_context *c, const allocations *x, double seconds)
{
    return (double)x->large.bytes / seconds / 1e6 >= findings_limit(c, THRESHOLD_LARGE_MB) &&
           (double)x->large.rows / seconds >= findings_limit(c, THRESHOLD_LARGE_COUNT);
}

static bool look(findings_context *c, bool tells)
{
    const model_table *table = model_find_table(c->m, c->process, "allocations", "allocations");
    allocations x;
    double seconds;
    bool found;

    if (table == NULL)
        return false;
    if (allocations_summarise(c->m, c->process, table, &x, NULL) != 0) {
        c->list->failed = true;
        return false;
    }
    seconds = x.watched_ns == 0 ? c->seconds : (double)x.watched_ns / 1e9;
    found = is_churn(c, &x, seconds);
    if (found && tells)
        tell(c, &x, seconds);
    allocations_free(&x);
    return found;
}

bool findings_churns_large(findings_context *c)
{
    return look(c, false);
}

void findings_rule_large(findings_context *c)
{
    look(c, true);
}
