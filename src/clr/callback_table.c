/* clang-format off */
/* Made by tools/clr/generate.py from tools/clr/interfaces.txt: do not edit. */

/*
 * callback_table: the vtable of ICorProfilerCallback11 over a clr_profiler_callbacks. Each slot
 * calls the profiler's function if there is one. Initialize, InitializeForAttach and the three
 * slots of IUnknown are written by hand in profiler.c.
 */
#include "clr/profiler_object.h"

static HRESULT CLR_CALL shutdown(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->shutdown != NULL)
        object->callbacks->shutdown(object->context);
    return S_OK;
}

static HRESULT CLR_CALL appdomain_creation_started(ICorProfilerCallback11 *self,
    AppDomainID appdomain_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->appdomain_creation_started != NULL)
        object->callbacks->appdomain_creation_started(object->context, appdomain_id);
    return S_OK;
}

static HRESULT CLR_CALL appdomain_creation_finished(ICorProfilerCallback11 *self,
    AppDomainID appdomain_id, HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->appdomain_creation_finished != NULL)
        object->callbacks->appdomain_creation_finished(object->context, appdomain_id, status);
    return S_OK;
}

static HRESULT CLR_CALL appdomain_shutdown_started(ICorProfilerCallback11 *self,
    AppDomainID appdomain_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->appdomain_shutdown_started != NULL)
        object->callbacks->appdomain_shutdown_started(object->context, appdomain_id);
    return S_OK;
}

static HRESULT CLR_CALL appdomain_shutdown_finished(ICorProfilerCallback11 *self,
    AppDomainID appdomain_id, HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->appdomain_shutdown_finished != NULL)
        object->callbacks->appdomain_shutdown_finished(object->context, appdomain_id, status);
    return S_OK;
}

static HRESULT CLR_CALL assembly_load_started(ICorProfilerCallback11 *self, AssemblyID assembly_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->assembly_load_started != NULL)
        object->callbacks->assembly_load_started(object->context, assembly_id);
    return S_OK;
}

static HRESULT CLR_CALL assembly_load_finished(ICorProfilerCallback11 *self, AssemblyID assembly_id,
    HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->assembly_load_finished != NULL)
        object->callbacks->assembly_load_finished(object->context, assembly_id, status);
    return S_OK;
}

static HRESULT CLR_CALL assembly_unload_started(ICorProfilerCallback11 *self,
    AssemblyID assembly_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->assembly_unload_started != NULL)
        object->callbacks->assembly_unload_started(object->context, assembly_id);
    return S_OK;
}

static HRESULT CLR_CALL assembly_unload_finished(ICorProfilerCallback11 *self,
    AssemblyID assembly_id, HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->assembly_unload_finished != NULL)
        object->callbacks->assembly_unload_finished(object->context, assembly_id, status);
    return S_OK;
}

static HRESULT CLR_CALL module_load_started(ICorProfilerCallback11 *self, ModuleID module_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->module_load_started != NULL)
        object->callbacks->module_load_started(object->context, module_id);
    return S_OK;
}

static HRESULT CLR_CALL module_load_finished(ICorProfilerCallback11 *self, ModuleID module_id,
    HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->module_load_finished != NULL)
        object->callbacks->module_load_finished(object->context, module_id, status);
    return S_OK;
}

static HRESULT CLR_CALL module_unload_started(ICorProfilerCallback11 *self, ModuleID module_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->module_unload_started != NULL)
        object->callbacks->module_unload_started(object->context, module_id);
    return S_OK;
}

static HRESULT CLR_CALL module_unload_finished(ICorProfilerCallback11 *self, ModuleID module_id,
    HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->module_unload_finished != NULL)
        object->callbacks->module_unload_finished(object->context, module_id, status);
    return S_OK;
}

static HRESULT CLR_CALL module_attached_to_assembly(ICorProfilerCallback11 *self,
    ModuleID module_id, AssemblyID assembly_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->module_attached_to_assembly != NULL)
        object->callbacks->module_attached_to_assembly(object->context, module_id, assembly_id);
    return S_OK;
}

