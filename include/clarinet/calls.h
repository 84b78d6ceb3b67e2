/* clang-format off */
/* Made by tools/clr/generate.py from tools/clr/interfaces.txt: do not edit. */

/*
 * calls: the CLR's interfaces as plain C functions.
 *
 * Each call clears its out parameters first, answers E_POINTER when the runtime says S_OK but hands
 * back a null pointer, and accepts NULL for an out parameter wherever the runtime does. A call on
 * `clr_info` that this runtime is too old for answers E_NOINTERFACE and touches nothing.
 * Thread rules are the runtime's own; nothing here locks or allocates.
 */
#ifndef CLARINET_CALLS_H
#define CLARINET_CALLS_H

#include <string.h>

#include "clarinet/hresults.h"
#include "clarinet/interfaces.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's profiling services: its newest ICorProfilerInfo, and which version that is. */
typedef struct {
    ICorProfilerInfo15 *com;
    unsigned version;
} clr_info;

/* The three calls that every object of the CLR answers. NULL objects are answered, not called. */
static inline HRESULT clr_query_interface(void *object, const GUID *iid, void **out)
{
    HRESULT hr;

    *out = NULL;
    if (object == NULL)
        return E_POINTER;
    hr = ((clr_unknown *)object)->vtbl->QueryInterface(object, iid, out);
    if (hr == 0 && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline uint32_t clr_add_ref(void *object)
{
    return object == NULL ? 0 : ((clr_unknown *)object)->vtbl->AddRef(object);
}
static inline uint32_t clr_release(void *object)
{
    return object == NULL ? 0 : ((clr_unknown *)object)->vtbl->Release(object);
}

static inline HRESULT clr_info_get_class_from_object(const clr_info *info, ObjectID object_id,
    ClassID *class_id)
{
    if (class_id != NULL)
        *class_id = 0;
    return info->com->vtbl->GetClassFromObject(info->com, object_id, class_id);
}
static inline HRESULT clr_info_get_class_from_token(const clr_info *info, ModuleID module_id,
    mdTypeDef type_def, ClassID *class_id)
{
    if (class_id != NULL)
        *class_id = 0;
    return info->com->vtbl->GetClassFromToken(info->com, module_id, type_def, class_id);
}
static inline HRESULT clr_info_get_code_info(const clr_info *info, FunctionID function_id,
    const uint8_t **start, uint32_t *size)
{
    HRESULT hr;

    if (start != NULL)
        *start = NULL;
    if (size != NULL)
        *size = 0;
    hr = info->com->vtbl->GetCodeInfo(info->com, function_id, start, size);
    if (hr == 0 && start != NULL && *start == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_event_mask(const clr_info *info, uint32_t *events)
{
    if (events != NULL)
        *events = 0;
    return info->com->vtbl->GetEventMask(info->com, events);
}
static inline HRESULT clr_info_get_function_from_ip(const clr_info *info, const uint8_t *ip,
    FunctionID *function_id)
{
    if (function_id != NULL)
        *function_id = 0;
    return info->com->vtbl->GetFunctionFromIP(info->com, ip, function_id);
}
static inline HRESULT clr_info_get_function_from_token(const clr_info *info, ModuleID module_id,
    mdToken token, FunctionID *function_id)
{
    if (function_id != NULL)
        *function_id = 0;
    return info->com->vtbl->GetFunctionFromToken(info->com, module_id, token, function_id);
}
static inline HRESULT clr_info_get_handle_from_thread(const clr_info *info, ThreadID thread_id,
    void **handle)
{
    HRESULT hr;

    if (handle != NULL)
        *handle = NULL;
    hr = info->com->vtbl->GetHandleFromThread(info->com, thread_id, handle);
    if (hr == 0 && handle != NULL && *handle == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_object_size(const clr_info *info, ObjectID object_id,
    uint32_t *size)
{
    if (size != NULL)
        *size = 0;
    return info->com->vtbl->GetObjectSize(info->com, object_id, size);
}
static inline HRESULT clr_info_is_array_class(const clr_info *info, ClassID class_id,
    CorElementType *base_elem_type, ClassID *base_class_id, uint32_t *rank)
{
    if (base_elem_type != NULL)
        *base_elem_type = 0;
    if (base_class_id != NULL)
        *base_class_id = 0;
    if (rank != NULL)
        *rank = 0;
    return info->com->vtbl->IsArrayClass(info->com, class_id, base_elem_type, base_class_id,
        rank);
}
static inline HRESULT clr_info_get_thread_info(const clr_info *info, ThreadID thread_id,
    uint32_t *win32_thread_id)
{
    if (win32_thread_id != NULL)
        *win32_thread_id = 0;
    return info->com->vtbl->GetThreadInfo(info->com, thread_id, win32_thread_id);
}
static inline HRESULT clr_info_get_current_thread_id(const clr_info *info, ThreadID *thread_id)
{
    if (thread_id != NULL)
        *thread_id = 0;
    return info->com->vtbl->GetCurrentThreadID(info->com, thread_id);
}
static inline HRESULT clr_info_get_class_id_info(const clr_info *info, ClassID class_id,
    ModuleID *module_id, mdTypeDef *type_def_token)
{
    if (module_id != NULL)
        *module_id = 0;
    if (type_def_token != NULL)
        *type_def_token = 0;
    return info->com->vtbl->GetClassIDInfo(info->com, class_id, module_id, type_def_token);
}
static inline HRESULT clr_info_get_function_info(const clr_info *info, FunctionID function_id,
    ClassID *class_id, ModuleID *module_id, mdToken *token)
{
    if (class_id != NULL)
        *class_id = 0;
    if (module_id != NULL)
        *module_id = 0;
    if (token != NULL)
        *token = 0;
    return info->com->vtbl->GetFunctionInfo(info->com, function_id, class_id, module_id, token);
}
static inline HRESULT clr_info_set_event_mask(const clr_info *info, uint32_t events)
{
    return info->com->vtbl->SetEventMask(info->com, events);
}
static inline HRESULT clr_info_set_enter_leave_function_hooks(const clr_info *info,
    FunctionEnter *func_enter, FunctionLeave *func_leave, FunctionTailcall *func_tailcall)
{
    return info->com->vtbl->SetEnterLeaveFunctionHooks(info->com, func_enter, func_leave,
        func_tailcall);
}
static inline HRESULT clr_info_set_function_id_mapper(const clr_info *info,
    FunctionIDMapper *function)
{
    return info->com->vtbl->SetFunctionIDMapper(info->com, function);
}
static inline HRESULT clr_info_get_token_and_metadata_from_function(const clr_info *info,
    FunctionID function_id, const GUID *iid, clr_unknown **import, mdToken *token)
{
    HRESULT hr;

    if (import != NULL)
        *import = NULL;
    if (token != NULL)
        *token = 0;
    hr = info->com->vtbl->GetTokenAndMetaDataFromFunction(info->com, function_id, iid,
        import, token);
    if (hr == 0 && import != NULL && *import == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_module_info(const clr_info *info, ModuleID module_id,
    const uint8_t **base_load_address, uint32_t name_capacity, uint32_t *name_length, WCHAR *name,
    AssemblyID *assembly_id)
{
    if (base_load_address != NULL)
        *base_load_address = NULL;
    if (name_length != NULL)
        *name_length = 0;
    if (assembly_id != NULL)
        *assembly_id = 0;
    return info->com->vtbl->GetModuleInfo(info->com, module_id, base_load_address,
        name_capacity, name_length, name, assembly_id);
}
static inline HRESULT clr_info_get_module_metadata(const clr_info *info, ModuleID module_id,
    uint32_t open_flags, const GUID *iid, clr_unknown **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = info->com->vtbl->GetModuleMetaData(info->com, module_id, open_flags, iid, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_il_function_body(const clr_info *info, ModuleID module_id,
    mdMethodDef method_id, const uint8_t **method_header, uint32_t *method_size)
{
    HRESULT hr;

    if (method_header != NULL)
        *method_header = NULL;
    if (method_size != NULL)
        *method_size = 0;
    hr = info->com->vtbl->GetILFunctionBody(info->com, module_id, method_id, method_header,
        method_size);
    if (hr == 0 && method_header != NULL && *method_header == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_il_function_body_allocator(const clr_info *info,
    ModuleID module_id, IMethodMalloc **malloc)
{
    HRESULT hr;

    if (malloc != NULL)
        *malloc = NULL;
    hr = info->com->vtbl->GetILFunctionBodyAllocator(info->com, module_id, malloc);
    if (hr == 0 && malloc != NULL && *malloc == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_set_il_function_body(const clr_info *info, ModuleID module_id,
    mdMethodDef method_id, const uint8_t *new_il_method_header)
{
    return info->com->vtbl->SetILFunctionBody(info->com, module_id, method_id,
        new_il_method_header);
}
static inline HRESULT clr_info_get_appdomain_info(const clr_info *info, AppDomainID appdomain_id,
    uint32_t name_capacity, uint32_t *name_length, WCHAR *name, ProcessID *process_id)
{
    if (name_length != NULL)
        *name_length = 0;
    if (process_id != NULL)
        *process_id = 0;
    return info->com->vtbl->GetAppDomainInfo(info->com, appdomain_id, name_capacity,
        name_length, name, process_id);
}
static inline HRESULT clr_info_get_assembly_info(const clr_info *info, AssemblyID assembly_id,
    uint32_t name_capacity, uint32_t *name_length, WCHAR *name, AppDomainID *appdomain_id,
    ModuleID *module_id)
{
    if (name_length != NULL)
        *name_length = 0;
    if (appdomain_id != NULL)
        *appdomain_id = 0;
    if (module_id != NULL)
        *module_id = 0;
    return info->com->vtbl->GetAssemblyInfo(info->com, assembly_id, name_capacity, name_length,
        name, appdomain_id, module_id);
}
static inline HRESULT clr_info_set_function_rejit(const clr_info *info, FunctionID function_id)
{
    return info->com->vtbl->SetFunctionReJIT(info->com, function_id);
}
static inline HRESULT clr_info_force_gc(const clr_info *info)
{
    return info->com->vtbl->ForceGC(info->com);
}
static inline HRESULT clr_info_set_il_instrumented_code_map(const clr_info *info,
    FunctionID function_id, BOOL start_jit, uint32_t il_map_entry_count,
    const COR_IL_MAP *il_map_entries)
{
    return info->com->vtbl->SetILInstrumentedCodeMap(info->com, function_id, start_jit,
        il_map_entry_count, il_map_entries);
}
static inline HRESULT clr_info_get_inproc_inspection_interface(const clr_info *info,
    clr_unknown **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = info->com->vtbl->GetInprocInspectionInterface(info->com, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_inproc_inspection_i_this_thread(const clr_info *info,
    clr_unknown **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = info->com->vtbl->GetInprocInspectionIThisThread(info->com, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_thread_context(const clr_info *info, ThreadID thread_id,
    ContextID *context_id)
{
    if (context_id != NULL)
        *context_id = 0;
    return info->com->vtbl->GetThreadContext(info->com, thread_id, context_id);
}
static inline HRESULT clr_info_begin_inproc_debugging(const clr_info *info, BOOL this_thread_only,
    uint32_t *profiler_context)
{
    if (profiler_context != NULL)
        *profiler_context = 0;
    return info->com->vtbl->BeginInprocDebugging(info->com, this_thread_only, profiler_context);
}
static inline HRESULT clr_info_end_inproc_debugging(const clr_info *info, uint32_t profiler_context)
{
    return info->com->vtbl->EndInprocDebugging(info->com, profiler_context);
}
static inline HRESULT clr_info_get_il_to_native_mapping(const clr_info *info,
    FunctionID function_id, uint32_t map_capacity, uint32_t *map_count,
    COR_DEBUG_IL_TO_NATIVE_MAP *map)
{
    if (map_count != NULL)
        *map_count = 0;
    return info->com->vtbl->GetILToNativeMapping(info->com, function_id, map_capacity,
        map_count, map);
}
static inline HRESULT clr_info_do_stack_snapshot(const clr_info *info, ThreadID thread,
    StackSnapshotCallback *callback, uint32_t info_flags, void *client_data, const uint8_t *context,
    uint32_t context_size)
{
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->DoStackSnapshot(info->com, thread, callback, info_flags,
        client_data, context, context_size);
}
static inline HRESULT clr_info_set_enter_leave_function_hooks2(const clr_info *info,
    FunctionEnter2 *func_enter, FunctionLeave2 *func_leave, FunctionTailcall2 *func_tailcall)
{
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->SetEnterLeaveFunctionHooks2(info->com, func_enter, func_leave,
        func_tailcall);
}
static inline HRESULT clr_info_get_function_info2(const clr_info *info, FunctionID func_id,
    COR_PRF_FRAME_INFO frame_info, ClassID *class_id, ModuleID *module_id, mdToken *token,
    uint32_t type_args_capacity, uint32_t *type_args_count, ClassID *type_args)
{
    if (class_id != NULL)
        *class_id = 0;
    if (module_id != NULL)
        *module_id = 0;
    if (token != NULL)
        *token = 0;
    if (type_args_count != NULL)
        *type_args_count = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetFunctionInfo2(info->com, func_id, frame_info, class_id,
        module_id, token, type_args_capacity, type_args_count, type_args);
}
static inline HRESULT clr_info_get_string_layout(const clr_info *info,
    uint32_t *buffer_length_offset, uint32_t *string_length_offset, uint32_t *buffer_offset)
{
    if (buffer_length_offset != NULL)
        *buffer_length_offset = 0;
    if (string_length_offset != NULL)
        *string_length_offset = 0;
    if (buffer_offset != NULL)
        *buffer_offset = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetStringLayout(info->com, buffer_length_offset,
        string_length_offset, buffer_offset);
}
static inline HRESULT clr_info_get_class_layout(const clr_info *info, ClassID class_id,
    COR_FIELD_OFFSET *field_offset, uint32_t field_offset_capacity, uint32_t *field_offset_count,
    uint32_t *class_size)
{
    if (field_offset_count != NULL)
        *field_offset_count = 0;
    if (class_size != NULL)
        *class_size = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetClassLayout(info->com, class_id, field_offset,
        field_offset_capacity, field_offset_count, class_size);
}
static inline HRESULT clr_info_get_class_id_info2(const clr_info *info, ClassID class_id,
    ModuleID *module_id, mdTypeDef *type_def_token, ClassID *parent_class_id,
    uint32_t type_arg_capacity, uint32_t *type_arg_count, ClassID *type_args)
{
    if (module_id != NULL)
        *module_id = 0;
    if (type_def_token != NULL)
        *type_def_token = 0;
    if (parent_class_id != NULL)
        *parent_class_id = 0;
    if (type_arg_count != NULL)
        *type_arg_count = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetClassIDInfo2(info->com, class_id, module_id, type_def_token,
        parent_class_id, type_arg_capacity, type_arg_count, type_args);
}
static inline HRESULT clr_info_get_code_info2(const clr_info *info, FunctionID function_id,
    uint32_t code_infos_capacity, uint32_t *code_infos_count, COR_PRF_CODE_INFO *code_infos)
{
    if (code_infos_count != NULL)
        *code_infos_count = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetCodeInfo2(info->com, function_id, code_infos_capacity,
        code_infos_count, code_infos);
}
static inline HRESULT clr_info_get_class_from_token_and_type_args(const clr_info *info,
    ModuleID module_id, mdTypeDef type_def, uint32_t type_args_count, const ClassID *type_args,
    ClassID *class_id)
{
    if (class_id != NULL)
        *class_id = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetClassFromTokenAndTypeArgs(info->com, module_id, type_def,
        type_args_count, type_args, class_id);
}
static inline HRESULT clr_info_get_function_from_token_and_type_args(const clr_info *info,
    ModuleID module_id, mdMethodDef func_def, ClassID class_id, uint32_t type_args_count,
    const ClassID *type_args, FunctionID *function_id)
{
    if (function_id != NULL)
        *function_id = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetFunctionFromTokenAndTypeArgs(info->com, module_id, func_def,
        class_id, type_args_count, type_args, function_id);
}
static inline HRESULT clr_info_enum_module_frozen_objects(const clr_info *info, ModuleID module_id,
    ICorProfilerObjectEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    if (info->version < 2)
        return E_NOINTERFACE;
    hr = info->com->vtbl->EnumModuleFrozenObjects(info->com, module_id, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_array_object_info(const clr_info *info, ObjectID object_id,
    uint32_t dimensions_capacity, uint32_t *dimension_sizes, int32_t *dimension_lower_bounds,
    uint8_t **data)
{
    HRESULT hr;

    if (data != NULL)
        *data = NULL;
    if (info->version < 2)
        return E_NOINTERFACE;
    hr = info->com->vtbl->GetArrayObjectInfo(info->com, object_id, dimensions_capacity,
        dimension_sizes, dimension_lower_bounds, data);
    if (hr == 0 && data != NULL && *data == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_box_class_layout(const clr_info *info, ClassID class_id,
    uint32_t *buffer_offset)
{
    if (buffer_offset != NULL)
        *buffer_offset = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetBoxClassLayout(info->com, class_id, buffer_offset);
}
static inline HRESULT clr_info_get_thread_appdomain(const clr_info *info, ThreadID thread_id,
    AppDomainID *appdomain_id)
{
    if (appdomain_id != NULL)
        *appdomain_id = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetThreadAppDomain(info->com, thread_id, appdomain_id);
}
static inline HRESULT clr_info_get_rva_static_address(const clr_info *info, ClassID class_id,
    mdFieldDef field_token, void **address)
{
    HRESULT hr;

    if (address != NULL)
        *address = NULL;
    if (info->version < 2)
        return E_NOINTERFACE;
    hr = info->com->vtbl->GetRVAStaticAddress(info->com, class_id, field_token, address);
    if (hr == 0 && address != NULL && *address == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_appdomain_static_address(const clr_info *info, ClassID class_id,
    mdFieldDef field_token, AppDomainID appdomain_id, void **address)
{
    HRESULT hr;

    if (address != NULL)
        *address = NULL;
    if (info->version < 2)
        return E_NOINTERFACE;
    hr = info->com->vtbl->GetAppDomainStaticAddress(info->com, class_id, field_token,
        appdomain_id, address);
    if (hr == 0 && address != NULL && *address == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_thread_static_address(const clr_info *info, ClassID class_id,
    mdFieldDef field_token, ThreadID thread_id, void **address)
{
    HRESULT hr;

    if (address != NULL)
        *address = NULL;
    if (info->version < 2)
        return E_NOINTERFACE;
    hr = info->com->vtbl->GetThreadStaticAddress(info->com, class_id, field_token, thread_id,
        address);
    if (hr == 0 && address != NULL && *address == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_context_static_address(const clr_info *info, ClassID class_id,
    mdFieldDef field_token, ContextID context_id, void **address)
{
    HRESULT hr;

    if (address != NULL)
        *address = NULL;
    if (info->version < 2)
        return E_NOINTERFACE;
    hr = info->com->vtbl->GetContextStaticAddress(info->com, class_id, field_token,
        context_id, address);
    if (hr == 0 && address != NULL && *address == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_static_field_info(const clr_info *info, ClassID class_id,
    mdFieldDef field_token, COR_PRF_STATIC_TYPE *field_info)
{
    if (field_info != NULL)
        *field_info = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetStaticFieldInfo(info->com, class_id, field_token, field_info);
}
static inline HRESULT clr_info_get_generation_bounds(const clr_info *info,
    uint32_t object_ranges_capacity, uint32_t *object_ranges_count,
    COR_PRF_GC_GENERATION_RANGE *ranges)
{
    if (object_ranges_count != NULL)
        *object_ranges_count = 0;
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetGenerationBounds(info->com, object_ranges_capacity,
        object_ranges_count, ranges);
}
static inline HRESULT clr_info_get_object_generation(const clr_info *info, ObjectID object_id,
    COR_PRF_GC_GENERATION_RANGE *range)
{
    if (range != NULL)
        memset(range, 0, sizeof *range);
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetObjectGeneration(info->com, object_id, range);
}
static inline HRESULT clr_info_get_notified_exception_clause_info(const clr_info *info,
    COR_PRF_EX_CLAUSE_INFO *clause)
{
    if (clause != NULL)
        memset(clause, 0, sizeof *clause);
    if (info->version < 2)
        return E_NOINTERFACE;
    return info->com->vtbl->GetNotifiedExceptionClauseInfo(info->com, clause);
}
static inline HRESULT clr_info_enum_jited_functions(const clr_info *info,
    ICorProfilerFunctionEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    if (info->version < 3)
        return E_NOINTERFACE;
    hr = info->com->vtbl->EnumJITedFunctions(info->com, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_request_profiler_detach(const clr_info *info,
    uint32_t expected_completion_milliseconds)
{
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->RequestProfilerDetach(info->com, expected_completion_milliseconds);
}
static inline HRESULT clr_info_set_function_id_mapper2(const clr_info *info,
    FunctionIDMapper2 *function, void *client_data)
{
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->SetFunctionIDMapper2(info->com, function, client_data);
}
static inline HRESULT clr_info_get_string_layout2(const clr_info *info,
    uint32_t *string_length_offset, uint32_t *buffer_offset)
{
    if (string_length_offset != NULL)
        *string_length_offset = 0;
    if (buffer_offset != NULL)
        *buffer_offset = 0;
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->GetStringLayout2(info->com, string_length_offset, buffer_offset);
}
static inline HRESULT clr_info_set_enter_leave_function_hooks3(const clr_info *info,
    FunctionEnter3 *func_enter3, FunctionLeave3 *func_leave3, FunctionTailcall3 *func_tailcall3)
{
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->SetEnterLeaveFunctionHooks3(info->com, func_enter3, func_leave3,
        func_tailcall3);
}
static inline HRESULT clr_info_set_enter_leave_function_hooks3_with_info(const clr_info *info,
    FunctionEnter3WithInfo *func_enter3_with_info, FunctionLeave3WithInfo *func_leave3_with_info,
    FunctionTailcall3WithInfo *func_tailcall3_with_info)
{
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->SetEnterLeaveFunctionHooks3WithInfo(info->com,
        func_enter3_with_info, func_leave3_with_info, func_tailcall3_with_info);
}
static inline HRESULT clr_info_get_function_enter3_info(const clr_info *info,
    FunctionID function_id, COR_PRF_ELT_INFO elt_info, COR_PRF_FRAME_INFO *frame_info,
    uint32_t *argument_info_size, COR_PRF_FUNCTION_ARGUMENT_INFO *argument_info)
{
    if (frame_info != NULL)
        *frame_info = 0;
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->GetFunctionEnter3Info(info->com, function_id, elt_info, frame_info,
        argument_info_size, argument_info);
}
static inline HRESULT clr_info_get_function_leave3_info(const clr_info *info,
    FunctionID function_id, COR_PRF_ELT_INFO elt_info, COR_PRF_FRAME_INFO *frame_info,
    COR_PRF_FUNCTION_ARGUMENT_RANGE *retval_range)
{
    if (frame_info != NULL)
        *frame_info = 0;
    if (retval_range != NULL)
        memset(retval_range, 0, sizeof *retval_range);
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->GetFunctionLeave3Info(info->com, function_id, elt_info, frame_info,
        retval_range);
}
static inline HRESULT clr_info_get_function_tailcall3_info(const clr_info *info,
    FunctionID function_id, COR_PRF_ELT_INFO elt_info, COR_PRF_FRAME_INFO *frame_info)
{
    if (frame_info != NULL)
        *frame_info = 0;
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->GetFunctionTailcall3Info(info->com, function_id, elt_info,
        frame_info);
}
static inline HRESULT clr_info_enum_modules(const clr_info *info,
    ICorProfilerModuleEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    if (info->version < 3)
        return E_NOINTERFACE;
    hr = info->com->vtbl->EnumModules(info->com, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_runtime_information(const clr_info *info,
    uint16_t *clr_instance_id, COR_PRF_RUNTIME_TYPE *runtime_type, uint16_t *major_version,
    uint16_t *minor_version, uint16_t *build_number, uint16_t *qfe_version,
    uint32_t version_string_capacity, uint32_t *version_string_length, WCHAR *version_string)
{
    if (clr_instance_id != NULL)
        *clr_instance_id = 0;
    if (runtime_type != NULL)
        *runtime_type = 0;
    if (major_version != NULL)
        *major_version = 0;
    if (minor_version != NULL)
        *minor_version = 0;
    if (build_number != NULL)
        *build_number = 0;
    if (qfe_version != NULL)
        *qfe_version = 0;
    if (version_string_length != NULL)
        *version_string_length = 0;
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->GetRuntimeInformation(info->com, clr_instance_id, runtime_type,
        major_version, minor_version, build_number, qfe_version,
        version_string_capacity, version_string_length, version_string);
}
static inline HRESULT clr_info_get_thread_static_address2(const clr_info *info, ClassID class_id,
    mdFieldDef field_token, AppDomainID appdomain_id, ThreadID thread_id, void **address)
{
    HRESULT hr;

    if (address != NULL)
        *address = NULL;
    if (info->version < 3)
        return E_NOINTERFACE;
    hr = info->com->vtbl->GetThreadStaticAddress2(info->com, class_id, field_token,
        appdomain_id, thread_id, address);
    if (hr == 0 && address != NULL && *address == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_appdomains_containing_module(const clr_info *info,
    ModuleID module_id, uint32_t appdomain_ids_capacity, uint32_t *appdomain_ids_count,
    AppDomainID *appdomain_ids)
{
    if (appdomain_ids_count != NULL)
        *appdomain_ids_count = 0;
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->GetAppDomainsContainingModule(info->com, module_id,
        appdomain_ids_capacity, appdomain_ids_count, appdomain_ids);
}
static inline HRESULT clr_info_get_module_info2(const clr_info *info, ModuleID module_id,
    const uint8_t **base_load_address, uint32_t name_capacity, uint32_t *name_length, WCHAR *name,
    AssemblyID *assembly_id, uint32_t *module_flags)
{
    if (base_load_address != NULL)
        *base_load_address = NULL;
    if (name_length != NULL)
        *name_length = 0;
    if (assembly_id != NULL)
        *assembly_id = 0;
    if (module_flags != NULL)
        *module_flags = 0;
    if (info->version < 3)
        return E_NOINTERFACE;
    return info->com->vtbl->GetModuleInfo2(info->com, module_id, base_load_address,
        name_capacity, name_length, name, assembly_id, module_flags);
}
static inline HRESULT clr_info_enum_threads(const clr_info *info,
    ICorProfilerThreadEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    if (info->version < 4)
        return E_NOINTERFACE;
    hr = info->com->vtbl->EnumThreads(info->com, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_initialize_current_thread(const clr_info *info)
{
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->InitializeCurrentThread(info->com);
}
static inline HRESULT clr_info_request_rejit(const clr_info *info, uint32_t function_count,
    const ModuleID *module_ids, const mdMethodDef *method_ids)
{
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->RequestReJIT(info->com, function_count, module_ids, method_ids);
}
static inline HRESULT clr_info_request_revert(const clr_info *info, uint32_t function_count,
    const ModuleID *module_ids, const mdMethodDef *method_ids, HRESULT *status)
{
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->RequestRevert(info->com, function_count, module_ids, method_ids,
        status);
}
static inline HRESULT clr_info_get_code_info3(const clr_info *info, FunctionID function_id,
    ReJITID rejit_id, uint32_t code_infos_capacity, uint32_t *code_infos_count,
    COR_PRF_CODE_INFO *code_infos)
{
    if (code_infos_count != NULL)
        *code_infos_count = 0;
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->GetCodeInfo3(info->com, function_id, rejit_id, code_infos_capacity,
        code_infos_count, code_infos);
}
static inline HRESULT clr_info_get_function_from_ip2(const clr_info *info, const uint8_t *ip,
    FunctionID *function_id, ReJITID *rejit_id)
{
    if (function_id != NULL)
        *function_id = 0;
    if (rejit_id != NULL)
        *rejit_id = 0;
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->GetFunctionFromIP2(info->com, ip, function_id, rejit_id);
}
static inline HRESULT clr_info_get_rejit_ids(const clr_info *info, FunctionID function_id,
    uint32_t rejit_ids_capacity, uint32_t *rejit_ids_count, ReJITID *rejit_ids)
{
    if (rejit_ids_count != NULL)
        *rejit_ids_count = 0;
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->GetReJITIDs(info->com, function_id, rejit_ids_capacity,
        rejit_ids_count, rejit_ids);
}
static inline HRESULT clr_info_get_il_to_native_mapping2(const clr_info *info,
    FunctionID function_id, ReJITID rejit_id, uint32_t map_capacity, uint32_t *map_count,
    COR_DEBUG_IL_TO_NATIVE_MAP *map)
{
    if (map_count != NULL)
        *map_count = 0;
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->GetILToNativeMapping2(info->com, function_id, rejit_id,
        map_capacity, map_count, map);
}
static inline HRESULT clr_info_enum_jited_functions2(const clr_info *info,
    ICorProfilerFunctionEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    if (info->version < 4)
        return E_NOINTERFACE;
    hr = info->com->vtbl->EnumJITedFunctions2(info->com, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_object_size2(const clr_info *info, ObjectID object_id,
    size_t *size)
{
    if (size != NULL)
        *size = 0;
    if (info->version < 4)
        return E_NOINTERFACE;
    return info->com->vtbl->GetObjectSize2(info->com, object_id, size);
}
static inline HRESULT clr_info_get_event_mask2(const clr_info *info, uint32_t *events_low,
    uint32_t *events_high)
{
    if (events_low != NULL)
        *events_low = 0;
    if (events_high != NULL)
        *events_high = 0;
    if (info->version < 5)
        return E_NOINTERFACE;
    return info->com->vtbl->GetEventMask2(info->com, events_low, events_high);
}
static inline HRESULT clr_info_set_event_mask2(const clr_info *info, uint32_t events_low,
    uint32_t events_high)
{
    if (info->version < 5)
        return E_NOINTERFACE;
    return info->com->vtbl->SetEventMask2(info->com, events_low, events_high);
}
static inline HRESULT clr_info_enum_ngen_module_methods_inlining_this_method(const clr_info *info,
    ModuleID inliners_module_id, ModuleID inlinee_module_id, mdMethodDef inlinee_method_id,
    BOOL *incomplete_data, ICorProfilerMethodEnum **enumerator)
{
    HRESULT hr;

    if (incomplete_data != NULL)
        *incomplete_data = 0;
    if (enumerator != NULL)
        *enumerator = NULL;
    if (info->version < 6)
        return E_NOINTERFACE;
    hr = info->com->vtbl->EnumNgenModuleMethodsInliningThisMethod(info->com,
        inliners_module_id, inlinee_module_id, inlinee_method_id, incomplete_data,
        enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_apply_metadata(const clr_info *info, ModuleID module_id)
{
    if (info->version < 7)
        return E_NOINTERFACE;
    return info->com->vtbl->ApplyMetaData(info->com, module_id);
}
static inline HRESULT clr_info_get_in_memory_symbols_length(const clr_info *info,
    ModuleID module_id, uint32_t *count_symbol_bytes)
{
    if (count_symbol_bytes != NULL)
        *count_symbol_bytes = 0;
    if (info->version < 7)
        return E_NOINTERFACE;
    return info->com->vtbl->GetInMemorySymbolsLength(info->com, module_id, count_symbol_bytes);
}
static inline HRESULT clr_info_read_in_memory_symbols(const clr_info *info, ModuleID module_id,
    uint32_t symbols_read_offset, uint8_t *symbol_bytes, uint32_t count_symbol_bytes,
    uint32_t *count_symbol_bytes_read)
{
    if (count_symbol_bytes_read != NULL)
        *count_symbol_bytes_read = 0;
    if (info->version < 7)
        return E_NOINTERFACE;
    return info->com->vtbl->ReadInMemorySymbols(info->com, module_id, symbols_read_offset,
        symbol_bytes, count_symbol_bytes, count_symbol_bytes_read);
}
static inline HRESULT clr_info_is_function_dynamic(const clr_info *info, FunctionID function_id,
    BOOL *is_dynamic)
{
    if (is_dynamic != NULL)
        *is_dynamic = 0;
    if (info->version < 8)
        return E_NOINTERFACE;
    return info->com->vtbl->IsFunctionDynamic(info->com, function_id, is_dynamic);
}
static inline HRESULT clr_info_get_function_from_ip3(const clr_info *info, const uint8_t *ip,
    FunctionID *function_id, ReJITID *rejit_id)
{
    if (function_id != NULL)
        *function_id = 0;
    if (rejit_id != NULL)
        *rejit_id = 0;
    if (info->version < 8)
        return E_NOINTERFACE;
    return info->com->vtbl->GetFunctionFromIP3(info->com, ip, function_id, rejit_id);
}
static inline HRESULT clr_info_get_dynamic_function_info(const clr_info *info,
    FunctionID function_id, ModuleID *module_id, const uint8_t **sig, uint32_t *sig_size,
    uint32_t name_capacity, uint32_t *name_length, WCHAR *name)
{
    HRESULT hr;

    if (module_id != NULL)
        *module_id = 0;
    if (sig != NULL)
        *sig = NULL;
    if (sig_size != NULL)
        *sig_size = 0;
    if (name_length != NULL)
        *name_length = 0;
    if (info->version < 8)
        return E_NOINTERFACE;
    hr = info->com->vtbl->GetDynamicFunctionInfo(info->com, function_id, module_id, sig,
        sig_size, name_capacity, name_length, name);
    if (hr == 0 && sig != NULL && *sig == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_native_code_start_addresses(const clr_info *info,
    FunctionID function_id, ReJITID rejit_id, uint32_t code_start_addresses_capacity,
    uint32_t *code_start_addresses_count, uintptr_t *code_start_addresses)
{
    if (code_start_addresses_count != NULL)
        *code_start_addresses_count = 0;
    if (info->version < 9)
        return E_NOINTERFACE;
    return info->com->vtbl->GetNativeCodeStartAddresses(info->com, function_id, rejit_id,
        code_start_addresses_capacity, code_start_addresses_count,
        code_start_addresses);
}
static inline HRESULT clr_info_get_il_to_native_mapping3(const clr_info *info,
    uintptr_t native_code_start_address, uint32_t map_capacity, uint32_t *map_count,
    COR_DEBUG_IL_TO_NATIVE_MAP *map)
{
    if (map_count != NULL)
        *map_count = 0;
    if (info->version < 9)
        return E_NOINTERFACE;
    return info->com->vtbl->GetILToNativeMapping3(info->com, native_code_start_address,
        map_capacity, map_count, map);
}
static inline HRESULT clr_info_get_code_info4(const clr_info *info,
    uintptr_t native_code_start_address, uint32_t code_infos_capacity, uint32_t *code_infos_count,
    COR_PRF_CODE_INFO *code_infos)
{
    if (code_infos_count != NULL)
        *code_infos_count = 0;
    if (info->version < 9)
        return E_NOINTERFACE;
    return info->com->vtbl->GetCodeInfo4(info->com, native_code_start_address,
        code_infos_capacity, code_infos_count, code_infos);
}
static inline HRESULT clr_info_enumerate_object_references(const clr_info *info, ObjectID object_id,
    ObjectReferenceCallback callback, void *client_data)
{
    if (info->version < 10)
        return E_NOINTERFACE;
    return info->com->vtbl->EnumerateObjectReferences(info->com, object_id, callback,
        client_data);
}
static inline HRESULT clr_info_is_frozen_object(const clr_info *info, ObjectID object_id,
    BOOL *is_frozen)
{
    if (is_frozen != NULL)
        *is_frozen = 0;
    if (info->version < 10)
        return E_NOINTERFACE;
    return info->com->vtbl->IsFrozenObject(info->com, object_id, is_frozen);
}
static inline HRESULT clr_info_get_loh_object_size_threshold(const clr_info *info,
    uint32_t *threshold)
{
    if (threshold != NULL)
        *threshold = 0;
    if (info->version < 10)
        return E_NOINTERFACE;
    return info->com->vtbl->GetLOHObjectSizeThreshold(info->com, threshold);
}
static inline HRESULT clr_info_request_rejit_with_inliners(const clr_info *info,
    uint32_t rejit_flags, uint32_t function_count, const ModuleID *module_ids,
    const mdMethodDef *method_ids)
{
    if (info->version < 10)
        return E_NOINTERFACE;
    return info->com->vtbl->RequestReJITWithInliners(info->com, rejit_flags, function_count,
        module_ids, method_ids);
}
static inline HRESULT clr_info_suspend_runtime(const clr_info *info)
{
    if (info->version < 10)
        return E_NOINTERFACE;
    return info->com->vtbl->SuspendRuntime(info->com);
}
static inline HRESULT clr_info_resume_runtime(const clr_info *info)
{
    if (info->version < 10)
        return E_NOINTERFACE;
    return info->com->vtbl->ResumeRuntime(info->com);
}
static inline HRESULT clr_info_get_environment_variable(const clr_info *info, const WCHAR *name,
    uint32_t value_capacity, uint32_t *value_length, WCHAR *value)
{
    if (value_length != NULL)
        *value_length = 0;
    if (info->version < 11)
        return E_NOINTERFACE;
    return info->com->vtbl->GetEnvironmentVariable(info->com, name, value_capacity,
        value_length, value);
}
static inline HRESULT clr_info_set_environment_variable(const clr_info *info, const WCHAR *name,
    const WCHAR *value)
{
    if (info->version < 11)
        return E_NOINTERFACE;
    return info->com->vtbl->SetEnvironmentVariable(info->com, name, value);
}
static inline HRESULT clr_info_eventpipe_start_session(const clr_info *info,
    uint32_t provider_configs_count, const COR_PRF_EVENTPIPE_PROVIDER_CONFIG *provider_configs,
    BOOL request_rundown, EVENTPIPE_SESSION *session)
{
    if (session != NULL)
        *session = 0;
    if (info->version < 12)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeStartSession(info->com, provider_configs_count,
        provider_configs, request_rundown, session);
}
static inline HRESULT clr_info_eventpipe_add_provider_to_session(const clr_info *info,
    EVENTPIPE_SESSION session, COR_PRF_EVENTPIPE_PROVIDER_CONFIG provider_config)
{
    if (info->version < 12)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeAddProviderToSession(info->com, session, provider_config);
}
static inline HRESULT clr_info_eventpipe_stop_session(const clr_info *info,
    EVENTPIPE_SESSION session)
{
    if (info->version < 12)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeStopSession(info->com, session);
}
static inline HRESULT clr_info_eventpipe_create_provider(const clr_info *info,
    const WCHAR *provider_name, EVENTPIPE_PROVIDER *provider)
{
    if (provider != NULL)
        *provider = 0;
    if (info->version < 12)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeCreateProvider(info->com, provider_name, provider);
}
static inline HRESULT clr_info_eventpipe_get_provider_info(const clr_info *info,
    EVENTPIPE_PROVIDER provider, uint32_t name_capacity, uint32_t *name_length,
    WCHAR *provider_name)
{
    if (name_length != NULL)
        *name_length = 0;
    if (info->version < 12)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeGetProviderInfo(info->com, provider, name_capacity,
        name_length, provider_name);
}
static inline HRESULT clr_info_eventpipe_define_event(const clr_info *info,
    EVENTPIPE_PROVIDER provider, const WCHAR *event_name, uint32_t event_id, uint64_t keywords,
    uint32_t event_version, uint32_t level, uint8_t opcode, BOOL need_stack,
    uint32_t param_descs_count, const COR_PRF_EVENTPIPE_PARAM_DESC *param_descs,
    EVENTPIPE_EVENT *event)
{
    if (event != NULL)
        *event = 0;
    if (info->version < 12)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeDefineEvent(info->com, provider, event_name, event_id,
        keywords, event_version, level, opcode, need_stack, param_descs_count,
        param_descs, event);
}
static inline HRESULT clr_info_eventpipe_write_event(const clr_info *info, EVENTPIPE_EVENT event,
    uint32_t data_count, const COR_PRF_EVENT_DATA *data, const GUID *activity_id,
    const GUID *related_activity_id)
{
    if (info->version < 12)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeWriteEvent(info->com, event, data_count, data,
        activity_id, related_activity_id);
}
static inline HRESULT clr_info_create_handle(const clr_info *info, ObjectID object,
    COR_PRF_HANDLE_TYPE type, ObjectHandleID *handle)
{
    if (handle != NULL)
        *handle = 0;
    if (info->version < 13)
        return E_NOINTERFACE;
    return info->com->vtbl->CreateHandle(info->com, object, type, handle);
}
static inline HRESULT clr_info_destroy_handle(const clr_info *info, ObjectHandleID handle)
{
    if (info->version < 13)
        return E_NOINTERFACE;
    return info->com->vtbl->DestroyHandle(info->com, handle);
}
static inline HRESULT clr_info_get_object_id_from_handle(const clr_info *info,
    ObjectHandleID handle, ObjectID *object)
{
    if (object != NULL)
        *object = 0;
    if (info->version < 13)
        return E_NOINTERFACE;
    return info->com->vtbl->GetObjectIDFromHandle(info->com, handle, object);
}
static inline HRESULT clr_info_enumerate_nongc_objects(const clr_info *info,
    ICorProfilerObjectEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    if (info->version < 14)
        return E_NOINTERFACE;
    hr = info->com->vtbl->EnumerateNonGCObjects(info->com, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_info_get_nongc_heap_bounds(const clr_info *info,
    uint32_t object_ranges_capacity, uint32_t *object_ranges_count,
    COR_PRF_NONGC_HEAP_RANGE *ranges)
{
    if (object_ranges_count != NULL)
        *object_ranges_count = 0;
    if (info->version < 14)
        return E_NOINTERFACE;
    return info->com->vtbl->GetNonGCHeapBounds(info->com, object_ranges_capacity,
        object_ranges_count, ranges);
}
static inline HRESULT clr_info_eventpipe_create_provider2(const clr_info *info,
    const WCHAR *provider_name, EventPipeProviderCallback *callback, EVENTPIPE_PROVIDER *provider)
{
    if (provider != NULL)
        *provider = 0;
    if (info->version < 14)
        return E_NOINTERFACE;
    return info->com->vtbl->EventPipeCreateProvider2(info->com, provider_name, callback,
        provider);
}
static inline HRESULT clr_info_enumerate_gc_heap_objects(const clr_info *info,
    ObjectCallback callback, void *callback_state)
{
    if (info->version < 15)
        return E_NOINTERFACE;
    return info->com->vtbl->EnumerateGCHeapObjects(info->com, callback, callback_state);
}

/* IMetaDataImport2 */
static inline void clr_import_close_enum(IMetaDataImport2 *self, clr_enumeration enumeration)
{
    self->vtbl->CloseEnum(self, enumeration);
}
static inline HRESULT clr_import_count_enum(IMetaDataImport2 *self, clr_enumeration enumeration,
    uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    return self->vtbl->CountEnum(self, enumeration, count);
}
static inline HRESULT clr_import_reset_enum(IMetaDataImport2 *self, clr_enumeration enumeration,
    uint32_t pos)
{
    return self->vtbl->ResetEnum(self, enumeration, pos);
}
static inline HRESULT clr_import_enum_type_defs(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeDef *type_defs, uint32_t capacity,
    uint32_t *type_defs_count)
{
    if (type_defs_count != NULL)
        *type_defs_count = 0;
    return self->vtbl->EnumTypeDefs(self, enumeration, type_defs, capacity, type_defs_count);
}
static inline HRESULT clr_import_enum_interface_impls(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeDef type_def, mdInterfaceImpl *impls, uint32_t capacity,
    uint32_t *impls_count)
{
    if (impls_count != NULL)
        *impls_count = 0;
    return self->vtbl->EnumInterfaceImpls(self, enumeration, type_def, impls, capacity,
        impls_count);
}
static inline HRESULT clr_import_enum_type_refs(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeRef *type_refs, uint32_t capacity,
    uint32_t *type_refs_count)
{
    if (type_refs_count != NULL)
        *type_refs_count = 0;
    return self->vtbl->EnumTypeRefs(self, enumeration, type_refs, capacity, type_refs_count);
}
static inline HRESULT clr_import_find_type_def_by_name(IMetaDataImport2 *self, const WCHAR *name,
    mdToken enclosing_class, mdTypeDef *type_def)
{
    if (type_def != NULL)
        *type_def = 0;
    return self->vtbl->FindTypeDefByName(self, name, enclosing_class, type_def);
}
static inline HRESULT clr_import_get_scope_props(IMetaDataImport2 *self, WCHAR *name,
    uint32_t name_capacity, uint32_t *name_length, GUID *pmvid)
{
    if (name_length != NULL)
        *name_length = 0;
    if (pmvid != NULL)
        memset(pmvid, 0, sizeof *pmvid);
    return self->vtbl->GetScopeProps(self, name, name_capacity, name_length, pmvid);
}
static inline HRESULT clr_import_get_module_from_scope(IMetaDataImport2 *self, mdModule *method)
{
    if (method != NULL)
        *method = 0;
    return self->vtbl->GetModuleFromScope(self, method);
}
static inline HRESULT clr_import_get_type_def_props(IMetaDataImport2 *self, mdTypeDef type_def,
    WCHAR *sz_type_def, uint32_t type_def_capacity, uint32_t *type_def_length,
    uint32_t *type_def_flags, mdToken *extends)
{
    if (type_def_length != NULL)
        *type_def_length = 0;
    if (type_def_flags != NULL)
        *type_def_flags = 0;
    if (extends != NULL)
        *extends = 0;
    return self->vtbl->GetTypeDefProps(self, type_def, sz_type_def, type_def_capacity,
        type_def_length, type_def_flags, extends);
}
static inline HRESULT clr_import_get_interface_impl_props(IMetaDataImport2 *self,
    mdInterfaceImpl impl, mdTypeDef *type_def, mdToken *iface)
{
    if (type_def != NULL)
        *type_def = 0;
    if (iface != NULL)
        *iface = 0;
    return self->vtbl->GetInterfaceImplProps(self, impl, type_def, iface);
}
static inline HRESULT clr_import_get_type_ref_props(IMetaDataImport2 *self, mdTypeRef type_ref,
    mdToken *resolution_scope, WCHAR *name, uint32_t name_capacity, uint32_t *name_length)
{
    if (resolution_scope != NULL)
        *resolution_scope = 0;
    if (name_length != NULL)
        *name_length = 0;
    return self->vtbl->GetTypeRefProps(self, type_ref, resolution_scope, name, name_capacity,
        name_length);
}
static inline HRESULT clr_import_resolve_type_ref(IMetaDataImport2 *self, mdTypeRef type_ref,
    const GUID *iid, clr_unknown **scope, mdTypeDef *type_def)
{
    HRESULT hr;

    if (scope != NULL)
        *scope = NULL;
    if (type_def != NULL)
        *type_def = 0;
    hr = self->vtbl->ResolveTypeRef(self, type_ref, iid, scope, type_def);
    if (hr == 0 && scope != NULL && *scope == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_enum_members(IMetaDataImport2 *self, clr_enumeration *enumeration,
    mdTypeDef type_def, mdToken *members, uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumMembers(self, enumeration, type_def, members, capacity, token_count);
}
static inline HRESULT clr_import_enum_members_with_name(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeDef type_def, const WCHAR *name, mdToken *members,
    uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumMembersWithName(self, enumeration, type_def, name, members,
        capacity, token_count);
}
static inline HRESULT clr_import_enum_methods(IMetaDataImport2 *self, clr_enumeration *enumeration,
    mdTypeDef type_def, mdMethodDef *methods, uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumMethods(self, enumeration, type_def, methods, capacity, token_count);
}
static inline HRESULT clr_import_enum_methods_with_name(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeDef type_def, const WCHAR *name, mdMethodDef *methods,
    uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumMethodsWithName(self, enumeration, type_def, name, methods,
        capacity, token_count);
}
static inline HRESULT clr_import_enum_fields(IMetaDataImport2 *self, clr_enumeration *enumeration,
    mdTypeDef type_def, mdFieldDef *fields, uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumFields(self, enumeration, type_def, fields, capacity, token_count);
}
static inline HRESULT clr_import_enum_fields_with_name(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeDef type_def, const WCHAR *name, mdFieldDef *fields,
    uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumFieldsWithName(self, enumeration, type_def, name, fields, capacity,
        token_count);
}
static inline HRESULT clr_import_enum_params(IMetaDataImport2 *self, clr_enumeration *enumeration,
    mdMethodDef method, mdParamDef *params, uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumParams(self, enumeration, method, params, capacity, token_count);
}
static inline HRESULT clr_import_enum_member_refs(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdToken parent, mdMemberRef *member_refs, uint32_t capacity,
    uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumMemberRefs(self, enumeration, parent, member_refs, capacity,
        token_count);
}
static inline HRESULT clr_import_enum_method_impls(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeDef type_def, mdToken *method_body, mdToken *method_decl,
    uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumMethodImpls(self, enumeration, type_def, method_body, method_decl,
        capacity, token_count);
}
static inline HRESULT clr_import_enum_permission_sets(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdToken token, uint32_t actions, mdPermission *permission,
    uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumPermissionSets(self, enumeration, token, actions, permission,
        capacity, token_count);
}
static inline HRESULT clr_import_find_member(IMetaDataImport2 *self, mdTypeDef type_def,
    const WCHAR *name, const uint8_t *sig_blob, uint32_t sig_blob_size, mdToken *method)
{
    if (method != NULL)
        *method = 0;
    return self->vtbl->FindMember(self, type_def, name, sig_blob, sig_blob_size, method);
}
static inline HRESULT clr_import_find_method(IMetaDataImport2 *self, mdTypeDef type_def,
    const WCHAR *name, const uint8_t *sig_blob, uint32_t sig_blob_size, mdMethodDef *method)
{
    if (method != NULL)
        *method = 0;
    return self->vtbl->FindMethod(self, type_def, name, sig_blob, sig_blob_size, method);
}
static inline HRESULT clr_import_find_field(IMetaDataImport2 *self, mdTypeDef type_def,
    const WCHAR *name, const uint8_t *sig_blob, uint32_t sig_blob_size, mdFieldDef *method)
{
    if (method != NULL)
        *method = 0;
    return self->vtbl->FindField(self, type_def, name, sig_blob, sig_blob_size, method);
}
static inline HRESULT clr_import_find_member_ref(IMetaDataImport2 *self, mdTypeRef type_def,
    const WCHAR *name, const uint8_t *sig_blob, uint32_t sig_blob_size, mdMemberRef *member_ref)
{
    if (member_ref != NULL)
        *member_ref = 0;
    return self->vtbl->FindMemberRef(self, type_def, name, sig_blob, sig_blob_size, member_ref);
}
static inline HRESULT clr_import_get_method_props(IMetaDataImport2 *self, mdMethodDef method,
    mdTypeDef *type_def, WCHAR *sz_method, uint32_t method_capacity, uint32_t *method_length,
    uint32_t *attr, const uint8_t **sig_blob, uint32_t *sig_blob_size, uint32_t *code_rva,
    uint32_t *impl_flags)
{
    HRESULT hr;

    if (type_def != NULL)
        *type_def = 0;
    if (method_length != NULL)
        *method_length = 0;
    if (attr != NULL)
        *attr = 0;
    if (sig_blob != NULL)
        *sig_blob = NULL;
    if (sig_blob_size != NULL)
        *sig_blob_size = 0;
    if (code_rva != NULL)
        *code_rva = 0;
    if (impl_flags != NULL)
        *impl_flags = 0;
    hr = self->vtbl->GetMethodProps(self, method, type_def, sz_method, method_capacity,
        method_length, attr, sig_blob, sig_blob_size, code_rva, impl_flags);
    if (hr == 0 && sig_blob != NULL && *sig_blob == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_get_member_ref_props(IMetaDataImport2 *self,
    mdMemberRef member_ref, mdToken *token, WCHAR *member, uint32_t member_capacity,
    uint32_t *member_length, const uint8_t **sig_blob, uint32_t *sig_size)
{
    HRESULT hr;

    if (token != NULL)
        *token = 0;
    if (member_length != NULL)
        *member_length = 0;
    if (sig_blob != NULL)
        *sig_blob = NULL;
    if (sig_size != NULL)
        *sig_size = 0;
    hr = self->vtbl->GetMemberRefProps(self, member_ref, token, member, member_capacity,
        member_length, sig_blob, sig_size);
    if (hr == 0 && sig_blob != NULL && *sig_blob == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_enum_properties(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeDef type_def, mdProperty *properties, uint32_t capacity,
    uint32_t *properties_count)
{
    if (properties_count != NULL)
        *properties_count = 0;
    return self->vtbl->EnumProperties(self, enumeration, type_def, properties, capacity,
        properties_count);
}
static inline HRESULT clr_import_enum_events(IMetaDataImport2 *self, clr_enumeration *enumeration,
    mdTypeDef type_def, mdEvent *events, uint32_t capacity, uint32_t *events_count)
{
    if (events_count != NULL)
        *events_count = 0;
    return self->vtbl->EnumEvents(self, enumeration, type_def, events, capacity, events_count);
}
static inline HRESULT clr_import_get_event_props(IMetaDataImport2 *self, mdEvent event_token,
    mdTypeDef *type_def, WCHAR *event, uint32_t event_capacity, uint32_t *event_length,
    uint32_t *event_flags, mdToken *event_type, mdMethodDef *add_on, mdMethodDef *remove_on,
    mdMethodDef *fire, mdMethodDef *other_method, uint32_t capacity, uint32_t *other_method_count)
{
    if (type_def != NULL)
        *type_def = 0;
    if (event_length != NULL)
        *event_length = 0;
    if (event_flags != NULL)
        *event_flags = 0;
    if (event_type != NULL)
        *event_type = 0;
    if (add_on != NULL)
        *add_on = 0;
    if (remove_on != NULL)
        *remove_on = 0;
    if (fire != NULL)
        *fire = 0;
    if (other_method_count != NULL)
        *other_method_count = 0;
    return self->vtbl->GetEventProps(self, event_token, type_def, event, event_capacity,
        event_length, event_flags, event_type, add_on, remove_on, fire,
        other_method, capacity, other_method_count);
}
static inline HRESULT clr_import_enum_method_semantics(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdMethodDef method, mdToken *event_prop, uint32_t capacity,
    uint32_t *event_prop_count)
{
    if (event_prop_count != NULL)
        *event_prop_count = 0;
    return self->vtbl->EnumMethodSemantics(self, enumeration, method, event_prop, capacity,
        event_prop_count);
}
static inline HRESULT clr_import_get_method_semantics(IMetaDataImport2 *self, mdMethodDef method,
    mdToken event_prop, uint32_t *semantics_flags)
{
    if (semantics_flags != NULL)
        *semantics_flags = 0;
    return self->vtbl->GetMethodSemantics(self, method, event_prop, semantics_flags);
}
static inline HRESULT clr_import_get_class_layout(IMetaDataImport2 *self, mdTypeDef type_def,
    uint32_t *pack_size, COR_FIELD_OFFSET *field_offset, uint32_t capacity,
    uint32_t *field_offset_count, uint32_t *class_size)
{
    if (pack_size != NULL)
        *pack_size = 0;
    if (field_offset_count != NULL)
        *field_offset_count = 0;
    if (class_size != NULL)
        *class_size = 0;
    return self->vtbl->GetClassLayout(self, type_def, pack_size, field_offset, capacity,
        field_offset_count, class_size);
}
static inline HRESULT clr_import_get_field_marshal(IMetaDataImport2 *self, mdToken token,
    const uint8_t **native_type, uint32_t *native_type_size)
{
    HRESULT hr;

    if (native_type != NULL)
        *native_type = NULL;
    if (native_type_size != NULL)
        *native_type_size = 0;
    hr = self->vtbl->GetFieldMarshal(self, token, native_type, native_type_size);
    if (hr == 0 && native_type != NULL && *native_type == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_get_rva(IMetaDataImport2 *self, mdToken token, uint32_t *code_rva,
    uint32_t *impl_flags)
{
    if (code_rva != NULL)
        *code_rva = 0;
    if (impl_flags != NULL)
        *impl_flags = 0;
    return self->vtbl->GetRVA(self, token, code_rva, impl_flags);
}
static inline HRESULT clr_import_get_permission_set_props(IMetaDataImport2 *self,
    mdPermission permission_token, uint32_t *action, const void **permission,
    uint32_t *permission_size)
{
    if (action != NULL)
        *action = 0;
    if (permission != NULL)
        *permission = NULL;
    if (permission_size != NULL)
        *permission_size = 0;
    return self->vtbl->GetPermissionSetProps(self, permission_token, action, permission,
        permission_size);
}
static inline HRESULT clr_import_get_sig_from_token(IMetaDataImport2 *self, mdSignature sig_method,
    const uint8_t **sig, uint32_t *sig_size)
{
    HRESULT hr;

    if (sig != NULL)
        *sig = NULL;
    if (sig_size != NULL)
        *sig_size = 0;
    hr = self->vtbl->GetSigFromToken(self, sig_method, sig, sig_size);
    if (hr == 0 && sig != NULL && *sig == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_get_module_ref_props(IMetaDataImport2 *self,
    mdModuleRef module_ref, WCHAR *name, uint32_t name_capacity, uint32_t *name_length)
{
    if (name_length != NULL)
        *name_length = 0;
    return self->vtbl->GetModuleRefProps(self, module_ref, name, name_capacity, name_length);
}
static inline HRESULT clr_import_enum_module_refs(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdModuleRef *module_refs, uint32_t capacity,
    uint32_t *module_refs_count)
{
    if (module_refs_count != NULL)
        *module_refs_count = 0;
    return self->vtbl->EnumModuleRefs(self, enumeration, module_refs, capacity,
        module_refs_count);
}
static inline HRESULT clr_import_get_type_spec_from_token(IMetaDataImport2 *self,
    mdTypeSpec typespec, const uint8_t **sig, uint32_t *sig_size)
{
    HRESULT hr;

    if (sig != NULL)
        *sig = NULL;
    if (sig_size != NULL)
        *sig_size = 0;
    hr = self->vtbl->GetTypeSpecFromToken(self, typespec, sig, sig_size);
    if (hr == 0 && sig != NULL && *sig == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_get_name_from_token(IMetaDataImport2 *self, mdToken token,
    const char **name)
{
    HRESULT hr;

    if (name != NULL)
        *name = NULL;
    hr = self->vtbl->GetNameFromToken(self, token, name);
    if (hr == 0 && name != NULL && *name == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_enum_unresolved_methods(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdToken *methods, uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumUnresolvedMethods(self, enumeration, methods, capacity, token_count);
}
static inline HRESULT clr_import_get_user_string(IMetaDataImport2 *self, mdString token,
    WCHAR *string, uint32_t string_capacity, uint32_t *string_length)
{
    if (string_length != NULL)
        *string_length = 0;
    return self->vtbl->GetUserString(self, token, string, string_capacity, string_length);
}
static inline HRESULT clr_import_get_pinvoke_map(IMetaDataImport2 *self, mdToken token,
    uint32_t *mapping_flags, WCHAR *import_name, uint32_t import_name_capacity,
    uint32_t *import_name_length, mdModuleRef *module_ref)
{
    if (mapping_flags != NULL)
        *mapping_flags = 0;
    if (import_name_length != NULL)
        *import_name_length = 0;
    if (module_ref != NULL)
        *module_ref = 0;
    return self->vtbl->GetPinvokeMap(self, token, mapping_flags, import_name,
        import_name_capacity, import_name_length, module_ref);
}
static inline HRESULT clr_import_enum_signatures(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdSignature *signatures, uint32_t capacity,
    uint32_t *signatures_count)
{
    if (signatures_count != NULL)
        *signatures_count = 0;
    return self->vtbl->EnumSignatures(self, enumeration, signatures, capacity,
        signatures_count);
}
static inline HRESULT clr_import_enum_type_specs(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdTypeSpec *type_specs, uint32_t capacity,
    uint32_t *type_specs_count)
{
    if (type_specs_count != NULL)
        *type_specs_count = 0;
    return self->vtbl->EnumTypeSpecs(self, enumeration, type_specs, capacity, type_specs_count);
}
static inline HRESULT clr_import_enum_user_strings(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdString *strings, uint32_t capacity, uint32_t *strings_count)
{
    if (strings_count != NULL)
        *strings_count = 0;
    return self->vtbl->EnumUserStrings(self, enumeration, strings, capacity, strings_count);
}
static inline HRESULT clr_import_get_param_for_method_index(IMetaDataImport2 *self,
    mdMethodDef method, uint32_t param_seq, mdParamDef *param)
{
    if (param != NULL)
        *param = 0;
    return self->vtbl->GetParamForMethodIndex(self, method, param_seq, param);
}
static inline HRESULT clr_import_enum_custom_attributes(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdToken token, mdToken type, mdCustomAttribute *custom_attributes,
    uint32_t capacity, uint32_t *custom_attributes_count)
{
    if (custom_attributes_count != NULL)
        *custom_attributes_count = 0;
    return self->vtbl->EnumCustomAttributes(self, enumeration, token, type, custom_attributes,
        capacity, custom_attributes_count);
}
static inline HRESULT clr_import_get_custom_attribute_props(IMetaDataImport2 *self,
    mdCustomAttribute attribute, mdToken *obj, mdToken *type, const void **blob, uint32_t *size)
{
    HRESULT hr;

    if (obj != NULL)
        *obj = 0;
    if (type != NULL)
        *type = 0;
    if (blob != NULL)
        *blob = NULL;
    if (size != NULL)
        *size = 0;
    hr = self->vtbl->GetCustomAttributeProps(self, attribute, obj, type, blob, size);
    if (hr == 0 && blob != NULL && *blob == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_find_type_ref(IMetaDataImport2 *self, mdToken resolution_scope,
    const WCHAR *name, mdTypeRef *type_ref)
{
    if (type_ref != NULL)
        *type_ref = 0;
    return self->vtbl->FindTypeRef(self, resolution_scope, name, type_ref);
}
static inline HRESULT clr_import_get_member_props(IMetaDataImport2 *self, mdToken member,
    mdTypeDef *type_def, WCHAR *name, uint32_t name_capacity, uint32_t *name_length, uint32_t *attr,
    const uint8_t **sig_blob, uint32_t *sig_blob_size, uint32_t *code_rva, uint32_t *impl_flags,
    uint32_t *c_plus_type_flag, const void **value, uint32_t *value_length)
{
    HRESULT hr;

    if (type_def != NULL)
        *type_def = 0;
    if (name_length != NULL)
        *name_length = 0;
    if (attr != NULL)
        *attr = 0;
    if (sig_blob != NULL)
        *sig_blob = NULL;
    if (sig_blob_size != NULL)
        *sig_blob_size = 0;
    if (code_rva != NULL)
        *code_rva = 0;
    if (impl_flags != NULL)
        *impl_flags = 0;
    if (c_plus_type_flag != NULL)
        *c_plus_type_flag = 0;
    if (value != NULL)
        *value = NULL;
    if (value_length != NULL)
        *value_length = 0;
    hr = self->vtbl->GetMemberProps(self, member, type_def, name, name_capacity, name_length,
        attr, sig_blob, sig_blob_size, code_rva, impl_flags, c_plus_type_flag,
        value, value_length);
    if (hr == 0 && sig_blob != NULL && *sig_blob == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_get_field_props(IMetaDataImport2 *self, mdFieldDef field_def,
    mdTypeDef *type_def, WCHAR *field, uint32_t field_capacity, uint32_t *field_length,
    uint32_t *attr, const uint8_t **sig_blob, uint32_t *sig_blob_size, uint32_t *c_plus_type_flag,
    const void **value, uint32_t *value_length)
{
    HRESULT hr;

    if (type_def != NULL)
        *type_def = 0;
    if (field_length != NULL)
        *field_length = 0;
    if (attr != NULL)
        *attr = 0;
    if (sig_blob != NULL)
        *sig_blob = NULL;
    if (sig_blob_size != NULL)
        *sig_blob_size = 0;
    if (c_plus_type_flag != NULL)
        *c_plus_type_flag = 0;
    if (value != NULL)
        *value = NULL;
    if (value_length != NULL)
        *value_length = 0;
    hr = self->vtbl->GetFieldProps(self, field_def, type_def, field, field_capacity,
        field_length, attr, sig_blob, sig_blob_size, c_plus_type_flag, value,
        value_length);
    if (hr == 0 && sig_blob != NULL && *sig_blob == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_get_property_props(IMetaDataImport2 *self,
    mdProperty property_token, mdTypeDef *type_def, WCHAR *property, uint32_t property_capacity,
    uint32_t *property_length, uint32_t *prop_flags, const uint8_t **sig, uint32_t *sig_size,
    uint32_t *c_plus_type_flag, const void **default_value, uint32_t *default_value_length,
    mdMethodDef *setter, mdMethodDef *getter, mdMethodDef *other_method, uint32_t capacity,
    uint32_t *other_method_count)
{
    HRESULT hr;

    if (type_def != NULL)
        *type_def = 0;
    if (property_length != NULL)
        *property_length = 0;
    if (prop_flags != NULL)
        *prop_flags = 0;
    if (sig != NULL)
        *sig = NULL;
    if (sig_size != NULL)
        *sig_size = 0;
    if (c_plus_type_flag != NULL)
        *c_plus_type_flag = 0;
    if (default_value != NULL)
        *default_value = NULL;
    if (default_value_length != NULL)
        *default_value_length = 0;
    if (setter != NULL)
        *setter = 0;
    if (getter != NULL)
        *getter = 0;
    if (other_method_count != NULL)
        *other_method_count = 0;
    hr = self->vtbl->GetPropertyProps(self, property_token, type_def, property,
        property_capacity, property_length, prop_flags, sig, sig_size,
        c_plus_type_flag, default_value, default_value_length, setter, getter,
        other_method, capacity, other_method_count);
    if (hr == 0 && sig != NULL && *sig == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_get_param_props(IMetaDataImport2 *self, mdParamDef token,
    mdMethodDef *method, uint32_t *sequence, WCHAR *name, uint32_t name_capacity,
    uint32_t *name_length, uint32_t *attr, uint32_t *c_plus_type_flag, const void **value,
    uint32_t *value_length)
{
    if (method != NULL)
        *method = 0;
    if (sequence != NULL)
        *sequence = 0;
    if (name_length != NULL)
        *name_length = 0;
    if (attr != NULL)
        *attr = 0;
    if (c_plus_type_flag != NULL)
        *c_plus_type_flag = 0;
    if (value != NULL)
        *value = NULL;
    if (value_length != NULL)
        *value_length = 0;
    return self->vtbl->GetParamProps(self, token, method, sequence, name, name_capacity,
        name_length, attr, c_plus_type_flag, value, value_length);
}
static inline HRESULT clr_import_get_custom_attribute_by_name(IMetaDataImport2 *self,
    mdToken object, const WCHAR *name, const void **data, uint32_t *data_size)
{
    HRESULT hr;

    if (data != NULL)
        *data = NULL;
    if (data_size != NULL)
        *data_size = 0;
    hr = self->vtbl->GetCustomAttributeByName(self, object, name, data, data_size);
    if (hr == 0 && data != NULL && *data == NULL)
        hr = E_POINTER;
    return hr;
}
static inline BOOL clr_import_is_valid_token(IMetaDataImport2 *self, mdToken token)
{
    return self->vtbl->IsValidToken(self, token);
}
static inline HRESULT clr_import_get_nested_class_props(IMetaDataImport2 *self, mdTypeDef nested,
    mdTypeDef *enclosing)
{
    if (enclosing != NULL)
        *enclosing = 0;
    return self->vtbl->GetNestedClassProps(self, nested, enclosing);
}
static inline HRESULT clr_import_get_native_call_conv_from_sig(IMetaDataImport2 *self,
    const void *sig, uint32_t sig_size, uint32_t *call_conv)
{
    if (call_conv != NULL)
        *call_conv = 0;
    return self->vtbl->GetNativeCallConvFromSig(self, sig, sig_size, call_conv);
}
static inline HRESULT clr_import_is_global(IMetaDataImport2 *self, mdToken token,
    int32_t *is_global)
{
    if (is_global != NULL)
        *is_global = 0;
    return self->vtbl->IsGlobal(self, token, is_global);
}
static inline HRESULT clr_import_enum_generic_params(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdToken token, mdGenericParam *generic_params, uint32_t capacity,
    uint32_t *generic_params_count)
{
    if (generic_params_count != NULL)
        *generic_params_count = 0;
    return self->vtbl->EnumGenericParams(self, enumeration, token, generic_params, capacity,
        generic_params_count);
}
static inline HRESULT clr_import_get_generic_param_props(IMetaDataImport2 *self,
    mdGenericParam generic_param, uint32_t *param_seq, uint32_t *param_flags, mdToken *owner,
    uint32_t *reserved, WCHAR *name, uint32_t name_capacity, uint32_t *name_length)
{
    if (param_seq != NULL)
        *param_seq = 0;
    if (param_flags != NULL)
        *param_flags = 0;
    if (owner != NULL)
        *owner = 0;
    if (reserved != NULL)
        *reserved = 0;
    if (name_length != NULL)
        *name_length = 0;
    return self->vtbl->GetGenericParamProps(self, generic_param, param_seq, param_flags, owner,
        reserved, name, name_capacity, name_length);
}
static inline HRESULT clr_import_get_method_spec_props(IMetaDataImport2 *self,
    mdMethodSpec method_spec, mdToken *parent, const uint8_t **sig_blob, uint32_t *sig_blob_size)
{
    HRESULT hr;

    if (parent != NULL)
        *parent = 0;
    if (sig_blob != NULL)
        *sig_blob = NULL;
    if (sig_blob_size != NULL)
        *sig_blob_size = 0;
    hr = self->vtbl->GetMethodSpecProps(self, method_spec, parent, sig_blob, sig_blob_size);
    if (hr == 0 && sig_blob != NULL && *sig_blob == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_import_enum_generic_param_constraints(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdGenericParam token,
    mdGenericParamConstraint *generic_param_constraints, uint32_t capacity,
    uint32_t *generic_param_constraints_count)
{
    if (generic_param_constraints_count != NULL)
        *generic_param_constraints_count = 0;
    return self->vtbl->EnumGenericParamConstraints(self, enumeration, token,
        generic_param_constraints, capacity, generic_param_constraints_count);
}
static inline HRESULT clr_import_get_generic_param_constraint_props(IMetaDataImport2 *self,
    mdGenericParamConstraint constraint, mdGenericParam *generic_param_token,
    mdToken *constraint_type)
{
    if (generic_param_token != NULL)
        *generic_param_token = 0;
    if (constraint_type != NULL)
        *constraint_type = 0;
    return self->vtbl->GetGenericParamConstraintProps(self, constraint, generic_param_token,
        constraint_type);
}
static inline HRESULT clr_import_get_pe_kind(IMetaDataImport2 *self, uint32_t *pe_kind,
    uint32_t *machine)
{
    if (pe_kind != NULL)
        *pe_kind = 0;
    if (machine != NULL)
        *machine = 0;
    return self->vtbl->GetPEKind(self, pe_kind, machine);
}
static inline HRESULT clr_import_get_version_string(IMetaDataImport2 *self, WCHAR *buf,
    uint32_t buf_size_capacity, uint32_t *pcc_buf_size)
{
    if (pcc_buf_size != NULL)
        *pcc_buf_size = 0;
    return self->vtbl->GetVersionString(self, buf, buf_size_capacity, pcc_buf_size);
}
static inline HRESULT clr_import_enum_method_specs(IMetaDataImport2 *self,
    clr_enumeration *enumeration, mdToken token, mdMethodSpec *method_specs, uint32_t capacity,
    uint32_t *method_specs_count)
{
    if (method_specs_count != NULL)
        *method_specs_count = 0;
    return self->vtbl->EnumMethodSpecs(self, enumeration, token, method_specs, capacity,
        method_specs_count);
}

/* IMetaDataEmit2 */
static inline HRESULT clr_emit_set_module_props(IMetaDataEmit2 *self, const WCHAR *name)
{
    return self->vtbl->SetModuleProps(self, name);
}
static inline HRESULT clr_emit_save(IMetaDataEmit2 *self, const WCHAR *file, uint32_t save_flags)
{
    return self->vtbl->Save(self, file, save_flags);
}
static inline HRESULT clr_emit_save_to_stream(IMetaDataEmit2 *self, void *stream,
    uint32_t save_flags)
{
    return self->vtbl->SaveToStream(self, stream, save_flags);
}
static inline HRESULT clr_emit_get_save_size(IMetaDataEmit2 *self, CorSaveSize save,
    uint32_t *save_size)
{
    if (save_size != NULL)
        *save_size = 0;
    return self->vtbl->GetSaveSize(self, save, save_size);
}
static inline HRESULT clr_emit_define_type_def(IMetaDataEmit2 *self, const WCHAR *name,
    uint32_t type_def_flags, mdToken extends, const mdToken *implements, mdTypeDef *type_def)
{
    if (type_def != NULL)
        *type_def = 0;
    return self->vtbl->DefineTypeDef(self, name, type_def_flags, extends, implements, type_def);
}
static inline HRESULT clr_emit_define_nested_type(IMetaDataEmit2 *self, const WCHAR *name,
    uint32_t type_def_flags, mdToken extends, const mdToken *implements, mdTypeDef encloser,
    mdTypeDef *type_def)
{
    if (type_def != NULL)
        *type_def = 0;
    return self->vtbl->DefineNestedType(self, name, type_def_flags, extends, implements,
        encloser, type_def);
}
static inline HRESULT clr_emit_set_handler(IMetaDataEmit2 *self, clr_unknown *unk)
{
    return self->vtbl->SetHandler(self, unk);
}
static inline HRESULT clr_emit_define_method(IMetaDataEmit2 *self, mdTypeDef type_def,
    const WCHAR *name, uint32_t method_flags, const uint8_t *sig_blob, uint32_t sig_blob_size,
    uint32_t code_rva, uint32_t impl_flags, mdMethodDef *method)
{
    if (method != NULL)
        *method = 0;
    return self->vtbl->DefineMethod(self, type_def, name, method_flags, sig_blob,
        sig_blob_size, code_rva, impl_flags, method);
}
static inline HRESULT clr_emit_define_method_impl(IMetaDataEmit2 *self, mdTypeDef type_def,
    mdToken body, mdToken decl)
{
    return self->vtbl->DefineMethodImpl(self, type_def, body, decl);
}
static inline HRESULT clr_emit_define_type_ref_by_name(IMetaDataEmit2 *self,
    mdToken resolution_scope, const WCHAR *name, mdTypeRef *type_ref)
{
    if (type_ref != NULL)
        *type_ref = 0;
    return self->vtbl->DefineTypeRefByName(self, resolution_scope, name, type_ref);
}
static inline HRESULT clr_emit_define_import_type(IMetaDataEmit2 *self,
    IMetaDataAssemblyImport *assem_import, const void *hash_value, uint32_t hash_value_size,
    IMetaDataImport *import, mdTypeDef td_import, IMetaDataAssemblyEmit *assem_emit,
    mdTypeRef *type_ref)
{
    if (type_ref != NULL)
        *type_ref = 0;
    return self->vtbl->DefineImportType(self, assem_import, hash_value, hash_value_size,
        import, td_import, assem_emit, type_ref);
}
static inline HRESULT clr_emit_define_member_ref(IMetaDataEmit2 *self, mdToken import,
    const WCHAR *name, const uint8_t *sig_blob, uint32_t sig_blob_size, mdMemberRef *member_ref)
{
    if (member_ref != NULL)
        *member_ref = 0;
    return self->vtbl->DefineMemberRef(self, import, name, sig_blob, sig_blob_size, member_ref);
}
static inline HRESULT clr_emit_define_import_member(IMetaDataEmit2 *self,
    IMetaDataAssemblyImport *assem_import, const void *hash_value, uint32_t hash_value_size,
    IMetaDataImport *import, mdToken mb_member, IMetaDataAssemblyEmit *assem_emit, mdToken parent,
    mdMemberRef *member_ref)
{
    if (member_ref != NULL)
        *member_ref = 0;
    return self->vtbl->DefineImportMember(self, assem_import, hash_value, hash_value_size,
        import, mb_member, assem_emit, parent, member_ref);
}
static inline HRESULT clr_emit_define_event(IMetaDataEmit2 *self, mdTypeDef type_def,
    const WCHAR *event, uint32_t event_flags, mdToken event_type, mdMethodDef add_on_method,
    mdMethodDef remove_on_method, mdMethodDef fire_method, const mdMethodDef *other_methods,
    mdEvent *pmd_event)
{
    if (pmd_event != NULL)
        *pmd_event = 0;
    return self->vtbl->DefineEvent(self, type_def, event, event_flags, event_type,
        add_on_method, remove_on_method, fire_method, other_methods, pmd_event);
}
static inline HRESULT clr_emit_set_class_layout(IMetaDataEmit2 *self, mdTypeDef type_def,
    uint32_t pack_size, const COR_FIELD_OFFSET *field_offsets, uint32_t class_size)
{
    return self->vtbl->SetClassLayout(self, type_def, pack_size, field_offsets, class_size);
}
static inline HRESULT clr_emit_delete_class_layout(IMetaDataEmit2 *self, mdTypeDef type_def)
{
    return self->vtbl->DeleteClassLayout(self, type_def);
}
static inline HRESULT clr_emit_set_field_marshal(IMetaDataEmit2 *self, mdToken token,
    const uint8_t *native_type, uint32_t native_type_size)
{
    return self->vtbl->SetFieldMarshal(self, token, native_type, native_type_size);
}
static inline HRESULT clr_emit_delete_field_marshal(IMetaDataEmit2 *self, mdToken token)
{
    return self->vtbl->DeleteFieldMarshal(self, token);
}
static inline HRESULT clr_emit_define_permission_set(IMetaDataEmit2 *self, mdToken token,
    uint32_t action, const void *permission, uint32_t permission_size,
    mdPermission *permission_token)
{
    if (permission_token != NULL)
        *permission_token = 0;
    return self->vtbl->DefinePermissionSet(self, token, action, permission, permission_size,
        permission_token);
}
static inline HRESULT clr_emit_set_rva(IMetaDataEmit2 *self, mdMethodDef method, uint32_t rva)
{
    return self->vtbl->SetRVA(self, method, rva);
}
static inline HRESULT clr_emit_get_token_from_sig(IMetaDataEmit2 *self, const uint8_t *sig,
    uint32_t sig_size, mdSignature *signature)
{
    if (signature != NULL)
        *signature = 0;
    return self->vtbl->GetTokenFromSig(self, sig, sig_size, signature);
}
static inline HRESULT clr_emit_define_module_ref(IMetaDataEmit2 *self, const WCHAR *name,
    mdModuleRef *module_ref)
{
    if (module_ref != NULL)
        *module_ref = 0;
    return self->vtbl->DefineModuleRef(self, name, module_ref);
}
static inline HRESULT clr_emit_set_parent(IMetaDataEmit2 *self, mdMemberRef member_ref,
    mdToken token)
{
    return self->vtbl->SetParent(self, member_ref, token);
}
static inline HRESULT clr_emit_get_token_from_type_spec(IMetaDataEmit2 *self, const uint8_t *sig,
    uint32_t sig_size, mdTypeSpec *type_spec)
{
    if (type_spec != NULL)
        *type_spec = 0;
    return self->vtbl->GetTokenFromTypeSpec(self, sig, sig_size, type_spec);
}
static inline HRESULT clr_emit_save_to_memory(IMetaDataEmit2 *self, void *data, uint32_t data_size)
{
    return self->vtbl->SaveToMemory(self, data, data_size);
}
static inline HRESULT clr_emit_define_user_string(IMetaDataEmit2 *self, const WCHAR *string,
    uint32_t string_length, mdString *token)
{
    if (token != NULL)
        *token = 0;
    return self->vtbl->DefineUserString(self, string, string_length, token);
}
static inline HRESULT clr_emit_delete_token(IMetaDataEmit2 *self, mdToken object)
{
    return self->vtbl->DeleteToken(self, object);
}
static inline HRESULT clr_emit_set_method_props(IMetaDataEmit2 *self, mdMethodDef method,
    uint32_t method_flags, uint32_t code_rva, uint32_t impl_flags)
{
    return self->vtbl->SetMethodProps(self, method, method_flags, code_rva, impl_flags);
}
static inline HRESULT clr_emit_set_type_def_props(IMetaDataEmit2 *self, mdTypeDef type_def,
    uint32_t type_def_flags, mdToken extends, const mdToken *implements)
{
    return self->vtbl->SetTypeDefProps(self, type_def, type_def_flags, extends, implements);
}
static inline HRESULT clr_emit_set_event_props(IMetaDataEmit2 *self, mdEvent event_token,
    uint32_t event_flags, mdToken event_type, mdMethodDef add_on_method,
    mdMethodDef remove_on_method, mdMethodDef fire_method, const mdMethodDef *other_methods)
{
    return self->vtbl->SetEventProps(self, event_token, event_flags, event_type, add_on_method,
        remove_on_method, fire_method, other_methods);
}
static inline HRESULT clr_emit_set_permission_set_props(IMetaDataEmit2 *self, mdToken token,
    uint32_t action, const void *permission, uint32_t permission_size,
    mdPermission *permission_token)
{
    if (permission_token != NULL)
        *permission_token = 0;
    return self->vtbl->SetPermissionSetProps(self, token, action, permission, permission_size,
        permission_token);
}
static inline HRESULT clr_emit_define_pinvoke_map(IMetaDataEmit2 *self, mdToken token,
    uint32_t mapping_flags, const WCHAR *import_name, mdModuleRef mr_import_dll)
{
    return self->vtbl->DefinePinvokeMap(self, token, mapping_flags, import_name, mr_import_dll);
}
static inline HRESULT clr_emit_set_pinvoke_map(IMetaDataEmit2 *self, mdToken token,
    uint32_t mapping_flags, const WCHAR *import_name, mdModuleRef mr_import_dll)
{
    return self->vtbl->SetPinvokeMap(self, token, mapping_flags, import_name, mr_import_dll);
}
static inline HRESULT clr_emit_delete_pinvoke_map(IMetaDataEmit2 *self, mdToken token)
{
    return self->vtbl->DeletePinvokeMap(self, token);
}
static inline HRESULT clr_emit_define_custom_attribute(IMetaDataEmit2 *self, mdToken owner,
    mdToken ctor, const void *custom_attribute, uint32_t custom_attribute_size,
    mdCustomAttribute *attribute)
{
    if (attribute != NULL)
        *attribute = 0;
    return self->vtbl->DefineCustomAttribute(self, owner, ctor, custom_attribute,
        custom_attribute_size, attribute);
}
static inline HRESULT clr_emit_set_custom_attribute_value(IMetaDataEmit2 *self,
    mdCustomAttribute attribute, const void *custom_attribute, uint32_t custom_attribute_size)
{
    return self->vtbl->SetCustomAttributeValue(self, attribute, custom_attribute,
        custom_attribute_size);
}
static inline HRESULT clr_emit_define_field(IMetaDataEmit2 *self, mdTypeDef type_def,
    const WCHAR *name, uint32_t field_flags, const uint8_t *sig_blob, uint32_t sig_blob_size,
    uint32_t c_plus_type_flag, const void *value, uint32_t value_length, mdFieldDef *method)
{
    if (method != NULL)
        *method = 0;
    return self->vtbl->DefineField(self, type_def, name, field_flags, sig_blob, sig_blob_size,
        c_plus_type_flag, value, value_length, method);
}
static inline HRESULT clr_emit_define_property(IMetaDataEmit2 *self, mdTypeDef type_def,
    const WCHAR *property, uint32_t prop_flags, const uint8_t *sig, uint32_t sig_size,
    uint32_t c_plus_type_flag, const void *value, uint32_t value_length, mdMethodDef setter_method,
    mdMethodDef getter_method, const mdMethodDef *other_methods, mdProperty *property_token)
{
    if (property_token != NULL)
        *property_token = 0;
    return self->vtbl->DefineProperty(self, type_def, property, prop_flags, sig, sig_size,
        c_plus_type_flag, value, value_length, setter_method, getter_method,
        other_methods, property_token);
}
static inline HRESULT clr_emit_define_param(IMetaDataEmit2 *self, mdMethodDef method,
    uint32_t param_seq, const WCHAR *name, uint32_t param_flags, uint32_t c_plus_type_flag,
    const void *value, uint32_t value_length, mdParamDef *param)
{
    if (param != NULL)
        *param = 0;
    return self->vtbl->DefineParam(self, method, param_seq, name, param_flags,
        c_plus_type_flag, value, value_length, param);
}
static inline HRESULT clr_emit_set_field_props(IMetaDataEmit2 *self, mdFieldDef field,
    uint32_t field_flags, uint32_t c_plus_type_flag, const void *value, uint32_t value_length)
{
    return self->vtbl->SetFieldProps(self, field, field_flags, c_plus_type_flag, value,
        value_length);
}
static inline HRESULT clr_emit_set_property_props(IMetaDataEmit2 *self, mdProperty property_token,
    uint32_t prop_flags, uint32_t c_plus_type_flag, const void *value, uint32_t value_length,
    mdMethodDef setter_method, mdMethodDef getter_method, const mdMethodDef *other_methods)
{
    return self->vtbl->SetPropertyProps(self, property_token, prop_flags, c_plus_type_flag,
        value, value_length, setter_method, getter_method, other_methods);
}
static inline HRESULT clr_emit_set_param_props(IMetaDataEmit2 *self, mdParamDef param,
    const WCHAR *name, uint32_t param_flags, uint32_t c_plus_type_flag, const void *value,
    uint32_t value_length)
{
    return self->vtbl->SetParamProps(self, param, name, param_flags, c_plus_type_flag, value,
        value_length);
}
static inline HRESULT clr_emit_define_security_attribute_set(IMetaDataEmit2 *self, mdToken object,
    const COR_SECATTR *sec_attrs, uint32_t sec_attr_count, uint32_t *error_attr)
{
    if (error_attr != NULL)
        *error_attr = 0;
    return self->vtbl->DefineSecurityAttributeSet(self, object, sec_attrs, sec_attr_count,
        error_attr);
}
static inline HRESULT clr_emit_apply_edit_and_continue(IMetaDataEmit2 *self, clr_unknown *import)
{
    return self->vtbl->ApplyEditAndContinue(self, import);
}
static inline HRESULT clr_emit_translate_sig_with_scope(IMetaDataEmit2 *self,
    IMetaDataAssemblyImport *assem_import, const void *hash_value, uint32_t hash_value_size,
    IMetaDataImport *import, const uint8_t *sig_blob, uint32_t sig_blob_size,
    IMetaDataAssemblyEmit *assem_emit, IMetaDataEmit *emit, uint8_t *translated_sig,
    uint32_t translated_sig_max_size, uint32_t *translated_sig_size)
{
    if (translated_sig_size != NULL)
        *translated_sig_size = 0;
    return self->vtbl->TranslateSigWithScope(self, assem_import, hash_value, hash_value_size,
        import, sig_blob, sig_blob_size, assem_emit, emit, translated_sig,
        translated_sig_max_size, translated_sig_size);
}
static inline HRESULT clr_emit_set_method_impl_flags(IMetaDataEmit2 *self, mdMethodDef method,
    uint32_t impl_flags)
{
    return self->vtbl->SetMethodImplFlags(self, method, impl_flags);
}
static inline HRESULT clr_emit_set_field_rva(IMetaDataEmit2 *self, mdFieldDef field, uint32_t rva)
{
    return self->vtbl->SetFieldRVA(self, field, rva);
}
static inline HRESULT clr_emit_merge(IMetaDataEmit2 *self, IMetaDataImport *import,
    void *host_map_token, clr_unknown *handler)
{
    return self->vtbl->Merge(self, import, host_map_token, handler);
}
static inline HRESULT clr_emit_merge_end(IMetaDataEmit2 *self)
{
    return self->vtbl->MergeEnd(self);
}
static inline HRESULT clr_emit_define_method_spec(IMetaDataEmit2 *self, mdToken parent,
    const uint8_t *sig_blob, uint32_t sig_blob_size, mdMethodSpec *method_spec)
{
    if (method_spec != NULL)
        *method_spec = 0;
    return self->vtbl->DefineMethodSpec(self, parent, sig_blob, sig_blob_size, method_spec);
}
static inline HRESULT clr_emit_get_delta_save_size(IMetaDataEmit2 *self, CorSaveSize save,
    uint32_t *save_size)
{
    if (save_size != NULL)
        *save_size = 0;
    return self->vtbl->GetDeltaSaveSize(self, save, save_size);
}
static inline HRESULT clr_emit_save_delta(IMetaDataEmit2 *self, const WCHAR *file,
    uint32_t save_flags)
{
    return self->vtbl->SaveDelta(self, file, save_flags);
}
static inline HRESULT clr_emit_save_delta_to_stream(IMetaDataEmit2 *self, void *stream,
    uint32_t save_flags)
{
    return self->vtbl->SaveDeltaToStream(self, stream, save_flags);
}
static inline HRESULT clr_emit_save_delta_to_memory(IMetaDataEmit2 *self, void *data,
    uint32_t data_size)
{
    return self->vtbl->SaveDeltaToMemory(self, data, data_size);
}
static inline HRESULT clr_emit_define_generic_param(IMetaDataEmit2 *self, mdToken token,
    uint32_t param_seq, uint32_t param_flags, const WCHAR *name, uint32_t reserved,
    const mdToken *constraints, mdGenericParam *generic_param)
{
    if (generic_param != NULL)
        *generic_param = 0;
    return self->vtbl->DefineGenericParam(self, token, param_seq, param_flags, name, reserved,
        constraints, generic_param);
}
static inline HRESULT clr_emit_set_generic_param_props(IMetaDataEmit2 *self,
    mdGenericParam generic_param, uint32_t param_flags, const WCHAR *name, uint32_t reserved,
    const mdToken *constraints)
{
    return self->vtbl->SetGenericParamProps(self, generic_param, param_flags, name, reserved,
        constraints);
}
static inline HRESULT clr_emit_reset_enc_log(IMetaDataEmit2 *self)
{
    return self->vtbl->ResetENCLog(self);
}

/* IMetaDataAssemblyImport */
static inline HRESULT clr_assembly_import_get_assembly_props(IMetaDataAssemblyImport *self,
    mdAssembly assembly, const void **public_key, uint32_t *public_key_size, uint32_t *hash_alg_id,
    WCHAR *name, uint32_t name_capacity, uint32_t *name_length, ASSEMBLYMETADATA *metadata,
    uint32_t *assembly_flags)
{
    if (public_key != NULL)
        *public_key = NULL;
    if (public_key_size != NULL)
        *public_key_size = 0;
    if (hash_alg_id != NULL)
        *hash_alg_id = 0;
    if (name_length != NULL)
        *name_length = 0;
    if (assembly_flags != NULL)
        *assembly_flags = 0;
    return self->vtbl->GetAssemblyProps(self, assembly, public_key, public_key_size,
        hash_alg_id, name, name_capacity, name_length, metadata, assembly_flags);
}
static inline HRESULT clr_assembly_import_get_assembly_ref_props(IMetaDataAssemblyImport *self,
    mdAssemblyRef assembly_ref_token, const void **public_key_or_token,
    uint32_t *public_key_or_token_size, WCHAR *name, uint32_t name_capacity, uint32_t *name_length,
    ASSEMBLYMETADATA *metadata, const void **hash_value, uint32_t *hash_value_size,
    uint32_t *assembly_ref_flags)
{
    if (public_key_or_token != NULL)
        *public_key_or_token = NULL;
    if (public_key_or_token_size != NULL)
        *public_key_or_token_size = 0;
    if (name_length != NULL)
        *name_length = 0;
    if (hash_value != NULL)
        *hash_value = NULL;
    if (hash_value_size != NULL)
        *hash_value_size = 0;
    if (assembly_ref_flags != NULL)
        *assembly_ref_flags = 0;
    return self->vtbl->GetAssemblyRefProps(self, assembly_ref_token, public_key_or_token,
        public_key_or_token_size, name, name_capacity, name_length, metadata,
        hash_value, hash_value_size, assembly_ref_flags);
}
static inline HRESULT clr_assembly_import_get_file_props(IMetaDataAssemblyImport *self, mdFile file,
    WCHAR *name, uint32_t name_capacity, uint32_t *name_length, const void **hash_value,
    uint32_t *hash_value_size, uint32_t *file_flags)
{
    if (name_length != NULL)
        *name_length = 0;
    if (hash_value != NULL)
        *hash_value = NULL;
    if (hash_value_size != NULL)
        *hash_value_size = 0;
    if (file_flags != NULL)
        *file_flags = 0;
    return self->vtbl->GetFileProps(self, file, name, name_capacity, name_length, hash_value,
        hash_value_size, file_flags);
}
static inline HRESULT clr_assembly_import_get_exported_type_props(IMetaDataAssemblyImport *self,
    mdExportedType exported_type_token, WCHAR *name, uint32_t name_capacity, uint32_t *name_length,
    mdToken *implementation, mdTypeDef *type_def, uint32_t *exported_type_flags)
{
    if (name_length != NULL)
        *name_length = 0;
    if (implementation != NULL)
        *implementation = 0;
    if (type_def != NULL)
        *type_def = 0;
    if (exported_type_flags != NULL)
        *exported_type_flags = 0;
    return self->vtbl->GetExportedTypeProps(self, exported_type_token, name, name_capacity,
        name_length, implementation, type_def, exported_type_flags);
}
static inline HRESULT clr_assembly_import_get_manifest_resource_props(IMetaDataAssemblyImport *self,
    mdManifestResource resource, WCHAR *name, uint32_t name_capacity, uint32_t *name_length,
    mdToken *implementation, uint32_t *offset, uint32_t *resource_flags)
{
    if (name_length != NULL)
        *name_length = 0;
    if (implementation != NULL)
        *implementation = 0;
    if (offset != NULL)
        *offset = 0;
    if (resource_flags != NULL)
        *resource_flags = 0;
    return self->vtbl->GetManifestResourceProps(self, resource, name, name_capacity,
        name_length, implementation, offset, resource_flags);
}
static inline HRESULT clr_assembly_import_enum_assembly_refs(IMetaDataAssemblyImport *self,
    clr_enumeration *enumeration, mdAssemblyRef *assembly_refs, uint32_t capacity,
    uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumAssemblyRefs(self, enumeration, assembly_refs, capacity,
        token_count);
}
static inline HRESULT clr_assembly_import_enum_files(IMetaDataAssemblyImport *self,
    clr_enumeration *enumeration, mdFile *files, uint32_t capacity, uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumFiles(self, enumeration, files, capacity, token_count);
}
static inline HRESULT clr_assembly_import_enum_exported_types(IMetaDataAssemblyImport *self,
    clr_enumeration *enumeration, mdExportedType *exported_types, uint32_t capacity,
    uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumExportedTypes(self, enumeration, exported_types, capacity,
        token_count);
}
static inline HRESULT clr_assembly_import_enum_manifest_resources(IMetaDataAssemblyImport *self,
    clr_enumeration *enumeration, mdManifestResource *manifest_resources, uint32_t capacity,
    uint32_t *token_count)
{
    if (token_count != NULL)
        *token_count = 0;
    return self->vtbl->EnumManifestResources(self, enumeration, manifest_resources, capacity,
        token_count);
}
static inline HRESULT clr_assembly_import_get_assembly_from_scope(IMetaDataAssemblyImport *self,
    mdAssembly *assembly)
{
    if (assembly != NULL)
        *assembly = 0;
    return self->vtbl->GetAssemblyFromScope(self, assembly);
}
static inline HRESULT clr_assembly_import_find_exported_type_by_name(IMetaDataAssemblyImport *self,
    const WCHAR *name, mdToken mdt_exported_type, mdExportedType *exported_type)
{
    if (exported_type != NULL)
        *exported_type = 0;
    return self->vtbl->FindExportedTypeByName(self, name, mdt_exported_type, exported_type);
}
static inline HRESULT clr_assembly_import_find_manifest_resource_by_name(IMetaDataAssemblyImport *self,
    const WCHAR *name, mdManifestResource *manifest_resource)
{
    if (manifest_resource != NULL)
        *manifest_resource = 0;
    return self->vtbl->FindManifestResourceByName(self, name, manifest_resource);
}
static inline void clr_assembly_import_close_enum(IMetaDataAssemblyImport *self,
    clr_enumeration enumeration)
{
    self->vtbl->CloseEnum(self, enumeration);
}
static inline HRESULT clr_assembly_import_find_assemblies_by_name(IMetaDataAssemblyImport *self,
    const WCHAR *app_base, const WCHAR *private_bin, const WCHAR *assembly_name, clr_unknown **out,
    uint32_t capacity, uint32_t *assemblies_count)
{
    if (assemblies_count != NULL)
        *assemblies_count = 0;
    return self->vtbl->FindAssembliesByName(self, app_base, private_bin, assembly_name, out,
        capacity, assemblies_count);
}

/* IMetaDataAssemblyEmit */
static inline HRESULT clr_assembly_emit_define_assembly(IMetaDataAssemblyEmit *self,
    const void *public_key, uint32_t public_key_size, uint32_t hash_alg_id, const WCHAR *name,
    const ASSEMBLYMETADATA *metadata, uint32_t assembly_flags, mdAssembly *assembly)
{
    if (assembly != NULL)
        *assembly = 0;
    return self->vtbl->DefineAssembly(self, public_key, public_key_size, hash_alg_id, name,
        metadata, assembly_flags, assembly);
}
static inline HRESULT clr_assembly_emit_define_assembly_ref(IMetaDataAssemblyEmit *self,
    const void *public_key_or_token, uint32_t public_key_or_token_size, const WCHAR *name,
    const ASSEMBLYMETADATA *metadata, const void *hash_value, uint32_t hash_value_size,
    uint32_t assembly_ref_flags, mdAssemblyRef *assembly_ref)
{
    if (assembly_ref != NULL)
        *assembly_ref = 0;
    return self->vtbl->DefineAssemblyRef(self, public_key_or_token, public_key_or_token_size,
        name, metadata, hash_value, hash_value_size, assembly_ref_flags,
        assembly_ref);
}
static inline HRESULT clr_assembly_emit_define_file(IMetaDataAssemblyEmit *self, const WCHAR *name,
    const void *hash_value, uint32_t hash_value_size, uint32_t file_flags, mdFile *file)
{
    if (file != NULL)
        *file = 0;
    return self->vtbl->DefineFile(self, name, hash_value, hash_value_size, file_flags, file);
}
static inline HRESULT clr_assembly_emit_define_exported_type(IMetaDataAssemblyEmit *self,
    const WCHAR *name, mdToken implementation, mdTypeDef type_def, uint32_t exported_type_flags,
    mdExportedType *exported_type)
{
    if (exported_type != NULL)
        *exported_type = 0;
    return self->vtbl->DefineExportedType(self, name, implementation, type_def,
        exported_type_flags, exported_type);
}
static inline HRESULT clr_assembly_emit_define_manifest_resource(IMetaDataAssemblyEmit *self,
    const WCHAR *name, mdToken implementation, uint32_t offset, uint32_t resource_flags,
    mdManifestResource *resource)
{
    if (resource != NULL)
        *resource = 0;
    return self->vtbl->DefineManifestResource(self, name, implementation, offset,
        resource_flags, resource);
}
static inline HRESULT clr_assembly_emit_set_assembly_props(IMetaDataAssemblyEmit *self,
    mdAssembly assembly, const void *public_key, uint32_t public_key_size, uint32_t hash_alg_id,
    const WCHAR *name, const ASSEMBLYMETADATA *metadata, uint32_t assembly_flags)
{
    return self->vtbl->SetAssemblyProps(self, assembly, public_key, public_key_size,
        hash_alg_id, name, metadata, assembly_flags);
}
static inline HRESULT clr_assembly_emit_set_assembly_ref_props(IMetaDataAssemblyEmit *self,
    mdAssemblyRef assembly_ref_token, const void *public_key_or_token,
    uint32_t public_key_or_token_size, const WCHAR *name, const ASSEMBLYMETADATA *metadata,
    const void *hash_value, uint32_t hash_value_size, uint32_t assembly_ref_flags)
{
    return self->vtbl->SetAssemblyRefProps(self, assembly_ref_token, public_key_or_token,
        public_key_or_token_size, name, metadata, hash_value, hash_value_size,
        assembly_ref_flags);
}
static inline HRESULT clr_assembly_emit_set_file_props(IMetaDataAssemblyEmit *self, mdFile file,
    const void *hash_value, uint32_t hash_value_size, uint32_t file_flags)
{
    return self->vtbl->SetFileProps(self, file, hash_value, hash_value_size, file_flags);
}
static inline HRESULT clr_assembly_emit_set_exported_type_props(IMetaDataAssemblyEmit *self,
    mdExportedType exported_type_token, mdToken implementation, mdTypeDef type_def,
    uint32_t exported_type_flags)
{
    return self->vtbl->SetExportedTypeProps(self, exported_type_token, implementation,
        type_def, exported_type_flags);
}
static inline HRESULT clr_assembly_emit_set_manifest_resource_props(IMetaDataAssemblyEmit *self,
    mdManifestResource resource, mdToken implementation, uint32_t offset, uint32_t resource_flags)
{
    return self->vtbl->SetManifestResourceProps(self, resource, implementation, offset,
        resource_flags);
}

/* IMetaDataTables2 */
static inline HRESULT clr_tables_get_string_heap_size(IMetaDataTables2 *self, uint32_t *size)
{
    if (size != NULL)
        *size = 0;
    return self->vtbl->GetStringHeapSize(self, size);
}
static inline HRESULT clr_tables_get_blob_heap_size(IMetaDataTables2 *self, uint32_t *size)
{
    if (size != NULL)
        *size = 0;
    return self->vtbl->GetBlobHeapSize(self, size);
}
static inline HRESULT clr_tables_get_guid_heap_size(IMetaDataTables2 *self, uint32_t *size)
{
    if (size != NULL)
        *size = 0;
    return self->vtbl->GetGuidHeapSize(self, size);
}
static inline HRESULT clr_tables_get_user_string_heap_size(IMetaDataTables2 *self, uint32_t *size)
{
    if (size != NULL)
        *size = 0;
    return self->vtbl->GetUserStringHeapSize(self, size);
}
static inline HRESULT clr_tables_get_num_tables(IMetaDataTables2 *self, uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    return self->vtbl->GetNumTables(self, count);
}
static inline HRESULT clr_tables_get_table_index(IMetaDataTables2 *self, uint32_t token,
    uint32_t *table)
{
    if (table != NULL)
        *table = 0;
    return self->vtbl->GetTableIndex(self, token, table);
}
static inline HRESULT clr_tables_get_table_info(IMetaDataTables2 *self, uint32_t table,
    uint32_t *row_size, uint32_t *row_count, uint32_t *column_count, uint32_t *key_column,
    const char **name)
{
    HRESULT hr;

    if (row_size != NULL)
        *row_size = 0;
    if (row_count != NULL)
        *row_count = 0;
    if (column_count != NULL)
        *column_count = 0;
    if (key_column != NULL)
        *key_column = 0;
    if (name != NULL)
        *name = NULL;
    hr = self->vtbl->GetTableInfo(self, table, row_size, row_count, column_count, key_column,
        name);
    if (hr == 0 && name != NULL && *name == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_column_info(IMetaDataTables2 *self, uint32_t table,
    uint32_t column, uint32_t *offset, uint32_t *column_size, uint32_t *type, const char **name)
{
    HRESULT hr;

    if (offset != NULL)
        *offset = 0;
    if (column_size != NULL)
        *column_size = 0;
    if (type != NULL)
        *type = 0;
    if (name != NULL)
        *name = NULL;
    hr = self->vtbl->GetColumnInfo(self, table, column, offset, column_size, type, name);
    if (hr == 0 && name != NULL && *name == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_coded_token_info(IMetaDataTables2 *self, uint32_t coded_token,
    uint32_t *token_count, uint32_t **tokens, const char **name)
{
    HRESULT hr;

    if (token_count != NULL)
        *token_count = 0;
    if (tokens != NULL)
        *tokens = NULL;
    if (name != NULL)
        *name = NULL;
    hr = self->vtbl->GetCodedTokenInfo(self, coded_token, token_count, tokens, name);
    if (hr == 0 && tokens != NULL && *tokens == NULL)
        hr = E_POINTER;
    if (hr == 0 && name != NULL && *name == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_row(IMetaDataTables2 *self, uint32_t table, uint32_t row,
    void **data)
{
    HRESULT hr;

    if (data != NULL)
        *data = NULL;
    hr = self->vtbl->GetRow(self, table, row, data);
    if (hr == 0 && data != NULL && *data == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_column(IMetaDataTables2 *self, uint32_t table, uint32_t column,
    uint32_t row, uint32_t *value)
{
    if (value != NULL)
        *value = 0;
    return self->vtbl->GetColumn(self, table, column, row, value);
}
static inline HRESULT clr_tables_get_string(IMetaDataTables2 *self, uint32_t string,
    const char **text)
{
    HRESULT hr;

    if (text != NULL)
        *text = NULL;
    hr = self->vtbl->GetString(self, string, text);
    if (hr == 0 && text != NULL && *text == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_blob(IMetaDataTables2 *self, uint32_t blob,
    uint32_t *data_size, const void **data)
{
    HRESULT hr;

    if (data_size != NULL)
        *data_size = 0;
    if (data != NULL)
        *data = NULL;
    hr = self->vtbl->GetBlob(self, blob, data_size, data);
    if (hr == 0 && data != NULL && *data == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_guid(IMetaDataTables2 *self, uint32_t guid, const GUID **value)
{
    HRESULT hr;

    if (value != NULL)
        *value = NULL;
    hr = self->vtbl->GetGuid(self, guid, value);
    if (hr == 0 && value != NULL && *value == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_user_string(IMetaDataTables2 *self, uint32_t user_string,
    uint32_t *data_size, const void **data)
{
    HRESULT hr;

    if (data_size != NULL)
        *data_size = 0;
    if (data != NULL)
        *data = NULL;
    hr = self->vtbl->GetUserString(self, user_string, data_size, data);
    if (hr == 0 && data != NULL && *data == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_next_string(IMetaDataTables2 *self, uint32_t string,
    uint32_t *next)
{
    if (next != NULL)
        *next = 0;
    return self->vtbl->GetNextString(self, string, next);
}
static inline HRESULT clr_tables_get_next_blob(IMetaDataTables2 *self, uint32_t blob,
    uint32_t *next)
{
    if (next != NULL)
        *next = 0;
    return self->vtbl->GetNextBlob(self, blob, next);
}
static inline HRESULT clr_tables_get_next_guid(IMetaDataTables2 *self, uint32_t guid,
    uint32_t *next)
{
    if (next != NULL)
        *next = 0;
    return self->vtbl->GetNextGuid(self, guid, next);
}
static inline HRESULT clr_tables_get_next_user_string(IMetaDataTables2 *self, uint32_t user_string,
    uint32_t *next)
{
    if (next != NULL)
        *next = 0;
    return self->vtbl->GetNextUserString(self, user_string, next);
}
static inline HRESULT clr_tables_get_metadata_storage(IMetaDataTables2 *self, const void **metadata,
    uint32_t *metadata_size)
{
    HRESULT hr;

    if (metadata != NULL)
        *metadata = NULL;
    if (metadata_size != NULL)
        *metadata_size = 0;
    hr = self->vtbl->GetMetaDataStorage(self, metadata, metadata_size);
    if (hr == 0 && metadata != NULL && *metadata == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_tables_get_metadata_stream_info(IMetaDataTables2 *self, uint32_t index,
    const char **name, const void **data, uint32_t *size)
{
    HRESULT hr;

    if (name != NULL)
        *name = NULL;
    if (data != NULL)
        *data = NULL;
    if (size != NULL)
        *size = 0;
    hr = self->vtbl->GetMetaDataStreamInfo(self, index, name, data, size);
    if (hr == 0 && name != NULL && *name == NULL)
        hr = E_POINTER;
    if (hr == 0 && data != NULL && *data == NULL)
        hr = E_POINTER;
    return hr;
}

/* IMetaDataDispenserEx */
static inline HRESULT clr_dispenser_define_scope(IMetaDataDispenserEx *self, const GUID *clsid,
    uint32_t create_flags, const GUID *iid, clr_unknown **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = self->vtbl->DefineScope(self, clsid, create_flags, iid, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_dispenser_open_scope(IMetaDataDispenserEx *self, const WCHAR *scope,
    uint32_t open_flags, const GUID *iid, clr_unknown **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = self->vtbl->OpenScope(self, scope, open_flags, iid, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_dispenser_open_scope_on_memory(IMetaDataDispenserEx *self,
    const void *data, uint32_t data_size, uint32_t open_flags, const GUID *iid, clr_unknown **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = self->vtbl->OpenScopeOnMemory(self, data, data_size, open_flags, iid, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_dispenser_set_option(IMetaDataDispenserEx *self, const GUID *option,
    const void *value)
{
    return self->vtbl->SetOption(self, option, value);
}
static inline HRESULT clr_dispenser_get_option(IMetaDataDispenserEx *self, const GUID *option,
    void *value)
{
    return self->vtbl->GetOption(self, option, value);
}
static inline HRESULT clr_dispenser_open_scope_on_i_type_info(IMetaDataDispenserEx *self,
    void *type_info, uint32_t open_flags, const GUID *iid, clr_unknown **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = self->vtbl->OpenScopeOnITypeInfo(self, type_info, open_flags, iid, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_dispenser_get_cor_system_directory(IMetaDataDispenserEx *self,
    WCHAR *directory, uint32_t directory_capacity, uint32_t *directory_length)
{
    if (directory_length != NULL)
        *directory_length = 0;
    return self->vtbl->GetCORSystemDirectory(self, directory, directory_capacity,
        directory_length);
}
static inline HRESULT clr_dispenser_find_assembly(IMetaDataDispenserEx *self, const WCHAR *app_base,
    const WCHAR *private_bin, const WCHAR *global_bin, const WCHAR *assembly_name, WCHAR *name,
    uint32_t name_capacity, uint32_t *name_length)
{
    if (name_length != NULL)
        *name_length = 0;
    return self->vtbl->FindAssembly(self, app_base, private_bin, global_bin, assembly_name,
        name, name_capacity, name_length);
}
static inline HRESULT clr_dispenser_find_assembly_module(IMetaDataDispenserEx *self,
    const WCHAR *app_base, const WCHAR *private_bin, const WCHAR *global_bin,
    const WCHAR *assembly_name, const WCHAR *module_name, WCHAR *name, uint32_t name_capacity,
    uint32_t *name_length)
{
    if (name_length != NULL)
        *name_length = 0;
    return self->vtbl->FindAssemblyModule(self, app_base, private_bin, global_bin,
        assembly_name, module_name, name, name_capacity, name_length);
}

/* ICorProfilerObjectEnum */
static inline HRESULT clr_object_enum_skip(ICorProfilerObjectEnum *self, uint32_t count)
{
    return self->vtbl->Skip(self, count);
}
static inline HRESULT clr_object_enum_reset(ICorProfilerObjectEnum *self)
{
    return self->vtbl->Reset(self);
}
static inline HRESULT clr_object_enum_clone(ICorProfilerObjectEnum *self,
    ICorProfilerObjectEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    hr = self->vtbl->Clone(self, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_object_enum_get_count(ICorProfilerObjectEnum *self, uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    return self->vtbl->GetCount(self, count);
}
static inline HRESULT clr_object_enum_next(ICorProfilerObjectEnum *self, uint32_t count,
    ObjectID *objects, uint32_t *fetched)
{
    if (fetched != NULL)
        *fetched = 0;
    return self->vtbl->Next(self, count, objects, fetched);
}

/* ICorProfilerFunctionEnum */
static inline HRESULT clr_function_enum_skip(ICorProfilerFunctionEnum *self, uint32_t count)
{
    return self->vtbl->Skip(self, count);
}
static inline HRESULT clr_function_enum_reset(ICorProfilerFunctionEnum *self)
{
    return self->vtbl->Reset(self);
}
static inline HRESULT clr_function_enum_clone(ICorProfilerFunctionEnum *self,
    ICorProfilerFunctionEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    hr = self->vtbl->Clone(self, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_function_enum_get_count(ICorProfilerFunctionEnum *self, uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    return self->vtbl->GetCount(self, count);
}
static inline HRESULT clr_function_enum_next(ICorProfilerFunctionEnum *self, uint32_t count,
    COR_PRF_FUNCTION *ids, uint32_t *fetched)
{
    if (fetched != NULL)
        *fetched = 0;
    return self->vtbl->Next(self, count, ids, fetched);
}

/* ICorProfilerModuleEnum */
static inline HRESULT clr_module_enum_skip(ICorProfilerModuleEnum *self, uint32_t count)
{
    return self->vtbl->Skip(self, count);
}
static inline HRESULT clr_module_enum_reset(ICorProfilerModuleEnum *self)
{
    return self->vtbl->Reset(self);
}
static inline HRESULT clr_module_enum_clone(ICorProfilerModuleEnum *self,
    ICorProfilerModuleEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    hr = self->vtbl->Clone(self, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_module_enum_get_count(ICorProfilerModuleEnum *self, uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    return self->vtbl->GetCount(self, count);
}
static inline HRESULT clr_module_enum_next(ICorProfilerModuleEnum *self, uint32_t count,
    ModuleID *ids, uint32_t *fetched)
{
    if (fetched != NULL)
        *fetched = 0;
    return self->vtbl->Next(self, count, ids, fetched);
}

/* ICorProfilerThreadEnum */
static inline HRESULT clr_thread_enum_skip(ICorProfilerThreadEnum *self, uint32_t count)
{
    return self->vtbl->Skip(self, count);
}
static inline HRESULT clr_thread_enum_reset(ICorProfilerThreadEnum *self)
{
    return self->vtbl->Reset(self);
}
static inline HRESULT clr_thread_enum_clone(ICorProfilerThreadEnum *self,
    ICorProfilerThreadEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    hr = self->vtbl->Clone(self, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_thread_enum_get_count(ICorProfilerThreadEnum *self, uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    return self->vtbl->GetCount(self, count);
}
static inline HRESULT clr_thread_enum_next(ICorProfilerThreadEnum *self, uint32_t count,
    ThreadID *ids, uint32_t *fetched)
{
    if (fetched != NULL)
        *fetched = 0;
    return self->vtbl->Next(self, count, ids, fetched);
}

/* ICorProfilerMethodEnum */
static inline HRESULT clr_method_enum_skip(ICorProfilerMethodEnum *self, uint32_t count)
{
    return self->vtbl->Skip(self, count);
}
static inline HRESULT clr_method_enum_reset(ICorProfilerMethodEnum *self)
{
    return self->vtbl->Reset(self);
}
static inline HRESULT clr_method_enum_clone(ICorProfilerMethodEnum *self,
    ICorProfilerMethodEnum **enumerator)
{
    HRESULT hr;

    if (enumerator != NULL)
        *enumerator = NULL;
    hr = self->vtbl->Clone(self, enumerator);
    if (hr == 0 && enumerator != NULL && *enumerator == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_method_enum_get_count(ICorProfilerMethodEnum *self, uint32_t *count)
{
    if (count != NULL)
        *count = 0;
    return self->vtbl->GetCount(self, count);
}
static inline HRESULT clr_method_enum_next(ICorProfilerMethodEnum *self, uint32_t count,
    COR_PRF_METHOD *elements, uint32_t *fetched)
{
    if (fetched != NULL)
        *fetched = 0;
    return self->vtbl->Next(self, count, elements, fetched);
}

/* ICorProfilerFunctionControl */
static inline HRESULT clr_function_control_set_codegen_flags(ICorProfilerFunctionControl *self,
    uint32_t flags)
{
    return self->vtbl->SetCodegenFlags(self, flags);
}
static inline HRESULT clr_function_control_set_il_function_body(ICorProfilerFunctionControl *self,
    uint32_t new_il_method_header_size, const uint8_t *new_il_method_header)
{
    return self->vtbl->SetILFunctionBody(self, new_il_method_header_size, new_il_method_header);
}
static inline HRESULT clr_function_control_set_il_instrumented_code_map(ICorProfilerFunctionControl *self,
    uint32_t il_map_entry_count, const COR_IL_MAP *il_map_entries)
{
    return self->vtbl->SetILInstrumentedCodeMap(self, il_map_entry_count, il_map_entries);
}

/* IMethodMalloc */
static inline void *clr_method_malloc_alloc(IMethodMalloc *self, uint32_t size)
{
    return self->vtbl->Alloc(self, size);
}

/* ICorProfilerAssemblyReferenceProvider */
static inline HRESULT clr_assembly_reference_provider_add_assembly_reference(ICorProfilerAssemblyReferenceProvider *self,
    const COR_PRF_ASSEMBLY_REFERENCE_INFO *assembly_ref_info)
{
    return self->vtbl->AddAssemblyReference(self, assembly_ref_info);
}

/* ClrClassFactory */
static inline HRESULT clr_class_factory_create_instance(ClrClassFactory *self, clr_unknown *outer,
    const GUID *iid, void **out)
{
    HRESULT hr;

    if (out != NULL)
        *out = NULL;
    hr = self->vtbl->CreateInstance(self, outer, iid, out);
    if (hr == 0 && out != NULL && *out == NULL)
        hr = E_POINTER;
    return hr;
}
static inline HRESULT clr_class_factory_lock_server(ClrClassFactory *self, BOOL lock)
{
    return self->vtbl->LockServer(self, lock);
}

#ifdef __cplusplus
}
#endif

#endif
