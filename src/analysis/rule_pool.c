/*
 * rule_pool: thread-pool-starvation and sync-over-async, from the looks at all threads. (Samples of
 * wall would not do: a worker that wakes for a few microseconds still shows its former stack.)
 *
 * A pool worker is a thread whose stack begins in the pool's worker loop. It is blocked on a task
 * when it waits inside of Task.Wait or of an awaiter's GetResult; it is free when it waits for work
 * in the loop itself. Averages are over the looks. A pool whose workers wait for anything else is
 * starved when its queue was never empty meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/counters.h"
#include "analysis/findings_rule.h"
#include "base/memory.h"
#include "base/text.h"

enum { FEWEST_LOOKS = 3 };

typedef struct {
    double blocked; /* workers on average */
    double idle;
    double all;
    uint32_t stack; /* the heaviest blocked one */
    double held;    /* that wait for anything, tasks too */
    uint32_t held_stack;
} pool_sums;

static bool is_worker(const findings_context *c, uint32_t frame)
{
    return text_starts_with(findings_frame_name(c, frame),
                            "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart") ||
           text_starts_with(findings_frame_name(c, frame),
                            "System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart");
}

/* Workers run work in Dispatch; without it they wait for some. */
static bool is_working(const findings_context *c, uint32_t frame)
{
    return text_starts_with(findings_frame_name(c, frame),
                            "System.Threading.ThreadPoolWorkQueue.Dispatch");
}

static bool is_task_wait(const findings_context *c, uint32_t frame)
{
    const char *name = findings_frame_name(c, frame);

    return text_starts_with(name, "System.Threading.Tasks.Task.SpinThenBlockingWait") ||
           text_starts_with(name, "System.Threading.Tasks.Task.InternalWait") ||
           text_starts_with(name, "System.Threading.Tasks.Task.WaitAll") ||
           text_starts_with(name, "System.Threading.Tasks.Task.WaitAny");
}

/* Anything but a lock, which has its own finding. */
static bool is_any_wait(const findings_context *c, uint32_t frame)
{
    static const char *const WAITS[] = {
        "System.Threading.Thread.Sleep",          "System.Threading.Thread.Join",
        "System.Threading.WaitHandle.Wait",       "System.Threading.ManualResetEventSlim.Wait",
        "System.Threading.SemaphoreSlim.Wait",    "System.Threading.Monitor.Wait",
        "System.Threading.CountdownEvent.Wait",   "System.Threading.Barrier.SignalAndWait",
        "System.Net.Sockets.Socket.Receive",      "System.Net.Sockets.Socket.Accept",
        "System.Collections.Concurrent.Blocking",
    };
    const char *name = findings_frame_name(c, frame);

    for (size_t i = 0; i < sizeof WAITS / sizeof *WAITS; i++)
        if (text_starts_with(name, WAITS[i]))
            return true;
    return is_task_wait(c, frame);
}

/* The pool's queue had something in it at every look of the counters; the least of them. */
static double never_empty(const findings_context *c)
{
    const model_table *table = model_find_table(c->m, c->process, "counters", "counters");
    counters_summary all;
    double least = 0;

    if (table == NULL || counters_summarise(c->m, table, &all, NULL) != 0)
        return 0;
    for (size_t i = 0; i < all.count; i++)
        if (text_equal(model_text(c->m, all.items[i].name), "threadpool-queue-length") &&
            all.items[i].count >= 2)
            least = all.items[i].least;
    counters_free(&all);
    return least;
}

static bool find_rows(const findings_context *c, const model_table **table,
                      const model_column **stack, double *looks)
{
    const model_table *each = model_find_table(c->m, c->process, "looks", "threads");

    *table = model_find_table(c->m, c->process, "threads", "threads");
    if (*table == NULL || each == NULL || each->rows < FEWEST_LOOKS)
        return false;
    *looks = (double)each->rows;
    *stack = model_find_column(c->m, *table, "stack");
    return *stack != NULL && (*stack)->type == RECORDING_STACK_ID;
}

static void add_row(pool_sums *s, double part, bool working, bool waiting)
{
    s->all += part;
    s->idle += working ? 0 : part;
    s->blocked += working && waiting ? part : 0;
}

