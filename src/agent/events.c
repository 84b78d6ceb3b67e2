/* events: see events.h. */
#include "agent/events.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "agent/agent.h"
#include "base/os.h"
#include "clr/counter_events.h"

extern const engine ENGINE_heap;

/* No pointers, which would need relocations. */
static const char NAMES[EVENTS_PROVIDER_COUNT][49] = {
#define X(identifier, name) [identifier] = name,
    EVENTS_PROVIDER_LIST(X)
#undef X
};

/* Small instead of fast: once per session or source. */
#define SELDOM __attribute__((cold))

/* ---- own thread ---- */

typedef struct {
    agent *agent;
    const clr_eventpipe_source *sources;
    size_t count;
    HRESULT result;
} request;

void events_let_settle(const agent *a)
{
    enum { HASTY_MAJOR = 8, SETTLED_MS = 1000 };
    clr_runtime runtime;
    uint64_t age;

    if (clr_get_runtime(&a->info, &runtime) != S_OK || runtime.major > HASTY_MAJOR)
        return;
    age = os_process_age_ms();
    if (age < SETTLED_MS)
        os_sleep_ms((unsigned)(SETTLED_MS - age));
}

static void *start_session(void *context)
{
    request *r = context;

    r->result = clr_eventpipe_start(&r->agent->info, r->sources, r->count, &r->agent->pipe.session);
    return NULL;
}

static void *stop_session(void *context)
{
    request *r = context;

    r->result = clr_eventpipe_stop(&r->agent->info, r->agent->pipe.session);
    return NULL;
}

/* Starting and stopping run managed code (event sources are told) and make a managed thread of the
 * caller, and the runtime resolves no addresses for a managed thread outside of a callback. So the
 * own thread, which resolves addresses, has it done by a thread that ends with it. */
SELDOM static void run_aside(agent *a, void *(*work)(void *), request *r)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    bool started = false;

    if (os_thread_id() == a->own_thread_id) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        started = pthread_create(&thread, NULL, work, r) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (started)
            pthread_join(thread, NULL);
        return;
    }
    work(r);
}

/* The union of what active engines want, over what was in force. */
SELDOM static void collect_wishes(agent *a, events *wanted)
{
    memset(wanted, 0, sizeof *wanted);
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        size_t count = !agent_is_active(a, i)             ? 0
                       : ENGINES[i]->count_wishes != NULL ? ENGINES[i]->count_wishes(a)
                                                          : ENGINES[i]->wish_count;

        for (size_t k = 0; k < count; k++) {
            const events_wish *w = &ENGINES[i]->wishes[k];
            const char *filter =
                ENGINES[i]->wish_filter != NULL ? ENGINES[i]->wish_filter(a, k) : w->filter;

            wanted->keywords[w->provider] |= w->keywords;
            if (w->level > wanted->levels[w->provider])
                wanted->levels[w->provider] = w->level;
            if (filter != NULL)
                wanted->filters[w->provider] = filter;
        }
    }
}

SELDOM static bool is_same(const events *a, const events *b)
{
    return memcmp(a->keywords, b->keywords, sizeof a->keywords) == 0 &&
           memcmp(a->levels, b->levels, sizeof a->levels) == 0 &&
           memcmp(a->filters, b->filters, sizeof a->filters) == 0;
}

SELDOM void events_stop(agent *a)
{
    events *v = &a->pipe;

    if (!v->is_running)
        return;
    run_aside(a, stop_session, &(request){a, NULL, 0, S_OK});
    v->is_running = false;
    v->replaced++;
    heap_guard_reset(&v->guard);
    memset(v->keywords, 0, sizeof v->keywords);
    memset(v->levels, 0, sizeof v->levels);
    memset(v->filters, 0, sizeof v->filters);
    for (size_t i = 0; i < EVENTS_KNOWN_HANDLES; i++) {
        atomic_store(&v->handles[i].handle, 0);
        atomic_store(&v->handles[i].provider, 0);
    }
}

SELDOM void events_prepare(agent *a)
{
    events wanted;

    collect_wishes(a, &wanted);
    if (!is_same(&wanted, &a->pipe))
        events_stop(a);
}

static bool has_source(const clr_eventpipe_source *sources, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(sources[i].name, name) == 0)
            return true;
    return false;
}

/* Sources that are known by name only, each once. */
SELDOM static size_t add_others(const events *wanted, clr_eventpipe_source *sources, size_t count,
                                char (*texts)[COUNTER_SOURCE_NAME])
{
    const char *list = wanted->filters[EVENTS_OTHER];
    const char *name;
    size_t length;
    size_t others = 0;

    while (list != NULL && others < COUNTER_MOST_SOURCES &&
           (length = counter_next_source(&list, &name)) != 0) {
        if (length >= COUNTER_SOURCE_NAME)
            continue;
        memcpy(texts[others], name, length);
        texts[others][length] = '\0';
        if (has_source(sources, count, texts[others]))
            continue;
        sources[count++] =
            (clr_eventpipe_source){texts[others++], wanted->keywords[EVENTS_OTHER],
                                   wanted->levels[EVENTS_OTHER], wanted->filters[EVENTS_COUNTERS]};
    }
    return count;
}

