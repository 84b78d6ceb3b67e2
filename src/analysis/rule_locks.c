/*
 * rule_locks: deadlock (a cycle of threads that each wait for something the next one owns, or is)
 * and lock-contention (how many threads stand before locks on average, without those of a
 * deadlock).
 *
 * The snapshot is taken while the runtime is suspended, so owners and waiters belong to one moment,
 * and a cycle in it cannot open by itself, except where a waiter has set a time limit.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/findings_rule.h"
#include "analysis/threads.h"
#include "base/memory.h"
#include "base/text.h"

enum { NAMES = 400, WAITS_FOR_MONITOR = 1, FEWEST_LOOKS = 3, KIND_LOCK = 1 };

static uint32_t thread_of(const findings_context *c, uint64_t os_id)
{
    for (uint32_t i = 1; i < c->process->thread_count; i++)
        if (c->process->threads[i].os_id == os_id)
            return i;
    return 0;
}

static const char *title_of(const findings_context *c, uint64_t os_id, char out[120])
{
    model_thread_title(c->m, &c->process->threads[thread_of(c, os_id)], out, 120);
    return out;
}

/* The entry's stack; a hostile recording may have anything in that column. */
static uint32_t stack_of(const findings_context *c, const threads_entry *entry)
{
    return entry->stack < c->process->stack_count ? entry->stack : 0;
}

static bool is_member(const threads_view *view, const threads_cycle *cycle, uint64_t os_id)
{
    for (size_t i = 0; i < cycle->count; i++)
        if (view->entries[cycle->members[i]].os_id == os_id)
            return true;
    return false;
}

/* Marks everybody whose way leads into this cycle; returns how many are not in it. */
static size_t mark_behind(findings_context *c, const threads_view *view, const threads_cycle *cycle)
{
    size_t behind = 0;

    for (size_t i = 0; i < view->count; i++) {
        const threads_entry *at = &view->entries[i];

        for (size_t steps = 0; steps < view->count && at != NULL && at->state == THREADS_MONITOR &&
                               !is_member(view, cycle, at->os_id);
             steps++)
            at = threads_by_id(view, at->owner);
        if (at == NULL || !is_member(view, cycle, at->os_id))
            continue;
        c->locked[thread_of(c, view->entries[i].os_id)] = 1;
        behind += !is_member(view, cycle, view->entries[i].os_id);
    }
    return behind;
}

static void show_member(findings_context *c, finding *f, const threads_entry *entry,
                        const threads_entry *next)
{
    char waiter[120];
    char owner[120];

    if (entry->state == THREADS_MONITOR)
        findings_show(c, f, "thread %s waits for a lock on %s, held by thread %s:",
                      title_of(c, entry->os_id, waiter), model_text(c->m, entry->object_type),
                      title_of(c, next->os_id, owner));
    else
        findings_show(c, f, "thread %s is %s (%s) and needs thread %s:",
                      title_of(c, entry->os_id, waiter), threads_state_name(entry->state),
                      model_text(c->m, entry->object_type), title_of(c, next->os_id, owner));
    findings_show_stack(c, f, stack_of(c, entry));
}

static void tell_cycle(findings_context *c, const threads_view *view, const threads_cycle *cycle)
{
    const char *place = "";
    char names[NAMES] = "";
    char more[80] = "";
    size_t behind = mark_behind(c, view, cycle);
    finding *f;

    for (size_t i = 0; i < cycle->count; i++) {
        const threads_entry *entry = &view->entries[cycle->members[i]];
        const char *own = findings_frame_name(c, findings_own_frame(c, stack_of(c, entry)));
        size_t used = strlen(names);
        char title[120];

        snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ",
                 title_of(c, entry->os_id, title));
        /* The same whichever thread the cycle is told from. */
        place = strcmp(own, place) > 0 ? own : place;
    }
    if (behind != 0)
        snprintf(more, sizeof more, "; %zu more thread%s behind them", behind,
                 behind == 1 ? " waits" : "s wait");
    f = findings_add(c, cycle->limited ? FINDINGS_WARNING : FINDINGS_CRITICAL,
                     "%zu threads wait for each other and will not go on%s: %s%s", cycle->count,
                     cycle->limited ? " before a time limit ends it" : "", names, more);
    for (size_t i = 0; i < cycle->count; i++)
        show_member(c, f, &view->entries[cycle->members[i]],
                    &view->entries[cycle->members[(i + 1) % cycle->count]]);
    findings_set_place(c, f, place);
    findings_advise(c, f,
                    "Take these locks in the same order everywhere, or do not call code that locks "
                    "while holding one. The program has to be restarted to get out of it.");
}