static bool sum(findings_context *c, pool_sums *s)
{
    uint8_t *workers = findings_mark_stacks(c, is_worker);
    uint8_t *working = findings_mark_stacks(c, is_working);
    uint8_t *waits = findings_mark_stacks(c, is_task_wait);
    uint8_t *any = findings_mark_stacks(c, is_any_wait);
    uint64_t *held = memory_allocate_array(c->process->stack_count + 1, sizeof *held);
    uint64_t *counts = memory_allocate_array(c->process->stack_count + 1, sizeof *counts);
    const model_table *table;
    const model_column *stack;
    double looks;

    *s = (pool_sums){0};
    if (counts == NULL || held == NULL)
        c->list->failed = true;
    else if (workers != NULL && working != NULL && waits != NULL && any != NULL &&
             find_rows(c, &table, &stack, &looks)) {
        for (size_t row = 0; row < table->rows; row++) {
            uint32_t at = stack->u32[row];

            if (!workers[at])
                continue;
            add_row(s, 1 / looks, working[at], waits[at]);
            counts[at] += working[at] && waits[at];
            held[at] += working[at] && any[at];
            s->held += working[at] && any[at] ? 1 / looks : 0;
        }
        s->stack = findings_heaviest(c, counts, NULL);
        s->held_stack = findings_heaviest(c, held, NULL);
    }
    memory_free(workers);
    memory_free(working);
    memory_free(waits);
    memory_free(any);
    memory_free(held);
    memory_free(counts);
    return s->stack != 0 || s->held_stack != 0;
}

static double processors(const findings_context *c)
{
    const char *text = model_info_value(c->m, c->process, "cpus");

    return text == NULL ? 1 : strtod(text, NULL);
}

/* Hardly any worker but those `blocked` ones. */
static bool are_most(const findings_context *c, const pool_sums *s, double blocked)
{
    return blocked >= findings_limit(c, THRESHOLD_STARVED_WORKERS) && blocked >= processors(c) &&
           blocked >= s->all * findings_limit(c, THRESHOLD_STARVED_SHARE) / 100 &&
           s->idle * 10 <= s->all;
}

static bool is_starved(const findings_context *c, const pool_sums *s)
{
    return s->stack != 0 && are_most(c, s, s->blocked);
}

static void tell_held(findings_context *c, const pool_sums *s, double queued)
{
    uint32_t own = findings_own_frame(c, s->held_stack);
    char title[FINDINGS_NAME];
    finding *f = findings_add(c, FINDINGS_CRITICAL,
                              "on average %.1f of %.1f threads of the pool stood still, and at "
                              "least %.0f work items waited for one all the time%s%s",
                              s->held, s->all, queued, own == 0 ? "" : "; most wait in ",
                              findings_frame_title(c, own, title));

    findings_show_stack(c, f, s->held_stack);
    findings_set_place(c, f, own == 0 ? "" : findings_frame_name(c, own));
    findings_advise(c, f,
                    "What waits for long does not belong on the pool: await it (Task.Delay, "
                    "WaitAsync, the async form of the call), or give it a thread of its own "
                    "(TaskCreationOptions.LongRunning).");
}

void findings_rule_pool(findings_context *c)
{
    pool_sums s;
    char title[FINDINGS_NAME];
    uint32_t own;
    finding *f;

    if (!sum(c, &s))
        return;
    if (!is_starved(c, &s)) {
        double queued = are_most(c, &s, s.held) ? never_empty(c) : 0;

        if (queued >= 1)
            tell_held(c, &s, queued);
        return;
    }
    own = findings_own_frame(c, s.stack);
    f = findings_add(c, FINDINGS_CRITICAL,
                     "on average %.1f of %.1f threads of the pool were blocked waiting for tasks, "
                     "and hardly any was free for new work%s%s",
                     s.blocked, s.all, own == 0 ? "" : "; most wait in ",
                     findings_frame_title(c, own, title));
    findings_show_stack(c, f, s.stack);
    findings_set_place(c, f, own == 0 ? "" : findings_frame_name(c, own));
    findings_advise(c, f,
                    "Await instead of Task.Wait, Task.Result and GetAwaiter().GetResult() all the "
                    "way up. Until then a higher minimum of the pool (ThreadPool.SetMinThreads) "
                    "eases it.");
}

void findings_rule_sync(findings_context *c)
{
    pool_sums s;
    char title[FINDINGS_NAME];
    uint32_t own;
    finding *f;

    /* Starvation says the same and more. */
    if (!sum(c, &s) || s.stack == 0 || is_starved(c, &s) ||
        s.blocked < findings_limit(c, THRESHOLD_SYNC_WORKERS))
        return;
    own = findings_own_frame(c, s.stack);
    f = findings_add(
        c, FINDINGS_WARNING,
        "on average %.1f of %.1f threads of the pool were blocked waiting for tasks%s%s", s.blocked,
        s.all, own == 0 ? "" : ", most of them in ", findings_frame_title(c, own, title));
    findings_show_stack(c, f, s.stack);
    findings_set_place(c, f, own == 0 ? "" : findings_frame_name(c, own));
    findings_advise(c, f, "Await the task instead of blocking on it, all the way up.");
}
