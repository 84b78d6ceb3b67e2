/* trace_counters: see trace_counters.h. */
#include "profilers/trace_counters.h"

#include <string.h>

#include "base/os.h"
#include "profilers/trace_capture.h"
#include "profilers/trace_clock.h"
#include "profilers/trace_deep.h"
#include "profilers/trace_exceptions.h"
#include "profilers/trace_memory.h"
#include "profilers/trace_tree.h"

static inline uint64_t ticks(const trace_counters *c)
{
    return trace_clock_ticks(c->counter);
}

static inline unsigned bucket_of(uint64_t time)
{
    unsigned octave, bucket;

    if (__builtin_expect(time < 1u << TRACE_LOWEST, 0))
        return 0;
    octave = 63u - (unsigned)__builtin_clzll(time);
    /* the shifted time has its highest bit in front of those that count: one octave too much */
    bucket = (octave << TRACE_SUB_BITS) + (unsigned)(time >> (octave - TRACE_SUB_BITS)) -
             ((TRACE_LOWEST + 1) << TRACE_SUB_BITS);
    return __builtin_expect(bucket < TRACE_BUCKETS, 1) ? bucket : TRACE_BUCKETS - 1;
}

uint64_t trace_bucket_ticks(unsigned bucket)
{
    unsigned octave = (bucket >> TRACE_SUB_BITS) + TRACE_LOWEST;
    uint64_t sub = bucket & ((1u << TRACE_SUB_BITS) - 1);

    if (bucket == 0)
        return 0;
    return 1ull << octave | sub << (octave - TRACE_SUB_BITS);
}

/* ---- counting ---- */

static void keep_time(trace_counters *c, trace_block *b, unsigned bucket)
{
    if (b->histogram == 0 && b->kept == TRACE_FEW)
        trace_memory_histogram(c, b);
    if (b->histogram == 0) {
        b->few[b->kept] = (uint16_t)bucket;
        __atomic_store_n(&b->kept, (uint16_t)(b->kept + 1), __ATOMIC_RELEASE);
    } else if (b->histogram != TRACE_NO_HISTOGRAM) {
        c->histograms[b->histogram - 1].buckets[bucket]++;
    }
}

