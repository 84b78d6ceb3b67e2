/*
 * lifecycle: sessions start and stop, engines with them; the rounds in which records become rows.
 * Own thread only, except agent_reserve, agent_commit and agent_wake.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/gone.h"
#include "agent/sampling.h"
#include "base/os.h"

static void put_information(agent *a, client *c);
static void put_profiler(client *c, const catalogue_selected *item, uint64_t state,
                         const char *note);

SIGNAL_SAFE void *agent_reserve(agent *a, unsigned engine_index, size_t length)
{
    void *payload = ring_reserve(&a->events, length);

    if (payload == NULL)
        agent_lose(a, engine_index, 0, 1);
    return payload;
}

SIGNAL_SAFE void agent_commit(agent *a, unsigned engine_index, void *payload, size_t reserved,
                              unsigned kind, size_t length)
{
    ring_commit(&a->events, payload, reserved, (engine_index + 1) << 6 | kind, length);
}

SIGNAL_SAFE static void wake_once(agent *a, atomic_bool *told)
{
    uint64_t one = 1;
    int saved;

    if (atomic_load_explicit(told, memory_order_relaxed) ||
        atomic_exchange_explicit(told, true, memory_order_relaxed))
        return;
    atomic_store_explicit(&a->has_news, true, memory_order_relaxed);
    saved = errno;
    if (write(a->wake, &one, sizeof one) < 0)
        atomic_store_explicit(told, false, memory_order_relaxed);
    errno = saved;
}

SIGNAL_SAFE void agent_wake(agent *a)
{
    wake_once(a, &a->waking);
}

SIGNAL_SAFE void agent_tell_news(agent *a)
{
    wake_once(a, &a->news_told);
}

bool agent_hurry(agent *a, unsigned milliseconds)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)milliseconds * 1000000;
    int ticket = atomic_fetch_add(&a->hurries, 1) + 1;
    uint64_t one = 1;
    int done;

    if (write(a->wake, &one, sizeof one) < 0)
        return false;
    while ((done = atomic_load(&a->hurried)) - ticket < 0) {
        uint64_t now = os_monotonic_ns();
        struct timespec left;

        if (now >= end)
            return false;
        left.tv_sec = (time_t)((end - now) / 1000000000);
        left.tv_nsec = (long)((end - now) % 1000000000);
        lock_wait(&a->hurried, done, &left);
    }
    return true;
}

void agent_tick_soon(agent *a)
{
    uint64_t soon = os_monotonic_ns() + (uint64_t)AGENT_TICK_MS * 1000000;

    if (a->next_tick_ns > soon)
        a->next_tick_ns = soon;
}

void agent_row(agent *a, unsigned engine_index, unsigned table, const uint64_t *cells)
{
    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        if ((a->clients[i].engines & 1ull << engine_index) != 0)
            output_row(&a->clients[i].out, engine_index, table, cells);
}

void agent_count_rows(agent *a, unsigned engine_index, int64_t more)
{
    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        if ((a->clients[i].engines & 1ull << engine_index) != 0)
            a->clients[i].out.more_rows += (uint64_t)more;
}

client *agent_client_of(agent *a, unsigned engine_index)
{
    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        if ((a->clients[i].engines & 1ull << engine_index) != 0)
            return &a->clients[i];
    return NULL;
}

const catalogue_selected *agent_user(agent *a, unsigned engine_index, size_t *position)
{
    for (; *position < AGENT_CLIENTS; (*position)++) {
        client *c = &a->clients[*position];

        if ((c->engines & 1ull << engine_index) == 0)
            continue;
        (*position)++;
        return catalogue_selected_by_name(c->selection, ENGINES[engine_index]->name);
    }
    return NULL;
}

bool agent_enter_runtime(agent *a)
{
    int phase = atomic_load(&a->phase);

    if (phase != AGENT_RUNNING && phase != AGENT_ENDING)
        return false;
    if (!a->thread_is_known)
        a->thread_is_known = clr_info_initialize_current_thread(&a->info) == S_OK;
    return a->thread_is_known;
}

int agent_apply_mask(agent *a, error *e)
{
    uint32_t low = 0;
    uint32_t high = 0;
    char text[CLR_HRESULT_TEXT];
    HRESULT hr;

    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        if (agent_is_active(a, i)) {
            /* rows name threads that may have ended when they are written */
            low |= ENGINES[i]->mask_low | COR_PRF_MONITOR_THREADS;
            if (ENGINES[i]->further_mask != NULL)
                low |= ENGINES[i]->further_mask(a);
            high |= ENGINES[i]->mask_high;
        }
    }
    /* Whoever names code must hear when it goes: its addresses may be another's next. */
    if (atomic_load(&a->asks) != 0) {
        low |= COR_PRF_MONITOR_MODULE_LOADS;
        high |= COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS;
    }
    /* Without this flag nothing that was recompiled could be taken back; once set, it stays. The
     * others can only be set when the runtime starts, and never be cleared. */
    low |= a->mask_low & (COR_PRF_ENABLE_REJIT | COR_PRF_MONITOR_IMMUTABLE);
    if (atomic_load(&a->mask_deferred) || atomic_load(&a->phase) != AGENT_RUNNING)
        return 0;
    events_prepare(a);
    if (low != a->mask_low || high != a->mask_high) {
        if ((a->mask_low & COR_PRF_MONITOR_THREADS) == 0)
            gone_listen();
        hr = clr_info_set_event_mask2(&a->info, low, high);
        if (hr != S_OK)
            return error_set(e, ERROR_RUNTIME, "the runtime refused the event mask %x:%x (%s)",
                             (unsigned)low, (unsigned)high, clr_hresult_name(hr, text));
        a->mask_low = low;
        a->mask_high = high;
    }
    return events_apply(a, e);
}