static HRESULT CLR_CALL class_load_started(ICorProfilerCallback11 *self, ClassID class_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->class_load_started != NULL)
        object->callbacks->class_load_started(object->context, class_id);
    return S_OK;
}

static HRESULT CLR_CALL class_load_finished(ICorProfilerCallback11 *self, ClassID class_id,
    HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->class_load_finished != NULL)
        object->callbacks->class_load_finished(object->context, class_id, status);
    return S_OK;
}

static HRESULT CLR_CALL class_unload_started(ICorProfilerCallback11 *self, ClassID class_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->class_unload_started != NULL)
        object->callbacks->class_unload_started(object->context, class_id);
    return S_OK;
}

static HRESULT CLR_CALL class_unload_finished(ICorProfilerCallback11 *self, ClassID class_id,
    HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->class_unload_finished != NULL)
        object->callbacks->class_unload_finished(object->context, class_id, status);
    return S_OK;
}

static HRESULT CLR_CALL function_unload_started(ICorProfilerCallback11 *self,
    FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->function_unload_started != NULL)
        object->callbacks->function_unload_started(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL jit_compilation_started(ICorProfilerCallback11 *self,
    FunctionID function_id, BOOL is_safe_to_block)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->jit_compilation_started != NULL)
        object->callbacks->jit_compilation_started(object->context, function_id,
            is_safe_to_block);
    return S_OK;
}

static HRESULT CLR_CALL jit_compilation_finished(ICorProfilerCallback11 *self,
    FunctionID function_id, HRESULT status, BOOL is_safe_to_block)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->jit_compilation_finished != NULL)
        object->callbacks->jit_compilation_finished(object->context, function_id, status,
            is_safe_to_block);
    return S_OK;
}

static HRESULT CLR_CALL jit_cached_function_search_started(ICorProfilerCallback11 *self,
    FunctionID function_id, BOOL *use_cached_function)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->jit_cached_function_search_started != NULL)
        object->callbacks->jit_cached_function_search_started(object->context, function_id,
            use_cached_function);
    return S_OK;
}

static HRESULT CLR_CALL jit_cached_function_search_finished(ICorProfilerCallback11 *self,
    FunctionID function_id, COR_PRF_JIT_CACHE result)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->jit_cached_function_search_finished != NULL)
        object->callbacks->jit_cached_function_search_finished(object->context, function_id,
            result);
    return S_OK;
}

static HRESULT CLR_CALL jit_function_pitched(ICorProfilerCallback11 *self, FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->jit_function_pitched != NULL)
        object->callbacks->jit_function_pitched(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL jit_inlining(ICorProfilerCallback11 *self, FunctionID caller_id,
    FunctionID callee_id, BOOL *should_inline)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->jit_inlining != NULL)
        object->callbacks->jit_inlining(object->context, caller_id, callee_id, should_inline);
    return S_OK;
}

static HRESULT CLR_CALL thread_created(ICorProfilerCallback11 *self, ThreadID thread_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->thread_created != NULL)
        object->callbacks->thread_created(object->context, thread_id);
    return S_OK;
}

static HRESULT CLR_CALL thread_destroyed(ICorProfilerCallback11 *self, ThreadID thread_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->thread_destroyed != NULL)
        object->callbacks->thread_destroyed(object->context, thread_id);
    return S_OK;
}

static HRESULT CLR_CALL thread_assigned_to_os_thread(ICorProfilerCallback11 *self,
    ThreadID managed_thread_id, uint32_t os_thread_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->thread_assigned_to_os_thread != NULL)
        object->callbacks->thread_assigned_to_os_thread(object->context, managed_thread_id,
            os_thread_id);
    return S_OK;
}

static HRESULT CLR_CALL remoting_client_invocation_started(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_client_invocation_started != NULL)
        object->callbacks->remoting_client_invocation_started(object->context);
    return S_OK;
}

static HRESULT CLR_CALL remoting_client_sending_message(ICorProfilerCallback11 *self, GUID *cookie,
    BOOL is_async)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_client_sending_message != NULL)
        object->callbacks->remoting_client_sending_message(object->context, cookie, is_async);
    return S_OK;
}

