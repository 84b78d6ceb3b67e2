/* trace_deep: see trace_deep.h. */
#include "profilers/trace_deep.h"

#include <errno.h>
#include <string.h>

#include "agent/lock.h"
#include "base/memory.h"
#include "cil/body.h"
#include "profilers/trace_cycles.h"
#include "profilers/trace_memory.h"

enum {
    LONGEST_CYCLE = 64, /* methods that call each other */
    WAIT_NS = 50000,
    MOST_WAITS = 100000, /* of a thread in a session: seconds; then it goes on regardless */
};

/* ---- probes ---- */

/* Of how many traced calls the recursion that enters the method consists; 0 = it is none. Calls
 * beyond `untimed_from` have no frames; those before it tell the same. */
static uint32_t find_recursion(const trace_method *m, const trace_thread *t, uint32_t depth)
{
    for (uint32_t n = 1; n <= LONGEST_CYCLE && n <= depth; n++) {
        const trace_frame *f = trace_memory_frame(t, depth - n);

        if (f != NULL && f->method == m)
            return n;
    }
    return 0;
}

/* Probes have their method as a constant. */
static bool ask_for(const trace_method *m)
{
    int state = TRACE_DEEP_NOT;

    return atomic_compare_exchange_strong(&((trace_method *)(uintptr_t)m)->deep, &state,
                                          TRACE_DEEP_ASKED);
}

void trace_deep_entered(const trace_method *m, trace_thread *t)
{
    trace_counters *c = m->counters;
    trace_method *mine = (trace_method *)(uintptr_t)m; /* probes have it as a constant */
    int state = atomic_load_explicit(&mine->deep, memory_order_relaxed);
    struct timespec moment = {0, WAIT_NS};
    uint32_t depth = t->untimed_from != 0 ? t->untimed_from : t->depth;
    uint32_t calls;
    int saved;

    if (c->wake == NULL || state == TRACE_DEEP_DONE || t->depth < trace_memory_timed_calls(t) ||
        (calls = find_recursion(m, t, depth)) == 0)
        return;
    saved = errno;
    if (state == TRACE_DEEP_NOT && ask_for(m)) {
        /* all at once: what still had probes when another is compiled would not be inlined there */
        for (uint32_t n = 1; n < calls; n++) {
            const trace_frame *f = trace_memory_frame(t, depth - n);

            if (f != NULL)
                ask_for(f->method);
        }
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

/* Has the program compiled the method for itself, so that there is code to go back to, or will the
 * runtime optimise it at once? Of generic methods the runtime cannot say; then it has if it was
 * there before us. */
static bool has_old_code(const clr_info *info, const trace_entry *entry)
{
    FunctionID function = 0;
    uintptr_t code;
    uint32_t count = 0;

    if (entry->hurried || entry->is_new)
        return entry->hurried;
    if (!CLR_OK(clr_info_get_function_from_token(info, entry->module, entry->token, &function)))
        return true;
    clr_info_get_native_code_start_addresses(info, function, 0, 1, &count, &code);
    return count != 0;
}

static bool is_deep(trace_registry *r, ModuleID module, mdToken token)
{
    const trace_entry *entry = trace_registry_find(r, module, token);

    return entry != NULL && atomic_load(&entry->lean);
}

/* Does the method call one that has just lost its probes? Calls across assemblies and of methods of
 * generic types have other tokens; they are not followed. */
static bool calls_deep(const clr_info *info, trace_registry *r, const trace_inliner *caller,
                       cil_body *body)
{
    IMetaDataImport2 *import = NULL;
    const uint8_t *bytes = NULL;
    uint32_t size = 0, length = 0, flags = 0;
    bool found = false;

    /* the body lies in the module's memory, which must not go away */
    if (clr_info_get_module_info2(info, caller->module, NULL, 0, &length, NULL, NULL, &flags) !=
            S_OK ||
        (flags & COR_PRF_MODULE_COLLECTIBLE) != 0 ||
        clr_info_get_il_function_body(info, caller->module, caller->token, &bytes, &size) != S_OK ||
        bytes == NULL || cil_decode(body, bytes, size, NULL) != 0 ||
        !CLR_OK(clr_open_import(info, caller->module, &import)))
        return false;
    for (cil_at at = cil_first(body); at != CIL_END && !found; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);
        mdToken token = i->operand.token;

        if (i->opcode != CIL_CALL && i->opcode != CIL_CALLVIRT)
            continue;
        if (token >> 24 == 0x2B) /* a generic method with its arguments */
            clr_import_get_method_spec_props(import, i->operand.token, &token, NULL, NULL);
        found = is_deep(r, caller->module, token);
    }
    clr_release(import);
    return found;
}

/* Callers that are not traced, but were made to call what they had inlined: they have a frame more
 * in the same recursion, so they get their old code back too. */
static void add_callers(const clr_info *info, trace_registry *r, trace_list *revert)
{
    trace_inliner *callers = NULL;
    uint32_t count;
    cil_body body;

    lock_take(&r->guard);
    count = r->inliner_count;
    callers = memory_allocate_array((size_t)count + 1, sizeof *callers);
    if (callers != NULL)
        memcpy(callers, r->inliners, count * sizeof *callers);
    lock_give(&r->guard);
    cil_body_init(&body);
    for (uint32_t n = 0; callers != NULL && n < count; n++)
        if (calls_deep(info, r, &callers[n], &body))
            trace_list_add(revert, callers[n].module, callers[n].token);
    cil_body_free(&body);
    memory_free(callers);
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
        trace_cycles_hurry(info, entry);
        trace_list_add(has_old_code(info, entry) ? &revert : &again, entry->module, entry->token);
    }
    add_callers(info, r, &revert);
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
