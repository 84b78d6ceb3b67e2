/* trace_output: see trace_output.h. */
#include "profilers/trace_output.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "clarinet/lookup.h"
#include "profilers/trace_classes.h"
#include "profilers/trace_values.h"

enum {
    SELF = ENGINE_INDEX_trace,
    EVENTS = 50000, /* single calls of one session */
    LISTED = 1024,  /* methods that are named before they are called, however short memory is */
};

typedef trace_state_of_engine state;

/* What a row of trace_events is. */
enum { TRACE_EVENT_CALL, TRACE_EVENT_LOG, TRACE_EVENT_ENTRY, TRACE_EVENT_ASYNC };
static const unsigned MOMENTS[] = {TRACE_WISH_EXIT | TRACE_WISH_EXCEPTION,
                                   TRACE_WISH_LOG_ENTRY | TRACE_WISH_LOG_EXIT, TRACE_WISH_ENTRY};

static const double QUANTILES[] = {0.5, 0.9, 0.99, 0.999};

static const recording_column METHOD_COLUMNS[] = {
    {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_STRING_ID, "state", ""},
    {RECORDING_U64, "kind", ""},
};
static const recording_column CALL_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},        {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_U64, "calls", ""},        {RECORDING_U64, "failures", ""},
    {RECORDING_DURATION, "total", "ns"}, {RECORDING_DURATION, "self", "ns"},
    {RECORDING_DURATION, "least", "ns"}, {RECORDING_DURATION, "most", "ns"},
    {RECORDING_U64, "active", ""},       {RECORDING_U64, "threads", ""},
    {RECORDING_U64, "step", ""},         {RECORDING_U64, "completions", ""},
    {RECORDING_U64, "peak", ""},         {RECORDING_U64, "number", ""},
    {RECORDING_DURATION, "p50", "ns"},   {RECORDING_DURATION, "p90", "ns"},
    {RECORDING_DURATION, "p99", "ns"},   {RECORDING_DURATION, "p999", "ns"},
};
static const recording_column TIME_COLUMNS[] = {
    {RECORDING_METHOD_ID, "method", ""}, {RECORDING_DURATION, "from", "ns"},
    {RECORDING_DURATION, "to", "ns"},    {RECORDING_U64, "count", ""},
    {RECORDING_U64, "kind", ""},
};
static const recording_column EVENT_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},
    {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_DURATION, "duration", "ns"},
    {RECORDING_U64, "failed", ""},
    {RECORDING_STRING_ID, "values", ""},
    {RECORDING_STRING_ID, "exception", ""},
    {RECORDING_U64, "depth", ""},
    {RECORDING_U64, "kind", ""},
};
static const recording_column FAILURE_COLUMNS[] = {
    {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_STRING_ID, "type", ""},
    {RECORDING_U64, "count", ""},
    {RECORDING_U64, "kind", ""},
};
static const recording_column TREE_COLUMNS[] = {
    {RECORDING_U64, "node", ""},         {RECORDING_U64, "parent", ""},
    {RECORDING_METHOD_ID, "method", ""}, {RECORDING_U64, "calls", ""},
    {RECORDING_DURATION, "total", "ns"}, {RECORDING_DURATION, "self", "ns"},
    {RECORDING_U64, "kind", ""},
};
static const recording_column SPAN_COLUMNS[] = {
    {RECORDING_TIME, "time", ""},
    {RECORDING_THREAD_ID, "thread", ""},
    {RECORDING_METHOD_ID, "method", ""},
    {RECORDING_U64, "span", ""},
    {RECORDING_U64, "first", ""},
    {RECORDING_U64, "parent", ""},
    {RECORDING_U64, "part", ""},
    {RECORDING_DURATION, "duration", "ns"},
    {RECORDING_STRING_ID, "exception", ""},
};
static const recording_column MISSING_COLUMNS[] = {{RECORDING_STRING_ID, "path", ""}};
const recording_table TRACE_TABLES[TRACE_TABLE_COUNT] = {
    {"trace_methods", "trace", METHOD_COLUMNS, 3},   {"trace_calls", "trace", CALL_COLUMNS, 18},
    {"trace_times", "trace", TIME_COLUMNS, 5},       {"trace_events", "trace", EVENT_COLUMNS, 9},
    {"trace_failures", "trace", FAILURE_COLUMNS, 4}, {"trace_tree", "trace", TREE_COLUMNS, 7},
    {"trace_spans", "trace", SPAN_COLUMNS, 9},       {"trace_missing", "trace", MISSING_COLUMNS, 1},
};
_Static_assert((int)TRACE_LOSS_COUNT <= (int)ENGINE_MAX_LOSSES, "the agent counts each of them");
const char TRACE_LOSSES[] = "ring full\0"
                            "call counted, but its time is not in the quantiles: no memory\0"
                            "call counted, but not timed: too many calls inside each other\0"
                            "call not counted: no memory for its thread\0"
                            "method not traced: more than 262,144, or no memory\0"
                            "call not shown by itself: more than 50,000\0"
                            "call not shown by itself: beyond the rate\0"
                            "call not in the call tree: more than 65,536 ways to call\0"
                            "async call not timed as a whole: too many under way\0"
                            "type of an exception not kept: more than 2,048 methods and types\0"
                            "assembly left alone: it can be unloaded\0"
                            "method not listed: not called, and memory is short\0"
                            "method left alone: it has no CIL\0";

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

