/*
 * trace: calls, failures and times of chosen methods of a live program.
 *
 * The runtime is asked to recompile the chosen methods and everybody who has inlined them; at each
 * method's next call it asks for the new body, which has probes in it (trace_rewrite). At the end
 * everything is reverted, the inliners too, and the library stays in the process, idle.
 * Inliners are asked for by callback, because otherwise the runtime would take probes out of a
 * chosen method that is itself an inliner of another one.
 *
 * Thread rules: engine.h. on_module_loaded and on_rejit_parameters run on the target's threads.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/memory.h"
#include "base/os.h"
#include "cil/pattern.h"
#include "profilers/trace_memory.h"
#include "profilers/trace_registry.h"
#include "profilers/trace_select.h"
#include "profilers/trace_values.h"

enum {
    SELF = ENGINE_INDEX_trace,
    BATCH = 1000, /* methods in one request: recompiling is spread a little */
    REJIT_WITH_CALLBACKS = 3,
    WRITE_INTERVAL_NS = 500000000,
    LOSS_RING = 0,
    LOSS_TIMES,
    LOSS_DEPTH,
    LOSS_THREADS,
    LOSS_METHODS,
    LOSS_EVENTS,
    EVENTS = 50000, /* single calls of one session */
    TICKS_A_SECOND = 10,
};

enum { TABLE_METHODS, TABLE_CALLS, TABLE_TIMES, TABLE_EVENTS };

static const recording_column METHOD_COLUMNS[] = {
    {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_STRING_ID, "state", ""},
};
static const recording_column CALL_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},        {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_U64, "calls", ""},        {RECORDING_U64, "failures", ""},
    {RECORDING_DURATION, "total", "ns"}, {RECORDING_DURATION, "self", "ns"},
    {RECORDING_DURATION, "least", "ns"}, {RECORDING_DURATION, "most", "ns"},
    {RECORDING_U64, "active", ""},       {RECORDING_U64, "threads", ""},
    {RECORDING_U64, "step", ""},         {RECORDING_U64, "completions", ""},
};
static const recording_column TIME_COLUMNS[] = {
    {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_DURATION, "from", "ns"},
    {RECORDING_DURATION, "to", "ns"},
    {RECORDING_U64, "count", ""},
};
static const recording_column EVENT_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},        {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_METHOD_ID, "method", ""}, {RECORDING_DURATION, "duration", "ns"},
    {RECORDING_U64, "failed", ""},       {RECORDING_STRING_ID, "values", ""},
};
static const recording_table TABLES[] = {
    {"trace_methods", "trace", METHOD_COLUMNS, 2},
    {"trace_calls", "trace", CALL_COLUMNS, 12},
    {"trace_times", "trace", TIME_COLUMNS, 4},
    {"trace_events", "trace", EVENT_COLUMNS, 6},
};
static const char *const LOSSES[] = {
    "ring full",
    "call counted, but its time is not in the quantiles: no memory",
    "call counted, but not timed: too many calls inside each other",
    "call not counted: no memory for its thread",
    "method not traced: more than 262,144, or no memory",
    "call not shown by itself: more than 50,000",
};

/* The patterns of one session. Callbacks may still read the last ones: kept until the end. */
typedef struct wanted {
    struct wanted *before;
    cil_patterns patterns;
    bool dry_run;
    bool values;
    int rate; /* single calls a second */
} wanted;

/* A single call in the ring; its values follow. */
typedef struct {
    uint64_t start, time; /* ticks */
    uint32_t method;
    uint32_t thread;
    uint32_t failed;
    uint32_t length;
} call;

typedef struct {
    trace_registry registry;
    _Atomic(wanted *) wanted;
    uint64_t events;
    bool asked; /* this session's request for what is loaded was made */
    uint64_t next_write_ns;
    uint64_t lost[5]; /* as told to the agent */
    uint64_t unkept;  /* calls of the whole session whose times are in no histogram */
    atomic_uint_fast64_t lost_methods;
} state;

