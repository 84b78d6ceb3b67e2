/* counterweight: see counterweight.h. */
#include "agent/counterweight.h"

#include <stdlib.h>

#include "agent/agent.h"

/* Whether the environment names a main profiler, which may have declined. */
static bool another_was_meant(void)
{
    const char *enabled = getenv("CORECLR_ENABLE_PROFILING");

    return enabled != NULL && enabled[0] == '1';
}

/* Setting a mask makes the runtime add up the masks of all again, which it did without the
 * agent's. */
static HRESULT on_initialize(void *context, const clr_info *info)
{
    agent *a = context;
    HRESULT hr;

    if (atomic_load(&a->phase) != AGENT_RUNNING)
        return CORPROF_E_PROFILER_CANCEL_ACTIVATION;
    hr = clr_info_set_event_mask2(info, 0, 0);
    atomic_store_explicit(&a->counterweight.is_there, hr == S_OK, memory_order_release);
    return hr;
}

static HRESULT on_attach(void *context, const clr_info *info, void *data, uint32_t length)
{
    (void)data;
    (void)length;
    return on_initialize(context, info);
}

static void on_notification_only(void *context, BOOL *answer)
{
    (void)context;
    *answer = 1;
}

void counterweight_prepare(agent *a)
{
    clr_profiler_callbacks *callbacks = &a->counterweight.callbacks;

    callbacks->initialize = on_initialize;
    callbacks->initialize_for_attach = on_attach;
    callbacks->load_as_notification_only = on_notification_only;
    a->profilers[2].clsid = CONTROL_CLSID_COUNTERWEIGHT;
    a->profilers[2].callbacks = callbacks;
    a->profilers[2].context = a;
}

/* An event provider that is made is told to every profiler that watches them, before the call
 * returns. It cannot be taken back: one of some 200 bytes stays, of each attach beside another
 * profiler. */
void counterweight_listen(agent *a)
{
    static const WCHAR NAME[] = {'C', 'l', 'a', 'r', 'i', 'n', 'e', 't', 0};
    EVENTPIPE_PROVIDER provider;

    if (a->counterweight.has_listened || a->by_start || a->in_main_place || !another_was_meant())
        return;
    a->counterweight.has_listened = true;
    if (clr_info_set_event_mask2(&a->info, 0, COR_PRF_HIGH_MONITOR_EVENT_PIPE) != S_OK)
        return;
    a->mask_high = COR_PRF_HIGH_MONITOR_EVENT_PIPE;
    if (clr_info_eventpipe_create_provider(&a->info, NAME, &provider) == S_OK)
        a->counterweight.is_needed = !atomic_load(&a->counterweight.heard);
}

bool counterweight_holds(const agent *a)
{
    return a->counterweight.is_needed || atomic_load(&a->counterweight.is_there) ||
           (a->by_start && !a->in_main_place && another_was_meant());
}
