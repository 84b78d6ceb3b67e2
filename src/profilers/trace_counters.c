/* trace_counters: see trace_counters.h. */
#include "profilers/trace_counters.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"
#include "cil/signature.h"

/* Global-dynamic: a musl host refuses the initial-exec model in a library that comes later. */
static _Thread_local trace_thread *this_thread __attribute__((tls_model("global-dynamic")));

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return os_monotonic_ns();
#endif
}

static inline unsigned bucket_of(uint64_t time)
{
    unsigned octave, sub;

    if (time < 1u << TRACE_LOWEST)
        return 0;
    octave = 63u - (unsigned)__builtin_clzll(time);
    sub = (unsigned)(time >> (octave - TRACE_SUB_BITS)) & ((1u << TRACE_SUB_BITS) - 1);
    octave -= TRACE_LOWEST;
    if (octave >= TRACE_OCTAVES)
        return TRACE_BUCKETS - 1;
    return octave << TRACE_SUB_BITS | sub;
}

uint64_t trace_bucket_ticks(unsigned bucket)
{
    unsigned octave = (bucket >> TRACE_SUB_BITS) + TRACE_LOWEST;
    uint64_t sub = bucket & ((1u << TRACE_SUB_BITS) - 1);

    if (bucket == 0)
        return 0;
    return 1ull << octave | sub << (octave - TRACE_SUB_BITS);
}

/* ---- slow paths of the probes ---- */

static trace_thread *make_thread(trace_counters *c)
{
    trace_thread *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    trace_thread *first;

    if (t == MAP_FAILED) {
        atomic_fetch_add_explicit(&c->lost_threads, 1, memory_order_relaxed);
        return NULL;
    }
    t->thread_id = (uint32_t)os_thread_id();
    this_thread = t;
    first = atomic_load_explicit(&c->threads, memory_order_relaxed);
    do
        t->next = first;
    while (!atomic_compare_exchange_weak_explicit(&c->threads, &first, t, memory_order_release,
                                                  memory_order_relaxed));
    atomic_fetch_add_explicit(&c->thread_count, 1, memory_order_relaxed);
    return t;
}

static trace_block *make_block(trace_counters *c, trace_thread *t, uint32_t method)
{
    uint32_t number = atomic_fetch_add_explicit(&c->pool_used, 1, memory_order_relaxed);
    trace_block *b;

    if (number >= c->pool_size) {
        atomic_store_explicit(&c->pool_used, c->pool_size, memory_order_relaxed);
        return NULL;
    }
    b = &c->pool[number];
    memset(b, 0, sizeof *b);
    b->minimum = UINT64_MAX;
    b->method = method;
    b->next = t->first_block;
    t->blocks[method] = t->session << 24 | (number + 1);
    __atomic_store_n(&t->first_block, number + 1, __ATOMIC_RELEASE);
    return b;
}

static inline trace_block *block_of(trace_counters *c, trace_thread *t, const trace_method *m)
{
    uint32_t entry = t->blocks[m->index];

    return entry >> 24 == t->session && (entry & 0xFFFFFF) != 0 ? &c->pool[(entry & 0xFFFFFF) - 1]
                                                                : make_block(c, t, m->index);
}

static void count(trace_counters *c, trace_thread *t, const trace_method *m, uint64_t time,
                  uint64_t inside, uint64_t failed)
{
    trace_block *b = block_of(c, t, m);

    if (b == NULL) {
        atomic_fetch_add_explicit(&c->lost_blocks, 1, memory_order_relaxed);
        return;
    }
    b->calls++;
    b->failures += failed;
    b->total += time;
    b->self += time > inside ? time - inside : 0;
    if (time < b->minimum)
        b->minimum = time;
    if (time > b->maximum)
        b->maximum = time;
    b->buckets[bucket_of(time)]++;
}

/* The frame on top is another method's: one between was left without a probe (it entered before
 * this session). Steps down to ours, or leaves everything as it is. */
static bool find_frame(trace_thread *t, const trace_method *m)
{
    for (uint32_t depth = t->depth; depth > 0; depth--) {
        if (depth <= TRACE_DEPTH && t->frames[depth - 1].method == m) {
            t->depth = depth;
            return true;
        }
    }
    return false;
}

/* Hands a call to the sink while the allowance lasts. */
static void offer(trace_counters *c, const trace_thread *t, const trace_frame *f, uint64_t time,
                  bool failed)
{
    if (atomic_load_explicit(&c->allowance, memory_order_relaxed) <= 0 ||
        atomic_fetch_sub_explicit(&c->allowance, 1, memory_order_relaxed) <= 0)
        return;
    c->sink(c->sink_context, f->method, t, f->start, time, failed, t->values + f->values,
            t->values_used - f->values);
}

