/*
 * sampling_deaf: threads that would not take our signal.
 *
 * A signal that a thread blocks stays with that thread, and the program may take it for one of its
 * own, by sigwait or through a signalfd. Such a thread gets none and no timer; what it burns is
 * counted as lost. The kernel shows what a thread blocks. While it waits in sigwait, what it waits
 * for is not shown as blocked, but the call is.
 *
 * Thread rules: any thread but a signal handler; sampling_threads_hear on the agent's own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/native_stack.h"
#include "agent/sampling.h"
#include "base/os.h"

/* Intervals that a thread may burn between two samples. */
enum { MOST_SILENT = 16 };

static uint64_t number_after(const char *text, const char *label, int base)
{
    const char *line = strstr(text, label);

    return line != NULL ? strtoull(line + strlen(label), NULL, base) : 0;
}

sampling_status sampling_status_of(int os_thread)
{
    sampling_status found = {.runs = true};
    char path[48], text[4096];
    int descriptor;
    ssize_t n = 0;

    if (os_thread == os_thread_id()) {
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &found.blocked, sizeof found.blocked);
        return found;
    }
    snprintf(path, sizeof path, "/proc/self/task/%d/status", os_thread);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        n = read(descriptor, text, sizeof text - 1);
        close(descriptor);
    }
    text[n > 0 ? n : 0] = '\0';
    found.blocked = number_after(text, "\nSigBlk:", 16);
    found.pending = number_after(text, "\nSigPnd:", 16);
    found.switches = number_after(text, "\nvoluntary_ctxt_switches:", 10);
    found.runs = strstr(text, "\nState:\tR") != NULL;
    found.compiles = strstr(text, "Name:\t.NET Tiered") == text;
    return found;
}

static bool has(uint64_t signals, int number)
{
    return number != 0 && (signals >> (number - 1) & 1) != 0;
}

/*
 * A thread that was seen in sigwait goes there again, and counts as deaf for a while. Others may
 * block signals for moments only, while they start a thread, say: those are asked again at once.
 * Two looks between which the thread did not go to sleep are of one state, but for a thread that
 * has been woken in sigwait and waits for a processor: its timer is taken by the next look. One
 * that runs and has taken signals since the last time is asked once.
 */
bool sampling_is_deaf(sampling_thread *t)
{
    enum { ASK_AGAIN_NS = 100000000, LOOKS = 4 };
    static const uint64_t DEAF_FOR_NS = 10000000000;
    int os_thread = atomic_load(&t->thread);
    uint64_t now = os_monotonic_ns(), deaf = atomic_load(&t->deaf_ns);
    uint64_t before = UINT64_MAX, taken = atomic_load(&t->taken);
    int number = atomic_load(&sampling_state.number);
    bool hears;

    if (deaf != 0 && now - deaf < DEAF_FOR_NS)
        return true;
    if (now - atomic_load(&t->heard_at_ns) < ASK_AGAIN_NS)
        return false;
    hears = atomic_exchange(&t->asked_taken, taken) != taken || os_thread == os_thread_id();
    for (int i = 0; i < LOOKS; i++) {
        sampling_status seen = sampling_status_of(os_thread);

        if (has(seen.blocked, number))
            return true;
        if (seen.switches == before || (hears && seen.runs))
            break;
        before = seen.switches;
        if (native_stack_place((uint32_t)os_thread).call == SYS_rt_sigtimedwait) {
            atomic_store(&t->deaf_ns, now);
            return true;
        }
    }
    atomic_store(&t->heard_at_ns, now);
    return false;
}

/* The guard is held: the slot stays this thread's. The timer of a thread that burns on and on
 * without a sample, and not in one system call, was lost while the program ignored the signal: it
 * is set again. */
static void hear(sampling_thread *t, int os_thread, uint64_t interval, bool is_taken)
{
    uint64_t clock = sampling_thread_clock(os_thread), taken = atomic_load(&t->taken), burned;
    uint64_t tick = sampling_tick_ns();
    int number = atomic_load(&sampling_state.number);
    unsigned lost = number == 0 ? SAMPLING_LOST_SIGNAL : SAMPLING_LOST_TIMER;

    if (t->heard_ns == 0 && atomic_load(&t->born) && atomic_load(&t->timer) < 0)
        t->heard_ns = 1; /* from its start */
    if (t->heard_ns == 0 || taken != t->heard_taken) {
        t->heard_ns = clock;
        t->heard_taken = taken;
    }
    burned = clock > t->heard_ns ? clock - t->heard_ns : 0;
    if (burned <= interval)
        return;
    if (is_taken) {
        lost = SAMPLING_LOST_SIGNAL;
    } else if (sampling_is_deaf(t)) {
        lost = SAMPLING_LOST_DEAF;
        sampling_timer_drop(t);
        atomic_store(&t->deaf_ns, os_monotonic_ns()); /* not for a moment only */
    } else {
        if (atomic_load(&t->timer) >= 0) {
            if (burned <= MOST_SILENT * (interval > tick ? interval : tick) ||
                has(sampling_status_of(os_thread).pending, number))
                return;
            lost = SAMPLING_LOST_SIGNAL;
        }
        sampling_timer_arm(t);
    }
    t->heard_ns = clock;
    atomic_fetch_add(&sampling_state.lost[SAMPLING_CPU][lost], burned / interval);
}

void sampling_threads_hear(bool is_taken)
{
    uint64_t interval = sampling_state.interval_ns[SAMPLING_CPU];

    if (interval == 0)
        return;
    lock_take(&sampling_state.guard);
    for (size_t i = 0; (i = sampling_next_slot(i)) < SAMPLING_THREADS; i++) {
        int os_thread = atomic_load_explicit(&sampling_state.owners[i], memory_order_relaxed);

        if (!sampling_is_unwanted(&sampling_state.threads[i], SAMPLING_CPU))
            hear(&sampling_state.threads[i], os_thread, interval, is_taken);
    }
    lock_give(&sampling_state.guard);
}