static HRESULT CLR_CALL remoting_client_receiving_reply(ICorProfilerCallback11 *self, GUID *cookie,
    BOOL is_async)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_client_receiving_reply != NULL)
        object->callbacks->remoting_client_receiving_reply(object->context, cookie, is_async);
    return S_OK;
}

static HRESULT CLR_CALL remoting_client_invocation_finished(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_client_invocation_finished != NULL)
        object->callbacks->remoting_client_invocation_finished(object->context);
    return S_OK;
}

static HRESULT CLR_CALL remoting_server_receiving_message(ICorProfilerCallback11 *self,
    GUID *cookie, BOOL is_async)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_server_receiving_message != NULL)
        object->callbacks->remoting_server_receiving_message(object->context, cookie, is_async);
    return S_OK;
}

static HRESULT CLR_CALL remoting_server_invocation_started(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_server_invocation_started != NULL)
        object->callbacks->remoting_server_invocation_started(object->context);
    return S_OK;
}

static HRESULT CLR_CALL remoting_server_invocation_returned(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_server_invocation_returned != NULL)
        object->callbacks->remoting_server_invocation_returned(object->context);
    return S_OK;
}

static HRESULT CLR_CALL remoting_server_sending_reply(ICorProfilerCallback11 *self, GUID *cookie,
    BOOL is_async)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->remoting_server_sending_reply != NULL)
        object->callbacks->remoting_server_sending_reply(object->context, cookie, is_async);
    return S_OK;
}

static HRESULT CLR_CALL unmanaged_to_managed_transition(ICorProfilerCallback11 *self,
    FunctionID function_id, COR_PRF_TRANSITION_REASON reason)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->unmanaged_to_managed_transition != NULL)
        object->callbacks->unmanaged_to_managed_transition(object->context, function_id, reason);
    return S_OK;
}

static HRESULT CLR_CALL managed_to_unmanaged_transition(ICorProfilerCallback11 *self,
    FunctionID function_id, COR_PRF_TRANSITION_REASON reason)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->managed_to_unmanaged_transition != NULL)
        object->callbacks->managed_to_unmanaged_transition(object->context, function_id, reason);
    return S_OK;
}

static HRESULT CLR_CALL runtime_suspend_started(ICorProfilerCallback11 *self,
    COR_PRF_SUSPEND_REASON suspend_reason)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->runtime_suspend_started != NULL)
        object->callbacks->runtime_suspend_started(object->context, suspend_reason);
    return S_OK;
}

static HRESULT CLR_CALL runtime_suspend_finished(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->runtime_suspend_finished != NULL)
        object->callbacks->runtime_suspend_finished(object->context);
    return S_OK;
}

static HRESULT CLR_CALL runtime_suspend_aborted(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->runtime_suspend_aborted != NULL)
        object->callbacks->runtime_suspend_aborted(object->context);
    return S_OK;
}

static HRESULT CLR_CALL runtime_resume_started(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->runtime_resume_started != NULL)
        object->callbacks->runtime_resume_started(object->context);
    return S_OK;
}

static HRESULT CLR_CALL runtime_resume_finished(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->runtime_resume_finished != NULL)
        object->callbacks->runtime_resume_finished(object->context);
    return S_OK;
}

static HRESULT CLR_CALL runtime_thread_suspended(ICorProfilerCallback11 *self, ThreadID thread_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->runtime_thread_suspended != NULL)
        object->callbacks->runtime_thread_suspended(object->context, thread_id);
    return S_OK;
}

static HRESULT CLR_CALL runtime_thread_resumed(ICorProfilerCallback11 *self, ThreadID thread_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->runtime_thread_resumed != NULL)
        object->callbacks->runtime_thread_resumed(object->context, thread_id);
    return S_OK;
}

static HRESULT CLR_CALL moved_references(ICorProfilerCallback11 *self, uint32_t count,
    const ObjectID *old_starts, const ObjectID *new_starts, const uint32_t *lengths)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->moved_references != NULL)
        object->callbacks->moved_references(object->context, count, old_starts, new_starts,
            lengths);
    return S_OK;
}

