/* rule_gc: gc-pressure (time in collections, full ones, those asked for), long-pauses, and
 * server-gc-mismatch (the collector's mode does not fit), from the table `collections`. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/findings_rule.h"
#include "analysis/gc.h"
#include "base/text.h"

enum { LARGE = 4, LARGE_FULL = 6, BACKGROUND = 1 };

typedef struct {
    size_t count;
    size_t full;    /* blocking, generation 2 */
    size_t large;   /* of them, because of large objects */
    size_t induced; /* asked for by the program */
    uint64_t pause; /* altogether, ns, without the time until all threads had stopped */
    uint64_t longest;
    uint64_t longest_suspending;
    uint64_t longest_generation;
    uint64_t longest_time;
    uint32_t induced_stack; /* of the method that asked for most, 0 if unknown */
    uint64_t induced_there; /* so many */
} gc_sums;

static uint64_t cell(const model_column *column, size_t row)
{
    return column == NULL ? 0 : model_cell(column, row);
}

/* Which method asked for most, and the most common of its stacks: callers, and what the compiler
 * did to them, make many of one. Without memory the finding goes without a stack. */
static void find_asker(const findings_context *c, gc_sums *s, groups_list *stacks)
{
    groups_list frames = {0};

    for (size_t i = 0; i < stacks->count; i++)
        groups_add(&frames, findings_own_frame(c, stacks->items[i].key[0]), 0, 0,
                   stacks->items[i].count, 0);
    groups_sort_by_count(stacks);
    groups_sort_by_count(&frames);
    for (size_t i = 0; frames.count != 0 && i < stacks->count && s->induced_stack == 0; i++)
        if (findings_own_frame(c, stacks->items[i].key[0]) == frames.items[0].key[0])
            s->induced_stack = stacks->items[i].key[0];
    s->induced_there = frames.count == 0 ? 0 : frames.items[0].count;
    groups_free(&frames);
    groups_free(stacks);
}

/* A collection starts when all threads have stopped: how long before that its pause began. In a
 * recording that does not tell it, the time until they had stopped is near enough. */
static uint64_t since_stop(const model_column *since, const model_column *suspending,
                           const model_column *time, size_t row)
{
    uint64_t length = cell(since != NULL ? since : suspending, row);

    return length < cell(time, row) ? length : cell(time, row);
}

static bool sum(const findings_context *c, gc_sums *s)
{
    const model_table *table = model_find_table(c->m, c->process, "collections", "gc");
    const model_column *pause, *generation, *reason, *kind, *suspending, *time, *stack, *since;
    groups_list stacks = {0};

    *s = (gc_sums){0};
    if (table == NULL || table->rows == 0)
        return false;
    pause = model_find_column(c->m, table, "pause");
    generation = model_find_column(c->m, table, "generation");
    reason = model_find_column(c->m, table, "reason");
    kind = model_find_column(c->m, table, "kind");
    suspending = model_find_column(c->m, table, "suspending");
    time = model_find_column(c->m, table, "time");
    since = model_find_column(c->m, table, "since_stop");
    stack = groups_column(c->m, table, "stack", RECORDING_STACK_ID);
    for (size_t row = 0; row < table->rows; row++) {
        uint64_t why = cell(reason, row);
        uint64_t length = cell(pause, row);

        s->count++;
        if (cell(generation, row) == 2 && cell(kind, row) != BACKGROUND &&
            cell(kind, row) != GC_KIND_NOTHING) {
            s->full++;
            s->large += why == LARGE || why == LARGE_FULL;
        }
        s->pause += length - (cell(suspending, row) < length ? cell(suspending, row) : length);
        if (gc_is_induced(why)) {
            s->induced++;
            if (cell(stack, row) != 0)
                groups_add(&stacks, (uint32_t)cell(stack, row), 0, 0, 1, 0);
        }
        if (length > s->longest) {
            s->longest = length;
            s->longest_suspending = cell(suspending, row);
            s->longest_generation = cell(generation, row);
            s->longest_time = cell(time, row) - since_stop(since, suspending, time, row);
        }
    }
    find_asker(c, s, &stacks);
    return true;
}