static unsigned engine_of(const catalogue_selected *item)
{
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if (strcmp(ENGINES[i]->name, item->profiler->name) == 0)
            return i;
    return ENGINE_COUNT;
}

static size_t users_of(const agent *a, unsigned engine_index)
{
    size_t count = 0;

    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        if ((a->clients[i].engines & 1ull << engine_index) != 0)
            count++;
    return count;
}

static int start_engine(agent *a, client *c, const catalogue_selected *item, error *e)
{
    unsigned index = engine_of(item);
    int code = 0;

    if (index == ENGINE_COUNT)
        return error_set(e, ERROR_UNSUPPORTED, "the agent in the process has no profiler '%s'",
                         item->profiler->name);
    if (item->profiler->exclusive && users_of(a, index) != 0)
        return error_set(e, ERROR_BUSY, "another session runs the profiler '%s' on this process",
                         item->profiler->name);
    if ((item->profiler->where & CATALOGUE_MAIN) != 0 && !a->in_main_place)
        return error_set(e, ERROR_UNSUPPORTED, "the profiler '%s' needs the main profiler's place",
                         item->profiler->name);
    for (size_t k = 0; k < ENGINE_MAX_LOSSES; k++)
        c->lost_before[index][k] = atomic_load(&a->engines[index].lost[k]);
    if (users_of(a, index) == 0)
        code = ENGINES[index]->start(a, e);
    if (code != 0)
        return code;
    c->engines |= 1ull << index;
    if (ENGINES[index]->configure != NULL)
        ENGINES[index]->configure(a);
    atomic_fetch_or_explicit(&a->active, 1u << index, memory_order_release);
    return 0;
}

static void stop_engine(agent *a, client *c, unsigned index)
{
    bool last = users_of(a, index) == 1;

    if (last) {
        atomic_fetch_and_explicit(&a->active, ~(1u << index), memory_order_release);
        agent_apply_mask(a, NULL);
        if (ENGINES[index]->stop != NULL)
            ENGINES[index]->stop(a);
    }
    c->engines &= ~(1ull << index);
    if (!last && ENGINES[index]->configure != NULL)
        ENGINES[index]->configure(a);
}

/* All that a session took has been named: modules may go unheard again. */
static void end_asking(agent *a)
{
    if (atomic_fetch_sub(&a->asks, 1) == 1)
        agent_apply_mask(a, NULL);
}

