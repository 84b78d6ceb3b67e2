/* trace_memory: see trace_memory.h. */
#include "profilers/trace_memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os.h"
#include "profilers/trace_clock.h"

enum {
    NO_BLOCK = 0xFFFFFF,
    USUAL_STACK = 8 << 20,
    MOST_STACK = 1 << 30,
    STACK_FOR_A_CALL = 2048, /* a traced call takes up to 80 bytes more: 4 % */
};

trace_memory_keys trace_keys;

trace_memory_place trace_places[TRACE_PLACES];

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static const size_t POOL_BYTES = TRACE_BLOCKS * sizeof(trace_block);
static const size_t HISTOGRAM_BYTES = TRACE_HISTOGRAMS * sizeof(trace_histogram);
static const size_t SHARED_BYTES = TRACE_METHODS * sizeof(trace_block);

/* ---- own thread ---- */

/* The shared blocks are not in it: touched only for methods that overflow, a page at a time. */
ptrdiff_t trace_memory_bytes(void)
{
    return (ptrdiff_t)(POOL_BYTES + HISTOGRAM_BYTES);
}

static bool has_keys;

static void take_place(trace_thread *t)
{
    uintptr_t thread = trace_memory_register();
    uintptr_t none = 0;
    trace_memory_place *place = trace_memory_place_of(thread);

    if (atomic_compare_exchange_strong(&place->thread, &none, thread))
        place->part = t;
}

/* The thread ends: the next one may have the same register. */
static void leave_place(void *part)
{
    uintptr_t thread = trace_memory_register();
    trace_memory_place *place = trace_memory_place_of(thread);

    (void)part;
    if (atomic_load(&place->thread) == thread) {
        place->part = NULL;
        atomic_store(&place->thread, 0);
    }
}

static bool make_keys(void)
{
    if (has_keys)
        return true;
    if (pthread_key_create(&trace_keys.part, leave_place) != 0)
        return false;
    if (pthread_key_create(&trace_keys.number, NULL) != 0) {
        pthread_key_delete(trace_keys.part);
        return false;
    }
    return has_keys = true;
}

bool trace_memory_open(trace_counters *c)
{
    if (c->pool != NULL)
        return true;
    if (!make_keys())
        return false;
    c->histograms = c->histograms == NULL ? map(HISTOGRAM_BYTES) : c->histograms;
    c->shared = c->shared == NULL ? map(SHARED_BYTES) : c->shared;
    if (c->histograms == NULL || c->shared == NULL)
        return false;
    c->counter = trace_clock_has_counter();
    c->pool = map(POOL_BYTES);
    return c->pool != NULL;
}

