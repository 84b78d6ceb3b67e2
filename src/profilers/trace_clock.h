/*
 * trace_clock: the clock of the probes. The processor's counter where its ticks are of one length
 * on every processor and in every state of power, else the system's monotonic clock, which costs
 * about twice as much.
 *
 * Chosen once, before the first probe; read by any thread, signal-safe.
 */
#ifndef CLARINET_PROFILERS_TRACE_CLOCK_H
#define CLARINET_PROFILERS_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/os.h"

/* Can the counter be trusted? The processor must say that it never changes its pace, and the
 * kernel, which watches it, must still have it in its list of `clocks` (NULL = not to be read). */
bool trace_clock_is_steady(bool processor_says_so, const char *clocks);
/* The same about this machine. Not for probes: reads a file. */
bool trace_clock_has_counter(void);

static inline uint64_t trace_clock_ticks(bool counter)
{
    if (!counter)
        return os_monotonic_ns();
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

#endif
