/*
 * callbacks: from the runtime's calls to the engines that want them. Runs on the target's threads;
 * nothing here waits. An engine that is not active is not called.
 */
#include "agent/agent.h"
#include "agent/gone.h"
#include "agent/sampling.h"
#include "base/os.h"

/* Calls `hook` of every active engine that has it. */
#define FORWARD(hook, ...)                                                                         \
    do {                                                                                           \
        agent *a = context;                                                                        \
        for (unsigned i = 0; i < ENGINE_COUNT; i++)                                                \
            if (ENGINES[i]->hook != NULL && agent_is_active(a, i))                                 \
                ENGINES[i]->hook(a, __VA_ARGS__);                                                  \
    } while (0)

/* Calls a hook of one engine, straight. */
#define TO(name, hook, ...)                                                                        \
    do {                                                                                           \
        if (agent_is_active(context, ENGINE_INDEX_##name))                                         \
            name##_##hook(__VA_ARGS__);                                                            \
    } while (0)

static void on_exception_thrown(void *context, ObjectID object)
{
    TO(exceptions, on_thrown, context, object);
    TO(trace, on_exception_thrown, context, object);
}

static void on_exception_catcher_found(void *context, FunctionID function)
{
    TO(exceptions, on_catcher_found, context, function);
}

static void on_exception_search_enter(void *context, FunctionID function)
{
    TO(exceptions, on_search_enter, context, function);
}

static void on_exception_search_leave(void *context)
{
    TO(exceptions, on_search_leave, context);
}

static void on_exception_filter_enter(void *context, FunctionID function)
{
    (void)function;
    TO(exceptions, on_filter_enter, context);
}

static void on_exception_filter_leave(void *context)
{
    TO(exceptions, on_filter_leave, context);
}

static void on_exception_unwind_enter(void *context, FunctionID function)
{
    (void)function;
    TO(exceptions, on_unwind, context);
}

static void on_exception_unwind_leave(void *context)
{
    TO(exceptions, on_unwind, context);
}

static void on_exception_finally_enter(void *context, FunctionID function)
{
    (void)function;
    TO(exceptions, on_finally_enter, context);
}

static void on_exception_finally_leave(void *context)
{
    TO(exceptions, on_finally_leave, context);
}

static void on_exception_caught(void *context, FunctionID function, ObjectID object)
{
    (void)function;
    TO(exceptions, on_caught, context);
    TO(trace, on_exception_caught, context, object);
}

static void on_provider_created(void *context, EVENTPIPE_PROVIDER provider)
{
    agent *a = context;

    (void)provider;
    atomic_store(&a->counterweight.heard, true);
}

static void on_thread_assigned(void *context, ThreadID thread, uint32_t os_thread)
{
    gone_thread_comes(thread);
    thread_names_drop(((agent *)context)->ended, os_thread);
    FORWARD(on_thread_assigned, thread, os_thread);
}

static void on_thread_destroyed(void *context, ThreadID thread)
{
    agent *own = context;
    uint32_t os_thread = 0;

    gone_thread_goes(thread);
    /* Called on the thread that ends, or on the finalizer's for one that has ended before. */
    if (clr_info_get_thread_info(&own->info, thread, &os_thread) == S_OK && os_thread != 0 &&
        (int)os_thread != os_thread_id())
        return;
    thread_names_keep(&own->names.threads, own->ended, thread);
    FORWARD(on_thread_destroyed, thread);
}

static void on_thread_named(void *context, ThreadID thread, uint32_t count, const WCHAR *name)
{
    FORWARD(on_thread_named, thread, count, name);
}

static void on_class_load_started(void *context, ClassID class_id)
{
    agent *a = context;

    (void)class_id;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if (ENGINES[i]->on_class_loading != NULL && agent_is_active(a, i))
            ENGINES[i]->on_class_loading(a);
}

static void on_class_load_finished(void *context, ClassID class_id, HRESULT status)
{
    if (status == S_OK)
        TO(trace, on_class_loaded, context, class_id);
}

static void on_collection_started(void *context, int32_t generation_count, const BOOL *collected,
                                  COR_PRF_GC_REASON reason)
{
    agent *a = context;

    (void)generation_count;
    (void)collected;
    (void)reason;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if (ENGINES[i]->on_collection_started != NULL && agent_is_active(a, i))
            ENGINES[i]->on_collection_started(a);
}

static void on_collection_finished(void *context)
{
    agent *a = context;

    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if (ENGINES[i]->on_collection_finished != NULL && agent_is_active(a, i))
            ENGINES[i]->on_collection_finished(a);
}

static void on_event(void *context, EVENTPIPE_PROVIDER provider, uint32_t id, uint32_t version,
                     uint32_t metadata_length, const uint8_t *metadata, uint32_t length,
                     const uint8_t *data, const GUID *activity, const GUID *related,
                     ThreadID thread, uint32_t frame_count, const uintptr_t *frames)
{
    events_event event = {
        .handle = provider,
        .id = id,
        .version = version,
        .data = reader_of(data, length),
        .metadata = metadata,
        .metadata_length = metadata_length,
        .activity = activity,
        .related = related,
    };

    (void)thread;
    (void)frame_count;
    (void)frames;
    events_deliver(context, &event);
}

static void on_suspend_started(void *context, COR_PRF_SUSPEND_REASON reason)
{
    atomic_store(&sampling_state.stopping,
                 reason == COR_PRF_SUSPEND_FOR_GC || reason == COR_PRF_SUSPEND_FOR_GC_PREP);
    TO(pauses, on_started, context, reason);
}

static void on_thread_suspended(void *context, ThreadID thread)
{
    TO(pauses, on_thread_suspended, context, thread);
}

static void on_object_allocated(void *context, ObjectID object, ClassID class_id)
{
    TO(allocations, on_object, context, object, class_id);
}

static void on_managed_to_native(void *context, FunctionID function,
                                 COR_PRF_TRANSITION_REASON reason)
{
    transitions_cross(context, function, true, reason == COR_PRF_TRANSITION_CALL);
}

static void on_native_to_managed(void *context, FunctionID function,
                                 COR_PRF_TRANSITION_REASON reason)
{
    transitions_cross(context, function, false, reason == COR_PRF_TRANSITION_CALL);
}

static void on_suspend_finished(void *context)
{
    TO(pauses, on_finished, context);
}

static void on_resume_finished(void *context)
{
    atomic_store(&sampling_state.stopping, false);
    TO(pauses, on_resumed, context);
}

static void on_module_load_finished(void *context, ModuleID module, HRESULT status)
{
    if (CLR_OK(status))
        FORWARD(on_module_loaded, module);
}

/* The runtime must not be asked about code that is half gone: it was seen to end the program. So
 * what was taken in it is walked and named now, by one round of the own thread; no thread runs in
 * that code any more. */
static void on_module_unload_started(void *context, ModuleID module)
{
    agent *a = context;

    (void)module;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if (ENGINES[i]->on_module_unloading != NULL && agent_is_active(a, i))
            ENGINES[i]->on_module_unloading(a);
    if (atomic_load(&a->asks) != 0 && !agent_hurry(a, AGENT_UNLOAD_MS))
        atomic_fetch_add(&a->names.overtaken, 1);
    atomic_fetch_add(&a->unloads, 1);
}

static void on_dynamic_method_unloaded(void *context, FunctionID function)
{
    agent *a = context;

    gone_code_goes(&a->info, function);
    atomic_store_explicit(&a->made_went, true, memory_order_relaxed);
}

static HRESULT on_rejit_parameters(void *context, ModuleID module, mdMethodDef method,
                                   ICorProfilerFunctionControl *control)
{
    agent *a = context;

    if (a->engines[ENGINE_INDEX_trace].state != NULL)
        trace_on_rejit_parameters(a, module, method, control);
    return S_OK;
}

static void on_rejit_error(void *context, ModuleID module, mdMethodDef method, FunctionID function,
                           HRESULT status)
{
    agent *a = context;

    (void)function;
    if (a->engines[ENGINE_INDEX_trace].state != NULL)
        trace_on_rejit_error(a, module, method, status);
}

const clr_profiler_callbacks AGENT_CALLBACKS = {
    .initialize = agent_on_initialize,
    .initialize_for_attach = agent_on_attach,
    .profiler_attach_complete = agent_on_attach_complete,
    .profiler_detach_succeeded = agent_on_detached,
    .shutdown = agent_on_shutdown,
    .load_as_notification_only = agent_on_notification_only,
    .exception_thrown = on_exception_thrown,
    .exception_search_catcher_found = on_exception_catcher_found,
    .exception_search_function_enter = on_exception_search_enter,
    .exception_search_function_leave = on_exception_search_leave,
    .exception_search_filter_enter = on_exception_filter_enter,
    .exception_search_filter_leave = on_exception_filter_leave,
    .exception_unwind_function_enter = on_exception_unwind_enter,
    .exception_unwind_function_leave = on_exception_unwind_leave,
    .exception_unwind_finally_enter = on_exception_finally_enter,
    .exception_unwind_finally_leave = on_exception_finally_leave,
    .exception_catcher_enter = on_exception_caught,
    .thread_assigned_to_os_thread = on_thread_assigned,
    .thread_destroyed = on_thread_destroyed,
    .thread_name_changed = on_thread_named,
    .class_load_started = on_class_load_started,
    .class_load_finished = on_class_load_finished,
    .module_load_finished = on_module_load_finished,
    .module_unload_started = on_module_unload_started,
    .dynamic_method_unloaded = on_dynamic_method_unloaded,
    .get_rejit_parameters = on_rejit_parameters,
    .rejit_error = on_rejit_error,
    .garbage_collection_started = on_collection_started,
    .garbage_collection_finished = on_collection_finished,
    .eventpipe_event_delivered = on_event,
    .eventpipe_provider_created = on_provider_created,
    .runtime_suspend_started = on_suspend_started,
    .runtime_suspend_finished = on_suspend_finished,
    .runtime_resume_finished = on_resume_finished,
    .runtime_thread_suspended = on_thread_suspended,
    .object_allocated = on_object_allocated,
    .managed_to_unmanaged_transition = on_managed_to_native,
    .unmanaged_to_managed_transition = on_native_to_managed,
};
