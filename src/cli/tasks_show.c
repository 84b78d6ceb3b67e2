/* tasks_show: see tasks_show.h. */
#include "cli/tasks_show.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/threads_show.h"
#include "report/heap_report.h"
#include "report/json.h"
#include "report/sink.h"
#include "report/tasks_json.h"

enum { MOST_STEPS = 60 }; /* of a chain, in words */

typedef struct {
    const tasks_view *v;
    const threads_view *threads;
    const tasks_show_options *o;
    threads_pool pool;
    sink *out;
} showing;

/* "  Orders.cs:17", where the line is known. */
static void put_line_of(const showing *s, const model_frame *frame)
{
    const char *file = model_text(s->v->h->m, frame->file);
    const char *slash = strrchr(file, '/');

    if (frame->line == 0)
        return;
    sink_text(s->out, "  ");
    heap_report_clean(s->out, slash == NULL ? file : slash + 1);
    sink_format(s->out, ":%u", (unsigned)frame->line);
}

static const char *step_text(const showing *s, const tasks_step *step, buffer *out)
{
    buffer_clear(out);
    tasks_step_text(s->v, step, out);
    return buffer_text(out);
}

static bool is_shown(const showing *s, const tasks_group *g)
{
    const char *filter = s->o->filter;
    buffer name = BUFFER_EMPTY;
    bool shown = filter == NULL || text_matches(tasks_wait_word(g->wait), filter) ||
                 text_matches(model_text(s->v->h->m, g->type), filter);

    for (size_t i = 0; !shown && i < g->count; i++)
        shown = text_matches(step_text(s, &s->v->steps[g->first + i], &name), filter);
    buffer_free(&name);
    return shown;
}

/* ---- words ---- */

static void put_time(sink *out, const char *before, uint64_t ms)
{
    if (ms >= 3600000)
        sink_format(out, "%s%.4g h", before, (double)ms / 3.6e6);
    else if (ms >= 1000)
        sink_format(out, "%s%.4g s", before, (double)ms / 1e3);
    else
        sink_format(out, "%s%llu ms", before, (unsigned long long)ms);
}

static void put_step(const showing *s, const tasks_step *step)
{
    const model_frame *frame = &s->v->h->p->frames[step->frame];
    buffer name = BUFFER_EMPTY;

    sink_text(s->out, "    ");
    heap_report_clean(s->out, step_text(s, step, &name));
    if (step->has_line)
        put_line_of(s, frame);
    if (step->times > 1)
        sink_format(s->out, "  (%u times in a row)", (unsigned)step->times);
    sink_text(s->out, "\n");
    buffer_free(&name);
}

/* A ring is written once round: who its last method is awaited by stands first. */
static void put_ring_end(const showing *s, const tasks_group *g)
{
    const tasks_step *first = &s->v->steps[g->first];
    buffer name = BUFFER_EMPTY;

    if (g->ring == 1 && first->times == 1) {
        sink_text(s->out, "    (which awaits itself)\n");
    } else {
        sink_text(s->out, "    (which ");
        heap_report_clean(s->out, step_text(s, first, &name));
        sink_text(s->out, " above awaits: a ring)\n");
    }
    buffer_free(&name);
}