int agent_start_client(agent *a, client *c, error *e)
{
    int code = 0;

    if (atomic_fetch_add(&a->asks, 1) == 0)
        atomic_fetch_add(&a->unloads, 1); /* what went since the last one was not heard of */
    c->out.origin_ns = os_monotonic_ns();
    c->refused_before = atomic_load(&a->memory.refused);
    c->unasked_before = a->names.unasked;
    sampling_cost(&c->cost_before.thread_cpu_ns, &c->cost_before.handler_ns,
                  &c->cost_before.handler_calls);
    if (a->has_served) /* the first one pays for what it took to come in */
        c->cost_before.thread_cpu_ns += os_thread_cpu_ns();
    a->has_served = true;
    a->next_cost_ns = 0; /* a first account at once */
    put_information(a, c);
    for (size_t i = 0; i < c->selection->count && code == 0; i++)
        code = start_engine(a, c, &c->selection->items[i], e);
    if (code == 0)
        code = agent_apply_mask(a, e);
    c->replaced_before = a->pipe.replaced;
    if (code != 0) {
        for (unsigned i = 0; i < ENGINE_COUNT; i++)
            if ((c->engines & 1ull << i) != 0)
                stop_engine(a, c, i);
        end_asking(a);
        return code;
    }
    for (size_t i = 0; i < c->selection->count; i++) {
        const engine *started = ENGINES[engine_of(&c->selection->items[i])];

        put_profiler(c, &c->selection->items[i], RECORDING_STARTED,
                     started->note != NULL ? started->note(a) : "");
    }
    agent_enter_runtime(a); /* now, not when the first record waits for it */
    control_put_plain(&c->out.pending, CONTROL_STARTED);
    c->state = CLIENT_RECORDING;
    a->next_tick_ns = os_monotonic_ns() + (uint64_t)AGENT_TICK_MS * 1000000;
    atomic_store(&a->started, AGENT_STARTED);
    return 0;
}

/* Everything recorded so far goes out first; also on a connection that is gone. */
void agent_stop_client(agent *a, client *c)
{
    if (c->state != CLIENT_RECORDING)
        return;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if ((c->engines & 1ull << i) != 0 && users_of(a, i) == 1)
            atomic_fetch_and_explicit(&a->active, ~(1u << i), memory_order_release);
    c->replaced_before -= a->pipe.replaced; /* its own end is no loss to it */
    agent_apply_mask(a, NULL);
    c->replaced_before += a->pipe.replaced;
    c->is_stopping = true;
    agent_collect(a, true);
    c->is_stopping = false;
    output_gather(&c->out);
    client_report(a, c, true);
    client_tell_state(a, c);
    c->state = CLIENT_READY;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if ((c->engines & 1ull << i) != 0)
            stop_engine(a, c, i);
    end_asking(a);
    for (size_t i = 0; i < c->selection->count; i++)
        put_profiler(c, &c->selection->items[i], RECORDING_STOPPED, "");
}

/* A module has gone: others may get its ids and its addresses. What was named stays named. Some
 * programs make methods all the time: theirs are forgotten now and then only. */
static void forget_unloaded(agent *a)
{
    uint64_t now = os_monotonic_ns();
    unsigned unloads;

    if (atomic_load_explicit(&a->made_went, memory_order_relaxed) &&
        now - a->forgot_ns > (uint64_t)AGENT_FORGET_MS * 1000000) {
        atomic_store(&a->made_went, false);
        atomic_fetch_add(&a->unloads, 1);
        a->forgot_ns = now;
    }
    unloads = atomic_load(&a->unloads);
    if (unloads == a->unloads_met)
        return;
    a->unloads_met = unloads;
    names_forget_lookups(&a->names);
}

/* A record that is being written (its stack is walked) holds up those behind it: a round that
 * is waited for waits for it, within limits. */
static bool next_record(agent *a, ring_record *record, unsigned *patience)
{
    while (!ring_next(&a->events, record)) {
        if (*patience == 0 || ring_fill(&a->events) == 0 || !agent_is_hurried(a))
            return false;
        (*patience)--;
        os_sleep_ms(1);
    }
    return true;
}

void agent_collect(agent *a, bool last)
{
    unsigned patience = AGENT_WRITER_MS;
    ring_record record;

    atomic_store_explicit(&a->news_told, false, memory_order_relaxed);
    forget_unloaded(a);
    gone_from(GONE_FROM_EVENTS);
    while (next_record(a, &record, &patience)) {
        unsigned index = record.kind >> 6;

        if (index >= 1 && index <= ENGINE_COUNT && a->engines[index - 1].state != NULL &&
            agent_enter_runtime(a))
            ENGINES[index - 1]->record(a, record.kind & 63, record.payload, record.length);
        ring_release(&a->events);
    }
    gone_from(GONE_FROM_NOW);
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if (a->engines[i].state != NULL && users_of(a, i) != 0)
            ENGINES[i]->drain(a, last);
}