/* One thing seen while adding up: a block of counters, or (NULL) running calls. */
typedef struct {
    uint32_t method;
    uint32_t running; /* calls inside each other */
    const trace_block *block;
} item;

typedef struct {
    item *items;
    size_t count, capacity;
} item_list;

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

static void on_rejit_parameters(agent *a, ModuleID module, mdMethodDef method,
                                ICorProfilerFunctionControl *control)
{
    state *s = state_of(a);
    trace_entry *entry = trace_registry_find(&s->registry, module, method);
    const wanted *w = atomic_load(&s->wanted);
    const trace_module *opened;
    unsigned flags = 0;
    error e;

    if (entry == NULL || !atomic_load(&entry->wanted)) {
        if (agent_is_active(a, SELF))
            trace_registry_add_inliner(&s->registry, module, method);
        return;
    }
    if (atomic_load(&entry->step))
        flags |= TRACE_STEP;
    if (w != NULL && w->values)
        flags |= TRACE_WITH_VALUES;
    error_clear(&e);
    opened = trace_registry_module(&s->registry, &a->info, module, &e);
    if (opened == NULL ||
        trace_rewrite(&a->info, opened, method, &entry->probe, flags, control, &e) != 0)
        leave_alone(entry, e.message);
    else
        atomic_store(&entry->state, TRACE_PROBED);
}

/* In the probe of a call that was slow enough: into the ring. */
static void sink(void *context, const trace_method *method, const trace_thread *thread,
                 uint64_t start_ticks, uint64_t time, bool failed, const uint8_t *values,
                 size_t length)
{
    agent *a = context;
    size_t size = sizeof(call) + length;
    call *c = agent_reserve(a, SELF, size);

    if (c == NULL)
        return;
    *c = (call){start_ticks, time, method->index, thread->thread_id, failed, (uint32_t)length};
    if (length != 0)
        memcpy(c + 1, values, length);
    agent_commit(a, SELF, c, size, 0, size);
}

static void on_rejit_error(agent *a, ModuleID module, mdMethodDef method, HRESULT status)
{
    trace_entry *entry = trace_registry_find(&state_of(a)->registry, module, method);
    char text[CLR_HRESULT_TEXT];

    if (entry != NULL)
        leave_alone(entry, clr_hresult_name(status, text));
}

/* In the middle of a module's load the runtime does not look for precompiled inliners itself. */
static void on_module_loaded(agent *a, ModuleID module)
{
    state *s = state_of(a);
    const wanted *w = atomic_load(&s->wanted);
    trace_list list = {0};

    if (w == NULL || !trace_registry_take(&s->registry, module))
        return;
    trace_select_module(&a->info, &s->registry, &w->patterns, module, &list);
    if (list.count != 0 && !w->dry_run) {
        trace_select_inliners(&a->info, module, &list);
        clr_info_request_rejit(&a->info, list.count, list.modules, list.tokens);
    }
    if (list.failed)
        atomic_fetch_add(&s->lost_methods, 1);
    trace_list_free(&list);
}

/* ---- own thread ---- */

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
    s->next_write_ns = 0;
    s->events = 0;
    s->unkept = 0;
    s->registry.counters.sink = NULL;
    memset(s->lost, 0, sizeof s->lost);
    atomic_store(&s->lost_methods, 0);
    trace_registry_end_session(&s->registry);
    trace_memory_sweep(&s->registry.counters, true);
    return 0;
}

/* Single calls are wanted, at least this long. */
static void want_calls(agent *a, state *s, uint64_t slower_than_ns)
{
    trace_counters *c = &s->registry.counters;

    if (!agent_enter_runtime(a) ||
        clr_info_get_string_layout2(&a->info, &c->string_length, &c->string_start) != S_OK)
        return;
    c->slower_than = (uint64_t)((double)slower_than_ns / trace_measure_tick_ns(c));
    c->sink_context = a;
    c->sink = sink;
}

