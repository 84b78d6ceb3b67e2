/*
 * continuations: see continuations.h.
 *
 * A continuation is known by the runtime's own frame around it: a method of a state machine's box,
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

static bool is_box(const profile *p, uint32_t function)
{
    const model_function *f = &p->process->functions[function];
    const char *name = model_text(p->m, f->name);

    return f->kind == RECORDING_FRAME_MANAGED &&
           text_starts_with(name, "System.Runtime.CompilerServices.") &&
           strstr(name, "StateMachineBox<") != NULL;
}

/* By stack: 1 = runs inside a continuation. A stack's parent stands before it. */
static uint8_t *mark_stacks(const profile *p)
{
    const model_process *process = p->process;
    uint8_t *boxes = memory_allocate_array(process->function_count + 1, sizeof *boxes);
    uint8_t *inside = memory_allocate_array(process->stack_count + 1, sizeof *inside);

    if (boxes == NULL || inside == NULL) {
        memory_free(boxes);
        memory_free(inside);
        return NULL;
    }
    for (uint32_t i = 0; i < process->function_count; i++)
        boxes[i] = is_box(p, i);
    for (size_t i = 1; i < process->stack_count; i++)
        inside[i] = inside[process->stack_parents[i]] |
                    boxes[process->frames[process->stack_frames[i]].function];
    memory_free(boxes);
    return inside;
}

int continuations_sum(const profile *p, const profile_selection *selection, profile_total *sum,
                      error *e)
{
    uint8_t *inside = mark_stacks(p);

    *sum = (profile_total){0, 0};
    if (inside == NULL)
        return error_set(e, ERROR_MEMORY, "no memory for the report");
    for (size_t row = 0; row < p->table->rows; row++) {
        if (!inside[profile_row_stack(p, row)] || !profile_row_matches(p, selection, row))
            continue;
        sum->weight += profile_row_weight(p, row);
        sum->samples++;
    }
    memory_free(inside);
    return 0;
}

const char *continuations_note(const profile_total *sum, uint64_t whole,
                               char out[CONTINUATIONS_NOTE_SIZE])
{
    out[0] = '\0';
    if (sum->samples != 0)
        snprintf(out, CONTINUATIONS_NOTE_SIZE,
                 "%.1f %% ran in continuations of async methods. These stacks stand under the "
                 "dispatch of whoever resumed them, mostly the thread pool, and not under their "
                 "logical callers: the methods that await them are not on the stack.",
                 report_percent(sum->weight, whole));
    return out;
}
