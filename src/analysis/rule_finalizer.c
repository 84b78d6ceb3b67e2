/*
 * rule_finalizer: finalizer-backlog. One thread runs all finalizers. When it is always found in the
 * program's own code, it is blocked or does not keep up: objects with finalizers, and all they
 * refer to, pile up. From the looks at all threads, with the number of objects whose finalizer
 * became due from `gc`.
 */
#include <stdio.h>

#include "analysis/findings_rule.h"
#include "analysis/groups.h"
#include "base/memory.h"

enum { FEWEST_LOOKS = 3 };

static double count_due(const findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "collections", "gc");
    const model_column *due =
        table == NULL ? NULL : groups_column(c->m, table, "finalization_promoted", RECORDING_U64);
    double sum = 0;

    for (size_t row = 0; due != NULL && row < table->rows; row++)
        sum += (double)model_cell(due, row);
    return sum;
}

/* How many looks met the finalizer thread in the program's own code, and the commonest stack. */
static double count_busy(findings_context *c, const model_table *table, uint32_t *stack)
{
    const model_column *threads = groups_column(c->m, table, "thread", RECORDING_THREAD_ID);
    const model_column *stacks = groups_column(c->m, table, "stack", RECORDING_STACK_ID);
    uint64_t *counts = memory_allocate_array(c->process->stack_count + 1, sizeof *counts);
    double busy = 0;

    *stack = 0;
    if (counts == NULL) {
        c->list->failed = true;
        return 0;
    }
    for (size_t row = 0; threads != NULL && stacks != NULL && row < table->rows; row++) {
        const model_thread *thread = &c->process->threads[threads->u32[row]];
        uint32_t at = stacks->u32[row];

        if ((thread->flags & RECORDING_THREAD_FINALIZER) == 0 || findings_own_frame(c, at) == 0)
            continue;
        busy++;
        counts[at]++;
    }
    *stack = findings_heaviest(c, counts, NULL);
    memory_free(counts);
    return busy;
}

void findings_rule_finalizer(findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "threads", "threads");
    const model_table *looks = model_find_table(c->m, c->process, "looks", "threads");
    char title[FINDINGS_NAME];
    char due[32];
    uint32_t stack;
    uint32_t own;
    double busy;
    finding *f;

    if (table == NULL || looks == NULL || looks->rows < FEWEST_LOOKS)
        return;
    busy = count_busy(c, table, &stack);
    if (stack == 0 ||
        100.0 * busy < findings_limit(c, THRESHOLD_FINALIZER_SHARE) * (double)looks->rows)
        return;
    own = findings_own_frame(c, stack);
    f = findings_add(c, FINDINGS_WARNING,
                     "the thread that runs all finalizers was in %s in %.0f of %zu looks: it is "
                     "blocked or does not keep up, and %s more objects became due meanwhile",
                     findings_frame_title(c, own, title), busy, looks->rows,
                     findings_number(count_due(c), due));
    findings_show_stack(c, f, stack);
    findings_set_place(c, f, findings_frame_name(c, own));
    findings_advise(c, f,
                    "A finalizer must not wait: no locks, no input or output, no sleep. Release in "
                    "Dispose and call GC.SuppressFinalize; hold native handles by SafeHandle.");
}