SELDOM int events_apply(agent *a, error *e)
{
    clr_eventpipe_source sources[EVENTS_PROVIDER_COUNT + COUNTER_MOST_SOURCES];
    char texts[COUNTER_MOST_SOURCES][COUNTER_SOURCE_NAME];
    char text[CLR_HRESULT_TEXT];
    size_t count = 0;
    events wanted;
    request r;
    HRESULT hr;

    collect_wishes(a, &wanted);
    if (is_same(&wanted, &a->pipe))
        return 0;
    events_stop(a);
    for (int i = 0; i < EVENTS_PROVIDER_COUNT; i++) {
        if (wanted.levels[i] == 0)
            continue;
        memset(&sources[count], 0, sizeof sources[count]);
        sources[count].name = NAMES[i];
        sources[count].keywords = wanted.keywords[i];
        sources[count].level = wanted.levels[i];
        sources[count].filter = wanted.filters[i];
        count++;
    }
    count = add_others(&wanted, sources, count, texts);
    if (count == 0)
        return 0;
    /* otherwise we are inside Initialize, before there is any managed code */
    if (os_thread_id() == a->own_thread_id)
        events_let_settle(a);
    r = (request){a, sources, count, E_FAIL};
    run_aside(a, start_session, &r);
    hr = r.result;
    if (hr != S_OK)
        return error_set(e, ERROR_RUNTIME, "the runtime refused an event session (%s)",
                         clr_hresult_name(hr, text));
    a->pipe.is_running = true;
    memcpy(a->pipe.keywords, wanted.keywords, sizeof wanted.keywords);
    memcpy(a->pipe.levels, wanted.levels, sizeof wanted.levels);
    memcpy(a->pipe.filters, wanted.filters, sizeof wanted.filters);
    return 0;
}

/* ---- the target's threads ---- */

/* Asks the runtime; false when it does not say (it does not while the session is being made). */
SELDOM static bool look_up(agent *a, EVENTPIPE_PROVIDER handle, events_provider *provider)
{
    char memory[128];
    buffer name;

    *provider = EVENTS_OTHER;
    buffer_fix(&name, memory, sizeof memory);
    if (clr_eventpipe_get_provider_name(&a->info, handle, &name) != S_OK)
        return false;
    for (int i = 0; i < EVENTS_PROVIDER_COUNT; i++)
        if (strcmp(NAMES[i], buffer_text(&name)) == 0)
            *provider = (events_provider)i;
    return true;
}

/* The provider behind a handle; asked of the runtime until it answers. A place belongs to whoever
 * put its handle there; until the provider is written too, others ask the runtime themselves. */
static events_provider provider_of(agent *a, EVENTPIPE_PROVIDER handle)
{
    size_t at = (size_t)table_hash_u64(handle) % EVENTS_KNOWN_HANDLES;
    events_provider found = EVENTS_OTHER;

    for (size_t i = 0; i < EVENTS_KNOWN_HANDLES; i++) {
        size_t place = (at + i) % EVENTS_KNOWN_HANDLES;
        uintptr_t known = atomic_load(&a->pipe.handles[place].handle);
        int provider = atomic_load(&a->pipe.handles[place].provider);

        if (known == handle && provider != 0)
            return (events_provider)(provider - 1);
        if (known != 0 && known != handle)
            continue;
        if (look_up(a, handle, &found) &&
            (known == handle ||
             atomic_compare_exchange_strong(&a->pipe.handles[place].handle, &known, handle)))
            atomic_store(&a->pipe.handles[place].provider, (int)found + 1);
        return found;
    }
    look_up(a, handle, &found);
    return found;
}

void events_deliver(agent *a, events_event *event)
{
    const reader data = event->data;
    unsigned active;

    heap_guard_take(&a->pipe.guard, event->id, event->metadata, event->metadata_length, data.begin,
                    (uint32_t)reader_left(&data));
    /* some programs raise 300,000 events a second: only engines that are at work are looked at */
    active = atomic_load_explicit(&a->active, memory_order_acquire);
    if ((active & 1u << ENGINE_INDEX_heap) != 0 &&
        ENGINE_heap.on_raw_event(a, event->id, event->metadata, event->metadata_length, data.begin,
                                 (uint32_t)reader_left(&data)))
        return;
    event->provider = provider_of(a, event->handle);
    for (; active != 0; active &= active - 1) {
        const engine *listener = ENGINES[__builtin_ctz(active)];

        event->data = data;
        if (listener->on_event != NULL)
            listener->on_event(a, event);
    }
}

bool events_is_named(const events_event *event, const char *name)
{
    const uint8_t *text = event->metadata + sizeof(uint32_t); /* after the id */
    const uint8_t *end = event->metadata + event->metadata_length;

    if (event->metadata_length < sizeof(uint32_t))
        return false;
    for (; end - text >= 2 && text[1] == 0 && text[0] == (uint8_t)*name; text += 2, name++)
        if (*name == 0)
            return true;
    return false;
}

const uint8_t *events_read_text(reader *r, size_t *units)
{
    const uint8_t *text = r->position;
    size_t count = 0;

    *units = 0;
    while (reader_u16(r) != 0)
        count++;
    if (reader_failed(r))
        return NULL;
    *units = count;
    return text;
}
