/* sampling_waits: see sampling_waits.h. */
#include "agent/sampling_waits.h"

#include <string.h>
#include <sys/uio.h>

#include "agent/gone.h"
#include "agent/sampling_code.h"
#include "base/os.h"
#include "base/text.h"
#include "recording/encode.h"

enum {
    STATE_FRAMES = 24,
    SCANNED = 8192,   /* bytes of stack above the leaf that are looked through */
    BLOCK_INDEX = 28, /* in a sync block */
    INDEX_MASK = 0x03ffffff,
};

/* By the method nearest to the leaf that the table knows. */
static const struct {
    char prefix[45]; /* no pointer, which would need a relocation */
    uint8_t state;
} WAITS[] = {
    {"System.Threading.Thread.Sleep", RECORDING_STATE_SLEEP},
    {"System.Threading.Thread.UninterruptibleSleep", RECORDING_STATE_SLEEP},
    {"System.Threading.Monitor.Wait", RECORDING_STATE_WAIT},
    {"System.Threading.Monitor.ObjWait", RECORDING_STATE_WAIT},
    {"System.Threading.Monitor.", RECORDING_STATE_LOCK},
    {"System.Threading.Lock.", RECORDING_STATE_LOCK},
    {"System.Threading.ReaderWriterLockSlim.", RECORDING_STATE_LOCK},
    {"System.Threading.SpinLock.", RECORDING_STATE_LOCK},
    {"System.Net.", RECORDING_STATE_IO},
    {"System.IO.", RECORDING_STATE_IO},
    {"System.Console", RECORDING_STATE_IO},
    {"System.ConsolePal", RECORDING_STATE_IO},
    {"Interop.Sys.", RECORDING_STATE_IO},
    {"Interop+Sys.", RECORDING_STATE_IO},
    {"Interop.", RECORDING_STATE_IO},
    {"Microsoft.Win32.SafeHandles.", RECORDING_STATE_IO},
};

/* The runtime's record of a blocked thread (docs/notes/locks-and-tasks.md). */
typedef struct {
    uint64_t block; /* SyncBlock */
    uint64_t appdomain;
    uint32_t kind; /* 0 entering, 1 Monitor.Wait */
    int32_t timeout_ms;
} blocking;

void sampling_waits_init(sampling_waits *w, agent *a)
{
    *w = (sampling_waits){.agent = a};
    table_u64_init(&w->states);
}

void sampling_waits_free(sampling_waits *w)
{
    table_u64_free(&w->states);
}

/* ---- by name ---- */

/* These wait through Monitor.Wait; what they wait for is a lock. */
static bool is_lock(const char *name)
{
    return text_starts_with(name, "System.Threading.SemaphoreSlim.Wait") ||
           text_starts_with(name, "System.Threading.ReaderWriterLock.");
}

static uint32_t find_by_name(const names *n, const sampling_walked *stack)
{
    uint32_t state = RECORDING_STATE_WAIT;
    bool found = false;

    for (unsigned i = 0; i < stack->count && i < STATE_FRAMES; i++) {
        const char *name = sampling_code_name(n, stack->frames[i]);

        if (is_lock(name))
            return RECORDING_STATE_LOCK;
        for (size_t k = 0; k < sizeof WAITS / sizeof *WAITS && !found; k++) {
            if (text_starts_with(name, WAITS[k].prefix)) {
                state = WAITS[k].state;
                found = true;
            }
        }
        if (found && state != RECORDING_STATE_WAIT)
            break;
    }
    return state;
}

/* ---- by the runtime's record ---- */

static int take_appdomain(void *context, uintptr_t thread)
{
    sampling_waits *w = context;

    return clr_info_get_thread_appdomain(&w->agent->info, thread, &w->appdomain) != S_OK ||
           w->appdomain == 0;
}

