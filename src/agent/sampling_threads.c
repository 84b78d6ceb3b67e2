/*
 * sampling_threads: which threads there are, and a timer on the CPU clock of each.
 *
 * New managed threads come from the runtime's callback, on the spot, so that short-lived ones
 * count; all others from listing /proc/self/task now and then. A slot is freed, and with it the
 * thread's alternate stack, only when the kernel no longer knows the thread.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/gone.h"
#include "agent/sampling.h"
#include "agent/thread_names.h"
#include "base/os.h"

enum { NOTIFY_THREAD = 4, LIST_BYTES = 16384 };

/* The kernel's struct sigevent; libc's differ, and so do their timer ids. */
typedef struct {
    void *value;
    int number;
    int notify;
    int thread;
    char rest[64 - 20];
} timer_event;

static void meet(agent *a, uint32_t os_thread, sampling_wish wish);

/* The kernel's id of the CPU clock of a thread. */
static clockid_t clock_of(int os_thread)
{
    return (clockid_t)((~(unsigned)os_thread << 3) | 6);
}

uint64_t sampling_thread_clock(int os_thread)
{
    struct timespec time;

    if (syscall(SYS_clock_gettime, clock_of(os_thread), &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Whoever has an owner is in `used`: set after the owner, cleared before. The guard is held. */
static void mark_used(const sampling_thread *t, bool used)
{
    size_t slot = (size_t)(t - sampling_state.threads);
    uint64_t bit = (uint64_t)1 << slot % 64;

    if (used)
        atomic_fetch_or(&sampling_state.used[slot / 64], bit);
    else
        atomic_fetch_and(&sampling_state.used[slot / 64], ~bit);
}

size_t sampling_next_slot(size_t slot)
{
    while (slot < SAMPLING_THREADS) {
        uint64_t left = atomic_load_explicit(&sampling_state.used[slot / 64], memory_order_acquire);

        left >>= slot % 64;
        if (left != 0)
            return slot + (size_t)__builtin_ctzll(left);
        slot = (slot / 64 + 1) * 64;
    }
    return SAMPLING_THREADS;
}

sampling_thread *sampling_thread_at(int os_thread, sampling_wish wish)
{
    sampling_thread *free_slot = NULL, *found = NULL;
    unsigned at = sampling_first_slot(os_thread);

    lock_take(&sampling_state.guard);
    for (unsigned i = 0; i < SAMPLING_PROBES && found == NULL; i++) {
        unsigned number = (at + i) % SAMPLING_THREADS;
        sampling_thread *t = &sampling_state.threads[number];
        int owner = atomic_load_explicit(&sampling_state.owners[number], memory_order_relaxed);

        if (owner == os_thread)
            found = t;
        else if (owner == 0 && free_slot == NULL)
            free_slot = t;
    }
    if (found == NULL && wish != SAMPLING_FIND && free_slot != NULL) {
        found = free_slot;
        memset(found, 0, sizeof *found);
        atomic_store_explicit(&found->timer, -1, memory_order_relaxed);
        for (unsigned k = 0; k < SAMPLING_KINDS; k++)
            atomic_store_explicit(&found->copy_limit[k], SAMPLING_FIRST_COPY, memory_order_relaxed);
        found->seen = true;
        atomic_store_explicit(&found->born, wish == SAMPLING_BEAR, memory_order_relaxed);
        atomic_store_explicit(&found->thread, os_thread, memory_order_release);
        atomic_store_explicit(&sampling_state.owners[found - sampling_state.threads], os_thread,
                              memory_order_release);
        mark_used(found, true);
        if (wish != SAMPLING_BEAR) /* of which that is told once it is known to be managed */
            atomic_fetch_add(&sampling_state.changes, 1);
        if (sampling_state.interval_ns[SAMPLING_CPU] != 0)
            sampling_timer_arm(found);
    }
    lock_give(&sampling_state.guard);
    return found;
}

/* Without the guard: a handler must not wait. */
SIGNAL_SAFE sampling_thread *sampling_own_slot(void)
{
    int os_thread = (int)syscall(SYS_gettid);

    for (unsigned i = 0; i < SAMPLING_PROBES; i++) {
        unsigned number = (sampling_first_slot(os_thread) + i) % SAMPLING_THREADS;

        if (atomic_load_explicit(&sampling_state.owners[number], memory_order_acquire) == os_thread)
            return &sampling_state.threads[number];
    }
    return NULL;
}

/* A random number in (0, limit]. */
static uint64_t random_up_to(uint64_t limit)
{
    uint64_t x = atomic_fetch_add_explicit(&sampling_state.random, 0x9e3779b97f4a7c15u,
                                           memory_order_relaxed);

    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x % limit + 1;
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

void sampling_timer_drop(sampling_thread *t)
{
    int timer = atomic_exchange(&t->timer, -1);

    if (timer >= 0)
        syscall(SYS_timer_delete, timer);
}

/*
 * The guard is held. The first expiry is random, so that threads do not tick in step. A thread that
 * has just started is sampled at the kernel's first tick that meets it: it may be gone long before
 * the interval is over, and what it burns until its end is then counted to that sample.
 */
void sampling_timer_arm(sampling_thread *t)
{
    uint64_t interval = sampling_state.interval_ns[SAMPLING_CPU];
    bool first = atomic_load(&t->born) && !atomic_load(&t->ticked);
    struct itimerspec times = {time_of(interval), time_of(first ? 1 : random_up_to(interval))};
    timer_event event;
    int os_thread = atomic_load(&t->thread);
    int timer = atomic_load(&t->timer);

    if (timer < 0) {
        int number = atomic_load(&sampling_state.number);

        if (number == 0 || sampling_is_deaf(t))
            return;
        memset(&event, 0, sizeof event);
        event.value = t;
        event.number = number;
        event.notify = NOTIFY_THREAD;
        event.thread = os_thread;
        if (syscall(SYS_timer_create,
                    sampling_state.monotonic ? CLOCK_MONOTONIC : clock_of(os_thread), &event,
                    &timer) != 0)
            return; /* what it burns without one is counted (sampling_deaf.c) */
        atomic_store(&t->timer, timer);
    }
    syscall(SYS_timer_settime, timer, 0, &times, NULL);
}

void sampling_timers_set(uint64_t interval_ns, bool monotonic)
{
    uint64_t seed = 0;
    bool is_other;

    if (atomic_load(&sampling_state.random) == 0) {
        os_random(&seed, sizeof seed);
        atomic_store(&sampling_state.random, seed);
    }
    /* The kernel is asked before the guard is taken: threads that begin or end wait for it. What
     * it says is kept for a moment. */
    for (size_t i = 0; interval_ns != 0 && (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++)
        (void)sampling_is_deaf(&sampling_state.threads[i]);
    lock_take(&sampling_state.guard);
    is_other = monotonic != sampling_state.monotonic;
    sampling_state.interval_ns[SAMPLING_CPU] = interval_ns;
    sampling_state.monotonic = monotonic;
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];
        bool is_wanted = interval_ns != 0 && !sampling_is_unwanted(t, SAMPLING_CPU);

        if (!is_wanted || is_other)
            sampling_timer_drop(t);
        if (is_wanted)
            sampling_timer_arm(t);
    }
    lock_give(&sampling_state.guard);
}

/* The guard is held and the kernel no longer knows the thread. The runtime frees its alternate
 * stack only while it is the installed one, so the one that we replaced is ours to free. */
static void free_slot_of(sampling_thread *t)
{
    uintptr_t stack = atomic_load(&t->alternate);

    sampling_timer_drop(t);
    if (stack != 0) {
        munmap((void *)atomic_load(&t->replaced), atomic_load(&t->replaced_size));
        sampling_stacks_give(stack);
    }
    if (atomic_exchange(&t->ending, false))
        atomic_fetch_sub(&sampling_state.endings, 1);
    atomic_store(&t->alternate, 0);
    t->gone = false;
    mark_used(t, false);
    atomic_store_explicit(&sampling_state.owners[t - sampling_state.threads], 0,
                          memory_order_release);
    atomic_store_explicit(&t->thread, 0, memory_order_release);
    atomic_fetch_add(&sampling_state.changes, 1);
}

static bool is_gone(int os_thread)
{
    return syscall(SYS_tgkill, os_process_id(), os_thread, 0) != 0 && errno == ESRCH;
}

/* What a thread burned that never had a timer, since that was last counted. */
static void count_untimed(const sampling_thread *t)
{
    uint64_t life = atomic_load(&t->lifetime_ns),
             interval = sampling_state.interval_ns[SAMPLING_CPU];

    if (interval != 0 && atomic_load(&t->timer) < 0 && life > t->heard_ns &&
        (atomic_load(&t->born) || t->heard_ns != 0) && !sampling_is_unwanted(t, SAMPLING_CPU))
        atomic_fetch_add(
            &sampling_state.lost[SAMPLING_CPU][atomic_load(&t->deaf_ns) != 0 ? SAMPLING_LOST_DEAF
                                                                             : SAMPLING_LOST_TIMER],
            (life - t->heard_ns) / interval);
}

/*
 * What a thread burned beyond its samples. One that lives shorter than a tick is met with the
 * probability lifetime / tick; when it is, it stands for the others and counts as a whole tick.
 */
static bool find_rest(const sampling_thread *t, sampling_rest *rest)
{
    uint64_t life = atomic_load(&t->lifetime_ns), tick = sampling_tick_ns();

    if (!atomic_load(&t->born) || life == 0 || sampling_state.monotonic ||
        sampling_state.interval_ns[SAMPLING_CPU] == 0)
        return false;
    *rest = (sampling_rest){.thread = atomic_load(&t->thread), .life_ns = life};
    if (t->cpu_stack == 0 || t->sampled_ns == 0) {
        rest->weight_ns = life;
        return life >= tick && !atomic_load(&t->ticked) && !sampling_is_unwanted(t, SAMPLING_CPU);
    }
    if (life < tick)
        life = tick;
    rest->stack = t->cpu_stack;
    rest->time_ns = t->cpu_time_ns;
    rest->weight_ns = life > t->sampled_ns ? life - t->sampled_ns : 0;
    return true;
}

uint64_t sampling_tick_ns(void)
{
    struct timespec tick;

    /* CPU timers are looked at once per tick; the coarse clock shows its length. */
    return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 ? (uint64_t)tick.tv_nsec : 4000000;
}

bool sampling_threads_find_gone(void)
{
    bool found = false;

    if (atomic_load_explicit(&sampling_state.endings, memory_order_relaxed) == 0)
        return false;
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];

        if (atomic_load(&t->ending))
            t->gone = is_gone(atomic_load(&sampling_state.owners[i]));
        found = found || t->gone;
    }
    return found;
}

size_t sampling_threads_reap(sampling_rest *rests, size_t room)
{
    size_t count = 0;

    lock_take(&sampling_state.guard);
    for (size_t i = 0; count < room && (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];

        if (!t->gone)
            continue;
        count_untimed(t);
        if (find_rest(t, &rests[count]))
            count++;
        free_slot_of(t);
    }
    lock_give(&sampling_state.guard);
    return count;
}

/* One entry of getdents64. */
typedef struct {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
} entry;

static int thread_of(const entry *e)
{
    int number = 0;

    for (const char *p = e->name; *p != 0; p++) {
        if (*p < '0' || *p > '9')
            return 0;
        number = number * 10 + (*p - '0');
    }
    return number;
}

static bool is_own(int os_thread)
{
    return os_thread == atomic_load(&sampling_state.own_threads[0]) ||
           os_thread == atomic_load(&sampling_state.own_threads[1]);
}

void sampling_threads_list(void)
{
    _Alignas(8) char bytes[LIST_BYTES];
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;

    if (folder < 0)
        return;
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++)
        sampling_state.threads[i].seen = false;
    while ((n = syscall(SYS_getdents64, folder, bytes, sizeof bytes)) > 0) {
        for (long at = 0; at < n;) {
            const entry *e = (const entry *)(const void *)(bytes + at);
            int os_thread = thread_of(e);
            sampling_thread *t;

            at += e->length;
            if (os_thread == 0 || is_own(os_thread))
                continue;
            t = sampling_thread_at(os_thread, SAMPLING_MEET);
            if (t != NULL)
                t->seen = true;
            else
                atomic_fetch_add(&sampling_state.lost[SAMPLING_CPU][SAMPLING_LOST_THREAD], 1);
        }
    }
    close(folder);
    lock_take(&sampling_state.guard);
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        sampling_thread *t = &sampling_state.threads[i];
        int os_thread = atomic_load(&sampling_state.owners[i]);

        if (!t->seen && is_gone(os_thread))
            free_slot_of(t);
    }
    lock_give(&sampling_state.guard);
}