static HRESULT CLR_CALL object_allocated(ICorProfilerCallback11 *self, ObjectID object_id,
    ClassID class_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->object_allocated != NULL)
        object->callbacks->object_allocated(object->context, object_id, class_id);
    return S_OK;
}

static HRESULT CLR_CALL objects_allocated_by_class(ICorProfilerCallback11 *self,
    uint32_t class_count, const ClassID *class_ids, const uint32_t *counts)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->objects_allocated_by_class != NULL)
        object->callbacks->objects_allocated_by_class(object->context, class_count, class_ids,
            counts);
    return S_OK;
}

static HRESULT CLR_CALL object_references(ICorProfilerCallback11 *self, ObjectID object_id,
    ClassID class_id, uint32_t object_ref_count, const ObjectID *object_ref_ids)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->object_references != NULL)
        object->callbacks->object_references(object->context, object_id, class_id,
            object_ref_count, object_ref_ids);
    return S_OK;
}

static HRESULT CLR_CALL root_references(ICorProfilerCallback11 *self, uint32_t root_ref_count,
    const ObjectID *root_ref_ids)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->root_references != NULL)
        object->callbacks->root_references(object->context, root_ref_count, root_ref_ids);
    return S_OK;
}

static HRESULT CLR_CALL exception_thrown(ICorProfilerCallback11 *self, ObjectID thrown_object_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_thrown != NULL)
        object->callbacks->exception_thrown(object->context, thrown_object_id);
    return S_OK;
}

static HRESULT CLR_CALL exception_search_function_enter(ICorProfilerCallback11 *self,
    FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_search_function_enter != NULL)
        object->callbacks->exception_search_function_enter(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL exception_search_function_leave(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_search_function_leave != NULL)
        object->callbacks->exception_search_function_leave(object->context);
    return S_OK;
}

static HRESULT CLR_CALL exception_search_filter_enter(ICorProfilerCallback11 *self,
    FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_search_filter_enter != NULL)
        object->callbacks->exception_search_filter_enter(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL exception_search_filter_leave(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_search_filter_leave != NULL)
        object->callbacks->exception_search_filter_leave(object->context);
    return S_OK;
}

static HRESULT CLR_CALL exception_search_catcher_found(ICorProfilerCallback11 *self,
    FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_search_catcher_found != NULL)
        object->callbacks->exception_search_catcher_found(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL exception_os_handler_enter(ICorProfilerCallback11 *self, uintptr_t unused)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_os_handler_enter != NULL)
        object->callbacks->exception_os_handler_enter(object->context, unused);
    return S_OK;
}

static HRESULT CLR_CALL exception_os_handler_leave(ICorProfilerCallback11 *self, uintptr_t unused)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_os_handler_leave != NULL)
        object->callbacks->exception_os_handler_leave(object->context, unused);
    return S_OK;
}

static HRESULT CLR_CALL exception_unwind_function_enter(ICorProfilerCallback11 *self,
    FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_unwind_function_enter != NULL)
        object->callbacks->exception_unwind_function_enter(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL exception_unwind_function_leave(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_unwind_function_leave != NULL)
        object->callbacks->exception_unwind_function_leave(object->context);
    return S_OK;
}

static HRESULT CLR_CALL exception_unwind_finally_enter(ICorProfilerCallback11 *self,
    FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_unwind_finally_enter != NULL)
        object->callbacks->exception_unwind_finally_enter(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL exception_unwind_finally_leave(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_unwind_finally_leave != NULL)
        object->callbacks->exception_unwind_finally_leave(object->context);
    return S_OK;
}

static HRESULT CLR_CALL exception_catcher_enter(ICorProfilerCallback11 *self,
    FunctionID function_id, ObjectID object_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_catcher_enter != NULL)
        object->callbacks->exception_catcher_enter(object->context, function_id, object_id);
    return S_OK;
}