/* A sync block knows its place in the table, which is never 0. */
static bool is_block(uint64_t address)
{
    uint32_t index = 0;
    struct iovec here = {&index, sizeof index};
    struct iovec there = {(void *)(uintptr_t)(address + BLOCK_INDEX), sizeof index};

    return address >= 4096 && address >> 47 == 0 && (address & 7) == 0 &&
           process_vm_readv(os_process_id(), &here, 1, &there, 1, 0) == (ssize_t)sizeof index &&
           (index & INDEX_MASK) != 0;
}

static bool has_record_of_entering(sampling_waits *w, const sampling_capture *c)
{
    size_t length = c->stack_length < SCANNED ? (size_t)c->stack_length : SCANNED;
    blocking record;

    if (w->appdomain == 0 && agent_enter_runtime(w->agent))
        gone_each_thread(&w->agent->info, take_appdomain, w);
    if (w->appdomain == 0)
        return false;
    for (size_t at = SAMPLING_RED_ZONE; at + sizeof record <= length; at += sizeof(uint64_t)) {
        memcpy(&record, c->stack + at, sizeof record);
        if (record.appdomain == w->appdomain && record.kind == 0 && record.timeout_ms >= -1 &&
            is_block(record.block))
            return true;
    }
    return false;
}

/* Whether the innermost managed method called the runtime itself to wait, so that no name tells
 * for what. The methods of System.Threading that do so are waits of other kinds. */
static bool is_untold(const names *n, const sampling_walked *stack)
{
    const char *name;
    unsigned at = 0;

    while (at < stack->count && stack->places[at] != SAMPLING_MANAGED)
        at++;
    name = at > 0 && at < stack->count ? sampling_code_name(n, stack->frames[at]) : "";
    return name[0] != '\0' && stack->places[at - 1] == SAMPLING_NATIVE &&
           (!text_starts_with(name, "System.Threading.") ||
            text_starts_with(name, "System.Threading.Thread.Yield") ||
            text_starts_with(name, "System.Threading.Thread.PollGC"));
}

/* Whether the thread stands in a futex with an end in time. For the end of a collection the runtime
 * waits without one; a method that waits may be compiled into its caller, and has no name then. */
static bool is_timed(const sampling_capture *c)
{
    enum { FUTEX = 0x80, FUTEX_BITSET = 0x89, FUTEX_BITSET_REALTIME = 0x189 }; /* private waits */
    uint64_t operation = c->registers[STACKWALK_RSI];

    return (operation == FUTEX || operation == FUTEX_BITSET ||
            operation == FUTEX_BITSET_REALTIME) &&
           c->registers[STACKWALK_R10] != 0;
}

uint32_t sampling_waits_find(sampling_waits *w, const sampling_walked *stack,
                             const sampling_capture *c, bool in_runtime)
{
    const names *n = &w->agent->names;
    uint64_t state;
    uint32_t call;

    /* Who comes back to managed code while threads are stopped waits in the runtime, whatever its
     * method has called. */
    if (in_runtime && (c->flags & SAMPLING_STOPPING) != 0 && !is_timed(c) && is_untold(n, stack))
        return has_record_of_entering(w, c) ? RECORDING_STATE_LOCK : RECORDING_STATE_GC;

    if (!table_u64_get(&w->states, stack->id, &state)) {
        state = find_by_name(n, stack);
        if (state == RECORDING_STATE_WAIT && is_untold(n, stack))
            state = 0;
        table_u64_put(&w->states, stack->id, state);
    }
    if (state == 0)
        state = has_record_of_entering(w, c) ? RECORDING_STATE_LOCK : RECORDING_STATE_WAIT;
    /* Of native code the system call tells. */
    call = (c->flags & SAMPLING_STILL) != 0 && state == RECORDING_STATE_WAIT
               ? sampling_still_state((long)c->registers[STACKWALK_RAX])
               : 0;
    state = call != 0 ? call : state;
    return (uint32_t)state;
}
