/*
 * threads_schedulers: tasks that wait in a TaskScheduler of the program's own. Who works for it is
 * told by the task that a thread runs, or by a method of the scheduler's class on its stack. When
 * all of them block, a task in its queue waits for them. How many it may still start is known to
 * the scheduler alone: such waits are inferred, and cycles through them suspected.
 */
#include <string.h>

#include "analysis/threads_waited.h"
#include "base/text.h"

enum { MOST_WORKERS = 64, TASK_STARTED = 0x10000, TASK_RUNS = 0x20000 };

/* The scheduler whose task the thread runs; 0 = none. */
static uint64_t scheduler_of(const waited *w, size_t entry)
{
    for (size_t i = 0; i < w->link_count; i++)
        if (w->links[i].entry == entry && w->links[i].role == WAITED_RUNS)
            return waited_get(w, w->links[i].object, "m_taskScheduler");
    return 0;
}

static bool is_own(const waited *w, uint64_t scheduler)
{
    const char *type = waited_type(w, scheduler);

    return type[0] != '\0' && !threads_is_framework(type);
}

/* A method of the class stands on the stack, or a lambda in one. */
static bool has_method_of(const threads_view *v, uint32_t stack, const char *type)
{
    size_t length = strcspn(type, "<");

    for (; stack != 0; stack = v->process->stack_parents[stack]) {
        const char *method = threads_method_of(v, stack);

        if (strncmp(method, type, length) == 0 && (method[length] == '.' || method[length] == '<'))
            return true;
    }
    return false;
}

/* Those who work for the scheduler; SIZE_MAX when one of them could take its next task. */
static size_t find_workers(const waited *w, uint64_t scheduler, size_t *workers)
{
    const char *type = waited_type(w, scheduler);
    size_t count = 0;

    for (size_t i = 0; i < w->view->count; i++) {
        const threads_entry *t = &w->view->entries[i];
        bool runs = scheduler_of(w, i) == scheduler;

        if (!runs && !has_method_of(w->view, t->stack, type))
            continue;
        /* who only hands a task over, and waits for it, is no worker */
        if (!runs && t->state == THREADS_TASK)
            continue;
        if (!runs || count == MOST_WORKERS)
            return SIZE_MAX;
        workers[count++] = i;
    }
    return count;
}

/* A task that was handed to a scheduler of the program's own and has not begun; that scheduler. */
static uint64_t queued_in(const waited *w, uint64_t task)
{
    uint64_t flags = waited_get(w, task, "m_stateFlags");
    uint64_t scheduler = waited_get(w, task, "m_taskScheduler");

    return (flags & (TASK_STARTED | TASK_RUNS)) == TASK_STARTED && is_own(w, scheduler) ? scheduler
                                                                                        : 0;
}

/* The scheduler that has the last step of what the thread waits for. */
static uint64_t awaited_scheduler(const waited *w, size_t entry, uint64_t task, uint64_t last)
{
    uint64_t steps[THREADS_STEPS], own = scheduler_of(w, entry), queued = queued_in(w, last);
    size_t count;

    if (queued != 0)
        return queued;
    return is_own(w, own) && waited_find_in_queue(w, own, task, steps, &count) ? own : 0;
}

void waited_explain_scheduler(waited *w, size_t entry, uint64_t task, uint64_t last)
{
    uint64_t scheduler = awaited_scheduler(w, entry, task, last);
    size_t workers[MOST_WORKERS];
    size_t count = scheduler == 0 ? 0 : find_workers(w, scheduler, workers);

    if (count == 0 || count == SIZE_MAX)
        return;
    /* one of several would be enough: all of them must wait for the same scheduler */
    for (size_t i = 0; i < count && count > 1; i++)
        if (w->view->entries[workers[i]].state != THREADS_TASK)
            return;
    for (size_t i = 0; i < count; i++)
        if (workers[i] != entry || count == 1)
            waited_add_owner(w, entry, workers[i], true);
}
