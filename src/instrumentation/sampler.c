/*
 * sampler: stacks of all managed threads at the managed agent's request, and the names of
 * functions.
 *
 * RequestProfile stops the runtime, walks every thread and lets it go on; what it found is the
 * caller's until ReleaseProfile, and asking twice without that is an error. The names of one
 * RequestFunctionNames are valid until the next, or until ShutdownThreadProfiler.
 *
 * Thread rules: the exports are called on managed threads, which the runtime does not let stop
 * itself or ask for names: the work is done on a thread of ours. One caller at a time; a second is
 * answered E_FAIL. Between suspend and resume nothing is allocated.
 */
#include "instrumentation/profiler.h"

#include <string.h>

#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "clarinet/flags.h"
#include "clarinet/lookup.h"
#include "instrumentation/method.h"
#include "instrumentation/platform.h"

enum { MOST_FRAMES = 1024, SPARE_THREADS = 32, SUSPEND_TRIES = 200 };

CLR_EXPORT HRESULT RequestProfile(void **snapshots, int *count);
CLR_EXPORT void ReleaseProfile(void);
CLR_EXPORT HRESULT RequestFunctionNames(const uintptr_t *functions, int count, void **names);
CLR_EXPORT void ShutdownThreadProfiler(void);
CLR_EXPORT uintptr_t GetCurrentExecutionEngineThreadId(void);

#define SELF (instrumentation_root.sampler)

static bool enter(void)
{
    return !atomic_flag_test_and_set(&SELF.busy);
}

static void leave(void)
{
    atomic_flag_clear(&SELF.busy);
}

static void free_stacks(void)
{
    memory_free(SELF.stacks);
    memory_free(SELF.frames);
    memory_free(SELF.modules);
    SELF.stacks = NULL;
    SELF.frames = NULL;
    SELF.modules = NULL;
    SELF.count = 0;
    SELF.capacity = 0;
}

static void free_names(void)
{
    for (size_t i = 0; i < SELF.name_count; i++) {
        memory_free(SELF.names[i].type);
        memory_free(SELF.names[i].method);
    }
    memory_free(SELF.names);
    SELF.names = NULL;
    SELF.name_count = 0;
}

/* ---- stacks ---- */

static int count_thread(void *context, uintptr_t thread)
{
    (void)thread;
    ++*(size_t *)context;
    return 1;
}

static int list_thread(void *context, uintptr_t thread)
{
    sampler_stack *s = &SELF.stacks[SELF.count];

    (void)context;
    if (SELF.count == SELF.capacity)
        return 0;
    *s = (sampler_stack){thread, S_OK, 0, SELF.frames + SELF.count * MOST_FRAMES};
    SELF.count++;
    return 1;
}

static HRESULT CLR_CALL take_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
                                   uint32_t context_size, uint8_t *context, void *data)
{
    sampler_stack *s = data;

    (void)ip;
    (void)frame;
    (void)context_size;
    (void)context;
    if (function == 0)
        return S_OK; /* a run of native frames */
    if (s->count == MOST_FRAMES) {
        s->result = S_FALSE;
        return S_FALSE;
    }
    s->functions[s->count++] = function;
    return S_OK;
}

static bool make_room(const clr_info *info)
{
    size_t count = SPARE_THREADS; /* some may start before the runtime stands still */

    clr_each_thread(info, count_thread, &count);
    SELF.stacks = memory_allocate_array(count, sizeof *SELF.stacks);
    SELF.frames = memory_allocate_array(count, MOST_FRAMES * sizeof *SELF.frames);
    SELF.modules = memory_allocate_array(count, MOST_FRAMES * sizeof *SELF.modules);
    SELF.capacity = count;
    return SELF.stacks != NULL && SELF.frames != NULL && SELF.modules != NULL;
}

/* The runtime often answers that a suspension is under way: nothing stands still then. */
static HRESULT suspend(const clr_info *info)
{
    HRESULT hr = E_FAIL;

    for (int i = 0; i < SUSPEND_TRIES && hr != S_OK; i++) {
        if (i != 0)
            os_sleep_ms(1);
        hr = clr_info_suspend_runtime(info);
    }
    return hr == S_OK || !CLR_OK(hr) ? hr : E_FAIL;
}

typedef struct {
    const clr_info *info;
    HRESULT result;
} profile_work;

/* While the runtime stands still: no function can be unloaded before it is asked for. */
static void find_modules(const clr_info *info, const sampler_stack *s)
{
    sampler_module *modules = SELF.modules + (s->functions - SELF.frames);

    for (int32_t i = 0; i < s->count; i++) {
        clr_info_get_function_info(info, s->functions[i], NULL, &modules[i].id, NULL);
        modules[i].unloads = targets_unloads(&instrumentation_root.targets, modules[i].id);
    }
}

static bool remember_functions(void)
{
    bool done = true;

    for (size_t i = 0; i < SELF.count; i++) {
        const sampler_stack *s = &SELF.stacks[i];
        const sampler_module *modules = SELF.modules + (s->functions - SELF.frames);

        for (int32_t k = 0; k < s->count && done; k++)
            done = table_u64_put(&SELF.seen, s->functions[k], modules[k].id) &&
                   table_u64_put(&SELF.seen_unloads, s->functions[k], modules[k].unloads);
    }
    return done;
}

