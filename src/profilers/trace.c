/*
 * trace: calls, failures and times of chosen methods of a live program.
 *
 * The runtime is asked to recompile the chosen methods and everybody who has inlined them; at each
 * method's next call it asks for the new body, which has probes in it (trace_rewrite). At the end
 * everything is reverted, the inliners too, and the library stays in the process, idle.
 * Inliners are asked for by callback, because otherwise the runtime would take probes out of a
 * chosen method that is itself an inliner of another one.
 *
 * Thread rules: engine.h. on_module_loaded and trace_on_rejit_parameters run on the target's
 * threads.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/memory.h"
#include "base/os.h"
#include "cil/pattern.h"
#include "clarinet/lookup.h"
#include "profilers/trace_classes.h"
#include "profilers/trace_cycles.h"
#include "profilers/trace_deep.h"
#include "profilers/trace_memory.h"
#include "profilers/trace_output.h"
#include "profilers/trace_registry.h"
#include "profilers/trace_select.h"
#include "profilers/trace_spans_output.h"

enum {
    SELF = ENGINE_INDEX_trace,
    BATCH = 1000, /* methods in one request: recompiling is spread a little */
    REVERTED_AT_ONCE = 256,
    NAMED_BODILESS = 256, /* methods */
    REJIT_WITH_CALLBACKS = 3,
    WRITE_INTERVAL_NS = 500000000,
    TICKS_A_SECOND = 10,
    BURST = 100,          /* single calls that may come at once, if the rate is not lower */
    MOST_SPANS = 8 << 20, /* bytes */
    LEAST_SPANS = 64 << 10,
    LOAD_WAIT_NS = 1000000,
    MOST_LOAD_WAITS = 1500, /* so that all is over within 2 s */
};

typedef trace_state_of_engine state;

static state *state_of(agent *a)
{
    return a->engines[SELF].state;
}

/* ---- on the target's threads ---- */

static void leave_alone(trace_entry *entry, const char *reason)
{
    char *text = memory_copy_text(reason);

    if (entry->reason == NULL)
        entry->reason = text;
    else
        memory_free(text);
    atomic_store(&entry->state, TRACE_LEFT_ALONE);
}

/* Steps of async methods are timed as a whole once the runtime has told where tasks keep their
 * numbers. Threads that ask at once make one each; the first one is taken. */