static void configure(agent *a)
{
    state *s = state_of(a);
    size_t position = 0;
    const catalogue_selected *user = agent_user(a, SELF, &position);
    wanted *w;

    if (user == NULL)
        return;
    w = memory_allocate_array(1, sizeof *w);
    if (w == NULL)
        return;
    w->dry_run = catalogue_number(user, "dry_run") != 0;
    if (cil_patterns_parse(&w->patterns, catalogue_text(user, "methods"), NULL) != 0) {
        memory_free(w);
        return;
    }
    w->values = catalogue_number(user, "values") != 0;
    w->rate = (int)catalogue_number(user, "rate");
    w->before = atomic_load(&s->wanted);
    atomic_store(&s->wanted, w);
    if (w->values)
        want_calls(a, s, catalogue_number(user, "slower_than"));
    trace_counters_start(&s->registry.counters);
}

typedef struct {
    agent *a;
    const wanted *w;
    trace_list list;
} asking;

static int visit_module(void *context, uintptr_t module)
{
    asking *ask = context;
    state *s = state_of(ask->a);

    if (trace_registry_take(&s->registry, module))
        trace_select_module(&ask->a->info, &s->registry, &ask->w->patterns, module, &ask->list);
    return 1;
}

/* Everything that is loaded already. */
static void ask(agent *a, state *s)
{
    asking walk = {a, atomic_load(&s->wanted), {0}};

    s->asked = true;
    if (walk.w == NULL || !agent_enter_runtime(a))
        return;
    clr_each_module(&a->info, visit_module, &walk);
    for (uint32_t n = 0; n < walk.list.count && !walk.w->dry_run; n += BATCH) {
        uint32_t count = walk.list.count - n < BATCH ? walk.list.count - n : BATCH;

        clr_info_request_rejit_with_inliners(&a->info, REJIT_WITH_CALLBACKS, count,
                                             walk.list.modules + n, walk.list.tokens + n);
    }
    if (walk.list.failed)
        atomic_fetch_add(&s->lost_methods, 1);
    trace_list_free(&walk.list);
}

/* Takes every probe out again, and lets the inliners inline again. */
static void stop(agent *a)
{
    state *s = state_of(a);
    trace_registry *r = &s->registry;
    trace_list list = {0};
    HRESULT *status;

    trace_counters_stop(&r->counters);
    for (uint32_t n = 0; n < r->count; n++) {
        trace_entry *entry = trace_registry_at(r, n);

        if (atomic_exchange(&entry->wanted, false))
            trace_list_add(&list, entry->module, entry->token);
    }
    for (uint32_t n = 0; n < r->inliner_count; n++)
        trace_list_add(&list, r->inliners[n].module, r->inliners[n].token);
    status = memory_allocate_array((size_t)list.count + 1, sizeof *status);
    if (list.count != 0 && status != NULL && atomic_load(&a->phase) == AGENT_RUNNING &&
        agent_enter_runtime(a))
        clr_info_request_revert(&a->info, list.count, list.modules, list.tokens, status);
    memory_free(status);
    trace_list_free(&list);
    trace_registry_end_session(r);
}

static void add_item(item_list *l, uint32_t method, uint32_t running, const trace_block *block)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity == 0 ? 256 : l->capacity * 2;
        item *items = memory_resize(l->items, capacity * sizeof *items);

        if (items == NULL)
            return;
        l->items = items;
        l->capacity = capacity;
    }
    l->items[l->count++] = (item){method, running, block};
}

static void see_block(void *context, const trace_block *block)
{
    add_item(context, block->method, 0, block);
}

static void see_running(void *context, uint32_t method, uint32_t count)
{
    add_item(context, method, count, NULL);
}

static int by_method(const void *left, const void *right)
{
    uint32_t a = ((const item *)left)->method;
    uint32_t b = ((const item *)right)->method;

    return a < b ? -1 : a > b;
}