static void put_value(trace_thread *t, uint8_t number, uint8_t kind, const void *bytes,
                      size_t length)
{
    uint8_t *p = t->values + t->values_used;

    if (t->values_used + 4 + length > TRACE_VALUES)
        return;
    p[0] = number;
    p[1] = kind;
    p[2] = (uint8_t)length;
    p[3] = (uint8_t)(length >> 8);
    if (length != 0)
        memcpy(p + 4, bytes, length);
    t->values_used += (uint32_t)(4 + length);
}

/* No collection can run while a probe does, so the object stays where it is. */
static void put_string(const trace_counters *c, trace_thread *t, uint8_t number, uintptr_t object)
{
    uint32_t length;

    memcpy(&length, (const void *)(object + c->string_length), sizeof length);
    if (length > TRACE_STRING_UNITS)
        put_value(t, number, TRACE_KIND_CUT_STRING, (const void *)(object + c->string_start),
                  TRACE_STRING_UNITS * 2);
    else
        put_value(t, number, CIL_TYPE_STRING, (const void *)(object + c->string_start),
                  (size_t)length * 2);
}

/* Bytes of a value of this kind; 0 = only whether it is null can be told. */
static size_t size_of_kind(uint8_t kind)
{
    switch (kind) {
    case CIL_TYPE_BOOLEAN:
    case CIL_TYPE_I1:
    case CIL_TYPE_U1:
        return 1;
    case CIL_TYPE_CHAR:
    case CIL_TYPE_I2:
    case CIL_TYPE_U2:
        return 2;
    case CIL_TYPE_I4:
    case CIL_TYPE_U4:
    case CIL_TYPE_R4:
        return 4;
    case CIL_TYPE_I8:
    case CIL_TYPE_U8:
    case CIL_TYPE_R8:
    case CIL_TYPE_INT_PTR:
    case CIL_TYPE_UINT_PTR:
    case TRACE_KIND_DATE_TIME:
    case TRACE_KIND_TIME_SPAN:
        return 8;
    case TRACE_KIND_GUID:
        return 16;
    default:
        return 0;
    }
}

/* ---- the probes ---- */

void trace_value(const trace_method *m, int64_t what, int64_t address)
{
    trace_counters *c = m->counters;
    trace_thread *t = this_thread;
    uint8_t number = (uint8_t)what;
    uint8_t kind = (uint8_t)(what >> 8);
    size_t size = size_of_kind(kind);
    uintptr_t object;

    if (!atomic_load_explicit(&c->active, memory_order_relaxed) || c->sink == NULL || t == NULL ||
        t->depth == 0 || t->depth > TRACE_DEPTH || t->frames[t->depth - 1].method != m ||
        (uint64_t)address < 4096)
        return;
    if (size != 0) {
        put_value(t, number, kind, (const void *)(uintptr_t)address, size);
        return;
    }
    memcpy(&object, (const void *)(uintptr_t)address, sizeof object);
    if (object == 0)
        put_value(t, number, TRACE_KIND_NULL, NULL, 0);
    else if (kind == CIL_TYPE_STRING)
        put_string(c, t, number, object);
    else
        put_value(t, number, CIL_TYPE_OBJECT, NULL, 0);
}

void trace_enter(const trace_method *m)
{
    trace_counters *c = m->counters;
    trace_thread *t = this_thread;
    uint32_t session;
    trace_frame *f;

    if (!atomic_load_explicit(&c->active, memory_order_relaxed))
        return;
    if (t == NULL && (t = make_thread(c)) == NULL)
        return;
    session = atomic_load_explicit(&c->session, memory_order_relaxed);
    if (t->session != session) {
        t->session = session;
        t->depth = 0;
        t->values_used = 0;
        t->first_block = 0;
    }
    if (t->depth >= TRACE_DEPTH) {
        t->depth++;
        return;
    }
    f = &t->frames[t->depth];
    f->method = m;
    f->inside = 0;
    f->values = t->values_used;
    __atomic_store_n(&t->depth, t->depth + 1, __ATOMIC_RELEASE);
    f->start = ticks();
}

