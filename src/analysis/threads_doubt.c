/*
 * threads_doubt: a cycle is a deadlock only if nothing opens it again. A wait with a time limit
 * does. Whether there is one is told by the method that waits: on the stack, or, where that was
 * compiled into its caller, in the caller's code (table `gates`). Where neither says so, the looks
 * before do: whoever waits for ever does not run.
 */
#include <stdio.h>

#include "analysis/threads.h"
#include "base/text.h"

/* Of the framework's own code only locks that are taken in the usual way are expected. */
static threads_limit limit_of_framework(threads_state state, const char *method)
{
    if (state != THREADS_MONITOR || text_starts_with(method, "System.Threading."))
        return THREADS_LIMIT_UNKNOWN;
    return threads_is_framework(method) ? THREADS_ENDLESS : THREADS_LIMIT_UNKNOWN;
}

threads_limit threads_limit_of(const threads_view *v, const threads_entry *t)
{
    const char *kind = t->state == THREADS_LOCK ? "Lock" : "Monitor";
    char tries[64], enters[64];

    if (t->state == THREADS_CLASS || t->state == THREADS_FINALIZERS)
        return THREADS_ENDLESS;
    if (v->process == NULL)
        return THREADS_LIMIT_UNKNOWN;
    snprintf(tries, sizeof tries, "System.Threading.%s.TryEnter*", kind);
    snprintf(enters, sizeof enters, "System.Threading.%s.Enter*", kind);
    for (uint32_t stack = t->stack; stack != 0; stack = v->process->stack_parents[stack]) {
        const char *method = threads_method_of(v, stack);
        bool is_lock = t->state == THREADS_MONITOR || t->state == THREADS_LOCK;

        if (!threads_is_managed(v, stack))
            continue;
        if (!threads_is_framework(method))
            return threads_limit_of_call(v, stack);
        if (is_lock && text_matches(method, enters))
            return THREADS_ENDLESS;
        /* of a Lock, Enter goes on in TryEnterSlow; TryEnter alone is what the program called */
        if (is_lock && text_matches(method, tries) && !text_ends_with(method, ".TryEnterSlow"))
            return THREADS_LIMITED;
        if (limit_of_framework(t->state, method) != THREADS_LIMIT_UNKNOWN)
            return limit_of_framework(t->state, method);
    }
    return THREADS_LIMIT_UNKNOWN;
}

typedef struct {
    const model_table *table;
    const model_column *thread, *look, *cpu;
} past;

static bool find_past(const threads_view *v, past *p)
{
    p->table = model_find_table(v->model, v->process, "threads", "threads");
    if (p->table == NULL)
        return false;
    p->thread = model_find_column(v->model, p->table, "thread");
    p->look = model_find_column(v->model, p->table, "look");
    p->cpu = model_find_column(v->model, p->table, "cpu");
    return p->thread != NULL && p->look != NULL && p->cpu != NULL &&
           p->thread->type == RECORDING_THREAD_ID;
}

/* So many looks back none of the threads may have run: on a busy machine one alone may come before
 * somebody who was woken could. */
enum { LOOKS_BACK = 2 };

/* Neither a thread that ran since the look of this number nor one that was not there yet. */
static bool has_rested(const threads_view *v, const past *p, const threads_entry *t, uint64_t look)
{
    for (size_t row = 0; row < p->table->rows; row++)
        if (model_cell(p->look, row) == look &&
            v->process->threads[model_cell(p->thread, row)].os_id == t->os_id)
            return model_cell(p->cpu, row) == t->cpu_ns;
    return false;
}

void threads_doubt_cycles(threads_view *v, uint64_t look)
{
    uint64_t before = look > LOOKS_BACK ? look - LOOKS_BACK : 1;
    past p;

    if (v->cycle_count == 0 || look < 2 || !find_past(v, &p))
        return;
    for (size_t i = 0; i < v->cycle_count; i++) {
        threads_cycle *c = &v->cycles[i];

        c->rested = true;
        for (size_t k = 0; k < c->count && c->rested; k++)
            c->rested = has_rested(v, &p, &v->entries[c->members[k]], before);
        if (!c->rested && !c->endless && !c->suspected)
            c->suspected = c->limited = true;
    }
}