void agent_round(agent *a, bool last)
{
    uint64_t now = os_monotonic_ns();
    bool with_cost = now >= a->next_cost_ns || last;
    int asked = atomic_load(&a->hurries);
    unsigned overtaken = atomic_load(&a->names.overtaken);

    agent_collect(a, last);
    if (with_cost)
        a->next_cost_ns = now + 1000000000u;
    for (size_t i = 0; i < AGENT_CLIENTS; i++) {
        client *c = &a->clients[i];

        if (c->state != CLIENT_RECORDING)
            continue;
        output_gather(&c->out);
        client_report(a, c, with_cost);
        client_flush(a, c);
        /* the program is about to die: a tool that does not read now must find it later */
        if (c->state != CLIENT_FREE && asked != atomic_load(&a->hurried))
            output_hand_over(&c->out, c->descriptor);
    }
    if (a->names.caught_up != overtaken) {
        a->names.caught_up = overtaken;
        atomic_fetch_add(&a->unloads, 1); /* what was kept without asking is asked for again */
    }
    if (asked != atomic_exchange(&a->hurried, asked))
        lock_wake(&a->hurried, INT32_MAX);
}

static void put_number(buffer *out, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    recording_put_info(out, key, text);
}

static void put_information(agent *a, client *c)
{
    buffer *out = &c->out.pending;
    size_t chunk = recording_begin_chunk(out, RECORDING_INFO, 0);
    COR_PRF_RUNTIME_TYPE type;
    uint16_t instance, major, minor, build, fix;
    char text[32];

    put_number(out, "pid", (uint64_t)os_process_id());
    put_number(out, "origin_monotonic_ns", c->out.origin_ns);
    put_number(out, "origin_unix_ns", os_realtime_ns() - (os_monotonic_ns() - c->out.origin_ns));
    put_number(out, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    recording_put_info(out, "attach", a->by_start ? "start" : "attach");
    recording_put_info(out, "agent_version", CLARINET_VERSION);
    recording_put_info(out, "os", "linux");
#if defined(__x86_64__)
    recording_put_info(out, "architecture", "x64");
#elif defined(__aarch64__)
    recording_put_info(out, "architecture", "arm64");
#endif
    if (clr_info_get_runtime_information(&a->info, &instance, &type, &major, &minor, &build, &fix,
                                         0, NULL, NULL) == S_OK) {
        snprintf(text, sizeof text, "%u.%u.%u", major, minor, build);
        recording_put_info(out, "runtime_version", text);
    }
    recording_end_chunk(out, chunk);
    chunk = recording_begin_chunk(out, RECORDING_TABLE, 0);
    for (size_t i = 0; i < c->selection->count; i++) {
        unsigned index = engine_of(&c->selection->items[i]);

        for (size_t k = 0; index < ENGINE_COUNT && k < ENGINES[index]->table_count; k++)
            if (ENGINES[index]->has_table == NULL ||
                ENGINES[index]->has_table(&c->selection->items[i], k))
                recording_put_table(out, ENGINE_TABLE_ID(index, k), &ENGINES[index]->tables[k]);
    }
    recording_end_chunk(out, chunk);
}

static void put_profiler(client *c, const catalogue_selected *item, uint64_t state,
                         const char *note)
{
    recording_parameter parameters[CATALOGUE_MAX_PARAMETERS];
    const catalogue_parameter *known = item->profiler->parameters;
    size_t chunk = recording_begin_chunk(&c->out.pending, RECORDING_PROFILER, 0);
    size_t count = 0;

    for (; known != NULL && known[count].name != NULL; count++)
        parameters[count] = (recording_parameter){known[count].name, item->values[count].text};
    recording_put_profiler(&c->out.pending, item->profiler->name, state,
                           os_monotonic_ns() - c->out.origin_ns, note, parameters, count);
    recording_end_chunk(&c->out.pending, chunk);
}
