/* trace_deep: see trace_deep.h. */
#include "profilers/trace_deep.h"

#include <errno.h>

#include "agent/lock.h"
#include "base/memory.h"
#include "profilers/trace_memory.h"
#include "profilers/trace_select.h"

enum {
    LONGEST_CYCLE = 64, /* methods that call each other */
    WAIT_NS = 50000,
    MOST_WAITS = 100000, /* of a thread in a session: seconds; then it goes on regardless */
};

/* ---- probes ---- */

/* Calls beyond `untimed_from` have no frames; those before it tell the same of a recursion. */
static bool is_recursion(const trace_method *m, const trace_thread *t)
{
    uint32_t depth = t->untimed_from != 0 ? t->untimed_from : t->depth;

    for (uint32_t n = 1; n <= LONGEST_CYCLE && n <= depth; n++) {
        const trace_frame *f = trace_memory_frame(t, depth - n);

        if (f != NULL && f->method == m)
            return true;
    }
    return false;
}

void trace_deep_entered(const trace_method *m, trace_thread *t)
{
    trace_counters *c = m->counters;
    trace_method *mine = (trace_method *)(uintptr_t)m; /* probes have it as a constant */
    int state = atomic_load_explicit(&mine->deep, memory_order_relaxed);
    struct timespec moment = {0, WAIT_NS};
    int saved;

    if (c->wake == NULL || state == TRACE_DEEP_DONE || t->depth < trace_memory_timed_calls(t) ||
        !is_recursion(m, t))
        return;
    saved = errno;
    if (state == TRACE_DEEP_NOT &&
        atomic_compare_exchange_strong(&mine->deep, &state, TRACE_DEEP_ASKED)) {
        atomic_store(&c->deep_asked, true);
        c->wake(c->wake_context);
    }
    if (t->deep_waits < MOST_WAITS) {
        t->deep_waits++;
        lock_wait(&mine->deep, TRACE_DEEP_ASKED, &moment);
    }
    errno = saved;
}

/* ---- own thread ---- */

/* Has the program compiled the method for itself, so that there is code to go back to? Of generic
 * methods the runtime cannot say; then it has if it was there before us. */
static bool has_old_code(const clr_info *info, const trace_entry *entry)
{
    FunctionID function = 0;
    uintptr_t code;
    uint32_t count = 0;

    if (entry->is_new)
        return false;
    if (!CLR_OK(clr_info_get_function_from_token(info, entry->module, entry->token, &function)))
        return true;
    clr_info_get_native_code_start_addresses(info, function, 0, 1, &count, &code);
    return count != 0;
}

void trace_deep_answer(const clr_info *info, trace_registry *r)
{
    trace_list revert = {0};
    trace_list again = {0};
    HRESULT *status;

    if (!atomic_exchange(&r->counters.deep_asked, false))
        return;
    for (uint32_t n = 0; n < r->count; n++) {
        trace_entry *entry = trace_registry_at(r, n);

        if (atomic_load(&entry->probe.deep) != TRACE_DEEP_ASKED || !atomic_load(&entry->wanted))
            continue;
        atomic_store(&entry->lean, true);
        trace_list_add(has_old_code(info, entry) ? &revert : &again, entry->module, entry->token);
    }
    status = memory_allocate_array((size_t)revert.count + 1, sizeof *status);
    if (revert.count != 0 && status != NULL)
        clr_info_request_revert(info, revert.count, revert.modules, revert.tokens, status);
    if (again.count != 0)
        clr_info_request_rejit(info, again.count, again.modules, again.tokens);
    memory_free(status);
    trace_list_free(&revert);
    trace_list_free(&again);
    for (uint32_t n = 0; n < r->count; n++) {
        trace_entry *entry = trace_registry_at(r, n);

        if (!atomic_load(&entry->lean) || atomic_load(&entry->probe.deep) != TRACE_DEEP_ASKED)
            continue;
        atomic_store(&entry->state, TRACE_TOO_DEEP);
        atomic_store(&entry->probe.deep, TRACE_DEEP_DONE);
        lock_wake(&entry->probe.deep, INT32_MAX);
    }
}