/* 0 a method, 1 the steps of an async one, 2 its calls as a whole. */
static uint64_t kind_of(const trace_entry *entry)
{
    return entry->whole ? 2 : atomic_load(&entry->step) ? 1 : 0;
}

static const char *string_of(agent *a, uint32_t id)
{
    const names_string *s = id == 0 ? NULL : names_get_string(&a->names, id);

    return s == NULL ? "" : s->text;
}

static const char *text_of(agent *a, const names_method *method)
{
    return method == NULL ? "" : string_of(a, method->name);
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

uint32_t trace_output_name(agent *a, trace_entry *entry)
{
    if (entry->name == 0 && agent_enter_runtime(a))
        entry->name = names_of_token(&a->names, entry->module, entry->token);
    return entry->name;
}

static void write_times(agent *a, trace_entry *entry, const trace_sum *sum, double tick_ns)
{
    for (unsigned k = 0; k < TRACE_BUCKETS; k++) {
        uint64_t cells[5] = {entry->name, scaled(trace_bucket_ticks(k), tick_ns),
                             scaled(trace_bucket_ticks(k + 1), tick_ns), sum->buckets[k],
                             kind_of(entry)};

        if (sum->buckets[k] != 0)
            agent_row(a, SELF, TRACE_TABLE_TIMES, cells);
    }
}

/* The middle of the bucket that holds the q-th call, inside of what was seen. Exact ones are made
 * of the times that are written last; these are for as long as there are none. */
static uint64_t quantile(const trace_sum *sum, double q)
{
    uint64_t kept = 0, before = 0, middle = 0;

    for (unsigned k = 0; k < TRACE_BUCKETS; k++)
        kept += sum->buckets[k];
    for (unsigned k = 0; k < TRACE_BUCKETS && before <= (uint64_t)(q * (double)kept); k++) {
        before += sum->buckets[k];
        middle = (trace_bucket_ticks(k) + trace_bucket_ticks(k + 1)) / 2;
    }
    return kept == 0 || middle < sum->minimum ? sum->minimum * (kept != 0)
           : middle > sum->maximum            ? sum->maximum
                                              : middle;
}

/* Of an async method as a whole, `completions` are the calls begun, and `calls` those over. */
static void write_method(agent *a, state *s, trace_entry *entry, const trace_sum *sum,
                         double tick_ns, bool last)
{
    uint64_t begun = entry->whole ? sum->completions : sum->calls;
    uint64_t over = entry->whole ? sum->calls : sum->completions;
    uint32_t active = !entry->whole ? sum->active : begun > over ? (uint32_t)(begun - over) : 0;
    uint64_t cells[18] = {os_monotonic_ns(),
                          trace_output_name(a, entry),
                          begun,
                          sum->failures,
                          scaled(sum->total, tick_ns),
                          scaled(sum->self, tick_ns),
                          scaled(sum->minimum, tick_ns),
                          scaled(sum->maximum, tick_ns),
                          active,
                          sum->threads,
                          kind_of(entry),
                          over,
                          atomic_load(&entry->probe.peak),
                          entry->probe.index};

    if (last || begun != entry->written_begun || over != entry->written_calls ||
        active != entry->written_active) {
        for (unsigned n = 0; n < sizeof QUANTILES / sizeof *QUANTILES; n++)
            cells[14 + n] = scaled(quantile(sum, QUANTILES[n]), tick_ns);
        agent_row(a, SELF, TRACE_TABLE_CALLS, cells);
        s->counted = true;
    }
    entry->written_begun = begun;
    entry->written_calls = over;
    entry->written_active = active;
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

/* How many calls of each method run now; the most are kept. */
void trace_output_look(state *s)
{
    item_list list = {0};

    trace_counters_each_running(&s->registry.counters, &list, see_running);
    if (list.count != 0)
        qsort(list.items, list.count, sizeof *list.items, by_method);
    for (size_t n = 0; n < list.count;) {
        uint32_t method = list.items[n].method;
        trace_method *m = &trace_registry_at(&s->registry, method)->probe;
        unsigned running = 0;

        for (; n < list.count && list.items[n].method == method; n++)
            running += list.items[n].running;
        if (running > atomic_load(&m->peak))
            atomic_store(&m->peak, running);
    }
    memory_free(list.items);
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
        trace_entry *entry;

        while (end < list.count && list.items[end].method == list.items[n].method)
            end++;
        add_up(&s->registry.counters, list.items + n, end - n, sum);
        entry = trace_registry_at(&s->registry, list.items[n].method);
        if (atomic_load(&entry->wanted) || !entry->whole)
            write_method(a, s, entry, sum, tick_ns, last);
        if (last &&
            (!entry->whole || sum->total != 0)) /* a builder may not tell which call it is */
            s->unkept += without_times(sum);
        n = end;
    }
    memory_free(list.items);
    memory_free(sum);
}

/* Which methods are meant and what became of them, whenever that changes. What is not called has
 * its name only as long as there is room for the names and the new bodies of what is. */
static void write_states(agent *a, state *s, bool last)
{
    static const char *const words[] = {
        "waiting", "probed", "left alone",
        "left alone: recursion left no stack for probes, counted until then"};

    for (uint32_t n = 0; n < s->registry.count; n++) {
        trace_entry *entry = trace_registry_at(&s->registry, n);
        int now = atomic_load(&entry->state);
        uint64_t cells[3];
        buffer text = BUFFER_EMPTY;

        if (!atomic_load(&entry->wanted) || entry->told == now + 1)
            continue;
        if (now == TRACE_WAITING) {
            if (s->listed >= LISTED && arena_is_short(&a->memory)) {
                s->unlisted += last;
                continue;
            }
            s->listed++;
        }
        entry->told = now + 1;
        buffer_append_text(&text, words[now]);
        if (now == TRACE_LEFT_ALONE && entry->reason != NULL)
            buffer_format(&text, ": %s", entry->reason);
        cells[0] = trace_output_name(a, entry);
        cells[1] = names_intern(&a->names, buffer_text(&text), text.length);
        cells[2] = kind_of(entry);
        agent_row(a, SELF, TRACE_TABLE_METHODS, cells);
        buffer_free(&text);
    }
}

static void tell_losses(agent *a, state *s)
{
    const trace_counters *c = &s->registry.counters;
    uint64_t deep = atomic_load(&c->lost_depth);
    uint64_t now[TRACE_LOSS_COUNT] = {
        [TRACE_LOSS_TIMES] = s->unkept > deep ? s->unkept - deep : 0,
        [TRACE_LOSS_DEPTH] = deep,
        [TRACE_LOSS_THREADS] = atomic_load(&c->lost_threads),
        [TRACE_LOSS_METHODS] = atomic_load(&s->lost_methods),
        [TRACE_LOSS_RATE] = atomic_load(&c->lost_rate),
        [TRACE_LOSS_TREE] = c->tree == NULL ? 0 : atomic_load(&c->tree->lost),
        [TRACE_LOSS_ASYNC] = c->async == NULL ? 0 : atomic_load(&c->async->lost),
        [TRACE_LOSS_TYPES] = c->exceptions == NULL ? 0 : atomic_load(&c->exceptions->lost),
        [TRACE_LOSS_MODULES] = atomic_load(&s->left_modules),
        [TRACE_LOSS_UNLISTED] = s->unlisted,
        [TRACE_LOSS_BODILESS] = atomic_load(&s->bodiless),
    };

    for (unsigned n = 0; n < TRACE_LOSS_COUNT; n++) {
        if (now[n] > s->lost[n])
            agent_lose(a, SELF, n, now[n] - s->lost[n]);
        s->lost[n] = now[n];
    }
}

typedef struct {
    agent *a;
    state *s;
} failure_walk;

static uint32_t name_of_class(void *context, uintptr_t class_id, bool alone, bool *leaves)
{
    agent *a = context;
    ModuleID module = 0;

    *leaves = clr_info_get_class_id_info(&a->info, class_id, &module, NULL) != S_OK ||
              clr_is_module_collectible(&a->info, module);
    return alone ? names_of_class_path(&a->names, class_id) : names_of_class(&a->names, class_id);
}

void trace_output_name_failures(agent *a, state *s)
{
    trace_exceptions *x = s->registry.counters.exceptions;

    if (x != NULL && agent_enter_runtime(a))
        trace_exceptions_name(x, a, name_of_class);
    if (x != NULL && atomic_exchange(&s->unloading, false))
        trace_exceptions_forget(x);
}

static void write_failure(void *context, uint32_t method, uint32_t name, uint64_t count)
{
    failure_walk *w = context;
    trace_entry *entry = trace_registry_at(&w->s->registry, method);
    uint64_t cells[4] = {trace_output_name(w->a, entry), name, count, kind_of(entry)};

    agent_row(w->a, SELF, TRACE_TABLE_FAILURES, cells);
}

/* The nodes of all threads; whoever reads them puts the same chains together. */
static void write_tree(agent *a, state *s, double tick_ns)
{
    const trace_tree *tree = s->registry.counters.tree;

    for (uint32_t n = 0; n < trace_tree_count(tree); n++) {
        const trace_node *node = &tree->nodes[n];
        trace_entry *entry = trace_registry_at(&s->registry, node->method);
        uint64_t cells[7] = {n + 1,
                             node->parent,
                             trace_output_name(a, entry),
                             __atomic_load_n(&node->calls, __ATOMIC_ACQUIRE),
                             scaled(node->total, tick_ns),
                             scaled(node->self, tick_ns),
                             kind_of(entry)};

        agent_row(a, SELF, TRACE_TABLE_TREE, cells);
    }
}

/* The paths that were asked for, and that none of the methods with probes has, nor any object that
 * came to them. */
static void write_missing(agent *a, state *s)
{
    trace_classes *classes = s->registry.counters.classes;
    const trace_wanted *w = atomic_load(&s->wanted);
    uint32_t found = 0;
    bool any = false;

    for (uint32_t n = 0; n < s->registry.count; n++) {
        const trace_entry *entry = trace_registry_at(&s->registry, n);
        const trace_plan *plan = atomic_load(&entry->plan);

        if (plan == NULL || entry->whole || !atomic_load(&entry->wanted) ||
            atomic_load(&entry->state) != TRACE_PROBED)
            continue;
        any = true;
        for (uint32_t k = 0; k < plan->count; k++) {
            unsigned path = plan->captures[k].number - (unsigned)TRACE_FIRST_PATH;

            if (path < TRACE_PATHS &&
                (classes == NULL || !trace_classes_lack(classes, &plan->captures[k])))
                found |= 1u << path;
        }
    }
    for (uint32_t n = 0; any && w != NULL && n < w->wish.path_count; n++) {
        const char *path = w->wish.paths[n];
        uint64_t cell = (found >> n & 1) != 0 ? 0 : names_intern(&a->names, path, strlen(path));

        if (cell != 0)
            agent_row(a, SELF, TRACE_TABLE_MISSING, &cell);
    }
}

void trace_output_write(agent *a, state *s, bool last)
{
    trace_counters *c = &s->registry.counters;
    failure_walk walk = {a, s};

    write_counts(a, s, last);
    write_states(a, s, last); /* then: whatever was counted has its probes by now */
    if (last && c->exceptions != NULL)
        trace_exceptions_each(c->exceptions, &walk, write_failure);
    if (last && c->tree != NULL)
        write_tree(a, s, trace_tick_ns(c));
    if (last)
        write_missing(a, s);
    tell_losses(a, s);
}

/* ---- single calls ---- */

void trace_output_record(agent *a, unsigned kind, const void *payload, size_t length)
{
    state *s = a->engines[SELF].state;
    const trace_counters *counters = &s->registry.counters;
    const trace_wanted *w = atomic_load(&s->wanted);
    const trace_event *event = payload;
    trace_call call = {.values = (const uint8_t *)(event + 1), .length = length - sizeof *event};
    trace_entry *entry;
    uint64_t cells[9];

    (void)kind;
    if (length < sizeof *event || event->method >= s->registry.count || w == NULL)
        return;
    if (s->events++ >= EVENTS) {
        agent_lose(a, SELF, TRACE_LOSS_EVENTS, 1);
        return;
    }
    entry = trace_registry_at(&s->registry, event->method);
    cells[0] =
        counters->first_ns + scaled(event->start - counters->first_ticks, counters->event_tick_ns);
    cells[1] = event->thread_id;
    cells[2] = trace_output_name(a, entry);
    cells[3] = scaled(event->time, counters->event_tick_ns);
    cells[4] = event->failed;
    cells[6] = event->class_id == 0 || !agent_enter_runtime(a)
                   ? 0
                   : names_of_class(&a->names, event->class_id);
    cells[7] = event->depth;
    call.info = &a->info;
    call.plan = atomic_load(&entry->plan);
    call.wish = &w->wish;
    call.thread_id = event->thread_id;
    call.duration_ns = cells[3];
    call.method = text_of(a, names_get_method(&a->names, (uint32_t)cells[2]));
    call.exception = string_of(a, (uint32_t)cells[6]);
    for (unsigned k = TRACE_EVENT_CALL; k <= TRACE_EVENT_ENTRY; k++) {
        buffer text = BUFFER_EMPTY;

        if ((event->moments & MOMENTS[k]) == 0)
            continue;
        if (k == TRACE_EVENT_LOG)
            trace_values_log(&call, w->log_text, &text);
        else
            trace_values_text(&call, &text);
        cells[5] = names_intern(&a->names, buffer_text(&text), text.length);
        cells[8] = k == TRACE_EVENT_CALL && event->whole ? TRACE_EVENT_ASYNC : k;
        agent_row(a, SELF, TRACE_TABLE_EVENTS, cells);
        buffer_free(&text);
    }
}