static void put_group(const showing *s, const tasks_group *g)
{
    const model *m = s->v->h->m;

    sink_format(s->out,
                tasks_is_unawaited(g) ? "%llu x %s that nobody awaits" : "%llu x waiting for %s",
                (unsigned long long)g->chains, tasks_wait_text(g->wait));
    if (g->due_ms != 0)
        put_time(s->out, " of ", g->least_ms);
    if (g->least_ms != g->due_ms)
        put_time(s->out, " to ", g->due_ms);
    if (g->age_ms >= 1000)
        put_time(s->out, g->chains == 1 ? ", for " : ", the oldest for ", g->age_ms);
    if (g->wait == TASKS_SOURCE || g->wait == TASKS_TASK || g->wait == TASKS_CHANNEL) {
        sink_text(s->out, " (");
        heap_report_clean(s->out, model_text(m, g->type));
        sink_char(s->out, ')');
    }
    if (g->lost != 0)
        sink_format(s->out, "; %llu of them that nothing can complete any more",
                    (unsigned long long)g->lost);
    if (s->v->was_compared)
        sink_format(s->out, "; %llu stuck", (unsigned long long)g->stuck);
    sink_text(s->out, "\n");
    for (size_t i = 0; i < g->count; i++) {
        if (g->count > MOST_STEPS && i == MOST_STEPS / 2) {
            sink_format(s->out, "    (%zu further ones)\n", g->count - MOST_STEPS);
            i = g->count - MOST_STEPS / 2;
        }
        put_step(s, &s->v->steps[g->first + i]);
        if (i + 1 == g->ring)
            put_ring_end(s, g);
    }
    if (g->end == TASKS_THREAD)
        sink_text(s->out, "    (a thread blocks on it)\n");
    else if (g->end == TASKS_CALLBACK)
        sink_text(s->out, "    (a callback comes next)\n");
    sink_text(s->out, "\n");
}

static void put_sites(const showing *s)
{
    char text[256];

    for (size_t i = 0; i < s->pool.site_count; i++) {
        const threads_site *site = &s->pool.sites[i];
        const model_frame *frame = &s->v->h->p->frames[site->frame];

        sink_format(s->out, "    %zu x %s in ", site->count, threads_state_name(site->state));
        heap_report_clean(s->out, threads_show_site(s->threads, site, text, sizeof text));
        put_line_of(s, frame);
        sink_text(s->out, "\n");
    }
}

static bool is_starved(const showing *s)
{
    return s->threads != NULL && threads_pool_is_starved(&s->pool);
}

/* How fast the pool has grown, or shrunk. */
static double workers_a_second(const showing *s)
{
    const tasks_pool *p = &s->v->pool;

    return s->o->apart > 0 ? ((double)p->existing - (double)p->before) / s->o->apart : 0;
}

static void put_pool(const showing *s)
{
    const tasks_pool *p = &s->v->pool;

    if (is_starved(s))
        sink_format(s->out,
                    "THREAD POOL STARVED: %zu of %zu workers block, and what they wait for may "
                    "need a worker\n",
                    s->pool.blocked, s->pool.workers);
    if (p->is_known)
        sink_format(s->out,
                    "Thread pool: %llu workers, %llu at work (it keeps at least %llu); %llu items "
                    "wait in its queues\n",
                    (unsigned long long)p->existing, (unsigned long long)p->working,
                    (unsigned long long)p->minimum,
                    (unsigned long long)p->queued + p->queued_local);
    if (p->is_known && s->v->was_compared && p->existing > p->before)
        sink_format(s->out, "It added %llu workers in %.1f s: %.1f a second\n",
                    (unsigned long long)(p->existing - p->before), s->o->apart,
                    workers_a_second(s));
    if (s->pool.blocked != 0) {
        sink_format(s->out, "%zu workers block:\n", s->pool.blocked);
        put_sites(s);
    }
    sink_text(s->out, "\n");
}

static void put_lost(const showing *s)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < s->v->group_count; i++)
        lost += s->v->groups[i].lost;
    if (lost != 0)
        sink_format(s->out,
                    "NEVER TO BE COMPLETED: %llu waits for a TaskCompletionSource that nothing but "
                    "the waiters refers to\n\n",
                    (unsigned long long)lost);
    if (s->v->not_checked != 0)
        sink_format(s->out,
                    "%llu further waits for a TaskCompletionSource were not checked for that: too "
                    "many\n\n",
                    (unsigned long long)s->v->not_checked);
}

static void put_rings(const showing *s)
{
    if (s->v->rings != 0)
        sink_format(
            s->out,
            "DEADLOCK: async methods await each other, for ever, in %llu ring%s of tasks\n\n",
            (unsigned long long)s->v->rings, s->v->rings == 1 ? "" : "s");
}