/* Suspected only because a wait has a time limit, a long one: every owner was read, and none of
 * them has run for a while. Who gives up and tries again is left alone. */
static bool is_read(const threads_view *view, const threads_cycle *cycle)
{
    for (size_t i = 0; i < cycle->count; i++)
        if (view->entries[cycle->members[i]].owner_inferred)
            return false;
    return cycle->limited && cycle->rested;
}

void findings_rule_deadlock(findings_context *c)
{
    threads_view view;
    error e;

    error_clear(&e);
    if (threads_make(c->m, c->process, &view, &e) != 0) {
        c->list->failed = c->list->failed || e.code == ERROR_MEMORY;
        return;
    }
    for (size_t i = 0; i < view.cycle_count; i++)
        if (!view.cycles[i].suspected || is_read(&view, &view.cycles[i]))
            tell_cycle(c, &view, &view.cycles[i]);
    threads_free(&view);
}

/* The frame that asked for the lock: the innermost of the program's own code, else the first one
 * outside of System.Threading. */
static uint32_t lock_frame(const findings_context *c, uint32_t stack)
{
    uint32_t own = findings_own_frame(c, stack);
    const model_process *p = c->process;

    for (; own == 0 && stack != 0; stack = p->stack_parents[stack])
        if (p->frames[p->stack_frames[stack]].kind == RECORDING_FRAME_MANAGED &&
            !text_starts_with(findings_frame_name(c, p->stack_frames[stack]), "System.Threading."))
            own = p->stack_frames[stack];
    return own;
}

/* Waiting for a semaphore is how queues wait for work: nothing is contended. */
static bool is_semaphore(const findings_context *c, uint32_t frame)
{
    return text_starts_with(findings_frame_name(c, frame), "System.Threading.SemaphoreSlim.");
}

/* The average over `whole`; kept when it is larger than what was found before. Waits whose thread
 * was not recorded are under thread 0. */
static void add_up(const findings_context *c, const uint64_t *weights, const uint64_t *by_thread,
                   double whole, findings_lock_sums *sums)
{
    findings_lock_sums found = {0};

    for (size_t i = 0; i < c->process->thread_count; i++) {
        found.average += (double)by_thread[i] / whole;
        found.threads += i != 0 && by_thread[i] != 0;
    }
    found.stack = findings_heaviest(c, weights, NULL);
    if (found.average > sums->average)
        *sums = found;
}

/* From samples over time: locks whose waiting is done in managed code. */
static void sum_samples(findings_context *c, uint64_t *weights, uint64_t *by_thread,
                        findings_lock_sums *sums)
{
    profile_selection waiting = PROFILE_ALL;
    uint8_t *semaphores;
    profile p;

    if (!profile_find(c->m, c->process, "wall", &p) || p.thread == NULL || p.state == NULL)
        return;
    semaphores = findings_mark_stacks(c, is_semaphore);
    if (semaphores == NULL)
        return;
    waiting.state = RECORDING_STATE_LOCK;
    for (size_t row = 0; row < p.table->rows; row++) {
        uint32_t stack = profile_row_stack(&p, row);
        uint32_t thread = p.thread->u32[row];

        if (!profile_row_matches(&p, &waiting, row) || semaphores[stack] || c->locked[thread])
            continue;
        weights[stack] += profile_row_weight(&p, row);
        by_thread[thread] += profile_row_weight(&p, row);
    }
    add_up(c, weights, by_thread, 1e9 * c->seconds, sums);
    memory_free(semaphores);
}