static void tell_pressure(findings_context *c, const gc_sums *s, double percent)
{
    bool induced = (double)s->induced / c->seconds >= findings_limit(c, THRESHOLD_GC_INDUCED);
    uint32_t frame = findings_own_frame(c, s->induced_stack);
    char title[FINDINGS_NAME];
    char asked[FINDINGS_NAME + 120] = "";
    char some[40] = "";
    finding *f;

    if (s->induced_there < s->induced)
        snprintf(some, sizeof some, ", %llu of these", (unsigned long long)s->induced_there);
    if (s->induced != 0)
        snprintf(asked, sizeof asked, ", %zu asked for by the program%s%s%s", s->induced,
                 frame == 0 ? "" : some, frame == 0 ? "" : " in ",
                 findings_frame_title(c, frame, title));
    f = findings_add(c,
                     percent >= findings_limit(c, THRESHOLD_GC_CRITICAL) ? FINDINGS_CRITICAL
                                                                         : FINDINGS_WARNING,
                     "collections took %.1f %% of the time: %zu collections in %.1f s, "
                     "%zu of them blocking ones of generation 2%s",
                     percent, s->count, c->seconds, s->full, asked);
    findings_show_stack(c, f, s->induced_stack);
    findings_set_place(c, f, induced ? "induced" : "");
    if (induced)
        findings_advise(c, f,
                        "Take the calls of GC.Collect out: the collector knows better when. Where "
                        "one is really needed, use GCCollectionMode.Optimized.");
    else
        findings_advise(c, f,
                        "Allocate less in the hot paths, and keep less alive for a short while: "
                        "buffers from ArrayPool, no copies of large arrays and strings. The "
                        "report's allocations show who allocates.");
}

void findings_rule_gc(findings_context *c)
{
    gc_sums s;
    double percent;

    if (!sum(c, &s) || (double)s.count < findings_limit(c, THRESHOLD_GC_COUNT))
        return;
    percent = 100.0 * (double)s.pause / 1e9 / c->seconds;
    if (findings_churns_large(c)) /* large-object-churn tells of them */
        s.full -= s.large;
    if (percent >= findings_limit(c, THRESHOLD_GC_SHARE) ||
        (double)s.full / c->seconds >= findings_limit(c, THRESHOLD_GC_GEN2) ||
        (double)s.induced / c->seconds >= findings_limit(c, THRESHOLD_GC_INDUCED))
        tell_pressure(c, &s, percent);
}

/* Who was waited for in the longest of the suspensions in which that is known. */
static bool show_last(findings_context *c, finding *f)
{
    const model_table *table = model_find_table(c->m, c->process, "pauses", "pauses");
    const model_column *suspending, *last, *stack;
    uint64_t longest = 0;
    size_t found = 0;
    char thread[120];

    if (table == NULL)
        return false;
    suspending = groups_column(c->m, table, "suspending", RECORDING_DURATION);
    last = groups_column(c->m, table, "last_thread", RECORDING_THREAD_ID);
    stack = groups_column(c->m, table, "stack", RECORDING_STACK_ID);
    for (size_t row = 0; row < table->rows; row++) {
        if (groups_cell(last, row, 0) == 0 || groups_cell(suspending, row, 0) <= longest)
            continue;
        longest = groups_cell(suspending, row, 0);
        found = row;
    }
    if (longest == 0)
        return false;
    model_thread_title(c->m, &c->process->threads[groups_cell(last, found, 0)], thread,
                       sizeof thread);
    findings_show(c, f, "%s stopped last, after %.0f ms", thread, (double)longest / 1e6);
    if (groups_cell(stack, found, 0) != 0)
        findings_show_stack(c, f, (uint32_t)groups_cell(stack, found, 0));
    return true;
}

