/*
 * threads_pool: the workers of the thread pool at one look: how many there are, how many have
 * nothing to do, and where the others block. A worker that blocks cannot run what it waits for.
 */
#include <string.h>

#include "analysis/threads.h"
#include "base/text.h"

bool threads_is_framework(const char *method)
{
    static const char *const STARTS[] = {"System.", "Microsoft.", "Interop", "Internal."};

    for (size_t i = 0; i < sizeof STARTS / sizeof *STARTS; i++)
        if (text_starts_with(method, STARTS[i]))
            return true;
    return false;
}

/* The program's own innermost method: the place that blocks. */
static uint32_t site_of(const threads_view *v, uint32_t stack)
{
    for (; stack != 0; stack = v->process->stack_parents[stack]) {
        const model_frame *frame = &v->process->frames[v->process->stack_frames[stack]];

        if (frame->kind == RECORDING_FRAME_MANAGED &&
            !threads_is_framework(
                model_text(v->model, v->process->functions[frame->function].name)))
            return v->process->stack_frames[stack];
    }
    return 0;
}

static bool is_blocked(threads_state state)
{
    return state != THREADS_RUNNING && state != THREADS_NATIVE && state != THREADS_POOL_IDLE;
}

/* It waits for a lock that is about to be given back: nobody has it just now, or who has it, or
 * who has what that one waits for, works, sleeps or reads, and needs no worker for that. */
static bool is_held_up(const threads_view *v, const threads_entry *t)
{
    enum { FARTHEST = 16 }; /* there may be a ring */

    for (int i = 0; i < FARTHEST; i++) {
        if ((t->state != THREADS_MONITOR && t->state != THREADS_LOCK) || t->owner_ended)
            return i != 0 &&
                   (!is_blocked(t->state) || t->state == THREADS_SLEEP || t->state == THREADS_IO);
        if (t->owner == 0)
            return true;
        t = threads_by_id(v, t->owner);
        if (t == NULL)
            return false;
    }
    return false;
}

static void add_site(threads_pool *pool, uint32_t frame, const threads_entry *t)
{
    size_t i = 0;

    while (i < pool->site_count &&
           (pool->sites[i].frame != frame || pool->sites[i].state != t->state))
        i++;
    if (i == THREADS_SITES)
        return;
    if (i == pool->site_count)
        pool->sites[pool->site_count++] = (threads_site){frame, t->object_type, t->state, 0};
    pool->sites[i].count++;
    for (; i > 0 && pool->sites[i].count > pool->sites[i - 1].count; i--) {
        threads_site other = pool->sites[i - 1];

        pool->sites[i - 1] = pool->sites[i];
        pool->sites[i] = other;
    }
}

void threads_find_pool(const threads_view *v, threads_pool *pool)
{
    memset(pool, 0, sizeof *pool);
    for (size_t i = 0; i < v->count; i++) {
        const threads_entry *t = &v->entries[i];

        if (!threads_stack_has(v, t->stack, "System.Threading.PortableThreadPool.WorkerThread.*") &&
            t->state != THREADS_POOL_IDLE)
            continue;
        pool->workers++;
        if (t->state == THREADS_POOL_IDLE) {
            pool->idle++;
        } else if (is_blocked(t->state)) {
            pool->blocked++;
            pool->held_up += is_held_up(v, t);
            add_site(pool, site_of(v, t->stack), t);
        }
    }
}

bool threads_pool_is_starved(const threads_pool *pool)
{
    size_t blocked = pool->blocked - pool->held_up;

    /* a few workers that block are nothing unusual; all but one of at least three are */
    return blocked >= 3 && pool->idle == 0 && blocked + 1 >= pool->workers;
}
