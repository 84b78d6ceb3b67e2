/*
 * zombies_starts: who started the threads of a group: each thread of the last look is found again,
 * by the runtime's address of it, among the starts that were noted. Part of zombies.
 */
#include <stdlib.h>

#include "base/array.h"
#include "analysis/zombies.h"
#include "base/memory.h"
#include "base/table.h"

/* The first frame from here on, outwards, that is the program's own; 0 = there is none. */
static uint32_t next_own(const threads_view *v, uint32_t stack)
{
    for (; stack != 0; stack = v->process->stack_parents[stack]) {
        const model_frame *frame = &v->process->frames[v->process->stack_frames[stack]];

        if (frame->kind == RECORDING_FRAME_MANAGED &&
            !threads_is_framework(
                model_text(v->model, v->process->functions[frame->function].name)))
            break;
    }
    return stack;
}

/* The same lines of the program: how much of Thread.Start is compiled into its caller does not
 * matter. */
static bool is_same_stack(const threads_view *v, uint32_t a, uint32_t b)
{
    while (a != b) {
        const model_frame *x, *y;

        a = next_own(v, a);
        b = next_own(v, b);
        if (a == 0 || b == 0)
            break;
        x = &v->process->frames[v->process->stack_frames[a]];
        y = &v->process->frames[v->process->stack_frames[b]];
        if (x->function != y->function || x->line != y->line)
            return false;
        a = v->process->stack_parents[a];
        b = v->process->stack_parents[b];
    }
    return a == b;
}

static bool add_starter(const threads_view *v, zombies_group *g, uint32_t stack)
{
    uint32_t own = next_own(v, stack);

    for (size_t i = 0; i < g->starter_count; i++) {
        if (is_same_stack(v, g->starters[i].stack, stack)) {
            g->starters[i].count++;
            return true;
        }
    }
    if (!array_reserve(&g->starters, &g->starter_capacity, g->starter_count + 1,
                       sizeof *g->starters))
        return false;
    g->starters[g->starter_count++] = (zombies_starter){
        .stack = stack, .frame = v->process->stack_frames[own != 0 ? own : stack], .count = 1};
    return true;
}

static int compare_starters(const void *a, const void *b)
{
    const zombies_starter *x = a, *y = b;

    return x->count > y->count ? -1 : x->count < y->count;
}

static uint64_t last_look_time(const threads_view *v)
{
    const model_table *t = model_find_table(v->model, v->process, "looks", "threads");
    const model_column *time = t == NULL ? NULL : model_find_column(v->model, t, "time");
    uint64_t last = 0;

    for (size_t i = 0; time != NULL && i < t->rows; i++)
        if (model_cell(time, i) > last)
            last = model_cell(time, i);
    return last;
}

/* Stacks by the address of the thread that was started; of two, the later one. An address is used
 * again when its thread has ended: what was started after the last look is not meant. */
static bool read_starts(const threads_view *v, const model_table *t, table_u64 *stacks)
{
    const model_column *stack = model_find_column(v->model, t, "stack");
    const model_column *native = model_find_column(v->model, t, "native");
    const model_column *time = model_find_column(v->model, t, "time");
    uint64_t last = last_look_time(v);

    for (size_t i = 0; stack != NULL && native != NULL && time != NULL && i < t->rows; i++)
        if (model_cell(native, i) != 0 && model_cell(time, i) <= last &&
            !table_u64_put(stacks, model_cell(native, i), model_cell(stack, i)))
            return false;
    return true;
}

static bool find_starters(const threads_view *v, const table_u64 *stacks, zombies_group *g)
{
    size_t next = 0; /* its threads stand in the order of the entries */

    for (size_t i = 0; i < v->count && next < g->count; i++) {
        const threads_entry *t = &v->entries[i];
        uint64_t stack = 0;

        if (t->os_id != g->os_ids[next])
            continue;
        next++;
        if (t->native != 0 && table_u64_get(stacks, t->native, &stack) && stack != 0 &&
            !add_starter(v, g, (uint32_t)stack))
            return false;
    }
    if (g->starter_count > 1)
        qsort(g->starters, g->starter_count, sizeof *g->starters, compare_starters);
    return true;
}

bool zombies_find_starters(const threads_view *v, zombies *z)
{
    const model_table *t = model_find_table(v->model, v->process, "starts", "threads");
    table_u64 stacks = {0};
    bool done;

    if (t == NULL)
        return true;
    done = read_starts(v, t, &stacks);
    for (size_t i = 0; i < z->count && done; i++)
        if (z->groups[i].kind == ZOMBIES_LEAKING)
            done = find_starters(v, &stacks, &z->groups[i]);
    table_u64_free(&stacks);
    return done;
}