void findings_rule_pauses(findings_context *c)
{
    gc_sums s;
    finding *f;
    bool slow;

    if (!sum(c, &s) || (double)s.longest / 1e6 < findings_limit(c, THRESHOLD_PAUSE_LONG))
        return;
    slow = s.longest_suspending > s.longest / 2;
    if (slow && c->stops_late)
        return;
    f = findings_add(c,
                     (double)s.longest / 1e6 >= findings_limit(c, THRESHOLD_PAUSE_CRITICAL)
                         ? FINDINGS_CRITICAL
                         : FINDINGS_WARNING,
                     "a collection of generation %llu stopped every thread for %.0f ms, %.0f ms of "
                     "it until all had stopped",
                     (unsigned long long)s.longest_generation, (double)s.longest / 1e6,
                     (double)s.longest_suspending / 1e6);
    findings_show(c, f, "from %.2f s of the recording on", (double)s.longest_time / 1e9);
    findings_set_place(c, f, slow ? "suspending" : "");
    if (slow)
        findings_advise(c, f,
                        "Stopping took longest. %s the machine had no processor free for the "
                        "threads (look at its load and at the container's CPU limit), or a thread "
                        "ran long without letting itself be stopped: a native call marked "
                        "SuppressGCTransition, a very large copy.",
                        show_last(c, f) ? "The thread that came last is named above; either"
                                        : "Either");
    else
        findings_advise(c, f,
                        "Keep fewer objects alive, and avoid blocking collections of generation 2: "
                        "no GC.Collect, less churn of large objects, a memory limit that is not "
                        "too tight.");
}

static double number_of(const findings_context *c, const char *key)
{
    const char *text = model_info_value(c->m, c->process, key);

    return text == NULL ? 0 : strtod(text, NULL);
}

/* Many processors and one collecting thread; it matters only where collections take time. */
static void look_at_workstation(findings_context *c, double processors)
{
    double percent;
    gc_sums s;
    finding *f;

    if (processors < findings_limit(c, THRESHOLD_MODE_MANY) || !sum(c, &s))
        return;
    percent = 100.0 * (double)s.pause / 1e9 / c->seconds;
    if (percent < findings_limit(c, THRESHOLD_MODE_SHARE))
        return;
    f = findings_add(c, FINDINGS_WARNING,
                     "collections take %.1f %% of the time and are done by one thread (workstation "
                     "GC), though the program has %.0f processors",
                     percent, processors);
    findings_show(c, f, "%zu collections in %.1f s, longest pause %.1f ms", s.count, c->seconds,
                  (double)s.longest / 1e6);
    findings_set_place(c, f, "workstation");
    findings_advise(c, f,
                    "If this is a server, try server GC (ServerGarbageCollector in the project, or "
                    "DOTNET_gcServer=1): a heap and a collecting thread for each processor. It "
                    "takes more memory.");
}

/* A heap for each processor, and hardly any room or processors for them. */
static void look_at_server(findings_context *c, double processors)
{
    double memory_mb = number_of(c, "memory_limit") / (1 << 20);
    double least_mb = findings_limit(c, THRESHOLD_MODE_MEMORY);
    finding *f;

    if (processors >= findings_limit(c, THRESHOLD_MODE_FEW) &&
        (memory_mb <= 0 || memory_mb >= least_mb))
        return;
    f = findings_add(
        c, FINDINGS_INFO,
        "the program uses server GC, made for many processors and much memory, and may "
        "use %.1f processors",
        processors);
    if (memory_mb > 0)
        findings_show(c, f, "its memory is limited to %.0f MiB", memory_mb);
    findings_show(c, f, "%.1f processors, server GC", processors);
    findings_set_place(c, f, "server");
    findings_advise(
        c, f,
        "Try workstation GC (DOTNET_gcServer=0): it takes less memory and fewer threads. "
        "With server GC, DOTNET_GCHeapCount limits the heaps.");
}

void findings_rule_mode(findings_context *c)
{
    const char *mode = model_info_value(c->m, c->process, "gc_mode");
    double processors = number_of(c, "cpus");
    double limit = number_of(c, "cpu_limit");

    if (limit > 0 && limit < processors)
        processors = limit;
    if (mode == NULL || processors <= 0)
        return;
    if (text_equal(mode, "workstation"))
        look_at_workstation(c, processors);
    else if (text_equal(mode, "server"))
        look_at_server(c, processors);
}
