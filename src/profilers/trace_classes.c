/* trace_classes: see trace_classes.h. */
#include "profilers/trace_classes.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "agent/lock.h"
#include "base/memory.h"
#include "base/table.h"

enum { FREE, BUSY, ASKED, TAKEN, ANSWERED, UNANSWERED };
enum { WAIT_NS = 20000000, WAITS = 50, AGAIN = 16, NOBODY = 1 };

static trace_class *item_at(trace_classes *k, const trace_question *q, unsigned n)
{
    uint64_t hash = table_hash_u64((uintptr_t)q->capture ^ (uint64_t)q->class_id << 8 ^ q->rest);

    return &k->items[(hash + n) % TRACE_CLASSES];
}

const trace_shape *trace_classes_find(trace_classes *k, const trace_question *q)
{
    uint32_t epoch = atomic_load_explicit(&k->epoch, memory_order_acquire);

    for (unsigned n = 0; n < TRACE_CLASS_WINDOW; n++) {
        trace_class *c = item_at(k, q, n);
        uintptr_t capture = atomic_load_explicit(&c->capture, memory_order_acquire);

        const trace_shape *shape;

        if (capture == 0)
            return NULL;
        if (capture != (uintptr_t)q->capture || c->class_id != q->class_id || c->rest != q->rest ||
            c->epoch != epoch)
            continue;
        shape = c->shape;
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&c->capture, memory_order_relaxed) == capture)
            return shape;
    }
    return NULL;
}

/* ---- asking ---- */

/* Leaves the question; the own thread may have it just now, then its answer is waited for. */
static bool wait_for(trace_asked *a, const trace_counters *c)
{
    struct timespec moment = {0, WAIT_NS};

    for (unsigned n = 0;; n++) {
        int state = atomic_load(&a->state);
        int asked = ASKED;

        if (state == ANSWERED || state == UNANSWERED) {
            atomic_store(&a->state, FREE);
            return state == ANSWERED;
        }
        if ((n >= WAITS || !atomic_load(&c->active)) &&
            atomic_compare_exchange_strong(&a->state, &asked, FREE))
            return false;
        lock_wait(&a->state, state, &moment);
    }
}

int64_t trace_await_class(const trace_method *m)
{
    trace_counters *c = m->counters;
    trace_classes *k = c->classes;
    trace_thread *t = trace_this_thread();
    trace_question q;
    int64_t came;
    int saved;

    if (t == NULL || t->missing.capture == NULL || k == NULL)
        return 0;
    q = t->missing;
    t->missing.capture = NULL;
    if (!atomic_load(&c->active) || t->asked++ >= AGAIN)
        return 0;
    for (unsigned n = 0; n < TRACE_QUESTIONS; n++) {
        trace_asked *a = &k->asked[n];
        int free = FREE;

        if (!atomic_compare_exchange_strong(&a->state, &free, BUSY))
            continue;
        saved = errno;
        a->what = q;
        atomic_store(&a->state, ASKED);
        c->wake(c->wake_context);
        came = wait_for(a, c);
        errno = saved;
        return came;
    }
    return 0;
}

/* ---- own thread ---- */

static bool put(trace_classes *k, const trace_question *q, const trace_shape *shape)
{
    uint32_t epoch = atomic_load(&k->epoch);

    for (unsigned n = 0; n < TRACE_CLASS_WINDOW; n++) {
        trace_class *c = item_at(k, q, n);

        if (atomic_load(&c->capture) != 0 && c->epoch == epoch)
            continue;
        if (atomic_load(&c->capture) != 0)
            atomic_store(&c->capture, NOBODY); /* what was forgotten makes room */
        c->class_id = q->class_id;
        c->rest = q->rest;
        c->epoch = epoch;
        c->shape = shape;
        atomic_store_explicit(&c->capture, (uintptr_t)q->capture, memory_order_release);
        return true;
    }
    return false;
}

static bool answer(trace_classes *k, const clr_info *info, const char *redact,
                   const trace_question *q)
{
    trace_shape *shape;

    if (trace_classes_find(k, q) != NULL)
        return true;
    shape = memory_allocate_array(1, sizeof *shape);
    if (shape == NULL)
        return false;
    if (!trace_shape_of_class(info, redact, q->class_id & ~(uintptr_t)1, (q->class_id & 1) == 0,
                              q->capture->label, q->rest, shape))
        memset(shape, 0, sizeof *shape);
    if (put(k, q, shape))
        return true;
    memory_free(shape);
    return false;
}

void trace_classes_answer(trace_classes *k, const clr_info *info, const char *redact)
{
    for (unsigned n = 0; n < TRACE_QUESTIONS; n++) {
        trace_asked *a = &k->asked[n];
        int asked = ASKED;

        if (!atomic_compare_exchange_strong(&a->state, &asked, TAKEN))
            continue;
        atomic_store(&a->state, answer(k, info, redact, &a->what) ? ANSWERED : UNANSWERED);
        lock_wake(&a->state, 1);
    }
}

bool trace_classes_lack(trace_classes *k, const trace_capture *capture)
{
    uint32_t epoch = atomic_load(&k->epoch);
    bool asked = false;

    for (unsigned n = 0; n < TRACE_CLASSES; n++) {
        const trace_class *c = &k->items[n];

        if (atomic_load(&c->capture) != (uintptr_t)capture || c->epoch != epoch)
            continue;
        if (c->shape->leaf.kind != 0)
            return false;
        asked |= c->shape->onward == TRACE_ENDS;
    }
    return asked;
}

trace_classes *trace_classes_create(void)
{
    return memory_allocate_array(1, sizeof(trace_classes));
}

void trace_classes_forget(trace_classes *k)
{
    atomic_fetch_add(&k->epoch, 1);
}