static int mark(void *context, uintptr_t thread)
{
    agent *a = context;
    uint32_t os_thread = 0;

    thread_names_learn(&a->names.threads, &a->info, thread);
    if (clr_info_get_thread_info(&a->info, thread, &os_thread) == S_OK && os_thread != 0)
        meet(a, os_thread, SAMPLING_MEET);
    return 1;
}

void sampling_threads_mark_managed(agent *a)
{
    if (agent_enter_runtime(a))
        gone_each_thread(&a->info, mark, a);
}

void sampling_on_thread_assigned(agent *a, ThreadID thread, uint32_t os_thread)
{
    enum { MANY = 16 };

    (void)thread;
    meet(a, os_thread, SAMPLING_BEAR);
    if (atomic_load_explicit(&sampling_state.changes, memory_order_relaxed) % MANY == 0)
        agent_wake(a); /* they need alternate stacks */
}

static void meet(agent *a, uint32_t os_thread, sampling_wish wish)
{
    sampling_thread *t;

    (void)a;
    if (is_own((int)os_thread))
        return;
    t = sampling_thread_at((int)os_thread, wish);
    if (t == NULL) {
        atomic_fetch_add(&sampling_state.lost[SAMPLING_CPU][SAMPLING_LOST_THREAD], 1);
        return;
    }
    /* Whoever lists the threads after this change finds it to be a managed one. */
    if (!atomic_exchange(&t->managed, true))
        atomic_fetch_add(&sampling_state.changes, 1);
    if (atomic_exchange(&sampling_state.dozes, false)) {
        atomic_fetch_add(&sampling_state.bell, 1);
        lock_wake(&sampling_state.bell, 1);
    }
}