static inline void leave(const trace_method *m, uint64_t failed)
{
    uint64_t now = ticks();
    trace_counters *c = m->counters;
    trace_thread *t = this_thread;
    trace_frame *f;
    uint64_t time;

    if (!atomic_load_explicit(&c->active, memory_order_relaxed) || t == NULL ||
        t->session != atomic_load_explicit(&c->session, memory_order_relaxed) || t->depth == 0)
        return;
    if (t->depth > TRACE_DEPTH) {
        t->depth--;
        atomic_fetch_add_explicit(&c->lost_depth, 1, memory_order_relaxed);
        return;
    }
    if (t->frames[t->depth - 1].method != m && !find_frame(t, m))
        return;
    f = &t->frames[--t->depth];
    time = now > f->start ? now - f->start : 0;
    if (t->depth > 0)
        t->frames[t->depth - 1].inside += time;
    count(c, t, m, time, f->inside, failed);
    if (c->sink != NULL && time >= c->slower_than)
        offer(c, t, f, time, failed != 0);
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

void trace_leave_step(const trace_method *m, int64_t state)
{
    trace_thread *t = this_thread;
    trace_block *b;

    leave(m, 0);
    if (state != -2 || t == NULL ||
        !atomic_load_explicit(&m->counters->active, memory_order_relaxed) ||
        t->session != atomic_load_explicit(&m->counters->session, memory_order_relaxed))
        return;
    b = block_of(m->counters, t, m);
    if (b != NULL)
        b->completions++;
}

void trace_fail_step(const trace_method *m)
{
    trace_thread *t = this_thread;
    trace_block *b;

    if (t == NULL || !atomic_load_explicit(&m->counters->active, memory_order_relaxed) ||
        t->session != atomic_load_explicit(&m->counters->session, memory_order_relaxed))
        return;
    b = block_of(m->counters, t, m);
    if (b != NULL)
        b->failures++;
}

/* ---- own thread ---- */

bool trace_counters_open(trace_counters *c)
{
    void *pool;

    if (c->pool != NULL)
        return true;
    pool = mmap(NULL, TRACE_POOL_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool == MAP_FAILED)
        return false;
    c->pool = pool;
    c->pool_size = TRACE_POOL_BYTES / sizeof *c->pool;
    return true;
}

void trace_counters_start(trace_counters *c)
{
    unsigned session = atomic_load(&c->session) % 255 + 1;

    atomic_store(&c->pool_used, 0);
    atomic_store(&c->lost_blocks, 0);
    atomic_store(&c->lost_depth, 0);
    atomic_store(&c->lost_threads, 0);
    c->first_ticks = ticks();
    c->first_ns = os_monotonic_ns();
    atomic_store(&c->session, session);
    atomic_store(&c->active, true);
}

void trace_counters_stop(trace_counters *c)
{
    atomic_store(&c->active, false);
}

static bool is_alive(uint32_t thread_id)
{
    char path[64] = "/proc/self/task/";
    size_t length = strlen(path);
    char digits[12];
    size_t count_digits = 0;

    for (; thread_id != 0; thread_id /= 10)
        digits[count_digits++] = (char)('0' + thread_id % 10);
    while (count_digits > 0)
        path[length++] = digits[--count_digits];
    path[length] = '\0';
    return access(path, F_OK) == 0;
}

/* A thread that is gone is taken out of the list when its counters are not needed any more. Only
 * the head can change under us, so it stays until another one is pushed before it. */
void trace_counters_sweep(trace_counters *c, bool all)
{
    trace_thread *before = atomic_load_explicit(&c->threads, memory_order_acquire);

    while (before != NULL && before->next != NULL) {
        trace_thread *t = before->next;

        if (!t->retired)
            t->retired = !is_alive(t->thread_id);
        if (t->retired && (all || t->session != atomic_load(&c->session))) {
            before->next = t->next;
            munmap(t, sizeof *t);
            atomic_fetch_sub(&c->thread_count, 1);
        } else {
            before = t;
        }
    }
    if (all && c->pool != NULL)
        madvise(c->pool, TRACE_POOL_BYTES, MADV_DONTNEED);
}

void trace_counters_each(trace_counters *c, void *context,
                         void (*block)(void *context, const trace_block *block),
                         void (*running)(void *context, uint32_t method))
{
    uint32_t session = atomic_load(&c->session);
    trace_thread *t = atomic_load_explicit(&c->threads, memory_order_acquire);

    for (; t != NULL; t = t->next) {
        uint32_t depth = __atomic_load_n(&t->depth, __ATOMIC_ACQUIRE);
        uint32_t number = __atomic_load_n(&t->first_block, __ATOMIC_ACQUIRE);

        if (__atomic_load_n(&t->session, __ATOMIC_RELAXED) != session)
            continue;
        for (uint32_t n = 0; n < depth && n < TRACE_DEPTH && !t->retired; n++)
            if (t->frames[n].method != NULL)
                running(context, t->frames[n].method->index);
        while (number != 0 && number <= c->pool_size) {
            const trace_block *b = &c->pool[number - 1];

            block(context, b);
            number = b->next;
        }
    }
}

double trace_tick_ns(const trace_counters *c)
{
    uint64_t passed = ticks() - c->first_ticks;
    uint64_t ns = os_monotonic_ns() - c->first_ns;

    return passed == 0 ? 1.0 : (double)ns / (double)passed;
}

double trace_measure_tick_ns(void)
{
    uint64_t ns = os_monotonic_ns();
    uint64_t from = ticks();

    while (os_monotonic_ns() - ns < 2000000) {
    }
    return (double)(os_monotonic_ns() - ns) / (double)(ticks() - from);
}
