/*
 * heap_empty: the yardstick of bench/heap.py. A profiler that starts the same heap-dump session as
 * the agent's, with a callback that does nothing, whenever a byte comes from the pipe that
 * HEAP_EMPTY_IN names; how long the runtime took goes to HEAP_EMPTY_OUT, in nanoseconds, with the
 * number of events.
 *
 *     cc -shared -fPIC -O2 heap_empty.c -o libheap_empty.so -I include build/libclarinet_sdk.a
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <clarinet/clarinet.h>

static const clr_info *runtime;
static unsigned long events;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *serve(void *context)
{
    static const clr_eventpipe_source SOURCE = {"Microsoft-Windows-DotNETRuntime", 0x900000, 5,
                                                NULL};
    FILE *in, *out;

    (void)context;
    clr_info_initialize_current_thread(runtime);
    in = fopen(getenv("HEAP_EMPTY_IN"), "r");
    out = fopen(getenv("HEAP_EMPTY_OUT"), "w");
    while (in != NULL && out != NULL && fgetc(in) != EOF) {
        EVENTPIPE_SESSION session = 0;
        uint64_t begin = now_ns();
        HRESULT hr;

        events = 0;
        hr = clr_eventpipe_start(runtime, &SOURCE, 1, &session);
        fprintf(out, "%" PRIu64 " %lu\n", hr == S_OK ? now_ns() - begin : 0, events);
        clr_eventpipe_stop(runtime, session);
        fflush(out);
    }
    return NULL;
}

static void on_event(void *context, EVENTPIPE_PROVIDER provider, uint32_t id, uint32_t version,
                     uint32_t metadata_size, const uint8_t *metadata, uint32_t data_size,
                     const uint8_t *data, const GUID *activity, const GUID *related,
                     ThreadID thread, uint32_t frame_count, const uintptr_t *frames)
{
    (void)context, (void)provider, (void)id, (void)version, (void)metadata_size, (void)metadata;
    (void)data_size, (void)data, (void)activity, (void)related, (void)thread, (void)frame_count;
    (void)frames;
    events++;
}

static HRESULT on_start(void *context, const clr_info *info)
{
    pthread_t thread;

    (void)context;
    runtime = info;
    pthread_create(&thread, NULL, serve, NULL);
    return clr_info_set_event_mask2(info, 0, COR_PRF_HIGH_MONITOR_EVENT_PIPE);
}

static const clr_profiler_callbacks callbacks = {
    .initialize = on_start,
    .eventpipe_event_delivered = on_event,
};

CLR_PROFILER("{C1A21E70-0009-4C4C-8A11-6E6574434C52}", callbacks, NULL)
