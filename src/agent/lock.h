/*
 * lock: a small lock for the agent's own short critical sections. One word, no libc type whose
 * size could differ between glibc and musl. Uncontended: one atomic operation each way.
 *
 * Thread rules: any thread outside signal handlers. Never held across a call into the runtime.
 */
#ifndef CLARINET_AGENT_LOCK_H
#define CLARINET_AGENT_LOCK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's numbers; musl brings no linux/futex.h. */
enum { LOCK_FUTEX_WAIT = 128, LOCK_FUTEX_WAKE = 129 };

/* Sleeps while *word is `value`, at most for `limit` (NULL = for ever); may return early. */
static inline void lock_wait(atomic_int *word, int value, const struct timespec *limit)
{
    syscall(SYS_futex, word, LOCK_FUTEX_WAIT, value, limit, NULL, 0);
}

static inline void lock_wake(atomic_int *word, int count)
{
    syscall(SYS_futex, word, LOCK_FUTEX_WAKE, count, NULL, NULL, 0);
}

typedef struct {
    atomic_int state; /* 0 free, 1 taken, 2 taken and somebody waits */
} lock_word;

static inline void lock_take(lock_word *l)
{
    int expected = 0;

    if (atomic_compare_exchange_strong_explicit(&l->state, &expected, 1, memory_order_acquire,
                                                memory_order_relaxed))
        return;
    while (atomic_exchange_explicit(&l->state, 2, memory_order_acquire) != 0)
        lock_wait(&l->state, 2, NULL);
}

static inline void lock_give(lock_word *l)
{
    if (atomic_exchange_explicit(&l->state, 0, memory_order_release) == 2)
        lock_wake(&l->state, 1);
}

#endif