/* From the looks at all threads: monitors, whose waiting is done inside the runtime. */
static void sum_looks(findings_context *c, uint64_t *weights, uint64_t *by_thread,
                      findings_lock_sums *sums)
{
    const model_table *table = model_find_table(c->m, c->process, "threads", "threads");
    const model_table *looks = model_find_table(c->m, c->process, "looks", "threads");
    const model_column *thread, *stack, *waits_for;

    if (table == NULL || looks == NULL || looks->rows < FEWEST_LOOKS)
        return;
    thread = model_find_column(c->m, table, "thread");
    stack = model_find_column(c->m, table, "stack");
    waits_for = model_find_column(c->m, table, "waits_for");
    if (thread == NULL || thread->type != RECORDING_THREAD_ID || stack == NULL ||
        stack->type != RECORDING_STACK_ID || waits_for == NULL)
        return;
    for (size_t row = 0; row < table->rows; row++) {
        if (model_cell(waits_for, row) != WAITS_FOR_MONITOR || c->locked[thread->u32[row]])
            continue;
        weights[stack->u32[row]]++;
        by_thread[thread->u32[row]]++;
    }
    add_up(c, weights, by_thread, (double)looks->rows, sums);
}

/* From every single wait, where the profiler `contention` ran. */
static void sum_waits(findings_context *c, uint64_t *weights, uint64_t *by_thread,
                      findings_lock_sums *sums)
{
    const model_column *kind;
    profile p;

    if (!profile_find(c->m, c->process, "contention", &p) || p.thread == NULL ||
        !text_equal(p.unit, "ns"))
        return;
    kind = model_find_column(c->m, p.table, "kind");
    for (size_t row = 0; row < p.table->rows; row++) {
        uint32_t thread = p.thread->u32[row];

        if (c->locked[thread] || (kind != NULL && model_cell(kind, row) > KIND_LOCK))
            continue;
        weights[profile_row_stack(&p, row)] += profile_row_weight(&p, row);
        by_thread[thread] += profile_row_weight(&p, row);
    }
    add_up(c, weights, by_thread, 1e9 * c->seconds, sums);
}

void findings_sum_locks(findings_context *c, findings_lock_sums *sums)
{
    size_t stacks = c->process->stack_count + 1;
    size_t threads = c->process->thread_count + 1;
    uint64_t *weights = memory_allocate_array(stacks, sizeof *weights);
    uint64_t *by_thread = memory_allocate_array(threads, sizeof *by_thread);

    memset(sums, 0, sizeof *sums);
    if (weights == NULL || by_thread == NULL) {
        c->list->failed = true;
    } else {
        sum_samples(c, weights, by_thread, sums);
        memset(weights, 0, stacks * sizeof *weights);
        memset(by_thread, 0, threads * sizeof *by_thread);
        sum_looks(c, weights, by_thread, sums);
        memset(weights, 0, stacks * sizeof *weights);
        memset(by_thread, 0, threads * sizeof *by_thread);
        sum_waits(c, weights, by_thread, sums);
    }
    memory_free(weights);
    memory_free(by_thread);
}

void findings_rule_locks(findings_context *c)
{
    findings_lock_sums sums;
    char title[FINDINGS_NAME];
    uint32_t frame;
    finding *f;

    findings_sum_locks(c, &sums);
    if (sums.average < findings_limit(c, THRESHOLD_LOCK_THREADS) || sums.threads < 2)
        return;
    frame = lock_frame(c, sums.stack);
    f = findings_add(c,
                     sums.average >= findings_limit(c, THRESHOLD_LOCK_CRITICAL) ? FINDINGS_CRITICAL
                                                                                : FINDINGS_WARNING,
                     "on average %.1f threads stood before a lock, %zu different ones in %.1f s, "
                     "most of them in %s",
                     sums.average, sums.threads, c->seconds, findings_frame_title(c, frame, title));
    findings_show_stack(c, f, sums.stack);
    findings_set_place(c, f, findings_frame_name(c, frame));
    findings_advise(c, f,
                    "Hold the lock for less: move work, input and output and calls of other code "
                    "out of it; or divide it, so that different data has its own lock.");
}