static HRESULT CLR_CALL exception_catcher_leave(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_catcher_leave != NULL)
        object->callbacks->exception_catcher_leave(object->context);
    return S_OK;
}

static HRESULT CLR_CALL com_classic_vtable_created(ICorProfilerCallback11 *self,
    ClassID wrapped_class_id, const GUID *implemented_iid, void *vtable, uint32_t slot_count)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->com_classic_vtable_created != NULL)
        object->callbacks->com_classic_vtable_created(object->context, wrapped_class_id,
            implemented_iid, vtable, slot_count);
    return S_OK;
}

static HRESULT CLR_CALL com_classic_vtable_destroyed(ICorProfilerCallback11 *self,
    ClassID wrapped_class_id, const GUID *implemented_iid, void *vtable)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->com_classic_vtable_destroyed != NULL)
        object->callbacks->com_classic_vtable_destroyed(object->context, wrapped_class_id,
            implemented_iid, vtable);
    return S_OK;
}

static HRESULT CLR_CALL exception_clr_catcher_found(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_clr_catcher_found != NULL)
        object->callbacks->exception_clr_catcher_found(object->context);
    return S_OK;
}

static HRESULT CLR_CALL exception_clr_catcher_execute(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->exception_clr_catcher_execute != NULL)
        object->callbacks->exception_clr_catcher_execute(object->context);
    return S_OK;
}

static HRESULT CLR_CALL thread_name_changed(ICorProfilerCallback11 *self, ThreadID thread_id,
    uint32_t name_count, const WCHAR *name)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->thread_name_changed != NULL)
        object->callbacks->thread_name_changed(object->context, thread_id, name_count, name);
    return S_OK;
}

static HRESULT CLR_CALL garbage_collection_started(ICorProfilerCallback11 *self,
    int32_t generation_count, const BOOL *generation_collected, COR_PRF_GC_REASON reason)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->garbage_collection_started != NULL)
        object->callbacks->garbage_collection_started(object->context, generation_count,
            generation_collected, reason);
    return S_OK;
}

static HRESULT CLR_CALL surviving_references(ICorProfilerCallback11 *self, uint32_t count,
    const ObjectID *starts, const uint32_t *lengths)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->surviving_references != NULL)
        object->callbacks->surviving_references(object->context, count, starts, lengths);
    return S_OK;
}

static HRESULT CLR_CALL garbage_collection_finished(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->garbage_collection_finished != NULL)
        object->callbacks->garbage_collection_finished(object->context);
    return S_OK;
}

static HRESULT CLR_CALL finalizeable_object_queued(ICorProfilerCallback11 *self,
    uint32_t finalizer_flags, ObjectID object_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->finalizeable_object_queued != NULL)
        object->callbacks->finalizeable_object_queued(object->context, finalizer_flags,
            object_id);
    return S_OK;
}

static HRESULT CLR_CALL root_references2(ICorProfilerCallback11 *self, uint32_t root_ref_count,
    const ObjectID *root_ref_ids, const COR_PRF_GC_ROOT_KIND *root_kinds,
    const COR_PRF_GC_ROOT_FLAGS *root_flags, const uintptr_t *root_ids)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->root_references2 != NULL)
        object->callbacks->root_references2(object->context, root_ref_count, root_ref_ids,
            root_kinds, root_flags, root_ids);
    return S_OK;
}

static HRESULT CLR_CALL handle_created(ICorProfilerCallback11 *self, GCHandleID handle_id,
    ObjectID initial_object_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->handle_created != NULL)
        object->callbacks->handle_created(object->context, handle_id, initial_object_id);
    return S_OK;
}

static HRESULT CLR_CALL handle_destroyed(ICorProfilerCallback11 *self, GCHandleID handle_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->handle_destroyed != NULL)
        object->callbacks->handle_destroyed(object->context, handle_id);
    return S_OK;
}

static HRESULT CLR_CALL profiler_attach_complete(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->profiler_attach_complete != NULL)
        object->callbacks->profiler_attach_complete(object->context);
    return S_OK;
}