/* Whoever sets the name calls this. A thread that has not started yet is not known. */
void sampling_on_thread_named(agent *a, ThreadID thread, uint32_t count, const WCHAR *name)
{
    uint32_t os_thread = 0;
    sampling_thread *t = NULL;

    (void)count;
    (void)name;
    if (clr_info_get_thread_info(&a->info, thread, &os_thread) == S_OK && os_thread != 0)
        t = sampling_thread_at((int)os_thread, SAMPLING_FIND);
    if (t != NULL)
        atomic_store(&t->renamed, true);
}

void sampling_threads_judge_again(agent *a)
{
    enum { AT_ONCE = 64 }; /* the others the next time */
    int renamed[AT_ONCE];
    size_t count = 0;

    lock_take(&sampling_state.guard);
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS && count < AT_ONCE; i++) {
        sampling_thread *t = &sampling_state.threads[i];

        if (!atomic_exchange(&t->renamed, false))
            continue;
        renamed[count++] = atomic_load(&sampling_state.owners[i]);
        t->judged = t->unwanted = 0;
        if (atomic_load(&t->timer) < 0 && sampling_state.interval_ns[SAMPLING_CPU] != 0)
            sampling_timer_arm(t);
    }
    lock_give(&sampling_state.guard);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < AGENT_CLIENTS; k++)
            if (a->clients[k].state == CLIENT_RECORDING)
                output_rename_thread(&a->clients[k].out, (uint64_t)renamed[i]);
}

/* Called on the thread that ends. One that did not tell is found by the next listing. */
void sampling_on_thread_destroyed(agent *a, ThreadID thread)
{
    sampling_thread *t = sampling_thread_at(os_thread_id(), SAMPLING_FIND);

    (void)a;
    (void)thread;
    if (t == NULL)
        return;
    atomic_store(&t->lifetime_ns, os_thread_cpu_ns());
    if (!atomic_exchange(&t->ending, true))
        atomic_fetch_add(&sampling_state.endings, 1);
}