static void add_up(const trace_counters *c, const item *items, size_t count, trace_sum *sum)
{
    memset(sum, 0, sizeof *sum);
    sum->minimum = UINT64_MAX;
    for (size_t n = 0; n < count; n++) {
        const trace_block *b = items[n].block;

        if (b == NULL) {
            sum->active += items[n].running;
            continue;
        }
        sum->threads++;
        sum->calls += __atomic_load_n(&b->calls, __ATOMIC_ACQUIRE);
        sum->failures += b->failures;
        sum->completions += b->completions;
        sum->total += b->total;
        sum->self += b->self;
        if (b->inverted_minimum != 0 && ~b->inverted_minimum < sum->minimum)
            sum->minimum = ~b->inverted_minimum;
        if (b->maximum > sum->maximum)
            sum->maximum = b->maximum;
        trace_counters_times(c, b, sum->buckets);
    }
    if (sum->minimum == UINT64_MAX)
        sum->minimum = 0;
}

static uint64_t scaled(uint64_t ticks, double tick_ns)
{
    return (uint64_t)((double)ticks * tick_ns + 0.5);
}

static uint32_t name_of(agent *a, trace_entry *entry)
{
    if (entry->name == 0 && agent_enter_runtime(a))
        entry->name = names_of_token(&a->names, entry->module, entry->token);
    return entry->name;
}

static void write_times(agent *a, trace_entry *entry, const trace_sum *sum, double tick_ns)
{
    for (unsigned k = 0; k < TRACE_BUCKETS; k++) {
        uint64_t cells[4] = {entry->name, scaled(trace_bucket_ticks(k), tick_ns),
                             scaled(trace_bucket_ticks(k + 1), tick_ns), sum->buckets[k]};

        if (sum->buckets[k] != 0)
            agent_row(a, SELF, TABLE_TIMES, cells);
    }
}

static void write_method(agent *a, trace_entry *entry, const trace_sum *sum, double tick_ns,
                         bool last)
{
    uint64_t cells[12] = {os_monotonic_ns(),
                          name_of(a, entry),
                          sum->calls,
                          sum->failures,
                          scaled(sum->total, tick_ns),
                          scaled(sum->self, tick_ns),
                          scaled(sum->minimum, tick_ns),
                          scaled(sum->maximum, tick_ns),
                          sum->active,
                          sum->threads,
                          atomic_load(&entry->step),
                          sum->completions};

    if (last || sum->calls != entry->written_calls || sum->active != entry->written_active)
        agent_row(a, SELF, TABLE_CALLS, cells);
    entry->written_calls = sum->calls;
    entry->written_active = sum->active;
    if (last)
        write_times(a, entry, sum, tick_ns);
}

/* A call is counted after its time was kept: a call that ends just now makes no difference. */
static uint64_t without_times(const trace_sum *sum)
{
    uint64_t kept = 0;

    for (unsigned k = 0; k < TRACE_BUCKETS; k++)
        kept += sum->buckets[k];
    return sum->calls > kept ? sum->calls - kept : 0;
}

static void write_counts(agent *a, state *s, bool last)
{
    trace_sum *sum = memory_allocate(sizeof *sum);
    item_list list = {0};
    double tick_ns = trace_tick_ns(&s->registry.counters);

    trace_counters_each(&s->registry.counters, &list, see_block, see_running);
    if (list.count != 0)
        qsort(list.items, list.count, sizeof *list.items, by_method);
    for (size_t n = 0; n < list.count && sum != NULL;) {
        size_t end = n;

        while (end < list.count && list.items[end].method == list.items[n].method)
            end++;
        add_up(&s->registry.counters, list.items + n, end - n, sum);
        write_method(a, trace_registry_at(&s->registry, list.items[n].method), sum, tick_ns, last);
        s->unkept += last ? without_times(sum) : 0;
        n = end;
    }
    memory_free(list.items);
    memory_free(sum);
}

/* Which methods are meant and what became of them, whenever that changes. */
static void write_states(agent *a, state *s)
{
    static const char *const words[] = {"waiting", "probed", "left alone"};

    for (uint32_t n = 0; n < s->registry.count; n++) {
        trace_entry *entry = trace_registry_at(&s->registry, n);
        int now = atomic_load(&entry->state);
        uint64_t cells[2];
        buffer text = BUFFER_EMPTY;

        if (!atomic_load(&entry->wanted) || entry->told == now + 1)
            continue;
        entry->told = now + 1;
        buffer_append_text(&text, words[now]);
        if (now == TRACE_LEFT_ALONE && entry->reason != NULL)
            buffer_format(&text, ": %s", entry->reason);
        cells[0] = name_of(a, entry);
        cells[1] = names_intern(&a->names, buffer_text(&text), text.length);
        agent_row(a, SELF, TABLE_METHODS, cells);
        buffer_free(&text);
    }
}