static HRESULT CLR_CALL profiler_detach_succeeded(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->profiler_detach_succeeded != NULL)
        object->callbacks->profiler_detach_succeeded(object->context);
    return S_OK;
}

static HRESULT CLR_CALL rejit_compilation_started(ICorProfilerCallback11 *self,
    FunctionID function_id, ReJITID rejit_id, BOOL is_safe_to_block)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->rejit_compilation_started != NULL)
        object->callbacks->rejit_compilation_started(object->context, function_id, rejit_id,
            is_safe_to_block);
    return S_OK;
}

static HRESULT CLR_CALL get_rejit_parameters(ICorProfilerCallback11 *self, ModuleID module_id,
    mdMethodDef method_id, ICorProfilerFunctionControl *function_control)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->get_rejit_parameters == NULL)
        return S_OK;
    return object->callbacks->get_rejit_parameters(object->context, module_id, method_id,
            function_control);
}

static HRESULT CLR_CALL rejit_compilation_finished(ICorProfilerCallback11 *self,
    FunctionID function_id, ReJITID rejit_id, HRESULT status, BOOL is_safe_to_block)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->rejit_compilation_finished != NULL)
        object->callbacks->rejit_compilation_finished(object->context, function_id, rejit_id,
            status, is_safe_to_block);
    return S_OK;
}

static HRESULT CLR_CALL rejit_error(ICorProfilerCallback11 *self, ModuleID module_id,
    mdMethodDef method_id, FunctionID function_id, HRESULT status)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->rejit_error != NULL)
        object->callbacks->rejit_error(object->context, module_id, method_id, function_id,
            status);
    return S_OK;
}

static HRESULT CLR_CALL moved_references2(ICorProfilerCallback11 *self, uint32_t count,
    const ObjectID *old_starts, const ObjectID *new_starts, const size_t *lengths)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->moved_references2 != NULL)
        object->callbacks->moved_references2(object->context, count, old_starts, new_starts,
            lengths);
    return S_OK;
}

static HRESULT CLR_CALL surviving_references2(ICorProfilerCallback11 *self, uint32_t count,
    const ObjectID *starts, const size_t *lengths)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->surviving_references2 != NULL)
        object->callbacks->surviving_references2(object->context, count, starts, lengths);
    return S_OK;
}

static HRESULT CLR_CALL conditional_weak_table_element_references(ICorProfilerCallback11 *self,
    uint32_t root_ref_count, const ObjectID *key_ref_ids, const ObjectID *value_ref_ids,
    const GCHandleID *root_ids)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->conditional_weak_table_element_references != NULL)
        object->callbacks->conditional_weak_table_element_references(object->context,
            root_ref_count, key_ref_ids, value_ref_ids, root_ids);
    return S_OK;
}

static HRESULT CLR_CALL get_assembly_references(ICorProfilerCallback11 *self,
    const WCHAR *assembly_path, ICorProfilerAssemblyReferenceProvider *asm_ref_provider)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->get_assembly_references != NULL)
        object->callbacks->get_assembly_references(object->context, assembly_path,
            asm_ref_provider);
    return S_OK;
}

static HRESULT CLR_CALL module_in_memory_symbols_updated(ICorProfilerCallback11 *self,
    ModuleID module_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->module_in_memory_symbols_updated != NULL)
        object->callbacks->module_in_memory_symbols_updated(object->context, module_id);
    return S_OK;
}

static HRESULT CLR_CALL dynamic_method_jit_compilation_started(ICorProfilerCallback11 *self,
    FunctionID function_id, BOOL is_safe_to_block, const uint8_t *il_header,
    uint32_t il_header_size)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->dynamic_method_jit_compilation_started != NULL)
        object->callbacks->dynamic_method_jit_compilation_started(object->context, function_id,
            is_safe_to_block, il_header, il_header_size);
    return S_OK;
}

static HRESULT CLR_CALL dynamic_method_jit_compilation_finished(ICorProfilerCallback11 *self,
    FunctionID function_id, HRESULT status, BOOL is_safe_to_block)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->dynamic_method_jit_compilation_finished != NULL)
        object->callbacks->dynamic_method_jit_compilation_finished(object->context, function_id,
            status, is_safe_to_block);
    return S_OK;
}