static void take_profile(void *context)
{
    profile_work *work = context;
    const clr_info *info = work->info;

    clr_info_initialize_current_thread(info);
    work->result = E_OUTOFMEMORY;
    if (!make_room(info))
        return;
    work->result = suspend(info);
    if (!CLR_OK(work->result))
        return;
    clr_each_thread(info, list_thread, NULL);
    for (size_t i = 0; i < SELF.count; i++) {
        sampler_stack *s = &SELF.stacks[i];
        HRESULT hr = clr_info_do_stack_snapshot(info, s->thread, take_frame,
                                                COR_PRF_SNAPSHOT_DEFAULT, s, NULL, 0);

        /* A walk that we ended ourselves is answered with an "aborted" failure. */
        if (!CLR_OK(hr) && s->result == S_OK)
            s->result = hr;
        find_modules(info, s);
    }
    clr_info_resume_runtime(info);
    if (!remember_functions())
        work->result = E_OUTOFMEMORY;
}

HRESULT RequestProfile(void **snapshots, int *count)
{
    instrumentation *root = &instrumentation_root;
    profile_work work = {&root->info, E_FAIL};

    if (snapshots == NULL || count == NULL)
        return E_INVALIDARG;
    *snapshots = NULL;
    *count = 0;
    if (!root->started) {
        journal_write(&root->log, LEVEL_ERROR, "RequestProfile: the profiler has not been started");
        return E_UNEXPECTED;
    }
    if (!enter())
        return E_FAIL;
    if (SELF.stacks == NULL) { /* else it was not released */
        if (!platform_run_on_thread(take_profile, &work))
            work.result = E_UNEXPECTED;
        if (CLR_OK(work.result)) {
            *snapshots = SELF.stacks;
            *count = (int)SELF.count;
        } else {
            free_stacks();
        }
    }
    leave();
    return work.result;
}

void ReleaseProfile(void)
{
    if (!enter())
        return;
    free_stacks();
    leave();
}

/* ---- names ---- */

static WCHAR *copy_units(const buffer *text)
{
    buffer units = BUFFER_EMPTY;

    text_append_utf8_as_utf16(&units, buffer_text(text), text->length);
    buffer_append_u16(&units, 0);
    return (WCHAR *)(void *)buffer_take_text(&units);
}

typedef struct {
    FunctionID id;
    ModuleID module; /* 0 = not found */
    mdToken method;
} function_search;

static void look_at_target(void *context, target *t)
{
    function_search *search = context;

    if (t->function == search->id) {
        search->module = t->module;
        search->method = t->method;
    }
}

/* Was it on a stack, and is its module still there, not only another one in its place? */
static bool was_seen(targets *known, FunctionID id)
{
    uint64_t module = 0;
    uint64_t unloads = 0;

    return table_u64_get(&SELF.seen, id, &module) &&
           table_u64_get(&SELF.seen_unloads, id, &unloads) && targets_has_module(known, module) &&
           targets_unloads(known, module) == unloads;
}

/* Ids are addresses for the runtime, and one that is wrong or whose module is gone would end the
 * process: it is asked only for those that were handed out, on a stack or with a call. */
static bool find_function(const clr_info *info, function_search *search)
{
    targets *known = &instrumentation_root.targets;

    if (search->id == 0)
        return false;
    if (was_seen(known, search->id) &&
        CLR_OK(
            clr_info_get_function_info(info, search->id, NULL, &search->module, &search->method)))
        return true;
    targets_each(known, look_at_target, search);
    return search->module != 0 && targets_has_module(known, search->module);
}

static void name_function(const clr_info *info, sampler_name *n)
{
    IMetaDataImport2 *import = NULL;
    buffer type = BUFFER_EMPTY;
    buffer method = BUFFER_EMPTY;
    function_search search = {n->function, 0, 0};
    clr_method props;

    targets_begin_reading(&instrumentation_root.targets);
    if (find_function(info, &search) && CLR_OK(clr_open_import(info, search.module, &import)) &&
        CLR_OK(clr_get_method(import, search.method, &method, &props)))
        method_append_type_name(import, props.type, &type);
    if (type.length == 0 || method.length == 0) {
        buffer_clear(&type);
        buffer_clear(&method);
        buffer_append_text(&type, "UnknownClass");
        buffer_format(&method, "UnknownMethod(%zu)", (size_t)n->function);
    }
    n->type = copy_units(&type);
    n->method = copy_units(&method);
    clr_release(import);
    targets_end_reading(&instrumentation_root.targets);
    buffer_free(&type);
    buffer_free(&method);
}

static void take_names(void *context)
{
    const clr_info *info = context;

    clr_info_initialize_current_thread(info);
    for (size_t i = 0; i < SELF.name_count; i++)
        name_function(info, &SELF.names[i]);
}

HRESULT RequestFunctionNames(const uintptr_t *functions, int count, void **names)
{
    instrumentation *root = &instrumentation_root;
    HRESULT hr = E_OUTOFMEMORY;

    if (names == NULL || functions == NULL || count <= 0)
        return E_INVALIDARG;
    *names = NULL;
    if (!root->started) {
        journal_write(&root->log, LEVEL_ERROR,
                      "RequestFunctionNames: the profiler has not been started");
        return E_UNEXPECTED;
    }
    if (!enter())
        return E_FAIL;
    free_names();
    SELF.names = memory_allocate_array((size_t)count, sizeof *SELF.names);
    if (SELF.names != NULL) {
        SELF.name_count = (size_t)count;
        for (size_t i = 0; i < SELF.name_count; i++)
            SELF.names[i].function = functions[i];
        hr = platform_run_on_thread(take_names, &root->info) ? S_OK : E_UNEXPECTED;
        *names = SELF.names;
    }
    leave();
    return hr;
}

/* ---- the rest ---- */

void ShutdownThreadProfiler(void)
{
    if (!enter())
        return;
    free_stacks();
    free_names();
    leave();
}

uintptr_t GetCurrentExecutionEngineThreadId(void)
{
    instrumentation *root = &instrumentation_root;
    ThreadID thread = 0;

    if (!root->started || !CLR_OK(clr_info_get_current_thread_id(&root->info, &thread)))
        return 0;
    return thread;
}