static void raise_to(uint64_t *place, uint64_t value)
{
    uint64_t now = __atomic_load_n(place, __ATOMIC_RELAXED);

    while (value > now && !__atomic_compare_exchange_n(place, &now, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}

/* The thread could not have a block of its own. */
static void count_shared(trace_counters *c, const trace_method *m, uint64_t time, uint64_t self,
                         uint64_t failed)
{
    trace_block *b = trace_memory_shared(c, m->index);

    __atomic_fetch_add(&b->failures, failed, __ATOMIC_RELAXED);
    __atomic_fetch_add(&b->total, time, __ATOMIC_RELAXED);
    __atomic_fetch_add(&b->self, self, __ATOMIC_RELAXED);
    raise_to(&b->inverted_minimum, ~time);
    raise_to(&b->maximum, time);
    __atomic_fetch_add(&b->calls, 1, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void
count_in(trace_counters *c, trace_block *b, uint64_t time, uint64_t self, uint64_t failed)
{
    unsigned bucket = bucket_of(time);

    b->failures += failed;
    b->total += time;
    b->self += self;
    if (~time > b->inverted_minimum)
        b->inverted_minimum = ~time;
    if (time > b->maximum)
        b->maximum = time;
    if (b->histogram - 1 < TRACE_HISTOGRAMS)
        c->histograms[b->histogram - 1].buckets[bucket]++;
    else
        keep_time(c, b, bucket);
    __atomic_store_n(&b->calls, b->calls + 1,
                     __ATOMIC_RELEASE); /* last: whoever sees it sees all */
}

__attribute__((noinline)) static void count(trace_counters *c, trace_thread *t,
                                            const trace_method *m, uint64_t time, uint64_t inside,
                                            uint64_t failed)
{
    trace_block *b = trace_memory_block(c, t, m->index);
    uint64_t self = time > inside ? time - inside : 0;

    if (b == NULL)
        count_shared(c, m, time, self, failed);
    else
        count_in(c, b, time, self, failed);
}

/* The frame remembers where its method counts: the next call at this depth is most often one of the
 * same method. */
static inline __attribute__((always_inline)) void
count_frame(trace_counters *c, trace_thread *t, trace_frame *f, uint64_t time, uint64_t failed)
{
    uint64_t inside = f->inside;
    trace_block *b = &c->pool[(int)f->block - 1];

    if (__builtin_expect(f->block == 0 || b->method != f->method->index, 0)) {
        count(c, t, f->method, time, inside, failed);
        f->block = trace_memory_block_number(t, f->method->index);
        return;
    }
    count_in(c, b, time, time > inside ? time - inside : 0, failed);
}

void trace_count_untimed(trace_counters *c, trace_thread *t, const trace_method *m, uint64_t failed)
{
    trace_block *b = trace_memory_block(c, t, m->index);

    if (b == NULL) {
        b = trace_memory_shared(c, m->index);
        __atomic_fetch_add(&b->failures, failed, __ATOMIC_RELAXED);
        __atomic_fetch_add(&b->calls, 1, __ATOMIC_RELAXED);
        return;
    }
    b->calls++;
    b->failures += failed;
}

/* A call that has no frame: it counts, its time is not known. */
static void count_untimed(trace_counters *c, trace_thread *t, const trace_method *m,
                          uint64_t failed)
{
    atomic_fetch_add_explicit(&c->lost_depth, 1, memory_order_relaxed);
    trace_count_untimed(c, t, m, failed);
}

static void leave_untimed(trace_counters *c, trace_thread *t, const trace_method *m,
                          uint64_t failed)
{
    if (--t->depth <= t->untimed_from)
        t->untimed_from = 0;
    count_untimed(c, t, m, failed);
}

/* The frame on top is another method's: one between was left without a probe (it entered before
 * this session). Steps down to ours, or leaves everything as it is. */
static trace_frame *find_frame(trace_thread *t, const trace_method *m)
{
    for (uint32_t depth = t->depth; depth > 0; depth--) {
        trace_frame *f = trace_memory_frame(t, depth - 1);

        if (f->method == m) {
            t->depth = depth;
            return f;
        }
    }
    return NULL;
}

/* ---- for the other files of probes ---- */

trace_thread *trace_this_thread(void)
{
    return trace_memory_own();
}

uint64_t trace_now(const trace_counters *c)
{
    return ticks(c);
}

bool trace_is_counting(const trace_counters *c, const trace_thread *t)
{
    return t != NULL && atomic_load_explicit(&c->active, memory_order_relaxed) &&
           t->session == atomic_load_explicit(&c->session, memory_order_relaxed);
}

trace_frame *trace_running_frame(trace_thread *t, const trace_method *m)
{
    trace_frame *f;

    if (t == NULL || t->depth == 0 || (t->untimed_from != 0 && t->depth > t->untimed_from))
        return NULL;
    f = trace_memory_frame(t, t->depth - 1);
    return f->method == m ? f : NULL;
}

void trace_count(trace_counters *c, trace_thread *t, const trace_method *m, uint64_t time,
                 uint64_t inside, uint64_t failed)
{
    count(c, t, m, time, inside, failed);
}

void trace_count_completion(trace_counters *c, trace_thread *t, const trace_method *m)
{
    trace_block *b = trace_memory_block(c, t, m->index);

    if (b != NULL)
        b->completions++;
    else
        __atomic_fetch_add(&trace_memory_shared(c, m->index)->completions, 1, __ATOMIC_RELAXED);
}

void trace_count_failure(trace_counters *c, trace_thread *t, const trace_method *m)
{
    trace_block *b = trace_memory_block(c, t, m->index);

    if (b != NULL)
        b->failures++;
    else
        __atomic_fetch_add(&trace_memory_shared(c, m->index)->failures, 1, __ATOMIC_RELAXED);
}

/* ---- the probes ---- */

/* The first call of the thread in this session. */
__attribute__((noinline, cold)) static void begin(trace_thread *t, uint32_t session)
{
    t->session = session;
    t->depth = 0;
    t->untimed_from = 0;
    t->values_used = 0;
    t->deep_waits = 0;
    t->first_block = 0;
    t->exception_count = 0;
    t->root = 0;
    trace_memory_forget_blocks(t);
}

void trace_enter(const trace_method *m)
{
    trace_counters *c = m->counters;
    trace_thread *t = trace_memory_own();
    uint32_t session;
    trace_frame *f;

    if (!atomic_load_explicit(&c->active, memory_order_relaxed))
        return;
    if (t == NULL && (t = trace_memory_thread(c)) == NULL)
        return;
    session = atomic_load_explicit(&c->session, memory_order_relaxed);
    if (__builtin_expect(t->session != session, 0))
        begin(t, session);
    if (t->depth < TRACE_DEPTH) {
        f = &t->frames[t->depth];
    } else {
        trace_deep_entered(m, t);
        f = trace_memory_deep_frame(c, t);
        if (f == NULL) {
            t->depth++;
            return;
        }
    }
    t->asked = 0;
    f->method = m;
    f->inside = 0;
    f->values = t->values_used;
    if (__builtin_expect(c->tree != NULL, 0))
        trace_tree_enter(c, t, f);
    __atomic_store_n(&t->depth, t->depth + 1, __ATOMIC_RELEASE);
    f->start = ticks(c);
}

int64_t trace_enter_deep(const trace_method *m)
{
    trace_counters *c = m->counters;
    trace_thread *t = trace_memory_own();

    if (!atomic_load_explicit(&c->active, memory_order_relaxed))
        return 1;
    if (t != NULL && t->depth >= TRACE_SHALLOW &&
        t->session == atomic_load_explicit(&c->session, memory_order_relaxed) &&
        t->depth >= trace_memory_timed_calls(t)) {
        count_untimed(c, t, m, 0);
        return 1;
    }
    trace_enter(m);
    return 0;
}

static inline void leave(const trace_method *m, uint64_t failed)
{
    trace_counters *c = m->counters;
    uint64_t now = ticks(c);
    trace_thread *t = trace_memory_own();
    trace_frame *f;
    uint64_t time;

    if (!atomic_load_explicit(&c->active, memory_order_relaxed) || t == NULL ||
        t->session != atomic_load_explicit(&c->session, memory_order_relaxed) || t->depth == 0)
        return;
    if (t->untimed_from != 0 && t->depth > t->untimed_from) {
        leave_untimed(c, t, m, failed);
        return;
    }
    f = trace_memory_frame(t, t->depth - 1);
    if (f->method != m && (f = find_frame(t, m)) == NULL)
        return;
    t->depth--;
    time = now > f->start ? now - f->start : 0;
    if (t->depth > 0)
        trace_memory_frame(t, t->depth - 1)->inside += time;
    count_frame(c, t, f, time, failed);
    if (__builtin_expect(failed != 0, 0))
        trace_exceptions_count(c, t, m);
    if (__builtin_expect(c->tree != NULL, 0))
        trace_tree_leave(c, t, f, time);
    if (c->sink != NULL && time >= c->slower_than)
        trace_capture_left(c, t, f, time, failed != 0);
    t->values_used = f->values;
}

void trace_leave(const trace_method *m)
{
    leave(m, 0);
}

void trace_fail(const trace_method *m)
{
    leave(m, 1);
}

void trace_nothing(const trace_method *m)
{
    (void)m;
}

/* ---- own thread ---- */

__attribute__((cold)) void trace_counters_start(trace_counters *c)
{
    unsigned session = atomic_load(&c->session) % 255 + 1;

    trace_memory_begin(c);
    atomic_store(&c->lost_depth, 0);
    atomic_store(&c->lost_threads, 0);
    atomic_store(&c->lost_rate, 0);
    c->first_ticks = ticks(c);
    c->first_ns = os_monotonic_ns();
    atomic_store(&c->session, session);
    atomic_store(&c->active, true);
}

void trace_counters_stop(trace_counters *c)
{
    atomic_store(&c->active, false);
}

/* Calls of one method inside each other are told at once. */
static void each_running(const trace_thread *t, void *context,
                         void (*running)(void *context, uint32_t method, uint32_t count))
{
    uint32_t depth = __atomic_load_n(&t->depth, __ATOMIC_ACQUIRE);
    const trace_method *last = NULL;
    uint32_t same = 0;

    for (uint32_t n = 0; n < depth; n++) {
        const trace_frame *f = trace_memory_frame(t, n);

        if (f == NULL || f->method == NULL)
            break;
        if (f->method != last && last != NULL) {
            running(context, last->index, same);
            same = 0;
        }
        last = f->method;
        same++;
    }
    if (last != NULL)
        running(context, last->index, same);
}

__attribute__((cold)) void
trace_counters_each_running(trace_counters *c, void *context,
                            void (*running)(void *context, uint32_t method, uint32_t count))
{
    uint32_t session = atomic_load(&c->session);
    trace_thread *t = atomic_load_explicit(&c->threads, memory_order_acquire);

    for (; t != NULL; t = t->next)
        if (__atomic_load_n(&t->session, __ATOMIC_RELAXED) == session && !t->retired)
            each_running(t, context, running);
}

__attribute__((cold)) void
trace_counters_each(trace_counters *c, void *context,
                    void (*block)(void *context, const trace_block *block),
                    void (*running)(void *context, uint32_t method, uint32_t count))
{
    uint32_t session = atomic_load(&c->session);
    uint32_t shared_end = atomic_load(&c->shared_end);
    trace_thread *t = atomic_load_explicit(&c->threads, memory_order_acquire);

    trace_counters_each_running(c, context, running);
    for (; t != NULL; t = t->next) {
        uint32_t number = __atomic_load_n(&t->first_block, __ATOMIC_ACQUIRE);

        if (__atomic_load_n(&t->session, __ATOMIC_RELAXED) != session)
            continue;
        while (number != 0 && number <= TRACE_BLOCKS) {
            const trace_block *b = &c->pool[number - 1];

            block(context, b);
            number = b->next;
        }
    }
    for (uint32_t n = 0; n < shared_end; n++)
        if (__atomic_load_n(&c->shared[n].calls, __ATOMIC_ACQUIRE) != 0)
            block(context, &c->shared[n]);
}

__attribute__((cold)) void trace_counters_times(const trace_counters *c, const trace_block *b,
                                                uint64_t *buckets)
{
    uint32_t histogram = __atomic_load_n(&b->histogram, __ATOMIC_ACQUIRE);
    uint32_t kept = __atomic_load_n(&b->kept, __ATOMIC_ACQUIRE);

    if (histogram - 1 < TRACE_HISTOGRAMS) {
        for (unsigned k = 0; k < TRACE_BUCKETS; k++)
            buckets[k] += c->histograms[histogram - 1].buckets[k];
        return;
    }
    for (uint32_t n = 0; n < kept && n < TRACE_FEW; n++)
        buckets[b->few[n]]++;
}

__attribute__((cold)) double trace_tick_ns(const trace_counters *c)
{
    uint64_t passed = ticks(c) - c->first_ticks;
    uint64_t ns = os_monotonic_ns() - c->first_ns;

    return passed == 0 ? 1.0 : (double)ns / (double)passed;
}

__attribute__((cold)) double trace_measure_tick_ns(const trace_counters *c)
{
    uint64_t ns = os_monotonic_ns();
    uint64_t from = ticks(c);

    while (os_monotonic_ns() - ns < 2000000) {
    }
    return (double)(os_monotonic_ns() - ns) / (double)(ticks(c) - from);
}