static void tell_losses(agent *a, state *s)
{
    const trace_counters *c = &s->registry.counters;
    uint64_t deep = atomic_load(&c->lost_depth);
    uint64_t now[5] = {0, s->unkept > deep ? s->unkept - deep : 0, deep,
                       atomic_load(&c->lost_threads), atomic_load(&s->lost_methods)};

    for (unsigned n = LOSS_TIMES; n <= LOSS_METHODS; n++) {
        if (now[n] > s->lost[n])
            agent_lose(a, SELF, n, now[n] - s->lost[n]);
        s->lost[n] = now[n];
    }
}

static void record(agent *a, unsigned kind, const void *payload, size_t length)
{
    state *s = state_of(a);
    const trace_counters *counters = &s->registry.counters;
    const call *c = payload;
    trace_entry *entry;
    buffer text = BUFFER_EMPTY;
    uint64_t cells[6];

    if (kind != 0 || length < sizeof *c || c->length > length - sizeof *c ||
        c->method >= s->registry.count)
        return;
    if (s->events++ >= EVENTS) {
        agent_lose(a, SELF, LOSS_EVENTS, 1);
        return;
    }
    entry = trace_registry_at(&s->registry, c->method);
    if (entry->parameters == NULL) {
        trace_parameter_names(&a->info, entry->module, entry->token, &text);
        entry->parameters = memory_copy_text(buffer_text(&text));
        buffer_clear(&text);
    }
    trace_values_text((const uint8_t *)(c + 1), c->length,
                      entry->parameters == NULL ? "" : entry->parameters, false, &text);
    cells[0] = counters->first_ns +
               (uint64_t)((double)(c->start - counters->first_ticks) * trace_tick_ns(counters));
    cells[1] = c->thread;
    cells[2] = name_of(a, entry);
    cells[3] = scaled(c->time, trace_tick_ns(counters));
    cells[4] = c->failed;
    cells[5] = names_intern(&a->names, buffer_text(&text), text.length);
    agent_row(a, SELF, TABLE_EVENTS, cells);
    buffer_free(&text);
}

static void drain(agent *a, bool last)
{
    state *s = state_of(a);
    uint64_t now = os_monotonic_ns();

    const wanted *w = atomic_load(&s->wanted);

    if (!s->asked)
        ask(a, s);
    if (w != NULL && w->values)
        atomic_store(&s->registry.counters.allowance,
                     w->rate >= TICKS_A_SECOND ? w->rate / TICKS_A_SECOND : 1);
    if (!last && now < s->next_write_ns)
        return;
    s->next_write_ns = now + WRITE_INTERVAL_NS;
    write_states(a, s);
    write_counts(a, s, last);
    tell_losses(a, s);
    trace_memory_sweep(&s->registry.counters, false);
}

/* A dry run must not ask for what keeps the library in the process for good. */
static uint32_t further_mask(agent *a)
{
    const wanted *w = atomic_load(&state_of(a)->wanted);

    return w == NULL || w->dry_run ? 0 : COR_PRF_ENABLE_REJIT;
}

const engine ENGINE_trace = {
    .name = "trace",
    .mask_low = COR_PRF_MONITOR_MODULE_LOADS,
    .further_mask = further_mask,
    .tables = TABLES,
    .table_count = 4,
    .losses = LOSSES,
    .loss_count = 6,
    .start = start,
    .stop = stop,
    .configure = configure,
    .record = record,
    .drain = drain,
    .on_module_loaded = on_module_loaded,
    .on_rejit_parameters = on_rejit_parameters,
    .on_rejit_error = on_rejit_error,
};