static void prepare_async(agent *a, trace_counters *c)
{
    trace_async *made;
    struct trace_async *none = NULL;

    if (__atomic_load_n(&c->async, __ATOMIC_ACQUIRE) != NULL)
        return;
    made = trace_async_create(&a->info);
    if (made != NULL && !__atomic_compare_exchange_n(&c->async, &none, made, false,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        trace_async_free(made);
}

/* An async method that has a task ends when that is complete, so its end is the whole call's. */
static void set_wishes(trace_entry *entry, unsigned wishes, const trace_plan *plan, bool has_task)
{
    const unsigned at_entry = TRACE_WISH_ENTRY | TRACE_WISH_LOG_ENTRY;

    entry->probe.wishes = has_task ? wishes & at_entry : wishes;
    if (entry->as_whole == NULL)
        return;
    entry->as_whole->probe.wishes = has_task ? wishes & ~at_entry : 0;
    atomic_store(&entry->as_whole->probe.plan, plan);
    atomic_store(&entry->as_whole->plan, plan);
}

void trace_on_rejit_parameters(agent *a, ModuleID module, mdMethodDef method,
                               ICorProfilerFunctionControl *control)
{
    state *s = state_of(a);
    trace_entry *entry = trace_registry_find(&s->registry, module, method);
    const trace_wanted *w = atomic_load(&s->wanted);
    const trace_plan *plan = NULL;
    const trace_module *opened;
    trace_request request;
    unsigned wishes;
    bool has_task = false;
    error e;

    if (entry == NULL || !atomic_load(&entry->wanted)) {
        if (agent_is_active(a, SELF))
            trace_registry_add_inliner(&s->registry, module, method);
        return;
    }
    wishes = w == NULL ? 0 : w->moments | (atomic_load(&entry->log) ? w->log_moment : 0);
    request = (trace_request){.step = atomic_load(&entry->step),
                              .spans = w != NULL && w->spans,
                              .async = atomic_load(&entry->async),
                              .empty = s->empty,
                              .whole = entry->as_whole != NULL,
                              .plans = &entry->plans,
                              .plan = &plan,
                              .has_task = &has_task};
    if (request.step)
        prepare_async(a, &s->registry.counters);
    if (request.step)
        request.results = w != NULL && w->single;
    else if (wishes != 0)
        request.wish = &w->wish;
    request.lean = atomic_load(&entry->lean);
    entry->probe.wishes = 0;
    error_clear(&e);
    opened = trace_registry_module(&s->registry, &a->info, module, &e);
    if (opened == NULL ||
        trace_rewrite(&a->info, opened, method, &entry->probe, &request, control, &e) != 0) {
        leave_alone(entry, e.message);
        return;
    }
    if (request.lean)
        return;
    if (!request.step)
        set_wishes(entry, wishes, plan, has_task);
    atomic_store(&entry->plan, plan);
    atomic_store(&entry->state, TRACE_PROBED);
}

/* In the probe of a call that is wanted by itself: into the ring. */
static void sink(void *context, const trace_event *event, const uint8_t *values, size_t length)
{
    agent *a = context;
    size_t size = sizeof *event + length;
    trace_event *copy = agent_reserve(a, SELF, size);

    if (copy == NULL)
        return;
    *copy = *event;
    if (length != 0)
        memcpy(copy + 1, values, length);
    agent_commit(a, SELF, copy, size, 0, size);
    if ((event->moments & (TRACE_WISH_LOG_ENTRY | TRACE_WISH_LOG_EXIT)) != 0)
        agent_wake(a);
}

void trace_on_exception_thrown(agent *a, ObjectID object)
{
    ClassID class_id = 0;

    if (CLR_OK(clr_info_get_class_from_object(&a->info, object, &class_id)))
        trace_exceptions_thrown(&state_of(a)->registry.counters, class_id);
}

void trace_on_exception_caught(agent *a, ObjectID object)
{
    ClassID class_id = 0;

    if (CLR_OK(clr_info_get_class_from_object(&a->info, object, &class_id)))
        trace_exceptions_caught(class_id);
}

void trace_on_rejit_error(agent *a, ModuleID module, mdMethodDef method, HRESULT status)
{
    trace_entry *entry = trace_registry_find(&state_of(a)->registry, module, method);
    char text[CLR_HRESULT_TEXT];

    if (entry != NULL)
        leave_alone(entry, status == CORPROF_E_MODULE_IS_DYNAMIC
                               ? "made at run time (Reflection.Emit)"
                               : clr_hresult_name(status, text));
}

void trace_on_class_loaded(agent *a, ClassID class_id)
{
    trace_cycles_class_loaded(&a->info, &state_of(a)->registry, class_id);
}

static void on_module_unloading(agent *a)
{
    atomic_store(&state_of(a)->unloading, true); /* the unloading waits for a round of ours */
    if (state_of(a)->registry.counters.classes != NULL)
        trace_classes_forget(state_of(a)->registry.counters.classes);
}

/* What the session wants of a module that was not seen yet; false when it was, or is left alone. */
static bool look_through(agent *a, state *s, const trace_wanted *w, ModuleID module,
                         trace_list *list)
{
    /* requests for its methods would come to nothing, and its id may be another's one day */
    if (clr_is_module_collectible(&a->info, module)) {
        atomic_fetch_add(&s->left_modules, 1);
        return false;
    }
    if (!trace_registry_take(&s->registry, module))
        return false;
    trace_select_module(&a->info, &s->registry, &w->patterns, w->has_log ? &w->log_methods : NULL,
                        module, list);
    return true;
}

/* Somebody may have named one by itself, who is told why it has no spans. */
static uint32_t nameable(state *s, const trace_wanted *w)
{
    uint64_t known = atomic_load(&s->bodiless);

    return w != NULL && w->spans && known < NAMED_BODILESS ? NAMED_BODILESS - (uint32_t)known : 0;
}

/* In the middle of a module's load the runtime does not look for precompiled inliners itself. */
static void ask_in_load(agent *a, state *s, ModuleID module)
{
    const trace_wanted *w = atomic_load(&s->wanted);
    trace_list list = {.nameable = nameable(s, w)};

    if (w == NULL || !look_through(a, s, w, module, &list))
        return;
    for (uint32_t n = 0; n < list.count; n++) {
        trace_entry *entry = trace_registry_find(&s->registry, module, list.tokens[n]);

        if (entry != NULL)
            atomic_store(&entry->is_new, true);
    }
    if (list.count != 0 && !w->dry_run && agent_is_active(a, SELF)) {
        trace_cycles_prepare(&a->info, &s->registry, module, &list);
        trace_select_inliners(&a->info, module, &list);
        clr_info_request_rejit(&a->info, list.count, list.modules, list.tokens);
    }
    atomic_fetch_add(&s->lost_methods, list.failed);
    atomic_fetch_add(&s->bodiless, list.bodiless);
    trace_list_free(&list);
}

/* Either this is told that the session is over, or the end of the session waits for it: what was
 * asked for after the end would stay in the program. */
static void on_module_loaded(agent *a, ModuleID module)
{
    state *s = state_of(a);

    atomic_fetch_add(&s->loading, 1);
    if (agent_is_active(a, SELF))
        ask_in_load(a, s, module);
    if (atomic_fetch_sub(&s->loading, 1) == 1)
        lock_wake(&s->loading, 1);
}

/* ---- own thread ---- */

/* The benchmark's variable: what do probes cost that do nothing? */
static bool wants_empty_probes(agent *a)
{
    buffer value = BUFFER_EMPTY;
    bool empty = agent_enter_runtime(a) &&
                 clr_get_environment(&a->info, "CLARINET_TRACE_PROBES", &value) == S_OK &&
                 strcmp(buffer_text(&value), "empty") == 0;

    buffer_free(&value);
    return empty;
}

/* At once: a thread of the program waits for the answer. */
static void wake(void *context)
{
    agent *a = context;
    uint64_t one = 1;

    if (write(a->wake, &one, sizeof one) < 0)
        agent_wake(a);
}

static int start(agent *a, error *e)
{
    state *s = state_of(a);

    if (s == NULL) {
        s = memory_allocate_array(1, sizeof *s);
        if (s == NULL)
            return error_set(e, ERROR_MEMORY, "no memory for the tracer");
        a->engines[SELF].state = s;
    }
    if (s->registry.counters.pool == NULL && arena_charge(&a->memory, trace_memory_bytes()) != 0)
        return error_set(e, ERROR_LIMIT, "the agent's memory cap leaves no room for the tracer");
    if (!trace_memory_open(&s->registry.counters))
        return error_set(e, ERROR_MEMORY, "no memory for the tracer's counters");
    s->asked = false;
    s->empty = wants_empty_probes(a);
    s->counted = false;
    s->next_write_ns = 0;
    s->allowed_ns = 0;
    atomic_store(&s->registry.counters.allowance, 0);
    s->events = 0;
    s->unkept = 0;
    s->registry.counters.sink = NULL;
    s->registry.counters.span_ring = NULL;
    s->registry.counters.condition = NULL;
    if (s->registry.counters.exceptions == NULL)
        s->registry.counters.exceptions =
            memory_allocate_array(1, sizeof *s->registry.counters.exceptions);
    if (s->registry.counters.exceptions != NULL)
        trace_exceptions_clear(s->registry.counters.exceptions);
    if (s->registry.counters.async != NULL)
        trace_async_clear(s->registry.counters.async);
    if (s->registry.counters.classes != NULL)
        trace_classes_forget(s->registry.counters.classes); /* modules may have gone meanwhile */
    s->registry.counters.tree = NULL;
    s->registry.counters.wake = wake;
    s->registry.counters.wake_context = a;
    memset(s->lost, 0, sizeof s->lost);
    atomic_store(&s->lost_methods, 0);
    atomic_store(&s->left_modules, 0);
    atomic_store(&s->bodiless, 0);
    s->listed = 0;
    s->unlisted = 0;
    trace_registry_end_session(&s->registry);
    trace_memory_sweep(&s->registry.counters, true);
    return 0;
}

/* Single calls are wanted, at least this long. */
static void want_calls(agent *a, state *s, uint64_t slower_than_ns)
{
    trace_counters *c = &s->registry.counters;

    if (c->classes == NULL)
        c->classes = trace_classes_create();
    if (!agent_enter_runtime(a) ||
        clr_info_get_string_layout2(&a->info, &c->string_length, &c->string_start) != S_OK)
        return;
    c->event_tick_ns = trace_measure_tick_ns(c);
    c->slower_than = (uint64_t)((double)slower_than_ns / c->event_tick_ns);
    c->sink_context = a;
    c->sink = sink;
}

/* The call tree's memory is kept once it was wanted. */
static void want_tree(agent *a, state *s)
{
    if (s->tree == NULL && arena_charge(&a->memory, sizeof *s->tree) == 0)
        s->tree = trace_tree_create();
    if (s->tree == NULL)
        return;
    trace_tree_clear(s->tree);
    s->registry.counters.tree = s->tree;
}

/* Spans come in bursts: their ring is as large as the agent's memory allows. What a session before
 * has left in it is nobody's. */
static void want_spans(agent *a, state *s)
{
    trace_counters *c = &s->registry.counters;
    ring_record old;

    for (ptrdiff_t size = MOST_SPANS; size >= LEAST_SPANS && s->spans.size == 0; size /= 2)
        if (arena_charge(&a->memory, size) == 0 &&
            ring_create(&s->spans, (size_t)size, a->wake, NULL) != 0)
            arena_charge(&a->memory, -size);
    while (ring_next(&s->spans, &old))
        ring_release(&s->spans);
    s->spans_dropped = atomic_load(&s->spans.dropped);
    trace_span_clock_start(&s->span_clock, c);
    c->span_ring = &s->spans; /* without memory it is always full */
}

/* Grants what the time since the last grant is worth. What was not used is kept, up to a burst: a
 * few calls close together must not be lost where the second as a whole has hardly any. */
static void allow_single_calls(state *s, int rate, uint64_t now)
{
    int most = rate < BURST ? rate : rate / TICKS_A_SECOND > BURST ? rate / TICKS_A_SECOND : BURST;
    int left = atomic_load(&s->registry.counters.allowance);
    uint64_t step_ns = UINT64_C(1000000000) / (uint64_t)rate;
    uint64_t grant = s->allowed_ns == 0 ? (uint64_t)most : (now - s->allowed_ns) / step_ns;

    s->allowed_ns = s->allowed_ns == 0 ? now : s->allowed_ns + grant * step_ns;
    left = left < 0 ? 0 : left;
    if (grant > (uint64_t)(most - left))
        grant = (uint64_t)(most - left);
    atomic_fetch_add(&s->registry.counters.allowance, (int)grant);
}

static void configure(agent *a)
{
    state *s = state_of(a);
    trace_counters *c = &s->registry.counters;
    size_t position = 0;
    const catalogue_selected *user = agent_user(a, SELF, &position);
    trace_wanted *w = user == NULL ? NULL : trace_wanted_read(user);

    if (w == NULL)
        return;
    w->before = atomic_load(&s->wanted);
    atomic_store(&s->wanted, w);
    if (w->has_condition) {
        memcpy(c->numbers, w->numbers, sizeof c->numbers);
        c->condition = &w->condition;
    }
    if (w->tree)
        want_tree(a, s);
    if (w->single) {
        want_calls(a, s, catalogue_number(user, "slower_than"));
        allow_single_calls(s, w->rate, os_monotonic_ns()); /* the first call may come at once */
    }
    trace_counters_start(c);
    if (w->spans && !w->dry_run)
        want_spans(a, s);
}

typedef struct {
    agent *a;
    const trace_wanted *w;
    trace_list list;
} asking;

static int visit_module(void *context, uintptr_t module)
{
    asking *ask = context;

    look_through(ask->a, state_of(ask->a), ask->w, module, &ask->list);
    return 1;
}

/* Everything that is loaded already. */
static void ask(agent *a, state *s)
{
    asking walk = {a, atomic_load(&s->wanted), {0}};

    walk.list.nameable = nameable(s, walk.w);
    s->asked = true;
    if (walk.w == NULL || !agent_enter_runtime(a))
        return;
    clr_each_module(&a->info, visit_module, &walk);
    for (uint32_t n = 0; n < walk.list.count && !walk.w->dry_run; n += BATCH) {
        uint32_t count = walk.list.count - n < BATCH ? walk.list.count - n : BATCH;

        clr_info_request_rejit_with_inliners(&a->info, REJIT_WITH_CALLBACKS, count,
                                             walk.list.modules + n, walk.list.tokens + n);
    }
    atomic_fetch_add(&s->lost_methods, walk.list.failed);
    atomic_fetch_add(&s->bodiless, walk.list.bodiless);
    trace_list_free(&walk.list);
}

/* A part at a time, without memory of its own: many methods leave none when they are traced. */
static void revert_part(agent *a, trace_list *part, bool may_ask, uint32_t full)
{
    HRESULT status[REVERTED_AT_ONCE];

    if (part->count == 0 || part->count < full)
        return;
    if (may_ask)
        clr_info_request_revert(&a->info, part->count, part->modules, part->tokens, status);
    part->count = 0;
}

/* Bounded, though a load that was begun never waits for us. */
static void wait_for_loads(state *s)
{
    struct timespec moment = {0, LOAD_WAIT_NS};
    int loading;

    atomic_thread_fence(memory_order_seq_cst);
    for (int n = 0; n < MOST_LOAD_WAITS && (loading = atomic_load(&s->loading)) != 0; n++)
        lock_wait(&s->loading, loading, &moment);
}

/* Takes every probe out again, and lets the inliners inline again. */
static void stop(agent *a)
{
    state *s = state_of(a);
    trace_registry *r = &s->registry;
    ModuleID modules[REVERTED_AT_ONCE];
    mdMethodDef tokens[REVERTED_AT_ONCE];
    trace_list part = {.modules = modules, .tokens = tokens, .capacity = REVERTED_AT_ONCE};
    bool may_ask = atomic_load(&a->phase) == AGENT_RUNNING && agent_enter_runtime(a);

    trace_counters_stop(&r->counters);
    if (may_ask) {
        wait_for_loads(s);
        trace_cycles_restore(&a->info, r, true);
    }
    for (uint32_t n = 0; n < r->count; n++) {
        trace_entry *entry = trace_registry_at(r, n);

        if (atomic_exchange(&entry->wanted, false) && !entry->whole)
            trace_list_add(&part, entry->module, entry->token);
        revert_part(a, &part, may_ask, REVERTED_AT_ONCE);
    }
    for (uint32_t n = 0; n < r->inliner_count; n++) {
        trace_list_add(&part, r->inliners[n].module, r->inliners[n].token);
        revert_part(a, &part, may_ask, REVERTED_AT_ONCE);
    }
    revert_part(a, &part, may_ask, 1);
    trace_registry_end_session(r);
}

static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    uint64_t now = os_monotonic_ns();

    const trace_wanted *w = atomic_load(&s->wanted);

    if (w != NULL && s->registry.counters.classes != NULL && agent_enter_runtime(a))
        trace_classes_answer(s->registry.counters.classes, &a->info, w->wish.redact);
    if (!s->asked)
        ask(a, s);
    if (!last && atomic_load(&s->registry.counters.deep_asked) && agent_enter_runtime(a))
        trace_deep_answer(&a->info, &s->registry);
    else if (!last && agent_enter_runtime(a))
        trace_cycles_restore(&a->info, &s->registry, false);
    if (w != NULL && w->single)
        allow_single_calls(s, w->rate, now);
    trace_output_look(s);
    trace_output_name_failures(a, s);
    if (s->registry.counters.span_ring != NULL)
        trace_spans_write(a, s, last);
    if (!last && now < s->next_write_ns)
        return;
    /* the first call at once: a program that is killed soon after was seen to make it */
    s->next_write_ns = now + (s->counted ? (uint64_t)WRITE_INTERVAL_NS : 0);
    trace_output_write(a, s, last);
    trace_memory_sweep(&s->registry.counters, false);
}

/* A dry run must not ask for what keeps the library in the process for good. */
static uint32_t further_mask(agent *a)
{
    const trace_wanted *w = atomic_load(&state_of(a)->wanted);

    return w == NULL || w->dry_run
               ? 0
               : COR_PRF_ENABLE_REJIT | COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_MONITOR_CLASS_LOADS;
}

const engine ENGINE_trace = {
    .name = "trace",
    .mask_low = COR_PRF_MONITOR_MODULE_LOADS,
    .further_mask = further_mask,
    .tables = TRACE_TABLES,
    .table_count = TRACE_TABLE_COUNT,
    .losses = TRACE_LOSSES,
    .start = start,
    .stop = stop,
    .configure = configure,
    .record = trace_output_record,
    .drain = drain,
    .on_module_loaded = on_module_loaded,
    .on_module_unloading = on_module_unloading,
};
