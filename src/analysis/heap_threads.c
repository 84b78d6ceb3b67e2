/*
 * heap_threads: which thread a stack root belongs to. The runtime tells the method only; where the
 * recording has a look at the threads too, those are named that had the method on their stack.
 */
#include "analysis/heap_threads.h"

#include "analysis/threads.h"

/* In the table: how many threads, and the last of them. */
static uint64_t count_of(uint64_t value)
{
    return value >> 32;
}

static bool note_stack(heap *h, uint32_t thread, uint32_t stack)
{
    const model_process *p = h->p;

    for (; stack != 0; stack = p->stack_parents[stack]) {
        const model_frame *frame = &p->frames[p->stack_frames[stack]];
        uint64_t *at;

        if (frame->kind != RECORDING_FRAME_MANAGED)
            continue;
        at = table_u64_at(&h->threads, p->methods[frame->owner].name, 0);
        if (at == NULL)
            return false;
        if (*at == 0 || (uint32_t)*at != thread)
            *at = (count_of(*at) + 1) << 32 | thread;
    }
    return true;
}

bool heap_threads_load(heap *h)
{
    const model_table *t = model_find_table(h->m, h->p, "threads", "threads");
    const model_column *thread = t == NULL ? NULL : model_find_column(h->m, t, "thread");
    const model_column *stack = t == NULL ? NULL : model_find_column(h->m, t, "stack");
    const model_column *look = t == NULL ? NULL : model_find_column(h->m, t, "look");
    uint64_t last = threads_last_look(h->m, h->p);
    bool good = true;

    if (thread == NULL || thread->type != RECORDING_THREAD_ID || stack == NULL ||
        stack->type != RECORDING_STACK_ID || look == NULL)
        return true;
    for (size_t row = 0; good && row < t->rows; row++)
        if (model_cell(look, row) == last)
            good =
                note_stack(h, (uint32_t)model_cell(thread, row), (uint32_t)model_cell(stack, row));
    return good;
}

size_t heap_root_threads(const heap *h, uint32_t root, const model_thread **thread)
{
    uint64_t name, value;

    *thread = NULL;
    if (root == HEAP_SEVERAL_ROOTS || (root & HEAP_AND_STACKS) != 0 ||
        h->roots[root].kind != RECORDING_ROOT_STACK ||
        !table_u64_get(&h->functions, h->roots[root].id, &name) ||
        !table_u64_get(&h->threads, name, &value))
        return 0;
    *thread = &h->p->threads[(uint32_t)value];
    return (size_t)count_of(value);
}

void heap_root_text_with_thread(const heap *h, uint32_t root, buffer *out)
{
    const model_thread *thread;
    size_t count = heap_root_threads(h, root, &thread);

    heap_root_text(h, root, out);
    if (count > 1)
        buffer_format(out, " in %zu threads", count);
    else if (count == 1)
        buffer_format(out, " in thread %llu", (unsigned long long)thread->os_id);
    if (count == 1 && thread->name != 0)
        buffer_format(out, " \"%s\"", model_text(h->m, thread->name));
}
