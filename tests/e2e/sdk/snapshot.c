/*
 * snapshot: a profiler that only tests use: the runtime's own word on where every thread stands.
 *
 * When the file that SNAPSHOT_FILE names with ".ask" behind it appears, it stops the runtime, walks
 * every managed thread with DoStackSnapshot, lets the runtime go on, and writes to SNAPSHOT_FILE a
 * line "stack THREAD METHOD|METHOD|…" per thread (OS id; outermost first). Under another name
 * first: whoever sees the file sees all of it.
 *
 * Thread rules: all of it happens on a thread of its own.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <clarinet/clarinet.h>

enum { MOST_THREADS = 256, MOST_FRAMES = 512, LOOK_EVERY_US = 20000 };

typedef struct {
    ThreadID id;
    uint32_t os_thread;
    HRESULT result;
    unsigned count;
    FunctionID functions[MOST_FRAMES]; /* innermost first */
} stack;

typedef struct {
    const clr_info *info;
    const char *path;
    stack stacks[MOST_THREADS];
    size_t count;
} snapshot;

static snapshot state;

static HRESULT CLR_CALL take_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                   uint32_t context_size, uint8_t *context, void *data)
{
    stack *s = data;

    (void)ip;
    (void)frame;
    (void)context_size;
    (void)context;
    if (function != 0 && s->count < MOST_FRAMES) /* 0: a run of native frames */
        s->functions[s->count++] = function;
    return S_OK;
}

/* No allocation while the runtime stands: a stopped thread may hold the lock. */
static int take_stacks(snapshot *s)
{
    if (clr_info_suspend_runtime(s->info) != S_OK)
        return -1;
    for (size_t i = 0; i < s->count; i++)
        s->stacks[i].result = clr_info_do_stack_snapshot(
            s->info, s->stacks[i].id, take_frame, COR_PRF_SNAPSHOT_DEFAULT, &s->stacks[i], NULL, 0);
    return clr_info_resume_runtime(s->info) == S_OK ? 0 : -1;
}

static void list_threads(snapshot *s)
{
    ICorProfilerThreadEnum *threads = NULL;
    ThreadID id;
    uint32_t fetched = 0;

    s->count = 0;
    if (clr_info_enum_threads(s->info, &threads) != S_OK || threads == NULL)
        return;
    while (s->count < MOST_THREADS && threads->vtbl->Next(threads, 1, &id, &fetched) == S_OK &&
           fetched == 1) {
        stack *t = &s->stacks[s->count];

        t->id = id;
        t->count = 0;
        if (clr_info_get_thread_info(s->info, id, &t->os_thread) == S_OK && t->os_thread != 0)
            s->count++;
    }
    threads->vtbl->Release(threads);
}

static void write_stacks(const snapshot *s, FILE *out)
{
    clr_text *name = clr_text_create();

    for (size_t i = 0; i < s->count && name != NULL; i++) {
        const stack *t = &s->stacks[i];

        fprintf(out, t->result == S_OK ? "stack %u " : "failed %u %08x ", t->os_thread,
                (unsigned)t->result);
        for (unsigned k = t->count; k > 0; k--) {
            clr_text_clear(name);
            if (clr_append_function(s->info, t->functions[k - 1], 0, name, NULL, NULL) != S_OK)
                clr_text_append(name, "?");
            fprintf(out, "%s%s", clr_text_value(name), k > 1 ? "|" : "");
        }
        fprintf(out, "\n");
    }
    clr_text_free(name);
}

static void *run(void *context)
{
    snapshot *s = context;
    char ask[4096], part[4096];

    snprintf(ask, sizeof ask, "%s.ask", s->path);
    snprintf(part, sizeof part, "%s.part", s->path);
    clr_info_initialize_current_thread(s->info);
    for (;;) {
        FILE *out;

        if (access(ask, F_OK) != 0) {
            usleep(LOOK_EVERY_US);
            continue;
        }
        unlink(ask);
        list_threads(s);
        out = fopen(part, "w");
        if (out == NULL)
            return NULL;
        if (take_stacks(s) == 0)
            write_stacks(s, out);
        else
            fprintf(out, "failed to stop the runtime\n");
        fclose(out);
        rename(part, s->path);
    }
    return NULL;
}

static HRESULT on_start(void *context, const clr_info *info)
{
    snapshot *s = context;
    pthread_t thread;

    s->info = info;
    s->path = getenv("SNAPSHOT_FILE");
    if (s->path == NULL || pthread_create(&thread, NULL, run, s) != 0)
        return E_FAIL;
    return clr_info_set_event_mask(info, COR_PRF_ENABLE_STACK_SNAPSHOT | COR_PRF_MONITOR_THREADS);
}

static const clr_profiler_callbacks callbacks = {.initialize = on_start};

CLR_PROFILER("{C1A21E70-00FE-4C4C-8A11-6E6574434C52}", callbacks, &state)
