/*
 * agent: entry points of the library, coming and going. See agent.h.
 *
 * Coming: the runtime asks for our class, then calls Initialize (start mode) or
 * InitializeForAttach. Going: the own thread asks the runtime to detach and ends; the runtime waits
 * until no callback is running, calls agent_on_detached, and unmaps the library.
 */
#include "agent/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/gone.h"
#include "base/dotnet_host.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/reader.h"

enum { SHUTDOWN_WAIT_MS = 1000 };

static agent root;

CLR_EXPORT HRESULT CLR_ENTRY DllGetClassObject(const GUID *clsid, const GUID *iid, void **out);
CLR_EXPORT HRESULT CLR_ENTRY DllCanUnloadNow(void);

/* Prepares the memory before anything allocates. The runtime loads profilers one at a time. */
static void prepare(agent *a)
{
    memory_backend backend = {arena_resize, &a->memory};
    size_t cap = ARENA_DEFAULT_CAP;
    const char *wanted = getenv(CONTROL_VARIABLE_MEMORY);
    uint64_t bytes;

    if (a->profilers[0].clsid != NULL) {
        /* loaded before and not unmapped: the runtime's objects must come from the root again */
        if (atomic_load(&a->phase) == AGENT_IDLE && DllCanUnloadNow() == S_OK) {
            arena_destroy(&a->memory);
            arena_lend(&a->memory, a->first_slab, sizeof a->first_slab);
        }
        return;
    }
    if (wanted != NULL && catalogue_parse_size(wanted, &bytes, NULL) == 0 && bytes >= 4u << 20 &&
        bytes <= (uint64_t)4 << 30)
        cap = (size_t)bytes;
    arena_init(&a->memory, cap);
    arena_lend(&a->memory, a->first_slab, sizeof a->first_slab);
    memory_use(&backend);
    a->wake = -1;
    a->endpoint.listener = -1;
    a->endpoint.folder_descriptor = -1;
    a->profilers[0] = (clr_profiler){CONTROL_CLSID_BESIDE, &AGENT_CALLBACKS, a, 0};
    a->profilers[1] = (clr_profiler){CONTROL_CLSID_MAIN, &AGENT_CALLBACKS, a, 0};
    counterweight_prepare(a);
}

HRESULT CLR_ENTRY DllGetClassObject(const GUID *clsid, const GUID *iid, void **out)
{
    HRESULT hr = CLASS_E_CLASSNOTAVAILABLE;
    int phase = atomic_load(&root.phase);

    prepare(&root);
    /* One agent at a time. While it leaves, the runtime lets the next one come up to the calls of
     * an object of ours, and stops it there: the memory of that object goes with the one that
     * leaves. The counterweight comes to one that is there. */
    if (phase == AGENT_RUNNING)
        hr = clr_profiler_get_class_object(&root.profilers[2], clsid, iid, out);
    if (phase != AGENT_IDLE)
        return hr == S_OK ? S_OK : E_FAIL;
    for (int i = 0; i < 2 && hr == CLASS_E_CLASSNOTAVAILABLE; i++) {
        hr = clr_profiler_get_class_object(&root.profilers[i], clsid, iid, out);
        if (hr == S_OK)
            root.in_main_place = i == 1;
    }
    return hr;
}

HRESULT CLR_ENTRY DllCanUnloadNow(void)
{
    for (int i = 0; i < 3; i++)
        if (clr_profiler_can_unload(&root.profilers[i]) != S_OK)
            return S_FALSE;
    return S_OK;
}

void agent_on_notification_only(void *context, BOOL *answer)
{
    agent *a = context;

    *answer = a->in_main_place ? 0 : 1;
}

/* Everything both ways of coming need. On failure nothing is left behind. */
static int come(agent *a, const clr_info *info, error *e)
{
    int code;

    if (info->version < 5)
        return error_set(e, ERROR_UNSUPPORTED, "this runtime is too old");
    a->info = *info;
    a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->wake < 0)
        return error_set(e, ERROR_IO, "no descriptor left");
    if (arena_charge(&a->memory, AGENT_RING_SIZE) != 0)
        return error_set(e, ERROR_LIMIT, "no memory for the ring");
    code = ring_create(&a->events, AGENT_RING_SIZE, a->wake, e);
    if (code != 0)
        return code;
    gone_watch(GONE_FROM_EVENTS, &a->events);
    names_init(&a->names, &a->info);
    a->names.is_own = true;
    return 0;
}

/* Undoes `come`. The arena's slab inside the root stays: the runtime's last releases need it. */
static void go(agent *a)
{
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        if (a->engines[i].state != NULL && ENGINES[i]->destroy != NULL)
            ENGINES[i]->destroy(a);
        else
            memory_free(a->engines[i].state);
        memset(&a->engines[i], 0, sizeof a->engines[i]);
    }
    for (size_t i = 0; i < AGENT_CLIENTS; i++)
        client_close(a, &a->clients[i]);
    endpoint_close(a);
    names_reset(&a->names);
    ring_destroy(&a->events);
    if (a->wake >= 0)
        close(a->wake);
    a->wake = -1;
    arena_destroy(&a->memory);
    a->has_thread = false;
    a->thread_is_known = false;
    a->stays = false;
    a->mask_low = a->mask_high = 0;
    a->alone_since_ns = 0;
    a->soon_ns = 0;
    atomic_store(&a->started, 0);
    atomic_store(&a->finished, 0);
    atomic_store(&a->attach_complete, false);
    a->counterweight.has_listened = a->counterweight.is_needed = false;
    atomic_store(&a->counterweight.heard, false);
    atomic_store(&a->phase, AGENT_IDLE);
}