void trace_memory_begin(trace_counters *c)
{
    atomic_store(&c->pool_used, 0);
    atomic_store(&c->histograms_used, 0);
    atomic_store(&c->shared_end, 0);
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

static size_t segment_bytes(unsigned segment)
{
    return ((size_t)TRACE_DEPTH << segment) * sizeof(trace_frame);
}

/* Of a thread that is gone. */
static void free_segments(trace_counters *c, trace_thread *t)
{
    for (unsigned n = 0; n < TRACE_SEGMENTS; n++) {
        if (t->segments[n] == NULL)
            continue;
        munmap(t->segments[n], segment_bytes(n));
        t->segments[n] = NULL;
        atomic_fetch_sub(&c->deep_bytes, (unsigned)segment_bytes(n));
    }
}

static void free_thread(trace_counters *c, trace_thread *t)
{
    free_segments(c, t);
    munmap(t, sizeof *t);
    atomic_fetch_sub(&c->thread_count, 1);
}

/* A thread that is gone is taken out of the list when its counters are not needed any more. Only
 * the head can change under us, so it stays until another one is pushed before it. */
void trace_memory_sweep(trace_counters *c, bool all)
{
    trace_thread *before = atomic_load_explicit(&c->threads, memory_order_acquire);

    while (before != NULL && before->next != NULL) {
        trace_thread *t = before->next;

        if (!t->retired && (t->retired = !is_alive(t->thread_id)))
            free_segments(c, t);
        if (t->retired && (all || t->session != atomic_load(&c->session))) {
            before->next = t->next;
            free_thread(c, t);
        } else {
            before = t;
        }
    }
    if (!all || c->pool == NULL)
        return;
    madvise(c->pool, POOL_BYTES, MADV_DONTNEED);
    madvise(c->histograms, HISTOGRAM_BYTES, MADV_DONTNEED);
    madvise(c->shared, SHARED_BYTES, MADV_DONTNEED);
}

void trace_memory_close(trace_counters *c)
{
    trace_thread *t = atomic_load(&c->threads);

    while (t != NULL) {
        trace_thread *next = t->next;

        free_thread(c, t);
        t = next;
    }
    atomic_store(&c->threads, NULL);
    memset(trace_places, 0, sizeof trace_places); /* they led to the parts that are gone */
    if (c->pool != NULL)
        munmap(c->pool, POOL_BYTES);
    if (c->histograms != NULL)
        munmap(c->histograms, HISTOGRAM_BYTES);
    if (c->shared != NULL)
        munmap(c->shared, SHARED_BYTES);
    c->pool = c->shared = NULL;
    c->histograms = NULL;
    if (has_keys) {
        pthread_key_delete(trace_keys.part);
        pthread_key_delete(trace_keys.number);
        has_keys = false;
    }
}

/* ---- probes ---- */

trace_thread *trace_memory_thread(trace_counters *c)
{
    trace_thread *t = map(sizeof *t);
    trace_thread *first;

    if (t != NULL && pthread_setspecific(trace_keys.part, t) != 0) {
        munmap(t, sizeof *t);
        t = NULL;
    }
    if (t == NULL) {
        atomic_fetch_add_explicit(&c->lost_threads, 1, memory_order_relaxed);
        return NULL;
    }
    take_place(t);
    t->thread_id = (uint32_t)os_thread_id();
    first = atomic_load_explicit(&c->threads, memory_order_relaxed);
    do
        t->next = first;
    while (!atomic_compare_exchange_weak_explicit(&c->threads, &first, t, memory_order_release,
                                                  memory_order_relaxed));
    atomic_fetch_add_explicit(&c->thread_count, 1, memory_order_relaxed);
    return t;
}

uint32_t trace_memory_thread_number(void)
{
    uintptr_t number = (uintptr_t)pthread_getspecific(trace_keys.number);

    if (number == 0) {
        number = (uintptr_t)os_thread_id();
        pthread_setspecific(trace_keys.number, (void *)number); /* without it: asked again */
    }
    return (uint32_t)number;
}

trace_block *trace_memory_make_block(trace_counters *c, trace_thread *t, uint32_t method)
{
    uint32_t number = atomic_fetch_add_explicit(&c->pool_used, 1, memory_order_relaxed);
    trace_block *b;

    if (number >= TRACE_BLOCKS) {
        atomic_store_explicit(&c->pool_used, TRACE_BLOCKS, memory_order_relaxed);
        t->blocks[method] = t->session << 24 | NO_BLOCK;
        return NULL;
    }
    b = &c->pool[number];
    memset(b, 0, sizeof *b);
    b->method = method;
    b->next = t->first_block;
    t->blocks[method] = t->session << 24 | (number + 1);
    __atomic_store_n(&t->first_block, number + 1, __ATOMIC_RELEASE);
    return b;
}

void trace_memory_histogram(trace_counters *c, trace_block *b)
{
    uint32_t number = atomic_load_explicit(&c->histograms_used, memory_order_relaxed);
    trace_histogram *h;

    if (number < TRACE_HISTOGRAMS)
        number = atomic_fetch_add_explicit(&c->histograms_used, 1, memory_order_relaxed);
    if (number >= TRACE_HISTOGRAMS) {
        b->histogram = TRACE_NO_HISTOGRAM;
        return;
    }
    h = &c->histograms[number];
    memset(h, 0, sizeof *h);
    for (unsigned n = 0; n < b->kept; n++)
        h->buckets[b->few[n]]++;
    __atomic_store_n(&b->histogram, number + 1, __ATOMIC_RELEASE);
}

trace_block *trace_memory_shared(trace_counters *c, uint32_t method)
{
    unsigned end = atomic_load_explicit(&c->shared_end, memory_order_relaxed);

    c->shared[method].method = method;
    while (end <= method &&
           !atomic_compare_exchange_weak_explicit(&c->shared_end, &end, method + 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return &c->shared[method];
}

/* Segment k has the depths from TRACE_DEPTH << k on, as many as lie before it. */
static unsigned segment_of(uint32_t depth)
{
    return 31u - (unsigned)__builtin_clz(depth / TRACE_DEPTH);
}

trace_frame *trace_memory_find_deep(const trace_thread *t, uint32_t depth)
{
    unsigned segment = segment_of(depth);
    trace_frame *frames =
        segment < TRACE_SEGMENTS ? __atomic_load_n(&t->segments[segment], __ATOMIC_ACQUIRE) : NULL;

    return frames == NULL ? NULL : &frames[depth - ((uint32_t)TRACE_DEPTH << segment)];
}

void trace_memory_forget_blocks(trace_thread *t)
{
    for (unsigned n = 0; n < TRACE_DEPTH; n++)
        t->frames[n].block = 0;
    for (unsigned s = 0; s < TRACE_SEGMENTS; s++)
        for (uint32_t n = 0; t->segments[s] != NULL && n < (uint32_t)TRACE_DEPTH << s; n++)
            t->segments[s][n].block = 0;
}

trace_frame *trace_memory_deep_frame(trace_counters *c, trace_thread *t)
{
    unsigned segment = segment_of(t->depth);
    trace_frame *frames = NULL;
    size_t bytes;

    if (t->untimed_from != 0)
        return NULL;
    if (segment < TRACE_SEGMENTS && t->segments[segment] != NULL)
        return trace_memory_find_deep(t, t->depth);
    if (segment < TRACE_SEGMENTS) {
        bytes = segment_bytes(segment);
        if (bytes <= TRACE_DEEP_BYTES &&
            atomic_fetch_add(&c->deep_bytes, (unsigned)bytes) + bytes <= TRACE_DEEP_BYTES)
            frames = map(bytes);
        if (frames == NULL && bytes <= TRACE_DEEP_BYTES)
            atomic_fetch_sub(&c->deep_bytes, (unsigned)bytes);
    }
    if (frames == NULL) {
        t->untimed_from = t->depth;
        return NULL;
    }
    __atomic_store_n(&t->segments[segment], frames, __ATOMIC_RELEASE);
    return frames;
}

/* The size of this thread's stack. The first thread's grows as far as the limit lets it. */
static size_t stack_bytes(const trace_thread *t)
{
    union {
        pthread_attr_t attributes;
        uint8_t room[128]; /* the host's may be larger than the one we were compiled with */
    } a;
    uint64_t limits[2] = {0}; /* as the kernel has them: now, at most */
    void *lowest = NULL;
    size_t size = 0;

    if (t->thread_id == (uint32_t)getpid()) {
        if (syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, limits) == 0 && limits[0] <= MOST_STACK)
            return (size_t)limits[0];
        return USUAL_STACK;
    }
    if (pthread_getattr_np(pthread_self(), &a.attributes) != 0)
        return USUAL_STACK;
    if (pthread_attr_getstack(&a.attributes, &lowest, &size) != 0)
        size = USUAL_STACK;
    pthread_attr_destroy(&a.attributes);
    return size;
}

uint32_t trace_memory_timed_calls(trace_thread *t)
{
    size_t calls;

    if (t->timed_calls != 0)
        return t->timed_calls;
    calls = stack_bytes(t) / STACK_FOR_A_CALL;
    if (calls < TRACE_SHALLOW)
        calls = TRACE_SHALLOW;
    t->timed_calls = calls > UINT32_MAX ? UINT32_MAX : (uint32_t)calls;
    return t->timed_calls;
}
