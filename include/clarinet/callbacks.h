/* clang-format off */
/* Made by tools/clr/generate.py from tools/clr/interfaces.txt: do not edit. */

/*
 * callbacks: what a profiler may want to hear. Fill in the ones you want; the rest stays NULL and
 * costs one test. See profiler.h.
 */
#ifndef CLARINET_CALLBACKS_H
#define CLARINET_CALLBACKS_H

#include "clarinet/calls.h"

typedef struct {
    /* ICorProfilerCallback */
    HRESULT (*initialize)(void *context, const clr_info *info);
    void (*shutdown)(void *context);
    void (*appdomain_creation_started)(void *context, AppDomainID appdomain_id);
    void (*appdomain_creation_finished)(void *context, AppDomainID appdomain_id, HRESULT status);
    void (*appdomain_shutdown_started)(void *context, AppDomainID appdomain_id);
    void (*appdomain_shutdown_finished)(void *context, AppDomainID appdomain_id, HRESULT status);
    void (*assembly_load_started)(void *context, AssemblyID assembly_id);
    void (*assembly_load_finished)(void *context, AssemblyID assembly_id, HRESULT status);
    void (*assembly_unload_started)(void *context, AssemblyID assembly_id);
    void (*assembly_unload_finished)(void *context, AssemblyID assembly_id, HRESULT status);
    void (*module_load_started)(void *context, ModuleID module_id);
    void (*module_load_finished)(void *context, ModuleID module_id, HRESULT status);
    void (*module_unload_started)(void *context, ModuleID module_id);
    void (*module_unload_finished)(void *context, ModuleID module_id, HRESULT status);
    void (*module_attached_to_assembly)(void *context, ModuleID module_id, AssemblyID assembly_id);
    void (*class_load_started)(void *context, ClassID class_id);
    void (*class_load_finished)(void *context, ClassID class_id, HRESULT status);
    void (*class_unload_started)(void *context, ClassID class_id);
    void (*class_unload_finished)(void *context, ClassID class_id, HRESULT status);
    void (*function_unload_started)(void *context, FunctionID function_id);
    void (*jit_compilation_started)(void *context, FunctionID function_id, BOOL is_safe_to_block);
    void (*jit_compilation_finished)(void *context, FunctionID function_id, HRESULT status,
        BOOL is_safe_to_block);
    void (*jit_cached_function_search_started)(void *context, FunctionID function_id,
        BOOL *use_cached_function);
    void (*jit_cached_function_search_finished)(void *context, FunctionID function_id,
        COR_PRF_JIT_CACHE result);
    void (*jit_function_pitched)(void *context, FunctionID function_id);
    void (*jit_inlining)(void *context, FunctionID caller_id, FunctionID callee_id,
        BOOL *should_inline);
    void (*thread_created)(void *context, ThreadID thread_id);
    void (*thread_destroyed)(void *context, ThreadID thread_id);
    void (*thread_assigned_to_os_thread)(void *context, ThreadID managed_thread_id,
        uint32_t os_thread_id);
    void (*remoting_client_invocation_started)(void *context);
    void (*remoting_client_sending_message)(void *context, GUID *cookie, BOOL is_async);
    void (*remoting_client_receiving_reply)(void *context, GUID *cookie, BOOL is_async);
    void (*remoting_client_invocation_finished)(void *context);
    void (*remoting_server_receiving_message)(void *context, GUID *cookie, BOOL is_async);
    void (*remoting_server_invocation_started)(void *context);
    void (*remoting_server_invocation_returned)(void *context);
    void (*remoting_server_sending_reply)(void *context, GUID *cookie, BOOL is_async);
    void (*unmanaged_to_managed_transition)(void *context, FunctionID function_id,
        COR_PRF_TRANSITION_REASON reason);
    void (*managed_to_unmanaged_transition)(void *context, FunctionID function_id,
        COR_PRF_TRANSITION_REASON reason);
    void (*runtime_suspend_started)(void *context, COR_PRF_SUSPEND_REASON suspend_reason);
    void (*runtime_suspend_finished)(void *context);
    void (*runtime_suspend_aborted)(void *context);
    void (*runtime_resume_started)(void *context);
    void (*runtime_resume_finished)(void *context);
    void (*runtime_thread_suspended)(void *context, ThreadID thread_id);
    void (*runtime_thread_resumed)(void *context, ThreadID thread_id);
    void (*moved_references)(void *context, uint32_t count, const ObjectID *old_starts,
        const ObjectID *new_starts, const uint32_t *lengths);
    void (*object_allocated)(void *context, ObjectID object_id, ClassID class_id);
    void (*objects_allocated_by_class)(void *context, uint32_t class_count,
        const ClassID *class_ids, const uint32_t *counts);
    void (*object_references)(void *context, ObjectID object_id, ClassID class_id,
        uint32_t object_ref_count, const ObjectID *object_ref_ids);
    void (*root_references)(void *context, uint32_t root_ref_count, const ObjectID *root_ref_ids);
    void (*exception_thrown)(void *context, ObjectID thrown_object_id);
    void (*exception_search_function_enter)(void *context, FunctionID function_id);
    void (*exception_search_function_leave)(void *context);
    void (*exception_search_filter_enter)(void *context, FunctionID function_id);
    void (*exception_search_filter_leave)(void *context);
    void (*exception_search_catcher_found)(void *context, FunctionID function_id);
    void (*exception_os_handler_enter)(void *context, uintptr_t unused);
    void (*exception_os_handler_leave)(void *context, uintptr_t unused);
    void (*exception_unwind_function_enter)(void *context, FunctionID function_id);
    void (*exception_unwind_function_leave)(void *context);
    void (*exception_unwind_finally_enter)(void *context, FunctionID function_id);
    void (*exception_unwind_finally_leave)(void *context);
    void (*exception_catcher_enter)(void *context, FunctionID function_id, ObjectID object_id);
    void (*exception_catcher_leave)(void *context);
    void (*com_classic_vtable_created)(void *context, ClassID wrapped_class_id,
        const GUID *implemented_iid, void *vtable, uint32_t slot_count);
    void (*com_classic_vtable_destroyed)(void *context, ClassID wrapped_class_id,
        const GUID *implemented_iid, void *vtable);
    void (*exception_clr_catcher_found)(void *context);
    void (*exception_clr_catcher_execute)(void *context);
    /* ICorProfilerCallback2 */
    void (*thread_name_changed)(void *context, ThreadID thread_id, uint32_t name_count,
        const WCHAR *name);
    void (*garbage_collection_started)(void *context, int32_t generation_count,
        const BOOL *generation_collected, COR_PRF_GC_REASON reason);
    void (*surviving_references)(void *context, uint32_t count, const ObjectID *starts,
        const uint32_t *lengths);
    void (*garbage_collection_finished)(void *context);
    void (*finalizeable_object_queued)(void *context, uint32_t finalizer_flags, ObjectID object_id);
    void (*root_references2)(void *context, uint32_t root_ref_count, const ObjectID *root_ref_ids,
        const COR_PRF_GC_ROOT_KIND *root_kinds, const COR_PRF_GC_ROOT_FLAGS *root_flags,
        const uintptr_t *root_ids);
    void (*handle_created)(void *context, GCHandleID handle_id, ObjectID initial_object_id);
    void (*handle_destroyed)(void *context, GCHandleID handle_id);
    /* ICorProfilerCallback3 */
    HRESULT (*initialize_for_attach)(void *context, const clr_info *info, void *client_data,
        uint32_t client_data_size);
    void (*profiler_attach_complete)(void *context);
    void (*profiler_detach_succeeded)(void *context);
    /* ICorProfilerCallback4 */
    void (*rejit_compilation_started)(void *context, FunctionID function_id, ReJITID rejit_id,
        BOOL is_safe_to_block);
    HRESULT (*get_rejit_parameters)(void *context, ModuleID module_id, mdMethodDef method_id,
        ICorProfilerFunctionControl *function_control);
    void (*rejit_compilation_finished)(void *context, FunctionID function_id, ReJITID rejit_id,
        HRESULT status, BOOL is_safe_to_block);
    void (*rejit_error)(void *context, ModuleID module_id, mdMethodDef method_id,
        FunctionID function_id, HRESULT status);
    void (*moved_references2)(void *context, uint32_t count, const ObjectID *old_starts,
        const ObjectID *new_starts, const size_t *lengths);
    void (*surviving_references2)(void *context, uint32_t count, const ObjectID *starts,
        const size_t *lengths);
    /* ICorProfilerCallback5 */
    void (*conditional_weak_table_element_references)(void *context, uint32_t root_ref_count,
        const ObjectID *key_ref_ids, const ObjectID *value_ref_ids, const GCHandleID *root_ids);
    /* ICorProfilerCallback6 */
    void (*get_assembly_references)(void *context, const WCHAR *assembly_path,
        ICorProfilerAssemblyReferenceProvider *asm_ref_provider);
    /* ICorProfilerCallback7 */
    void (*module_in_memory_symbols_updated)(void *context, ModuleID module_id);
    /* ICorProfilerCallback8 */
    void (*dynamic_method_jit_compilation_started)(void *context, FunctionID function_id,
        BOOL is_safe_to_block, const uint8_t *il_header, uint32_t il_header_size);
    void (*dynamic_method_jit_compilation_finished)(void *context, FunctionID function_id,
        HRESULT status, BOOL is_safe_to_block);
    /* ICorProfilerCallback9 */
    void (*dynamic_method_unloaded)(void *context, FunctionID function_id);
    /* ICorProfilerCallback10 */
    void (*eventpipe_event_delivered)(void *context, EVENTPIPE_PROVIDER provider, uint32_t event_id,
        uint32_t event_version, uint32_t metadata_blob_size, const uint8_t *metadata_blob,
        uint32_t event_data_size, const uint8_t *event_data, const GUID *activity_id,
        const GUID *related_activity_id, ThreadID event_thread, uint32_t num_stack_frames,
        const uintptr_t *stack_frames);
    void (*eventpipe_provider_created)(void *context, EVENTPIPE_PROVIDER provider);
    /* ICorProfilerCallback11 */
    void (*load_as_notification_only)(void *context, BOOL *notification_only);
} clr_profiler_callbacks;

#endif