static HRESULT CLR_CALL dynamic_method_unloaded(ICorProfilerCallback11 *self,
    FunctionID function_id)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->dynamic_method_unloaded != NULL)
        object->callbacks->dynamic_method_unloaded(object->context, function_id);
    return S_OK;
}

static HRESULT CLR_CALL eventpipe_event_delivered(ICorProfilerCallback11 *self,
    EVENTPIPE_PROVIDER provider, uint32_t event_id, uint32_t event_version,
    uint32_t metadata_blob_size, const uint8_t *metadata_blob, uint32_t event_data_size,
    const uint8_t *event_data, const GUID *activity_id, const GUID *related_activity_id,
    ThreadID event_thread, uint32_t num_stack_frames, const uintptr_t *stack_frames)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->eventpipe_event_delivered != NULL)
        object->callbacks->eventpipe_event_delivered(object->context, provider, event_id,
            event_version, metadata_blob_size, metadata_blob, event_data_size,
            event_data, activity_id, related_activity_id, event_thread,
            num_stack_frames, stack_frames);
    return S_OK;
}

static HRESULT CLR_CALL eventpipe_provider_created(ICorProfilerCallback11 *self,
    EVENTPIPE_PROVIDER provider)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->eventpipe_provider_created != NULL)
        object->callbacks->eventpipe_provider_created(object->context, provider);
    return S_OK;
}

static HRESULT CLR_CALL load_as_notification_only(ICorProfilerCallback11 *self,
    BOOL *notification_only)
{
    clr_profiler_object *object = (clr_profiler_object *)self;

    if (object->callbacks->load_as_notification_only != NULL)
        object->callbacks->load_as_notification_only(object->context, notification_only);
    return S_OK;
}