/* Waits until *word is not 0, at most `milliseconds`. */
static void wait_for(atomic_int *word, unsigned milliseconds)
{
    uint64_t end = os_monotonic_ns() + (uint64_t)milliseconds * 1000000;

    while (atomic_load(word) == 0) {
        uint64_t now = os_monotonic_ns();
        struct timespec left;

        if (now >= end)
            return;
        left.tv_sec = (time_t)((end - now) / 1000000000);
        left.tv_nsec = (long)((end - now) % 1000000000);
        lock_wait(word, 0, &left);
    }
}

/* With `dotnet run` the program is meant, not the CLI, MSBuild and the compiler that come first. */
static bool is_left_out(void)
{
    const char *everywhere = getenv(CONTROL_VARIABLE_SDK);

    return (everywhere == NULL || everywhere[0] != '1') && dotnet_host_is_sdk_here();
}

HRESULT agent_on_initialize(void *context, const clr_info *info)
{
    agent *a = context;
    const char *path = getenv(CONTROL_VARIABLE_CONNECT);
    const char *text = getenv(CONTROL_VARIABLE_TOKEN);
    uint8_t token[CONTROL_TOKEN_SIZE];
    int none = 0;

    if (atomic_load(&a->phase) != AGENT_IDLE || path == NULL || text == NULL ||
        !control_parse_token(text, token))
        return E_FAIL;
    if (is_left_out())
        return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
    a->by_start = true;
    if (come(a, info, NULL) != 0) {
        go(a);
        return E_FAIL;
    }
    memcpy(a->endpoint.token, token, sizeof token);
    /* without a tool there is nothing to do: not loading costs the program nothing */
    if (client_connect(a, path, token) == NULL) {
        go(a);
        return E_FAIL;
    }
    endpoint_open_own(a, NULL); /* for further sessions; this one works without */
    atomic_store(&a->mask_deferred, true);
    atomic_store(&a->phase, AGENT_RUNNING);
    if (agent_start_thread(a, NULL) != 0) {
        go(a);
        return E_FAIL;
    }
    wait_for(&a->started, AGENT_GRACE_MS);
    atomic_store(&a->mask_deferred, false);
    if (!atomic_compare_exchange_strong(&a->started, &none, AGENT_START_LATE) &&
        none == AGENT_START_REFUSED) {
        /* turned away: the process goes on as if we had never been there */
        pthread_join(a->thread, NULL);
        go(a);
        return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
    }
    agent_apply_mask(a, NULL);
    return S_OK;
}

/* The tool's words in the attach command: u32 protocol, token, text folder, text library name. */
static int read_attach_data(agent *a, const void *data, uint32_t length, char *folder, size_t room)
{
    reader r = reader_of(data, length);
    uint32_t protocol = reader_u32(&r);
    const uint8_t *token = reader_bytes(&r, CONTROL_TOKEN_SIZE);
    size_t folder_length;
    size_t library_length;
    const uint8_t *folder_text = reader_blob(&r, &folder_length);
    const uint8_t *library = reader_blob(&r, &library_length);

    if (reader_failed(&r) || protocol != CONTROL_PROTOCOL || folder_length == 0 ||
        folder_length >= room || library_length >= sizeof a->endpoint.library)
        return ERROR_CORRUPT;
    memcpy(folder, folder_text, folder_length);
    folder[folder_length] = '\0';
    memcpy(a->endpoint.library, library, library_length);
    a->endpoint.library[library_length] = '\0';
    memcpy(a->endpoint.token, token, CONTROL_TOKEN_SIZE);
    return strchr(a->endpoint.library, '/') == NULL ? 0 : ERROR_CORRUPT;
}

HRESULT agent_on_attach(void *context, const clr_info *info, void *data, uint32_t length)
{
    agent *a = context;
    char folder[256];

    if (atomic_load(&a->phase) != AGENT_IDLE)
        return E_FAIL;
    a->by_start = false;
    if (data == NULL || read_attach_data(a, data, length, folder, sizeof folder) != 0)
        return E_INVALIDARG;
    if (come(a, info, NULL) != 0 || endpoint_open(a, folder, a->endpoint.token, NULL) != 0) {
        go(a);
        return E_FAIL;
    }
    atomic_store(&a->phase, AGENT_RUNNING);
    if (agent_start_thread(a, NULL) != 0) {
        go(a);
        return E_FAIL;
    }
    return S_OK;
}

/* Whoever lets go earlier is unmapped while the runtime still has this call to make. */
void agent_on_attach_complete(void *context)
{
    agent *a = context;
    uint64_t one = 1;

    atomic_store(&a->attach_complete, true);
    while (write(a->wake, &one, sizeof one) < 0 && errno == EINTR)
        ; /* nothing to tell: only to look whether it is over */
}

void agent_on_detached(void *context)
{
    agent *a = context;

    if (a->has_thread)
        pthread_join(a->thread, NULL);
    go(a);
}

/* The process ends in order: let the own thread send what it has, for a bounded time. After this
 * the runtime must not be called. */
void agent_on_shutdown(void *context)
{
    agent *a = context;

    if (!a->has_thread)
        return;
    atomic_store(&a->phase, AGENT_ENDING);
    atomic_store(&a->waking, false);
    agent_wake(a);
    wait_for(&a->finished, SHUTDOWN_WAIT_MS);
    atomic_store(&a->phase, AGENT_ENDED);
}
