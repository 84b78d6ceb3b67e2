/*
 * continuations: see continuations.h.
 *
 * A continuation is known by the frame (async) that the agent puts above its logical callers, else
 * by the runtime's own frame around it: a method of a state machine's box,
 * AsyncTaskMethodBuilder<T>.AsyncStateMachineBox<S> (Task, and ValueTask as it is built in) or
 * PoolingAsyncValueTaskMethodBuilder<T>.StateMachineBox<S>. The first part of an async method, up
 * to its first await that has to wait, is an ordinary call and has no such frame.
 */
#include "report/continuations.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/report.h"

#define LEAST_SHOWN 0.05 /* percent: what is less is written as 0.0 */

enum { SHARE_SIZE = 32 };
enum { NO_CONTINUATION, UNDER_DISPATCH, UNDER_CALLERS };

static uint8_t kind_of(const profile *p, uint32_t function)
{
    const model_function *f = &p->process->functions[function];
    const char *name = model_text(p->m, f->name);

    if (f->kind == RECORDING_FRAME_SYNTHETIC && text_equal(name, "(async)"))
        return UNDER_CALLERS;
    return f->kind == RECORDING_FRAME_MANAGED &&
                   text_starts_with(name, "System.Runtime.CompilerServices.") &&
                   strstr(name, "StateMachineBox<") != NULL
               ? UNDER_DISPATCH
               : NO_CONTINUATION;
}

/* By stack: what it runs inside of. A stack's parent stands before it. */
static uint8_t *mark_stacks(const profile *p)
{
    const model_process *process = p->process;
    uint8_t *kinds = memory_allocate_array(process->function_count + 1, sizeof *kinds);
    uint8_t *inside = memory_allocate_array(process->stack_count + 1, sizeof *inside);

    if (kinds == NULL || inside == NULL) {
        memory_free(kinds);
        memory_free(inside);
        return NULL;
    }
    for (uint32_t i = 0; i < process->function_count; i++)
        kinds[i] = kind_of(p, i);
    for (size_t i = 1; i < process->stack_count; i++) {
        uint8_t own = kinds[process->frames[process->stack_frames[i]].function];
        uint8_t outer = inside[process->stack_parents[i]];

        inside[i] = outer > own ? outer : own;
    }
    memory_free(kinds);
    return inside;
}

int continuations_sum(const profile *p, const profile_selection *selection, continuations *sum,
                      error *e)
{
    uint8_t *inside = mark_stacks(p);

    *sum = (continuations){{0, 0}, {0, 0}};
    if (inside == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    for (size_t row = 0; row < p->table->rows; row++) {
        uint8_t kind = inside[profile_row_stack(p, row)];
        uint64_t weight;

        if (kind == NO_CONTINUATION || !profile_row_matches(p, selection, row))
            continue;
        weight = profile_row_weight_in(p, selection, row);
        sum->all.weight += weight;
        sum->all.samples++;
        if (kind == UNDER_CALLERS) {
            sum->known.weight += weight;
            sum->known.samples++;
        }
    }
    memory_free(inside);
    return 0;
}

/* "0.0 %" of something that is there would be read as a mistake. */
static const char *percent_text(double percent, char out[SHARE_SIZE])
{
    if (percent < LEAST_SHOWN)
        snprintf(out, SHARE_SIZE, "Less than 0.1 %%");
    else
        snprintf(out, SHARE_SIZE, "%.1f %%", percent);
    return out;
}

const char *continuations_note(const continuations *sum, uint64_t whole,
                               char out[CONTINUATIONS_NOTE_SIZE])
{
    double all = report_percent(sum->all.weight, whole);
    char share[SHARE_SIZE];
    size_t length = 0;

    out[0] = '\0';
    if (sum->all.samples == 0 || all < LEAST_SHOWN)
        return out;
    length = (size_t)snprintf(out, CONTINUATIONS_NOTE_SIZE,
                              "%.1f %% ran in continuations of async methods. ", all);
    if (sum->known.samples != 0)
        length += (size_t)snprintf(out + length, CONTINUATIONS_NOTE_SIZE - length,
                                   "%s stands below (async), under the methods that await it "
                                   "(without the dispatch that resumed it). ",
                                   percent_text(report_percent(sum->known.weight, whole), share));
    if (sum->all.samples != sum->known.samples)
        length += (size_t)snprintf(
            out + length, CONTINUATIONS_NOTE_SIZE - length,
            "%s stands under the dispatch of whoever resumed it, mostly "
            "the thread pool: who awaits it is not known. ",
            percent_text(report_percent(sum->all.weight - sum->known.weight, whole), share));
    out[length - 1] = '\0'; /* the last blank */
    return out;
}
