/* trace_clock: see trace_clock.h. */
#include "profilers/trace_clock.h"

#include <string.h>

#include "base/buffer.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Small instead of fast: once per session or process. */
#define SELDOM __attribute__((cold))
#endif

enum { POWER_LEAF = 0x80000007, INVARIANT = 1 << 8 };

static bool processor_says_so(void)
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;

    return __get_cpuid((unsigned)POWER_LEAF, &a, &b, &c, &d) != 0 && (d & INVARIANT) != 0;
#elif defined(__aarch64__)
    return true; /* the architecture says so */
#else
    return false;
#endif
}

bool trace_clock_is_steady(bool processor, const char *clocks)
{
#if defined(__x86_64__)
    return processor && (clocks == NULL || strstr(clocks, "tsc") != NULL);
#else
    (void)clocks;
    return processor;
#endif
}

SELDOM bool trace_clock_has_counter(void)
{
    buffer clocks = BUFFER_EMPTY;
    error e;
    bool steady;
    int code = os_read_file("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                            4096, &clocks, &e);

    steady = trace_clock_is_steady(processor_says_so(), code == 0 ? buffer_text(&clocks) : NULL);
    buffer_free(&clocks);
    return steady;
}