static void put_words(const showing *s)
{
    const tasks_view *v = s->v;
    size_t shown = 0, left = 0;

    heap_report_clean(s->out, model_text(v->h->m, v->h->p->name));
    sink_format(s->out, " (%llu): %llu %s not done, in %zu kind%s of chains",
                (unsigned long long)v->h->p->pid, (unsigned long long)v->incomplete,
                v->incomplete == 1 ? "task is" : "tasks are", v->group_count,
                v->group_count == 1 ? "" : "s");
    sink_format(s->out, "; the program stood still for %.1f ms\n\n",
                (double)v->h->snapshot->walk_ns / 1e6);
    put_pool(s);
    put_rings(s);
    put_lost(s);
    for (size_t i = 0; i < v->group_count; i++) {
        if (!is_shown(s, &v->groups[i]))
            continue;
        if (shown++ < s->o->top)
            put_group(s, &v->groups[i]);
        else
            left++;
    }
    if (left != 0)
        sink_format(s->out, "%zu further kind%s of chains %s left out (--top)\n", left,
                    left == 1 ? "" : "s", left == 1 ? "is" : "are");
    if (v->chains_left_out != 0)
        sink_format(s->out, "chains beyond the first %llu were not followed\n",
                    (unsigned long long)v->chains);
    if (v->runtime_async != 0)
        sink_format(s->out,
                    "%llu tasks of methods that the runtime itself suspends (runtime-async): what "
                    "these await is not known\n",
                    (unsigned long long)v->runtime_async);
    if (v->was_compared)
        sink_format(s->out, "stuck: the same chain of the same objects %.4g s before\n",
                    s->o->apart);
}

/* ---- for machines ---- */

static void put_pool_json(const showing *s, json *j)
{
    const tasks_pool *p = &s->v->pool;

    json_begin_object_at(j, "thread_pool");
    if (s->threads != NULL)
        threads_show_pool(j, s->threads);
    if (p->is_known) {
        json_put_u64(j, "existing", p->existing);
        json_put_u64(j, "working", p->working);
        json_put_u64(j, "minimum", p->minimum);
        json_put_u64(j, "maximum", p->maximum);
        if (s->v->was_compared) {
            json_put_u64(j, "existing_before", p->before);
            json_put_f64(j, "added_per_second", workers_a_second(s));
        }
    }
    json_put_u64(j, "queued", p->queued + p->queued_local);
    json_end_object(j);
}

static void put_json(const showing *s)
{
    const tasks_view *v = s->v;
    size_t shown = 0;
    json j;

    json_init(&j, s->out);
    json_begin_object(&j);
    json_put_u64(&j, "pid", v->h->p->pid);
    json_put_text(&j, "name", model_text(v->h->m, v->h->p->name));
    json_put_u64(&j, "incomplete", v->incomplete);
    json_put_u64(&j, "complete", v->complete);
    json_put_u64(&j, "rings", v->rings);
    json_put_u64(&j, "runtime_async", v->runtime_async);
    json_put_u64(&j, "suspension_us", v->h->snapshot->walk_ns / 1000);
    put_pool_json(s, &j);
    json_begin_array_at(&j, "chains");
    for (size_t i = 0; i < v->group_count; i++)
        if (is_shown(s, &v->groups[i]) && shown++ < s->o->top)
            tasks_json_group(v, &v->groups[i], &j);
    json_end_array(&j);
    json_put_u64(&j, "chains_left_out", v->chains_left_out);
    json_put_u64(&j, "not_checked", v->not_checked);
    json_end_object(&j);
    sink_text(s->out, "\n");
    json_free(&j);
}

int tasks_show(const tasks_view *view, const threads_view *threads,
               const tasks_show_options *options, error *e)
{
    showing s = {.v = view, .threads = threads, .o = options};
    sink out;
    int code;

    sink_init(&out, 1);
    s.out = &out;
    if (threads != NULL)
        threads_find_pool(threads, &s.pool);
    if (options->json)
        put_json(&s);
    else
        put_words(&s);
    code = sink_finish(&out, e);
    sink_free(&out);
    return code;
}
