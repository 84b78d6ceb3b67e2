/*
 * rule_suspension: slow-suspension. Before a collection every thread has to stop; one that does not
 * come to a safe point keeps all the others waiting. From the table `pauses`, which names the
 * thread that came last, with its stack, when stopping was slow.
 *
 * A machine without a free processor makes stopping slow too, but then at changing places: told is
 * only what happens again and again at one place.
 */
#include <stdio.h>

#include "analysis/findings_rule.h"
#include "analysis/groups.h"

typedef struct {
    size_t count; /* of slow ones */
    uint64_t sum; /* of the time until all had stopped */
    groups_list places;
} slow_sums;

static uint32_t place_of(const findings_context *c, uint32_t stack)
{
    return c->process->frames[findings_own_frame(c, stack)].function;
}

static bool sum(findings_context *c, const model_table *table, slow_sums *s)
{
    const model_column *stack = groups_column(c->m, table, "stack", RECORDING_STACK_ID);
    const model_column *suspending = groups_column(c->m, table, "suspending", RECORDING_DURATION);
    const model_column *last = groups_column(c->m, table, "last_thread", RECORDING_THREAD_ID);

    for (size_t row = 0; row < table->rows; row++) {
        uint64_t length = groups_cell(suspending, row, 0);
        uint32_t at = (uint32_t)groups_cell(stack, row, 0);
        uint32_t place = place_of(c, at);

        if ((double)length / 1e6 < findings_limit(c, THRESHOLD_SUSPEND_MS))
            continue;
        s->count++;
        s->sum += length;
        if (place != 0 &&
            !groups_add(&s->places, place, (uint32_t)groups_cell(last, row, 0), at, 1, length)) {
            c->list->failed = true;
            return false;
        }
    }
    return true;
}

/* The items differ by stack too: those of the heaviest place together. */
static groups_item heaviest(const slow_sums *s)
{
    groups_item best = {0};

    for (size_t i = 0; i < s->places.count; i++) {
        groups_item all = s->places.items[i];

        for (size_t k = 0; k < s->places.count; k++) {
            const groups_item *other = &s->places.items[k];

            if (k == i || other->key[0] != all.key[0] || other->key[1] != all.key[1])
                continue;
            all.count += other->count;
            all.sum += other->sum;
            all.most = other->most > all.most ? other->most : all.most;
        }
        best = all.sum > best.sum ? all : best;
    }
    return best;
}

static void tell(findings_context *c, const slow_sums *s, const groups_item *worst)
{
    char title[FINDINGS_NAME];
    char thread[120];
    uint32_t own = findings_own_frame(c, worst->key[2]);
    finding *f;

    model_thread_title(c->m, &c->process->threads[worst->key[1]], thread, sizeof thread);
    f = findings_add(
        c, FINDINGS_WARNING,
        "%zu times in %.1f s all threads waited until the last had stopped, %.0f ms on "
        "average and %.0f ms at most: %s came last, in %s",
        (size_t)worst->count, c->seconds, (double)worst->sum / (double)worst->count / 1e6,
        (double)worst->most / 1e6, thread, findings_frame_title(c, own, title));
    c->stops_late = true;
    findings_show(c, f, "%.1f %% of the time was lost in this way",
                  100.0 * (double)s->sum / 1e9 / c->seconds);
    findings_show_stack(c, f, worst->key[2]);
    findings_set_place(c, f, findings_frame_name(c, own));
    findings_advise(
        c, f,
        "This code does not let the runtime stop its thread: a native call marked "
        "SuppressGCTransition that takes long, or a very large copy. Take the mark off, "
        "or do the work in smaller pieces. If the machine has no processor free, look at its load "
        "first.");
}

void findings_rule_suspension(findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "pauses", "pauses");
    slow_sums s = {0};
    groups_item worst;

    if (table == NULL)
        return;
    if (sum(c, table, &s)) {
        worst = heaviest(&s);
        if ((double)worst.count >= findings_limit(c, THRESHOLD_SUSPEND_COUNT) &&
            worst.sum * 2 >= s.sum &&
            100.0 * (double)worst.sum / 1e9 / c->seconds >=
                findings_limit(c, THRESHOLD_SUSPEND_SHARE))
            tell(c, &s, &worst);
    }
    groups_free(&s.places);
}
