/* rule_exceptions: exception-storm: more exceptions a second than a healthy program throws. */
#include "analysis/exceptions.h"

#include "analysis/findings_rule.h"

static void tell(findings_context *c, const exceptions *all, double rate)
{
    const exceptions_group *type = &all->types.items[0];
    const exceptions_group *place = NULL;
    char number[32];
    char title[FINDINGS_NAME];
    uint32_t frame = 0;
    finding *f;

    /* The most frequent place of the most frequent type whose stack is known. */
    for (size_t i = 0; i < all->places.count && place == NULL; i++)
        if (all->places.items[i].type == type->type && all->places.items[i].stack != 0)
            place = &all->places.items[i];
    if (place != NULL)
        frame = findings_own_frame(c, place->stack);
    if (place != NULL && frame == 0)
        frame = c->process->stack_frames[place->stack];
    f = findings_add(
        c,
        rate >= findings_limit(c, THRESHOLD_STORM_CRITICAL) ? FINDINGS_CRITICAL : FINDINGS_WARNING,
        "%s exceptions a second, %.0f %% of them %s%s%s", findings_number(rate, number),
        100.0 * (double)type->count / (double)all->total, model_text(c->m, type->type),
        frame == 0 ? "" : ", most of those thrown in ", findings_frame_title(c, frame, title));
    if (place != NULL && place->message != 0)
        findings_show(c, f, "%s: %s", model_text(c->m, type->type),
                      model_text(c->m, place->message));
    if (place != NULL)
        findings_show_stack(c, f, place->stack);
    if (place != NULL && place->caught_in != 0)
        findings_show(c, f, "caught in %s",
                      model_text(c->m, c->process->methods[place->caught_in].name));
    findings_set_place(c, f, model_text(c->m, type->type));
    findings_advise(c, f,
                    "Do not use exceptions for what is expected: ask first (TryParse, TryGetValue, "
                    "a result value). If it is a failure that repeats, find what fails and stop "
                    "trying again at once.");
}

void findings_rule_exceptions(findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "exceptions", "exceptions");
    exceptions all;
    double rate;

    if (table == NULL || table->rows == 0)
        return;
    if (exceptions_summarise(c->m, c->process, table, &all, NULL) != 0) {
        c->list->failed = true;
        return;
    }
    rate = (double)all.total / c->seconds;
    if (all.types.count != 0 && rate >= findings_limit(c, THRESHOLD_STORM_RATE))
        tell(c, &all, rate);
    exceptions_free(&all);
}