const struct ICorProfilerCallback11_vtbl clr_callback_table = {
    .QueryInterface = clr_profiler_object_query_interface,
    .AddRef = clr_profiler_object_add_ref,
    .Release = clr_profiler_object_release,
    .Initialize = clr_profiler_object_initialize,
    .InitializeForAttach = clr_profiler_object_initialize_for_attach,
    .Shutdown = shutdown,
    .AppDomainCreationStarted = appdomain_creation_started,
    .AppDomainCreationFinished = appdomain_creation_finished,
    .AppDomainShutdownStarted = appdomain_shutdown_started,
    .AppDomainShutdownFinished = appdomain_shutdown_finished,
    .AssemblyLoadStarted = assembly_load_started,
    .AssemblyLoadFinished = assembly_load_finished,
    .AssemblyUnloadStarted = assembly_unload_started,
    .AssemblyUnloadFinished = assembly_unload_finished,
    .ModuleLoadStarted = module_load_started,
    .ModuleLoadFinished = module_load_finished,
    .ModuleUnloadStarted = module_unload_started,
    .ModuleUnloadFinished = module_unload_finished,
    .ModuleAttachedToAssembly = module_attached_to_assembly,
    .ClassLoadStarted = class_load_started,
    .ClassLoadFinished = class_load_finished,
    .ClassUnloadStarted = class_unload_started,
    .ClassUnloadFinished = class_unload_finished,
    .FunctionUnloadStarted = function_unload_started,
    .JITCompilationStarted = jit_compilation_started,
    .JITCompilationFinished = jit_compilation_finished,
    .JITCachedFunctionSearchStarted = jit_cached_function_search_started,
    .JITCachedFunctionSearchFinished = jit_cached_function_search_finished,
    .JITFunctionPitched = jit_function_pitched,
    .JITInlining = jit_inlining,
    .ThreadCreated = thread_created,
    .ThreadDestroyed = thread_destroyed,
    .ThreadAssignedToOSThread = thread_assigned_to_os_thread,
    .RemotingClientInvocationStarted = remoting_client_invocation_started,
    .RemotingClientSendingMessage = remoting_client_sending_message,
    .RemotingClientReceivingReply = remoting_client_receiving_reply,
    .RemotingClientInvocationFinished = remoting_client_invocation_finished,
    .RemotingServerReceivingMessage = remoting_server_receiving_message,
    .RemotingServerInvocationStarted = remoting_server_invocation_started,
    .RemotingServerInvocationReturned = remoting_server_invocation_returned,
    .RemotingServerSendingReply = remoting_server_sending_reply,
    .UnmanagedToManagedTransition = unmanaged_to_managed_transition,
    .ManagedToUnmanagedTransition = managed_to_unmanaged_transition,
    .RuntimeSuspendStarted = runtime_suspend_started,
    .RuntimeSuspendFinished = runtime_suspend_finished,
    .RuntimeSuspendAborted = runtime_suspend_aborted,
    .RuntimeResumeStarted = runtime_resume_started,
    .RuntimeResumeFinished = runtime_resume_finished,
    .RuntimeThreadSuspended = runtime_thread_suspended,
    .RuntimeThreadResumed = runtime_thread_resumed,
    .MovedReferences = moved_references,
    .ObjectAllocated = object_allocated,
    .ObjectsAllocatedByClass = objects_allocated_by_class,
    .ObjectReferences = object_references,
    .RootReferences = root_references,
    .ExceptionThrown = exception_thrown,
    .ExceptionSearchFunctionEnter = exception_search_function_enter,
    .ExceptionSearchFunctionLeave = exception_search_function_leave,
    .ExceptionSearchFilterEnter = exception_search_filter_enter,
    .ExceptionSearchFilterLeave = exception_search_filter_leave,
    .ExceptionSearchCatcherFound = exception_search_catcher_found,
    .ExceptionOSHandlerEnter = exception_os_handler_enter,
    .ExceptionOSHandlerLeave = exception_os_handler_leave,
    .ExceptionUnwindFunctionEnter = exception_unwind_function_enter,
    .ExceptionUnwindFunctionLeave = exception_unwind_function_leave,
    .ExceptionUnwindFinallyEnter = exception_unwind_finally_enter,
    .ExceptionUnwindFinallyLeave = exception_unwind_finally_leave,
    .ExceptionCatcherEnter = exception_catcher_enter,
    .ExceptionCatcherLeave = exception_catcher_leave,
    .COMClassicVTableCreated = com_classic_vtable_created,
    .COMClassicVTableDestroyed = com_classic_vtable_destroyed,
    .ExceptionCLRCatcherFound = exception_clr_catcher_found,
    .ExceptionCLRCatcherExecute = exception_clr_catcher_execute,
    .ThreadNameChanged = thread_name_changed,
    .GarbageCollectionStarted = garbage_collection_started,
    .SurvivingReferences = surviving_references,
    .GarbageCollectionFinished = garbage_collection_finished,
    .FinalizeableObjectQueued = finalizeable_object_queued,
    .RootReferences2 = root_references2,
    .HandleCreated = handle_created,
    .HandleDestroyed = handle_destroyed,
    .ProfilerAttachComplete = profiler_attach_complete,
    .ProfilerDetachSucceeded = profiler_detach_succeeded,
    .ReJITCompilationStarted = rejit_compilation_started,
    .GetReJITParameters = get_rejit_parameters,
    .ReJITCompilationFinished = rejit_compilation_finished,
    .ReJITError = rejit_error,
    .MovedReferences2 = moved_references2,
    .SurvivingReferences2 = surviving_references2,
    .ConditionalWeakTableElementReferences = conditional_weak_table_element_references,
    .GetAssemblyReferences = get_assembly_references,
    .ModuleInMemorySymbolsUpdated = module_in_memory_symbols_updated,
    .DynamicMethodJITCompilationStarted = dynamic_method_jit_compilation_started,
    .DynamicMethodJITCompilationFinished = dynamic_method_jit_compilation_finished,
    .DynamicMethodUnloaded = dynamic_method_unloaded,
    .EventPipeEventDelivered = eventpipe_event_delivered,
    .EventPipeProviderCreated = eventpipe_provider_created,
    .LoadAsNotificationOnly = load_as_notification_only,
};
