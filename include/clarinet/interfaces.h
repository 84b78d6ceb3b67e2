/* clang-format off */
/* Made by tools/clr/generate.py from tools/clr/interfaces.txt: do not edit. */

/*
 * interfaces: every interface of the CLR's profiling and metadata APIs as a C structure, and the
 * IIDs. A newer interface only adds slots behind those of its base, so each chain has one structure,
 * that of its newest member, and the older names are the same type. The offset of a member is its
 * slot times the size of a pointer. What an object really has follows from the IID it was asked for;
 * profilers call through calls.h, which knows, and which clears and checks what comes back.
 */
#ifndef CLARINET_INTERFACES_H
#define CLARINET_INTERFACES_H

#include "clarinet/flags.h"
#include "clarinet/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clr_unknown clr_unknown;
struct clr_unknown {
    const struct clr_unknown_vtbl *vtbl;
};
struct clr_unknown_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(void *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(void *self);
    uint32_t(CLR_CALL *Release)(void *self);
};
extern const GUID CLR_IID_IUnknown;

typedef struct ICorProfilerCallback11 ICorProfilerCallback11;
typedef struct ICorProfilerCallback11 ICorProfilerCallback10;
typedef struct ICorProfilerCallback11 ICorProfilerCallback9;
typedef struct ICorProfilerCallback11 ICorProfilerCallback8;
typedef struct ICorProfilerCallback11 ICorProfilerCallback7;
typedef struct ICorProfilerCallback11 ICorProfilerCallback6;
typedef struct ICorProfilerCallback11 ICorProfilerCallback5;
typedef struct ICorProfilerCallback11 ICorProfilerCallback4;
typedef struct ICorProfilerCallback11 ICorProfilerCallback3;
typedef struct ICorProfilerCallback11 ICorProfilerCallback2;
typedef struct ICorProfilerCallback11 ICorProfilerCallback;
typedef struct ICorProfilerObjectEnum ICorProfilerObjectEnum;
typedef struct ICorProfilerFunctionEnum ICorProfilerFunctionEnum;
typedef struct ICorProfilerModuleEnum ICorProfilerModuleEnum;
typedef struct ICorProfilerFunctionControl ICorProfilerFunctionControl;
typedef struct ICorProfilerInfo15 ICorProfilerInfo15;
typedef struct ICorProfilerInfo15 ICorProfilerInfo14;
typedef struct ICorProfilerInfo15 ICorProfilerInfo13;
typedef struct ICorProfilerInfo15 ICorProfilerInfo12;
typedef struct ICorProfilerInfo15 ICorProfilerInfo11;
typedef struct ICorProfilerInfo15 ICorProfilerInfo10;
typedef struct ICorProfilerInfo15 ICorProfilerInfo9;
typedef struct ICorProfilerInfo15 ICorProfilerInfo8;
typedef struct ICorProfilerInfo15 ICorProfilerInfo7;
typedef struct ICorProfilerInfo15 ICorProfilerInfo6;
typedef struct ICorProfilerInfo15 ICorProfilerInfo5;
typedef struct ICorProfilerInfo15 ICorProfilerInfo4;
typedef struct ICorProfilerInfo15 ICorProfilerInfo3;
typedef struct ICorProfilerInfo15 ICorProfilerInfo2;
typedef struct ICorProfilerInfo15 ICorProfilerInfo;
typedef struct ICorProfilerMethodEnum ICorProfilerMethodEnum;
typedef struct ICorProfilerThreadEnum ICorProfilerThreadEnum;
typedef struct ICorProfilerAssemblyReferenceProvider ICorProfilerAssemblyReferenceProvider;
typedef struct IMethodMalloc IMethodMalloc;
typedef struct IMetaDataImport2 IMetaDataImport2;
typedef struct IMetaDataImport2 IMetaDataImport;
typedef struct IMetaDataEmit2 IMetaDataEmit2;
typedef struct IMetaDataEmit2 IMetaDataEmit;
typedef struct IMetaDataAssemblyImport IMetaDataAssemblyImport;
typedef struct IMetaDataAssemblyEmit IMetaDataAssemblyEmit;
typedef struct IMetaDataDispenserEx IMetaDataDispenserEx;
typedef struct IMetaDataDispenserEx IMetaDataDispenser;
typedef struct IMetaDataTables2 IMetaDataTables2;
typedef struct IMetaDataTables2 IMetaDataTables;
typedef struct ClrClassFactory ClrClassFactory;

extern const GUID CLR_IID_ICorProfilerCallback;
extern const GUID CLR_IID_ICorProfilerCallback2;
extern const GUID CLR_IID_ICorProfilerCallback3;
extern const GUID CLR_IID_ICorProfilerCallback4;
extern const GUID CLR_IID_ICorProfilerCallback5;
extern const GUID CLR_IID_ICorProfilerCallback6;
extern const GUID CLR_IID_ICorProfilerCallback7;
extern const GUID CLR_IID_ICorProfilerCallback8;
extern const GUID CLR_IID_ICorProfilerCallback9;
extern const GUID CLR_IID_ICorProfilerCallback10;
extern const GUID CLR_IID_ICorProfilerCallback11;
extern const GUID CLR_IID_ICorProfilerInfo;
extern const GUID CLR_IID_ICorProfilerInfo2;
extern const GUID CLR_IID_ICorProfilerInfo3;
extern const GUID CLR_IID_ICorProfilerObjectEnum;
extern const GUID CLR_IID_ICorProfilerFunctionEnum;
extern const GUID CLR_IID_ICorProfilerModuleEnum;
extern const GUID CLR_IID_ICorProfilerFunctionControl;
extern const GUID CLR_IID_ICorProfilerInfo4;
extern const GUID CLR_IID_ICorProfilerInfo5;
extern const GUID CLR_IID_ICorProfilerInfo6;
extern const GUID CLR_IID_ICorProfilerInfo7;
extern const GUID CLR_IID_ICorProfilerInfo8;
extern const GUID CLR_IID_ICorProfilerInfo9;
extern const GUID CLR_IID_ICorProfilerInfo10;
extern const GUID CLR_IID_ICorProfilerInfo11;
extern const GUID CLR_IID_ICorProfilerInfo12;
extern const GUID CLR_IID_ICorProfilerInfo13;
extern const GUID CLR_IID_ICorProfilerInfo14;
extern const GUID CLR_IID_ICorProfilerInfo15;
extern const GUID CLR_IID_ICorProfilerMethodEnum;
extern const GUID CLR_IID_ICorProfilerThreadEnum;
extern const GUID CLR_IID_ICorProfilerAssemblyReferenceProvider;
extern const GUID CLR_IID_IMethodMalloc;
extern const GUID CLR_IID_IMetaDataImport;
extern const GUID CLR_IID_IMetaDataImport2;
extern const GUID CLR_IID_IMetaDataEmit;
extern const GUID CLR_IID_IMetaDataEmit2;
extern const GUID CLR_IID_IMetaDataAssemblyImport;
extern const GUID CLR_IID_IMetaDataAssemblyEmit;
extern const GUID CLR_IID_IMetaDataDispenser;
extern const GUID CLR_IID_IMetaDataDispenserEx;
extern const GUID CLR_IID_IMetaDataTables;
extern const GUID CLR_IID_IMetaDataTables2;
extern const GUID CLR_IID_ClrClassFactory;

struct ICorProfilerCallback11 {
    const struct ICorProfilerCallback11_vtbl *vtbl;
};
struct ICorProfilerCallback11_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerCallback11 *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerCallback11 *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *Initialize)(ICorProfilerCallback11 *self, clr_unknown *unknown);
    HRESULT(CLR_CALL *Shutdown)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *AppDomainCreationStarted)(ICorProfilerCallback11 *self,
        AppDomainID appdomain_id);
    HRESULT(CLR_CALL *AppDomainCreationFinished)(ICorProfilerCallback11 *self,
        AppDomainID appdomain_id, HRESULT status);
    HRESULT(CLR_CALL *AppDomainShutdownStarted)(ICorProfilerCallback11 *self,
        AppDomainID appdomain_id);
    HRESULT(CLR_CALL *AppDomainShutdownFinished)(ICorProfilerCallback11 *self,
        AppDomainID appdomain_id, HRESULT status);
    HRESULT(CLR_CALL *AssemblyLoadStarted)(ICorProfilerCallback11 *self, AssemblyID assembly_id);
    HRESULT(CLR_CALL *AssemblyLoadFinished)(ICorProfilerCallback11 *self, AssemblyID assembly_id,
        HRESULT status);
    HRESULT(CLR_CALL *AssemblyUnloadStarted)(ICorProfilerCallback11 *self, AssemblyID assembly_id);
    HRESULT(CLR_CALL *AssemblyUnloadFinished)(ICorProfilerCallback11 *self, AssemblyID assembly_id,
        HRESULT status);
    HRESULT(CLR_CALL *ModuleLoadStarted)(ICorProfilerCallback11 *self, ModuleID module_id);
    HRESULT(CLR_CALL *ModuleLoadFinished)(ICorProfilerCallback11 *self, ModuleID module_id,
        HRESULT status);
    HRESULT(CLR_CALL *ModuleUnloadStarted)(ICorProfilerCallback11 *self, ModuleID module_id);
    HRESULT(CLR_CALL *ModuleUnloadFinished)(ICorProfilerCallback11 *self, ModuleID module_id,
        HRESULT status);
    HRESULT(CLR_CALL *ModuleAttachedToAssembly)(ICorProfilerCallback11 *self, ModuleID module_id,
        AssemblyID assembly_id);
    HRESULT(CLR_CALL *ClassLoadStarted)(ICorProfilerCallback11 *self, ClassID class_id);
    HRESULT(CLR_CALL *ClassLoadFinished)(ICorProfilerCallback11 *self, ClassID class_id,
        HRESULT status);
    HRESULT(CLR_CALL *ClassUnloadStarted)(ICorProfilerCallback11 *self, ClassID class_id);
    HRESULT(CLR_CALL *ClassUnloadFinished)(ICorProfilerCallback11 *self, ClassID class_id,
        HRESULT status);
    HRESULT(CLR_CALL *FunctionUnloadStarted)(ICorProfilerCallback11 *self, FunctionID function_id);
    HRESULT(CLR_CALL *JITCompilationStarted)(ICorProfilerCallback11 *self, FunctionID function_id,
        BOOL is_safe_to_block);
    HRESULT(CLR_CALL *JITCompilationFinished)(ICorProfilerCallback11 *self, FunctionID function_id,
        HRESULT status, BOOL is_safe_to_block);
    HRESULT(CLR_CALL *JITCachedFunctionSearchStarted)(ICorProfilerCallback11 *self,
        FunctionID function_id, BOOL *use_cached_function);
    HRESULT(CLR_CALL *JITCachedFunctionSearchFinished)(ICorProfilerCallback11 *self,
        FunctionID function_id, COR_PRF_JIT_CACHE result);
    HRESULT(CLR_CALL *JITFunctionPitched)(ICorProfilerCallback11 *self, FunctionID function_id);
    HRESULT(CLR_CALL *JITInlining)(ICorProfilerCallback11 *self, FunctionID caller_id,
        FunctionID callee_id, BOOL *should_inline);
    HRESULT(CLR_CALL *ThreadCreated)(ICorProfilerCallback11 *self, ThreadID thread_id);
    HRESULT(CLR_CALL *ThreadDestroyed)(ICorProfilerCallback11 *self, ThreadID thread_id);
    HRESULT(CLR_CALL *ThreadAssignedToOSThread)(ICorProfilerCallback11 *self,
        ThreadID managed_thread_id, uint32_t os_thread_id);
    HRESULT(CLR_CALL *RemotingClientInvocationStarted)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RemotingClientSendingMessage)(ICorProfilerCallback11 *self, GUID *cookie,
        BOOL is_async);
    HRESULT(CLR_CALL *RemotingClientReceivingReply)(ICorProfilerCallback11 *self, GUID *cookie,
        BOOL is_async);
    HRESULT(CLR_CALL *RemotingClientInvocationFinished)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RemotingServerReceivingMessage)(ICorProfilerCallback11 *self, GUID *cookie,
        BOOL is_async);
    HRESULT(CLR_CALL *RemotingServerInvocationStarted)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RemotingServerInvocationReturned)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RemotingServerSendingReply)(ICorProfilerCallback11 *self, GUID *cookie,
        BOOL is_async);
    HRESULT(CLR_CALL *UnmanagedToManagedTransition)(ICorProfilerCallback11 *self,
        FunctionID function_id, COR_PRF_TRANSITION_REASON reason);
    HRESULT(CLR_CALL *ManagedToUnmanagedTransition)(ICorProfilerCallback11 *self,
        FunctionID function_id, COR_PRF_TRANSITION_REASON reason);
    HRESULT(CLR_CALL *RuntimeSuspendStarted)(ICorProfilerCallback11 *self,
        COR_PRF_SUSPEND_REASON suspend_reason);
    HRESULT(CLR_CALL *RuntimeSuspendFinished)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RuntimeSuspendAborted)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RuntimeResumeStarted)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RuntimeResumeFinished)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *RuntimeThreadSuspended)(ICorProfilerCallback11 *self, ThreadID thread_id);
    HRESULT(CLR_CALL *RuntimeThreadResumed)(ICorProfilerCallback11 *self, ThreadID thread_id);
    HRESULT(CLR_CALL *MovedReferences)(ICorProfilerCallback11 *self, uint32_t count,
        const ObjectID *old_starts, const ObjectID *new_starts, const uint32_t *lengths);
    HRESULT(CLR_CALL *ObjectAllocated)(ICorProfilerCallback11 *self, ObjectID object_id,
        ClassID class_id);
    HRESULT(CLR_CALL *ObjectsAllocatedByClass)(ICorProfilerCallback11 *self, uint32_t class_count,
        const ClassID *class_ids, const uint32_t *counts);
    HRESULT(CLR_CALL *ObjectReferences)(ICorProfilerCallback11 *self, ObjectID object_id,
        ClassID class_id, uint32_t object_ref_count, const ObjectID *object_ref_ids);
    HRESULT(CLR_CALL *RootReferences)(ICorProfilerCallback11 *self, uint32_t root_ref_count,
        const ObjectID *root_ref_ids);
    HRESULT(CLR_CALL *ExceptionThrown)(ICorProfilerCallback11 *self, ObjectID thrown_object_id);
    HRESULT(CLR_CALL *ExceptionSearchFunctionEnter)(ICorProfilerCallback11 *self,
        FunctionID function_id);
    HRESULT(CLR_CALL *ExceptionSearchFunctionLeave)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ExceptionSearchFilterEnter)(ICorProfilerCallback11 *self,
        FunctionID function_id);
    HRESULT(CLR_CALL *ExceptionSearchFilterLeave)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ExceptionSearchCatcherFound)(ICorProfilerCallback11 *self,
        FunctionID function_id);
    HRESULT(CLR_CALL *ExceptionOSHandlerEnter)(ICorProfilerCallback11 *self, uintptr_t unused);
    HRESULT(CLR_CALL *ExceptionOSHandlerLeave)(ICorProfilerCallback11 *self, uintptr_t unused);
    HRESULT(CLR_CALL *ExceptionUnwindFunctionEnter)(ICorProfilerCallback11 *self,
        FunctionID function_id);
    HRESULT(CLR_CALL *ExceptionUnwindFunctionLeave)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ExceptionUnwindFinallyEnter)(ICorProfilerCallback11 *self,
        FunctionID function_id);
    HRESULT(CLR_CALL *ExceptionUnwindFinallyLeave)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ExceptionCatcherEnter)(ICorProfilerCallback11 *self, FunctionID function_id,
        ObjectID object_id);
    HRESULT(CLR_CALL *ExceptionCatcherLeave)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *COMClassicVTableCreated)(ICorProfilerCallback11 *self,
        ClassID wrapped_class_id, const GUID *implemented_iid, void *vtable, uint32_t slot_count);
    HRESULT(CLR_CALL *COMClassicVTableDestroyed)(ICorProfilerCallback11 *self,
        ClassID wrapped_class_id, const GUID *implemented_iid, void *vtable);
    HRESULT(CLR_CALL *ExceptionCLRCatcherFound)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ExceptionCLRCatcherExecute)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ThreadNameChanged)(ICorProfilerCallback11 *self, ThreadID thread_id,
        uint32_t name_count, const WCHAR *name);
    HRESULT(CLR_CALL *GarbageCollectionStarted)(ICorProfilerCallback11 *self,
        int32_t generation_count, const BOOL *generation_collected, COR_PRF_GC_REASON reason);
    HRESULT(CLR_CALL *SurvivingReferences)(ICorProfilerCallback11 *self, uint32_t count,
        const ObjectID *starts, const uint32_t *lengths);
    HRESULT(CLR_CALL *GarbageCollectionFinished)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *FinalizeableObjectQueued)(ICorProfilerCallback11 *self,
        uint32_t finalizer_flags, ObjectID object_id);
    HRESULT(CLR_CALL *RootReferences2)(ICorProfilerCallback11 *self, uint32_t root_ref_count,
        const ObjectID *root_ref_ids, const COR_PRF_GC_ROOT_KIND *root_kinds,
        const COR_PRF_GC_ROOT_FLAGS *root_flags, const uintptr_t *root_ids);
    HRESULT(CLR_CALL *HandleCreated)(ICorProfilerCallback11 *self, GCHandleID handle_id,
        ObjectID initial_object_id);
    HRESULT(CLR_CALL *HandleDestroyed)(ICorProfilerCallback11 *self, GCHandleID handle_id);
    HRESULT(CLR_CALL *InitializeForAttach)(ICorProfilerCallback11 *self, clr_unknown *unknown,
        void *client_data, uint32_t client_data_size);
    HRESULT(CLR_CALL *ProfilerAttachComplete)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ProfilerDetachSucceeded)(ICorProfilerCallback11 *self);
    HRESULT(CLR_CALL *ReJITCompilationStarted)(ICorProfilerCallback11 *self, FunctionID function_id,
        ReJITID rejit_id, BOOL is_safe_to_block);
    HRESULT(CLR_CALL *GetReJITParameters)(ICorProfilerCallback11 *self, ModuleID module_id,
        mdMethodDef method_id, ICorProfilerFunctionControl *function_control);
    HRESULT(CLR_CALL *ReJITCompilationFinished)(ICorProfilerCallback11 *self,
        FunctionID function_id, ReJITID rejit_id, HRESULT status, BOOL is_safe_to_block);
    HRESULT(CLR_CALL *ReJITError)(ICorProfilerCallback11 *self, ModuleID module_id,
        mdMethodDef method_id, FunctionID function_id, HRESULT status);
    HRESULT(CLR_CALL *MovedReferences2)(ICorProfilerCallback11 *self, uint32_t count,
        const ObjectID *old_starts, const ObjectID *new_starts, const size_t *lengths);
    HRESULT(CLR_CALL *SurvivingReferences2)(ICorProfilerCallback11 *self, uint32_t count,
        const ObjectID *starts, const size_t *lengths);
    HRESULT(CLR_CALL *ConditionalWeakTableElementReferences)(ICorProfilerCallback11 *self,
        uint32_t root_ref_count, const ObjectID *key_ref_ids, const ObjectID *value_ref_ids,
        const GCHandleID *root_ids);
    HRESULT(CLR_CALL *GetAssemblyReferences)(ICorProfilerCallback11 *self,
        const WCHAR *assembly_path, ICorProfilerAssemblyReferenceProvider *asm_ref_provider);
    HRESULT(CLR_CALL *ModuleInMemorySymbolsUpdated)(ICorProfilerCallback11 *self,
        ModuleID module_id);
    HRESULT(CLR_CALL *DynamicMethodJITCompilationStarted)(ICorProfilerCallback11 *self,
        FunctionID function_id, BOOL is_safe_to_block, const uint8_t *il_header,
        uint32_t il_header_size);
    HRESULT(CLR_CALL *DynamicMethodJITCompilationFinished)(ICorProfilerCallback11 *self,
        FunctionID function_id, HRESULT status, BOOL is_safe_to_block);
    HRESULT(CLR_CALL *DynamicMethodUnloaded)(ICorProfilerCallback11 *self, FunctionID function_id);
    HRESULT(CLR_CALL *EventPipeEventDelivered)(ICorProfilerCallback11 *self,
        EVENTPIPE_PROVIDER provider, uint32_t event_id, uint32_t event_version,
        uint32_t metadata_blob_size, const uint8_t *metadata_blob, uint32_t event_data_size,
        const uint8_t *event_data, const GUID *activity_id, const GUID *related_activity_id,
        ThreadID event_thread, uint32_t num_stack_frames, const uintptr_t *stack_frames);
    HRESULT(CLR_CALL *EventPipeProviderCreated)(ICorProfilerCallback11 *self,
        EVENTPIPE_PROVIDER provider);
    HRESULT(CLR_CALL *LoadAsNotificationOnly)(ICorProfilerCallback11 *self,
        BOOL *notification_only);
};

struct ICorProfilerObjectEnum {
    const struct ICorProfilerObjectEnum_vtbl *vtbl;
};
struct ICorProfilerObjectEnum_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerObjectEnum *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerObjectEnum *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerObjectEnum *self);
    HRESULT(CLR_CALL *Skip)(ICorProfilerObjectEnum *self, uint32_t count);
    HRESULT(CLR_CALL *Reset)(ICorProfilerObjectEnum *self);
    HRESULT(CLR_CALL *Clone)(ICorProfilerObjectEnum *self, ICorProfilerObjectEnum **enumerator);
    HRESULT(CLR_CALL *GetCount)(ICorProfilerObjectEnum *self, uint32_t *count);
    HRESULT(CLR_CALL *Next)(ICorProfilerObjectEnum *self, uint32_t count, ObjectID *objects,
        uint32_t *fetched);
};

struct ICorProfilerFunctionEnum {
    const struct ICorProfilerFunctionEnum_vtbl *vtbl;
};
struct ICorProfilerFunctionEnum_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerFunctionEnum *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerFunctionEnum *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerFunctionEnum *self);
    HRESULT(CLR_CALL *Skip)(ICorProfilerFunctionEnum *self, uint32_t count);
    HRESULT(CLR_CALL *Reset)(ICorProfilerFunctionEnum *self);
    HRESULT(CLR_CALL *Clone)(ICorProfilerFunctionEnum *self, ICorProfilerFunctionEnum **enumerator);
    HRESULT(CLR_CALL *GetCount)(ICorProfilerFunctionEnum *self, uint32_t *count);
    HRESULT(CLR_CALL *Next)(ICorProfilerFunctionEnum *self, uint32_t count, COR_PRF_FUNCTION *ids,
        uint32_t *fetched);
};

struct ICorProfilerModuleEnum {
    const struct ICorProfilerModuleEnum_vtbl *vtbl;
};
struct ICorProfilerModuleEnum_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerModuleEnum *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerModuleEnum *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerModuleEnum *self);
    HRESULT(CLR_CALL *Skip)(ICorProfilerModuleEnum *self, uint32_t count);
    HRESULT(CLR_CALL *Reset)(ICorProfilerModuleEnum *self);
    HRESULT(CLR_CALL *Clone)(ICorProfilerModuleEnum *self, ICorProfilerModuleEnum **enumerator);
    HRESULT(CLR_CALL *GetCount)(ICorProfilerModuleEnum *self, uint32_t *count);
    HRESULT(CLR_CALL *Next)(ICorProfilerModuleEnum *self, uint32_t count, ModuleID *ids,
        uint32_t *fetched);
};

struct ICorProfilerFunctionControl {
    const struct ICorProfilerFunctionControl_vtbl *vtbl;
};
struct ICorProfilerFunctionControl_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerFunctionControl *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerFunctionControl *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerFunctionControl *self);
    HRESULT(CLR_CALL *SetCodegenFlags)(ICorProfilerFunctionControl *self, uint32_t flags);
    HRESULT(CLR_CALL *SetILFunctionBody)(ICorProfilerFunctionControl *self,
        uint32_t new_il_method_header_size, const uint8_t *new_il_method_header);
    HRESULT(CLR_CALL *SetILInstrumentedCodeMap)(ICorProfilerFunctionControl *self,
        uint32_t il_map_entry_count, const COR_IL_MAP *il_map_entries);
};

struct ICorProfilerInfo15 {
    const struct ICorProfilerInfo15_vtbl *vtbl;
};
struct ICorProfilerInfo15_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerInfo15 *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerInfo15 *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerInfo15 *self);
    HRESULT(CLR_CALL *GetClassFromObject)(ICorProfilerInfo15 *self, ObjectID object_id,
        ClassID *class_id);
    HRESULT(CLR_CALL *GetClassFromToken)(ICorProfilerInfo15 *self, ModuleID module_id,
        mdTypeDef type_def, ClassID *class_id);
    HRESULT(CLR_CALL *GetCodeInfo)(ICorProfilerInfo15 *self, FunctionID function_id,
        const uint8_t **start, uint32_t *size);
    HRESULT(CLR_CALL *GetEventMask)(ICorProfilerInfo15 *self, uint32_t *events);
    HRESULT(CLR_CALL *GetFunctionFromIP)(ICorProfilerInfo15 *self, const uint8_t *ip,
        FunctionID *function_id);
    HRESULT(CLR_CALL *GetFunctionFromToken)(ICorProfilerInfo15 *self, ModuleID module_id,
        mdToken token, FunctionID *function_id);
    HRESULT(CLR_CALL *GetHandleFromThread)(ICorProfilerInfo15 *self, ThreadID thread_id,
        void **handle);
    HRESULT(CLR_CALL *GetObjectSize)(ICorProfilerInfo15 *self, ObjectID object_id, uint32_t *size);
    HRESULT(CLR_CALL *IsArrayClass)(ICorProfilerInfo15 *self, ClassID class_id,
        CorElementType *base_elem_type, ClassID *base_class_id, uint32_t *rank);
    HRESULT(CLR_CALL *GetThreadInfo)(ICorProfilerInfo15 *self, ThreadID thread_id,
        uint32_t *win32_thread_id);
    HRESULT(CLR_CALL *GetCurrentThreadID)(ICorProfilerInfo15 *self, ThreadID *thread_id);
    HRESULT(CLR_CALL *GetClassIDInfo)(ICorProfilerInfo15 *self, ClassID class_id,
        ModuleID *module_id, mdTypeDef *type_def_token);
    HRESULT(CLR_CALL *GetFunctionInfo)(ICorProfilerInfo15 *self, FunctionID function_id,
        ClassID *class_id, ModuleID *module_id, mdToken *token);
    HRESULT(CLR_CALL *SetEventMask)(ICorProfilerInfo15 *self, uint32_t events);
    HRESULT(CLR_CALL *SetEnterLeaveFunctionHooks)(ICorProfilerInfo15 *self,
        FunctionEnter *func_enter, FunctionLeave *func_leave, FunctionTailcall *func_tailcall);
    HRESULT(CLR_CALL *SetFunctionIDMapper)(ICorProfilerInfo15 *self, FunctionIDMapper *function);
    HRESULT(CLR_CALL *GetTokenAndMetaDataFromFunction)(ICorProfilerInfo15 *self,
        FunctionID function_id, const GUID *iid, clr_unknown **import, mdToken *token);
    HRESULT(CLR_CALL *GetModuleInfo)(ICorProfilerInfo15 *self, ModuleID module_id,
        const uint8_t **base_load_address, uint32_t name_capacity, uint32_t *name_length,
        WCHAR *name, AssemblyID *assembly_id);
    HRESULT(CLR_CALL *GetModuleMetaData)(ICorProfilerInfo15 *self, ModuleID module_id,
        uint32_t open_flags, const GUID *iid, clr_unknown **out);
    HRESULT(CLR_CALL *GetILFunctionBody)(ICorProfilerInfo15 *self, ModuleID module_id,
        mdMethodDef method_id, const uint8_t **method_header, uint32_t *method_size);
    HRESULT(CLR_CALL *GetILFunctionBodyAllocator)(ICorProfilerInfo15 *self, ModuleID module_id,
        IMethodMalloc **malloc);
    HRESULT(CLR_CALL *SetILFunctionBody)(ICorProfilerInfo15 *self, ModuleID module_id,
        mdMethodDef method_id, const uint8_t *new_il_method_header);
    HRESULT(CLR_CALL *GetAppDomainInfo)(ICorProfilerInfo15 *self, AppDomainID appdomain_id,
        uint32_t name_capacity, uint32_t *name_length, WCHAR *name, ProcessID *process_id);
    HRESULT(CLR_CALL *GetAssemblyInfo)(ICorProfilerInfo15 *self, AssemblyID assembly_id,
        uint32_t name_capacity, uint32_t *name_length, WCHAR *name, AppDomainID *appdomain_id,
        ModuleID *module_id);
    HRESULT(CLR_CALL *SetFunctionReJIT)(ICorProfilerInfo15 *self, FunctionID function_id);
    HRESULT(CLR_CALL *ForceGC)(ICorProfilerInfo15 *self);
    HRESULT(CLR_CALL *SetILInstrumentedCodeMap)(ICorProfilerInfo15 *self, FunctionID function_id,
        BOOL start_jit, uint32_t il_map_entry_count, const COR_IL_MAP *il_map_entries);
    HRESULT(CLR_CALL *GetInprocInspectionInterface)(ICorProfilerInfo15 *self, clr_unknown **out);
    HRESULT(CLR_CALL *GetInprocInspectionIThisThread)(ICorProfilerInfo15 *self, clr_unknown **out);
    HRESULT(CLR_CALL *GetThreadContext)(ICorProfilerInfo15 *self, ThreadID thread_id,
        ContextID *context_id);
    HRESULT(CLR_CALL *BeginInprocDebugging)(ICorProfilerInfo15 *self, BOOL this_thread_only,
        uint32_t *profiler_context);
    HRESULT(CLR_CALL *EndInprocDebugging)(ICorProfilerInfo15 *self, uint32_t profiler_context);
    HRESULT(CLR_CALL *GetILToNativeMapping)(ICorProfilerInfo15 *self, FunctionID function_id,
        uint32_t map_capacity, uint32_t *map_count, COR_DEBUG_IL_TO_NATIVE_MAP *map);
    HRESULT(CLR_CALL *DoStackSnapshot)(ICorProfilerInfo15 *self, ThreadID thread,
        StackSnapshotCallback *callback, uint32_t info_flags, void *client_data,
        const uint8_t *context, uint32_t context_size);
    HRESULT(CLR_CALL *SetEnterLeaveFunctionHooks2)(ICorProfilerInfo15 *self,
        FunctionEnter2 *func_enter, FunctionLeave2 *func_leave, FunctionTailcall2 *func_tailcall);
    HRESULT(CLR_CALL *GetFunctionInfo2)(ICorProfilerInfo15 *self, FunctionID func_id,
        COR_PRF_FRAME_INFO frame_info, ClassID *class_id, ModuleID *module_id, mdToken *token,
        uint32_t type_args_capacity, uint32_t *type_args_count, ClassID *type_args);
    HRESULT(CLR_CALL *GetStringLayout)(ICorProfilerInfo15 *self, uint32_t *buffer_length_offset,
        uint32_t *string_length_offset, uint32_t *buffer_offset);
    HRESULT(CLR_CALL *GetClassLayout)(ICorProfilerInfo15 *self, ClassID class_id,
        COR_FIELD_OFFSET *field_offset, uint32_t field_offset_capacity,
        uint32_t *field_offset_count, uint32_t *class_size);
    HRESULT(CLR_CALL *GetClassIDInfo2)(ICorProfilerInfo15 *self, ClassID class_id,
        ModuleID *module_id, mdTypeDef *type_def_token, ClassID *parent_class_id,
        uint32_t type_arg_capacity, uint32_t *type_arg_count, ClassID *type_args);
    HRESULT(CLR_CALL *GetCodeInfo2)(ICorProfilerInfo15 *self, FunctionID function_id,
        uint32_t code_infos_capacity, uint32_t *code_infos_count, COR_PRF_CODE_INFO *code_infos);
    HRESULT(CLR_CALL *GetClassFromTokenAndTypeArgs)(ICorProfilerInfo15 *self, ModuleID module_id,
        mdTypeDef type_def, uint32_t type_args_count, const ClassID *type_args, ClassID *class_id);
    HRESULT(CLR_CALL *GetFunctionFromTokenAndTypeArgs)(ICorProfilerInfo15 *self, ModuleID module_id,
        mdMethodDef func_def, ClassID class_id, uint32_t type_args_count, const ClassID *type_args,
        FunctionID *function_id);
    HRESULT(CLR_CALL *EnumModuleFrozenObjects)(ICorProfilerInfo15 *self, ModuleID module_id,
        ICorProfilerObjectEnum **enumerator);
    HRESULT(CLR_CALL *GetArrayObjectInfo)(ICorProfilerInfo15 *self, ObjectID object_id,
        uint32_t dimensions_capacity, uint32_t *dimension_sizes, int32_t *dimension_lower_bounds,
        uint8_t **data);
    HRESULT(CLR_CALL *GetBoxClassLayout)(ICorProfilerInfo15 *self, ClassID class_id,
        uint32_t *buffer_offset);
    HRESULT(CLR_CALL *GetThreadAppDomain)(ICorProfilerInfo15 *self, ThreadID thread_id,
        AppDomainID *appdomain_id);
    HRESULT(CLR_CALL *GetRVAStaticAddress)(ICorProfilerInfo15 *self, ClassID class_id,
        mdFieldDef field_token, void **address);
    HRESULT(CLR_CALL *GetAppDomainStaticAddress)(ICorProfilerInfo15 *self, ClassID class_id,
        mdFieldDef field_token, AppDomainID appdomain_id, void **address);
    HRESULT(CLR_CALL *GetThreadStaticAddress)(ICorProfilerInfo15 *self, ClassID class_id,
        mdFieldDef field_token, ThreadID thread_id, void **address);
    HRESULT(CLR_CALL *GetContextStaticAddress)(ICorProfilerInfo15 *self, ClassID class_id,
        mdFieldDef field_token, ContextID context_id, void **address);
    HRESULT(CLR_CALL *GetStaticFieldInfo)(ICorProfilerInfo15 *self, ClassID class_id,
        mdFieldDef field_token, COR_PRF_STATIC_TYPE *field_info);
    HRESULT(CLR_CALL *GetGenerationBounds)(ICorProfilerInfo15 *self,
        uint32_t object_ranges_capacity, uint32_t *object_ranges_count,
        COR_PRF_GC_GENERATION_RANGE *ranges);
    HRESULT(CLR_CALL *GetObjectGeneration)(ICorProfilerInfo15 *self, ObjectID object_id,
        COR_PRF_GC_GENERATION_RANGE *range);
    HRESULT(CLR_CALL *GetNotifiedExceptionClauseInfo)(ICorProfilerInfo15 *self,
        COR_PRF_EX_CLAUSE_INFO *clause);
    HRESULT(CLR_CALL *EnumJITedFunctions)(ICorProfilerInfo15 *self,
        ICorProfilerFunctionEnum **enumerator);
    HRESULT(CLR_CALL *RequestProfilerDetach)(ICorProfilerInfo15 *self,
        uint32_t expected_completion_milliseconds);
    HRESULT(CLR_CALL *SetFunctionIDMapper2)(ICorProfilerInfo15 *self, FunctionIDMapper2 *function,
        void *client_data);
    HRESULT(CLR_CALL *GetStringLayout2)(ICorProfilerInfo15 *self, uint32_t *string_length_offset,
        uint32_t *buffer_offset);
    HRESULT(CLR_CALL *SetEnterLeaveFunctionHooks3)(ICorProfilerInfo15 *self,
        FunctionEnter3 *func_enter3, FunctionLeave3 *func_leave3,
        FunctionTailcall3 *func_tailcall3);
    HRESULT(CLR_CALL *SetEnterLeaveFunctionHooks3WithInfo)(ICorProfilerInfo15 *self,
        FunctionEnter3WithInfo *func_enter3_with_info,
        FunctionLeave3WithInfo *func_leave3_with_info,
        FunctionTailcall3WithInfo *func_tailcall3_with_info);
    HRESULT(CLR_CALL *GetFunctionEnter3Info)(ICorProfilerInfo15 *self, FunctionID function_id,
        COR_PRF_ELT_INFO elt_info, COR_PRF_FRAME_INFO *frame_info, uint32_t *argument_info_size,
        COR_PRF_FUNCTION_ARGUMENT_INFO *argument_info);
    HRESULT(CLR_CALL *GetFunctionLeave3Info)(ICorProfilerInfo15 *self, FunctionID function_id,
        COR_PRF_ELT_INFO elt_info, COR_PRF_FRAME_INFO *frame_info,
        COR_PRF_FUNCTION_ARGUMENT_RANGE *retval_range);
    HRESULT(CLR_CALL *GetFunctionTailcall3Info)(ICorProfilerInfo15 *self, FunctionID function_id,
        COR_PRF_ELT_INFO elt_info, COR_PRF_FRAME_INFO *frame_info);
    HRESULT(CLR_CALL *EnumModules)(ICorProfilerInfo15 *self, ICorProfilerModuleEnum **enumerator);
    HRESULT(CLR_CALL *GetRuntimeInformation)(ICorProfilerInfo15 *self, uint16_t *clr_instance_id,
        COR_PRF_RUNTIME_TYPE *runtime_type, uint16_t *major_version, uint16_t *minor_version,
        uint16_t *build_number, uint16_t *qfe_version, uint32_t version_string_capacity,
        uint32_t *version_string_length, WCHAR *version_string);
    HRESULT(CLR_CALL *GetThreadStaticAddress2)(ICorProfilerInfo15 *self, ClassID class_id,
        mdFieldDef field_token, AppDomainID appdomain_id, ThreadID thread_id, void **address);
    HRESULT(CLR_CALL *GetAppDomainsContainingModule)(ICorProfilerInfo15 *self, ModuleID module_id,
        uint32_t appdomain_ids_capacity, uint32_t *appdomain_ids_count, AppDomainID *appdomain_ids);
    HRESULT(CLR_CALL *GetModuleInfo2)(ICorProfilerInfo15 *self, ModuleID module_id,
        const uint8_t **base_load_address, uint32_t name_capacity, uint32_t *name_length,
        WCHAR *name, AssemblyID *assembly_id, uint32_t *module_flags);
    HRESULT(CLR_CALL *EnumThreads)(ICorProfilerInfo15 *self, ICorProfilerThreadEnum **enumerator);
    HRESULT(CLR_CALL *InitializeCurrentThread)(ICorProfilerInfo15 *self);
    HRESULT(CLR_CALL *RequestReJIT)(ICorProfilerInfo15 *self, uint32_t function_count,
        const ModuleID *module_ids, const mdMethodDef *method_ids);
    HRESULT(CLR_CALL *RequestRevert)(ICorProfilerInfo15 *self, uint32_t function_count,
        const ModuleID *module_ids, const mdMethodDef *method_ids, HRESULT *status);
    HRESULT(CLR_CALL *GetCodeInfo3)(ICorProfilerInfo15 *self, FunctionID function_id,
        ReJITID rejit_id, uint32_t code_infos_capacity, uint32_t *code_infos_count,
        COR_PRF_CODE_INFO *code_infos);
    HRESULT(CLR_CALL *GetFunctionFromIP2)(ICorProfilerInfo15 *self, const uint8_t *ip,
        FunctionID *function_id, ReJITID *rejit_id);
    HRESULT(CLR_CALL *GetReJITIDs)(ICorProfilerInfo15 *self, FunctionID function_id,
        uint32_t rejit_ids_capacity, uint32_t *rejit_ids_count, ReJITID *rejit_ids);
    HRESULT(CLR_CALL *GetILToNativeMapping2)(ICorProfilerInfo15 *self, FunctionID function_id,
        ReJITID rejit_id, uint32_t map_capacity, uint32_t *map_count,
        COR_DEBUG_IL_TO_NATIVE_MAP *map);
    HRESULT(CLR_CALL *EnumJITedFunctions2)(ICorProfilerInfo15 *self,
        ICorProfilerFunctionEnum **enumerator);
    HRESULT(CLR_CALL *GetObjectSize2)(ICorProfilerInfo15 *self, ObjectID object_id, size_t *size);
    HRESULT(CLR_CALL *GetEventMask2)(ICorProfilerInfo15 *self, uint32_t *events_low,
        uint32_t *events_high);
    HRESULT(CLR_CALL *SetEventMask2)(ICorProfilerInfo15 *self, uint32_t events_low,
        uint32_t events_high);
    HRESULT(CLR_CALL *EnumNgenModuleMethodsInliningThisMethod)(ICorProfilerInfo15 *self,
        ModuleID inliners_module_id, ModuleID inlinee_module_id, mdMethodDef inlinee_method_id,
        BOOL *incomplete_data, ICorProfilerMethodEnum **enumerator);
    HRESULT(CLR_CALL *ApplyMetaData)(ICorProfilerInfo15 *self, ModuleID module_id);
    HRESULT(CLR_CALL *GetInMemorySymbolsLength)(ICorProfilerInfo15 *self, ModuleID module_id,
        uint32_t *count_symbol_bytes);
    HRESULT(CLR_CALL *ReadInMemorySymbols)(ICorProfilerInfo15 *self, ModuleID module_id,
        uint32_t symbols_read_offset, uint8_t *symbol_bytes, uint32_t count_symbol_bytes,
        uint32_t *count_symbol_bytes_read);
    HRESULT(CLR_CALL *IsFunctionDynamic)(ICorProfilerInfo15 *self, FunctionID function_id,
        BOOL *is_dynamic);
    HRESULT(CLR_CALL *GetFunctionFromIP3)(ICorProfilerInfo15 *self, const uint8_t *ip,
        FunctionID *function_id, ReJITID *rejit_id);
    HRESULT(CLR_CALL *GetDynamicFunctionInfo)(ICorProfilerInfo15 *self, FunctionID function_id,
        ModuleID *module_id, const uint8_t **sig, uint32_t *sig_size, uint32_t name_capacity,
        uint32_t *name_length, WCHAR *name);
    HRESULT(CLR_CALL *GetNativeCodeStartAddresses)(ICorProfilerInfo15 *self, FunctionID function_id,
        ReJITID rejit_id, uint32_t code_start_addresses_capacity,
        uint32_t *code_start_addresses_count, uintptr_t *code_start_addresses);
    HRESULT(CLR_CALL *GetILToNativeMapping3)(ICorProfilerInfo15 *self,
        uintptr_t native_code_start_address, uint32_t map_capacity, uint32_t *map_count,
        COR_DEBUG_IL_TO_NATIVE_MAP *map);
    HRESULT(CLR_CALL *GetCodeInfo4)(ICorProfilerInfo15 *self, uintptr_t native_code_start_address,
        uint32_t code_infos_capacity, uint32_t *code_infos_count, COR_PRF_CODE_INFO *code_infos);
    HRESULT(CLR_CALL *EnumerateObjectReferences)(ICorProfilerInfo15 *self, ObjectID object_id,
        ObjectReferenceCallback callback, void *client_data);
    HRESULT(CLR_CALL *IsFrozenObject)(ICorProfilerInfo15 *self, ObjectID object_id,
        BOOL *is_frozen);
    HRESULT(CLR_CALL *GetLOHObjectSizeThreshold)(ICorProfilerInfo15 *self, uint32_t *threshold);
    HRESULT(CLR_CALL *RequestReJITWithInliners)(ICorProfilerInfo15 *self, uint32_t rejit_flags,
        uint32_t function_count, const ModuleID *module_ids, const mdMethodDef *method_ids);
    HRESULT(CLR_CALL *SuspendRuntime)(ICorProfilerInfo15 *self);
    HRESULT(CLR_CALL *ResumeRuntime)(ICorProfilerInfo15 *self);
    HRESULT(CLR_CALL *GetEnvironmentVariable)(ICorProfilerInfo15 *self, const WCHAR *name,
        uint32_t value_capacity, uint32_t *value_length, WCHAR *value);
    HRESULT(CLR_CALL *SetEnvironmentVariable)(ICorProfilerInfo15 *self, const WCHAR *name,
        const WCHAR *value);
    HRESULT(CLR_CALL *EventPipeStartSession)(ICorProfilerInfo15 *self,
        uint32_t provider_configs_count, const COR_PRF_EVENTPIPE_PROVIDER_CONFIG *provider_configs,
        BOOL request_rundown, EVENTPIPE_SESSION *session);
    HRESULT(CLR_CALL *EventPipeAddProviderToSession)(ICorProfilerInfo15 *self,
        EVENTPIPE_SESSION session, COR_PRF_EVENTPIPE_PROVIDER_CONFIG provider_config);
    HRESULT(CLR_CALL *EventPipeStopSession)(ICorProfilerInfo15 *self, EVENTPIPE_SESSION session);
    HRESULT(CLR_CALL *EventPipeCreateProvider)(ICorProfilerInfo15 *self, const WCHAR *provider_name,
        EVENTPIPE_PROVIDER *provider);
    HRESULT(CLR_CALL *EventPipeGetProviderInfo)(ICorProfilerInfo15 *self,
        EVENTPIPE_PROVIDER provider, uint32_t name_capacity, uint32_t *name_length,
        WCHAR *provider_name);
    HRESULT(CLR_CALL *EventPipeDefineEvent)(ICorProfilerInfo15 *self, EVENTPIPE_PROVIDER provider,
        const WCHAR *event_name, uint32_t event_id, uint64_t keywords, uint32_t event_version,
        uint32_t level, uint8_t opcode, BOOL need_stack, uint32_t param_descs_count,
        const COR_PRF_EVENTPIPE_PARAM_DESC *param_descs, EVENTPIPE_EVENT *event);
    HRESULT(CLR_CALL *EventPipeWriteEvent)(ICorProfilerInfo15 *self, EVENTPIPE_EVENT event,
        uint32_t data_count, const COR_PRF_EVENT_DATA *data, const GUID *activity_id,
        const GUID *related_activity_id);
    HRESULT(CLR_CALL *CreateHandle)(ICorProfilerInfo15 *self, ObjectID object,
        COR_PRF_HANDLE_TYPE type, ObjectHandleID *handle);
    HRESULT(CLR_CALL *DestroyHandle)(ICorProfilerInfo15 *self, ObjectHandleID handle);
    HRESULT(CLR_CALL *GetObjectIDFromHandle)(ICorProfilerInfo15 *self, ObjectHandleID handle,
        ObjectID *object);
    HRESULT(CLR_CALL *EnumerateNonGCObjects)(ICorProfilerInfo15 *self,
        ICorProfilerObjectEnum **enumerator);
    HRESULT(CLR_CALL *GetNonGCHeapBounds)(ICorProfilerInfo15 *self, uint32_t object_ranges_capacity,
        uint32_t *object_ranges_count, COR_PRF_NONGC_HEAP_RANGE *ranges);
    HRESULT(CLR_CALL *EventPipeCreateProvider2)(ICorProfilerInfo15 *self,
        const WCHAR *provider_name, EventPipeProviderCallback *callback,
        EVENTPIPE_PROVIDER *provider);
    HRESULT(CLR_CALL *EnumerateGCHeapObjects)(ICorProfilerInfo15 *self, ObjectCallback callback,
        void *callback_state);
};

struct ICorProfilerMethodEnum {
    const struct ICorProfilerMethodEnum_vtbl *vtbl;
};
struct ICorProfilerMethodEnum_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerMethodEnum *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerMethodEnum *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerMethodEnum *self);
    HRESULT(CLR_CALL *Skip)(ICorProfilerMethodEnum *self, uint32_t count);
    HRESULT(CLR_CALL *Reset)(ICorProfilerMethodEnum *self);
    HRESULT(CLR_CALL *Clone)(ICorProfilerMethodEnum *self, ICorProfilerMethodEnum **enumerator);
    HRESULT(CLR_CALL *GetCount)(ICorProfilerMethodEnum *self, uint32_t *count);
    HRESULT(CLR_CALL *Next)(ICorProfilerMethodEnum *self, uint32_t count, COR_PRF_METHOD *elements,
        uint32_t *fetched);
};

struct ICorProfilerThreadEnum {
    const struct ICorProfilerThreadEnum_vtbl *vtbl;
};
struct ICorProfilerThreadEnum_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerThreadEnum *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerThreadEnum *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerThreadEnum *self);
    HRESULT(CLR_CALL *Skip)(ICorProfilerThreadEnum *self, uint32_t count);
    HRESULT(CLR_CALL *Reset)(ICorProfilerThreadEnum *self);
    HRESULT(CLR_CALL *Clone)(ICorProfilerThreadEnum *self, ICorProfilerThreadEnum **enumerator);
    HRESULT(CLR_CALL *GetCount)(ICorProfilerThreadEnum *self, uint32_t *count);
    HRESULT(CLR_CALL *Next)(ICorProfilerThreadEnum *self, uint32_t count, ThreadID *ids,
        uint32_t *fetched);
};

struct ICorProfilerAssemblyReferenceProvider {
    const struct ICorProfilerAssemblyReferenceProvider_vtbl *vtbl;
};
struct ICorProfilerAssemblyReferenceProvider_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ICorProfilerAssemblyReferenceProvider *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ICorProfilerAssemblyReferenceProvider *self);
    uint32_t(CLR_CALL *Release)(ICorProfilerAssemblyReferenceProvider *self);
    HRESULT(CLR_CALL *AddAssemblyReference)(ICorProfilerAssemblyReferenceProvider *self,
        const COR_PRF_ASSEMBLY_REFERENCE_INFO *assembly_ref_info);
};

struct IMethodMalloc {
    const struct IMethodMalloc_vtbl *vtbl;
};
struct IMethodMalloc_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(IMethodMalloc *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(IMethodMalloc *self);
    uint32_t(CLR_CALL *Release)(IMethodMalloc *self);
    void *(CLR_CALL *Alloc)(IMethodMalloc *self, uint32_t size);
};

struct IMetaDataImport2 {
    const struct IMetaDataImport2_vtbl *vtbl;
};
struct IMetaDataImport2_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(IMetaDataImport2 *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(IMetaDataImport2 *self);
    uint32_t(CLR_CALL *Release)(IMetaDataImport2 *self);
    void(CLR_CALL *CloseEnum)(IMetaDataImport2 *self, clr_enumeration enumeration);
    HRESULT(CLR_CALL *CountEnum)(IMetaDataImport2 *self, clr_enumeration enumeration,
        uint32_t *count);
    HRESULT(CLR_CALL *ResetEnum)(IMetaDataImport2 *self, clr_enumeration enumeration, uint32_t pos);
    HRESULT(CLR_CALL *EnumTypeDefs)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef *type_defs, uint32_t capacity, uint32_t *type_defs_count);
    HRESULT(CLR_CALL *EnumInterfaceImpls)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, mdInterfaceImpl *impls, uint32_t capacity, uint32_t *impls_count);
    HRESULT(CLR_CALL *EnumTypeRefs)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeRef *type_refs, uint32_t capacity, uint32_t *type_refs_count);
    HRESULT(CLR_CALL *FindTypeDefByName)(IMetaDataImport2 *self, const WCHAR *name,
        mdToken enclosing_class, mdTypeDef *type_def);
    HRESULT(CLR_CALL *GetScopeProps)(IMetaDataImport2 *self, WCHAR *name, uint32_t name_capacity,
        uint32_t *name_length, GUID *pmvid);
    HRESULT(CLR_CALL *GetModuleFromScope)(IMetaDataImport2 *self, mdModule *method);
    HRESULT(CLR_CALL *GetTypeDefProps)(IMetaDataImport2 *self, mdTypeDef type_def,
        WCHAR *sz_type_def, uint32_t type_def_capacity, uint32_t *type_def_length,
        uint32_t *type_def_flags, mdToken *extends);
    HRESULT(CLR_CALL *GetInterfaceImplProps)(IMetaDataImport2 *self, mdInterfaceImpl impl,
        mdTypeDef *type_def, mdToken *iface);
    HRESULT(CLR_CALL *GetTypeRefProps)(IMetaDataImport2 *self, mdTypeRef type_ref,
        mdToken *resolution_scope, WCHAR *name, uint32_t name_capacity, uint32_t *name_length);
    HRESULT(CLR_CALL *ResolveTypeRef)(IMetaDataImport2 *self, mdTypeRef type_ref, const GUID *iid,
        clr_unknown **scope, mdTypeDef *type_def);
    HRESULT(CLR_CALL *EnumMembers)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, mdToken *members, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *EnumMembersWithName)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, const WCHAR *name, mdToken *members, uint32_t capacity,
        uint32_t *token_count);
    HRESULT(CLR_CALL *EnumMethods)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, mdMethodDef *methods, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *EnumMethodsWithName)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, const WCHAR *name, mdMethodDef *methods, uint32_t capacity,
        uint32_t *token_count);
    HRESULT(CLR_CALL *EnumFields)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, mdFieldDef *fields, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *EnumFieldsWithName)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, const WCHAR *name, mdFieldDef *fields, uint32_t capacity,
        uint32_t *token_count);
    HRESULT(CLR_CALL *EnumParams)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdMethodDef method, mdParamDef *params, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *EnumMemberRefs)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdToken parent, mdMemberRef *member_refs, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *EnumMethodImpls)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, mdToken *method_body, mdToken *method_decl, uint32_t capacity,
        uint32_t *token_count);
    HRESULT(CLR_CALL *EnumPermissionSets)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdToken token, uint32_t actions, mdPermission *permission, uint32_t capacity,
        uint32_t *token_count);
    HRESULT(CLR_CALL *FindMember)(IMetaDataImport2 *self, mdTypeDef type_def, const WCHAR *name,
        const uint8_t *sig_blob, uint32_t sig_blob_size, mdToken *method);
    HRESULT(CLR_CALL *FindMethod)(IMetaDataImport2 *self, mdTypeDef type_def, const WCHAR *name,
        const uint8_t *sig_blob, uint32_t sig_blob_size, mdMethodDef *method);
    HRESULT(CLR_CALL *FindField)(IMetaDataImport2 *self, mdTypeDef type_def, const WCHAR *name,
        const uint8_t *sig_blob, uint32_t sig_blob_size, mdFieldDef *method);
    HRESULT(CLR_CALL *FindMemberRef)(IMetaDataImport2 *self, mdTypeRef type_def, const WCHAR *name,
        const uint8_t *sig_blob, uint32_t sig_blob_size, mdMemberRef *member_ref);
    HRESULT(CLR_CALL *GetMethodProps)(IMetaDataImport2 *self, mdMethodDef method,
        mdTypeDef *type_def, WCHAR *sz_method, uint32_t method_capacity, uint32_t *method_length,
        uint32_t *attr, const uint8_t **sig_blob, uint32_t *sig_blob_size, uint32_t *code_rva,
        uint32_t *impl_flags);
    HRESULT(CLR_CALL *GetMemberRefProps)(IMetaDataImport2 *self, mdMemberRef member_ref,
        mdToken *token, WCHAR *member, uint32_t member_capacity, uint32_t *member_length,
        const uint8_t **sig_blob, uint32_t *sig_size);
    HRESULT(CLR_CALL *EnumProperties)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, mdProperty *properties, uint32_t capacity, uint32_t *properties_count);
    HRESULT(CLR_CALL *EnumEvents)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeDef type_def, mdEvent *events, uint32_t capacity, uint32_t *events_count);
    HRESULT(CLR_CALL *GetEventProps)(IMetaDataImport2 *self, mdEvent event_token,
        mdTypeDef *type_def, WCHAR *event, uint32_t event_capacity, uint32_t *event_length,
        uint32_t *event_flags, mdToken *event_type, mdMethodDef *add_on, mdMethodDef *remove_on,
        mdMethodDef *fire, mdMethodDef *other_method, uint32_t capacity,
        uint32_t *other_method_count);
    HRESULT(CLR_CALL *EnumMethodSemantics)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdMethodDef method, mdToken *event_prop, uint32_t capacity, uint32_t *event_prop_count);
    HRESULT(CLR_CALL *GetMethodSemantics)(IMetaDataImport2 *self, mdMethodDef method,
        mdToken event_prop, uint32_t *semantics_flags);
    HRESULT(CLR_CALL *GetClassLayout)(IMetaDataImport2 *self, mdTypeDef type_def,
        uint32_t *pack_size, COR_FIELD_OFFSET *field_offset, uint32_t capacity,
        uint32_t *field_offset_count, uint32_t *class_size);
    HRESULT(CLR_CALL *GetFieldMarshal)(IMetaDataImport2 *self, mdToken token,
        const uint8_t **native_type, uint32_t *native_type_size);
    HRESULT(CLR_CALL *GetRVA)(IMetaDataImport2 *self, mdToken token, uint32_t *code_rva,
        uint32_t *impl_flags);
    HRESULT(CLR_CALL *GetPermissionSetProps)(IMetaDataImport2 *self, mdPermission permission_token,
        uint32_t *action, const void **permission, uint32_t *permission_size);
    HRESULT(CLR_CALL *GetSigFromToken)(IMetaDataImport2 *self, mdSignature sig_method,
        const uint8_t **sig, uint32_t *sig_size);
    HRESULT(CLR_CALL *GetModuleRefProps)(IMetaDataImport2 *self, mdModuleRef module_ref,
        WCHAR *name, uint32_t name_capacity, uint32_t *name_length);
    HRESULT(CLR_CALL *EnumModuleRefs)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdModuleRef *module_refs, uint32_t capacity, uint32_t *module_refs_count);
    HRESULT(CLR_CALL *GetTypeSpecFromToken)(IMetaDataImport2 *self, mdTypeSpec typespec,
        const uint8_t **sig, uint32_t *sig_size);
    HRESULT(CLR_CALL *GetNameFromToken)(IMetaDataImport2 *self, mdToken token, const char **name);
    HRESULT(CLR_CALL *EnumUnresolvedMethods)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdToken *methods, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *GetUserString)(IMetaDataImport2 *self, mdString token, WCHAR *string,
        uint32_t string_capacity, uint32_t *string_length);
    HRESULT(CLR_CALL *GetPinvokeMap)(IMetaDataImport2 *self, mdToken token, uint32_t *mapping_flags,
        WCHAR *import_name, uint32_t import_name_capacity, uint32_t *import_name_length,
        mdModuleRef *module_ref);
    HRESULT(CLR_CALL *EnumSignatures)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdSignature *signatures, uint32_t capacity, uint32_t *signatures_count);
    HRESULT(CLR_CALL *EnumTypeSpecs)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdTypeSpec *type_specs, uint32_t capacity, uint32_t *type_specs_count);
    HRESULT(CLR_CALL *EnumUserStrings)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdString *strings, uint32_t capacity, uint32_t *strings_count);
    HRESULT(CLR_CALL *GetParamForMethodIndex)(IMetaDataImport2 *self, mdMethodDef method,
        uint32_t param_seq, mdParamDef *param);
    HRESULT(CLR_CALL *EnumCustomAttributes)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdToken token, mdToken type, mdCustomAttribute *custom_attributes, uint32_t capacity,
        uint32_t *custom_attributes_count);
    HRESULT(CLR_CALL *GetCustomAttributeProps)(IMetaDataImport2 *self, mdCustomAttribute attribute,
        mdToken *obj, mdToken *type, const void **blob, uint32_t *size);
    HRESULT(CLR_CALL *FindTypeRef)(IMetaDataImport2 *self, mdToken resolution_scope,
        const WCHAR *name, mdTypeRef *type_ref);
    HRESULT(CLR_CALL *GetMemberProps)(IMetaDataImport2 *self, mdToken member, mdTypeDef *type_def,
        WCHAR *name, uint32_t name_capacity, uint32_t *name_length, uint32_t *attr,
        const uint8_t **sig_blob, uint32_t *sig_blob_size, uint32_t *code_rva, uint32_t *impl_flags,
        uint32_t *c_plus_type_flag, const void **value, uint32_t *value_length);
    HRESULT(CLR_CALL *GetFieldProps)(IMetaDataImport2 *self, mdFieldDef field_def,
        mdTypeDef *type_def, WCHAR *field, uint32_t field_capacity, uint32_t *field_length,
        uint32_t *attr, const uint8_t **sig_blob, uint32_t *sig_blob_size,
        uint32_t *c_plus_type_flag, const void **value, uint32_t *value_length);
    HRESULT(CLR_CALL *GetPropertyProps)(IMetaDataImport2 *self, mdProperty property_token,
        mdTypeDef *type_def, WCHAR *property, uint32_t property_capacity, uint32_t *property_length,
        uint32_t *prop_flags, const uint8_t **sig, uint32_t *sig_size, uint32_t *c_plus_type_flag,
        const void **default_value, uint32_t *default_value_length, mdMethodDef *setter,
        mdMethodDef *getter, mdMethodDef *other_method, uint32_t capacity,
        uint32_t *other_method_count);
    HRESULT(CLR_CALL *GetParamProps)(IMetaDataImport2 *self, mdParamDef token, mdMethodDef *method,
        uint32_t *sequence, WCHAR *name, uint32_t name_capacity, uint32_t *name_length,
        uint32_t *attr, uint32_t *c_plus_type_flag, const void **value, uint32_t *value_length);
    HRESULT(CLR_CALL *GetCustomAttributeByName)(IMetaDataImport2 *self, mdToken object,
        const WCHAR *name, const void **data, uint32_t *data_size);
    BOOL(CLR_CALL *IsValidToken)(IMetaDataImport2 *self, mdToken token);
    HRESULT(CLR_CALL *GetNestedClassProps)(IMetaDataImport2 *self, mdTypeDef nested,
        mdTypeDef *enclosing);
    HRESULT(CLR_CALL *GetNativeCallConvFromSig)(IMetaDataImport2 *self, const void *sig,
        uint32_t sig_size, uint32_t *call_conv);
    HRESULT(CLR_CALL *IsGlobal)(IMetaDataImport2 *self, mdToken token, int32_t *is_global);
    HRESULT(CLR_CALL *EnumGenericParams)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdToken token, mdGenericParam *generic_params, uint32_t capacity,
        uint32_t *generic_params_count);
    HRESULT(CLR_CALL *GetGenericParamProps)(IMetaDataImport2 *self, mdGenericParam generic_param,
        uint32_t *param_seq, uint32_t *param_flags, mdToken *owner, uint32_t *reserved, WCHAR *name,
        uint32_t name_capacity, uint32_t *name_length);
    HRESULT(CLR_CALL *GetMethodSpecProps)(IMetaDataImport2 *self, mdMethodSpec method_spec,
        mdToken *parent, const uint8_t **sig_blob, uint32_t *sig_blob_size);
    HRESULT(CLR_CALL *EnumGenericParamConstraints)(IMetaDataImport2 *self,
        clr_enumeration *enumeration, mdGenericParam token,
        mdGenericParamConstraint *generic_param_constraints, uint32_t capacity,
        uint32_t *generic_param_constraints_count);
    HRESULT(CLR_CALL *GetGenericParamConstraintProps)(IMetaDataImport2 *self,
        mdGenericParamConstraint constraint, mdGenericParam *generic_param_token,
        mdToken *constraint_type);
    HRESULT(CLR_CALL *GetPEKind)(IMetaDataImport2 *self, uint32_t *pe_kind, uint32_t *machine);
    HRESULT(CLR_CALL *GetVersionString)(IMetaDataImport2 *self, WCHAR *buf,
        uint32_t buf_size_capacity, uint32_t *pcc_buf_size);
    HRESULT(CLR_CALL *EnumMethodSpecs)(IMetaDataImport2 *self, clr_enumeration *enumeration,
        mdToken token, mdMethodSpec *method_specs, uint32_t capacity, uint32_t *method_specs_count);
};

struct IMetaDataEmit2 {
    const struct IMetaDataEmit2_vtbl *vtbl;
};
struct IMetaDataEmit2_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(IMetaDataEmit2 *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(IMetaDataEmit2 *self);
    uint32_t(CLR_CALL *Release)(IMetaDataEmit2 *self);
    HRESULT(CLR_CALL *SetModuleProps)(IMetaDataEmit2 *self, const WCHAR *name);
    HRESULT(CLR_CALL *Save)(IMetaDataEmit2 *self, const WCHAR *file, uint32_t save_flags);
    HRESULT(CLR_CALL *SaveToStream)(IMetaDataEmit2 *self, void *stream, uint32_t save_flags);
    HRESULT(CLR_CALL *GetSaveSize)(IMetaDataEmit2 *self, CorSaveSize save, uint32_t *save_size);
    HRESULT(CLR_CALL *DefineTypeDef)(IMetaDataEmit2 *self, const WCHAR *name,
        uint32_t type_def_flags, mdToken extends, const mdToken *implements, mdTypeDef *type_def);
    HRESULT(CLR_CALL *DefineNestedType)(IMetaDataEmit2 *self, const WCHAR *name,
        uint32_t type_def_flags, mdToken extends, const mdToken *implements, mdTypeDef encloser,
        mdTypeDef *type_def);
    HRESULT(CLR_CALL *SetHandler)(IMetaDataEmit2 *self, clr_unknown *unk);
    HRESULT(CLR_CALL *DefineMethod)(IMetaDataEmit2 *self, mdTypeDef type_def, const WCHAR *name,
        uint32_t method_flags, const uint8_t *sig_blob, uint32_t sig_blob_size, uint32_t code_rva,
        uint32_t impl_flags, mdMethodDef *method);
    HRESULT(CLR_CALL *DefineMethodImpl)(IMetaDataEmit2 *self, mdTypeDef type_def, mdToken body,
        mdToken decl);
    HRESULT(CLR_CALL *DefineTypeRefByName)(IMetaDataEmit2 *self, mdToken resolution_scope,
        const WCHAR *name, mdTypeRef *type_ref);
    HRESULT(CLR_CALL *DefineImportType)(IMetaDataEmit2 *self, IMetaDataAssemblyImport *assem_import,
        const void *hash_value, uint32_t hash_value_size, IMetaDataImport *import,
        mdTypeDef td_import, IMetaDataAssemblyEmit *assem_emit, mdTypeRef *type_ref);
    HRESULT(CLR_CALL *DefineMemberRef)(IMetaDataEmit2 *self, mdToken import, const WCHAR *name,
        const uint8_t *sig_blob, uint32_t sig_blob_size, mdMemberRef *member_ref);
    HRESULT(CLR_CALL *DefineImportMember)(IMetaDataEmit2 *self,
        IMetaDataAssemblyImport *assem_import, const void *hash_value, uint32_t hash_value_size,
        IMetaDataImport *import, mdToken mb_member, IMetaDataAssemblyEmit *assem_emit,
        mdToken parent, mdMemberRef *member_ref);
    HRESULT(CLR_CALL *DefineEvent)(IMetaDataEmit2 *self, mdTypeDef type_def, const WCHAR *event,
        uint32_t event_flags, mdToken event_type, mdMethodDef add_on_method,
        mdMethodDef remove_on_method, mdMethodDef fire_method, const mdMethodDef *other_methods,
        mdEvent *pmd_event);
    HRESULT(CLR_CALL *SetClassLayout)(IMetaDataEmit2 *self, mdTypeDef type_def, uint32_t pack_size,
        const COR_FIELD_OFFSET *field_offsets, uint32_t class_size);
    HRESULT(CLR_CALL *DeleteClassLayout)(IMetaDataEmit2 *self, mdTypeDef type_def);
    HRESULT(CLR_CALL *SetFieldMarshal)(IMetaDataEmit2 *self, mdToken token,
        const uint8_t *native_type, uint32_t native_type_size);
    HRESULT(CLR_CALL *DeleteFieldMarshal)(IMetaDataEmit2 *self, mdToken token);
    HRESULT(CLR_CALL *DefinePermissionSet)(IMetaDataEmit2 *self, mdToken token, uint32_t action,
        const void *permission, uint32_t permission_size, mdPermission *permission_token);
    HRESULT(CLR_CALL *SetRVA)(IMetaDataEmit2 *self, mdMethodDef method, uint32_t rva);
    HRESULT(CLR_CALL *GetTokenFromSig)(IMetaDataEmit2 *self, const uint8_t *sig, uint32_t sig_size,
        mdSignature *signature);
    HRESULT(CLR_CALL *DefineModuleRef)(IMetaDataEmit2 *self, const WCHAR *name,
        mdModuleRef *module_ref);
    HRESULT(CLR_CALL *SetParent)(IMetaDataEmit2 *self, mdMemberRef member_ref, mdToken token);
    HRESULT(CLR_CALL *GetTokenFromTypeSpec)(IMetaDataEmit2 *self, const uint8_t *sig,
        uint32_t sig_size, mdTypeSpec *type_spec);
    HRESULT(CLR_CALL *SaveToMemory)(IMetaDataEmit2 *self, void *data, uint32_t data_size);
    HRESULT(CLR_CALL *DefineUserString)(IMetaDataEmit2 *self, const WCHAR *string,
        uint32_t string_length, mdString *token);
    HRESULT(CLR_CALL *DeleteToken)(IMetaDataEmit2 *self, mdToken object);
    HRESULT(CLR_CALL *SetMethodProps)(IMetaDataEmit2 *self, mdMethodDef method,
        uint32_t method_flags, uint32_t code_rva, uint32_t impl_flags);
    HRESULT(CLR_CALL *SetTypeDefProps)(IMetaDataEmit2 *self, mdTypeDef type_def,
        uint32_t type_def_flags, mdToken extends, const mdToken *implements);
    HRESULT(CLR_CALL *SetEventProps)(IMetaDataEmit2 *self, mdEvent event_token,
        uint32_t event_flags, mdToken event_type, mdMethodDef add_on_method,
        mdMethodDef remove_on_method, mdMethodDef fire_method, const mdMethodDef *other_methods);
    HRESULT(CLR_CALL *SetPermissionSetProps)(IMetaDataEmit2 *self, mdToken token, uint32_t action,
        const void *permission, uint32_t permission_size, mdPermission *permission_token);
    HRESULT(CLR_CALL *DefinePinvokeMap)(IMetaDataEmit2 *self, mdToken token, uint32_t mapping_flags,
        const WCHAR *import_name, mdModuleRef mr_import_dll);
    HRESULT(CLR_CALL *SetPinvokeMap)(IMetaDataEmit2 *self, mdToken token, uint32_t mapping_flags,
        const WCHAR *import_name, mdModuleRef mr_import_dll);
    HRESULT(CLR_CALL *DeletePinvokeMap)(IMetaDataEmit2 *self, mdToken token);
    HRESULT(CLR_CALL *DefineCustomAttribute)(IMetaDataEmit2 *self, mdToken owner, mdToken ctor,
        const void *custom_attribute, uint32_t custom_attribute_size, mdCustomAttribute *attribute);
    HRESULT(CLR_CALL *SetCustomAttributeValue)(IMetaDataEmit2 *self, mdCustomAttribute attribute,
        const void *custom_attribute, uint32_t custom_attribute_size);
    HRESULT(CLR_CALL *DefineField)(IMetaDataEmit2 *self, mdTypeDef type_def, const WCHAR *name,
        uint32_t field_flags, const uint8_t *sig_blob, uint32_t sig_blob_size,
        uint32_t c_plus_type_flag, const void *value, uint32_t value_length, mdFieldDef *method);
    HRESULT(CLR_CALL *DefineProperty)(IMetaDataEmit2 *self, mdTypeDef type_def,
        const WCHAR *property, uint32_t prop_flags, const uint8_t *sig, uint32_t sig_size,
        uint32_t c_plus_type_flag, const void *value, uint32_t value_length,
        mdMethodDef setter_method, mdMethodDef getter_method, const mdMethodDef *other_methods,
        mdProperty *property_token);
    HRESULT(CLR_CALL *DefineParam)(IMetaDataEmit2 *self, mdMethodDef method, uint32_t param_seq,
        const WCHAR *name, uint32_t param_flags, uint32_t c_plus_type_flag, const void *value,
        uint32_t value_length, mdParamDef *param);
    HRESULT(CLR_CALL *SetFieldProps)(IMetaDataEmit2 *self, mdFieldDef field, uint32_t field_flags,
        uint32_t c_plus_type_flag, const void *value, uint32_t value_length);
    HRESULT(CLR_CALL *SetPropertyProps)(IMetaDataEmit2 *self, mdProperty property_token,
        uint32_t prop_flags, uint32_t c_plus_type_flag, const void *value, uint32_t value_length,
        mdMethodDef setter_method, mdMethodDef getter_method, const mdMethodDef *other_methods);
    HRESULT(CLR_CALL *SetParamProps)(IMetaDataEmit2 *self, mdParamDef param, const WCHAR *name,
        uint32_t param_flags, uint32_t c_plus_type_flag, const void *value, uint32_t value_length);
    HRESULT(CLR_CALL *DefineSecurityAttributeSet)(IMetaDataEmit2 *self, mdToken object,
        const COR_SECATTR *sec_attrs, uint32_t sec_attr_count, uint32_t *error_attr);
    HRESULT(CLR_CALL *ApplyEditAndContinue)(IMetaDataEmit2 *self, clr_unknown *import);
    HRESULT(CLR_CALL *TranslateSigWithScope)(IMetaDataEmit2 *self,
        IMetaDataAssemblyImport *assem_import, const void *hash_value, uint32_t hash_value_size,
        IMetaDataImport *import, const uint8_t *sig_blob, uint32_t sig_blob_size,
        IMetaDataAssemblyEmit *assem_emit, IMetaDataEmit *emit, uint8_t *translated_sig,
        uint32_t translated_sig_max_size, uint32_t *translated_sig_size);
    HRESULT(CLR_CALL *SetMethodImplFlags)(IMetaDataEmit2 *self, mdMethodDef method,
        uint32_t impl_flags);
    HRESULT(CLR_CALL *SetFieldRVA)(IMetaDataEmit2 *self, mdFieldDef field, uint32_t rva);
    HRESULT(CLR_CALL *Merge)(IMetaDataEmit2 *self, IMetaDataImport *import, void *host_map_token,
        clr_unknown *handler);
    HRESULT(CLR_CALL *MergeEnd)(IMetaDataEmit2 *self);
    HRESULT(CLR_CALL *DefineMethodSpec)(IMetaDataEmit2 *self, mdToken parent,
        const uint8_t *sig_blob, uint32_t sig_blob_size, mdMethodSpec *method_spec);
    HRESULT(CLR_CALL *GetDeltaSaveSize)(IMetaDataEmit2 *self, CorSaveSize save,
        uint32_t *save_size);
    HRESULT(CLR_CALL *SaveDelta)(IMetaDataEmit2 *self, const WCHAR *file, uint32_t save_flags);
    HRESULT(CLR_CALL *SaveDeltaToStream)(IMetaDataEmit2 *self, void *stream, uint32_t save_flags);
    HRESULT(CLR_CALL *SaveDeltaToMemory)(IMetaDataEmit2 *self, void *data, uint32_t data_size);
    HRESULT(CLR_CALL *DefineGenericParam)(IMetaDataEmit2 *self, mdToken token, uint32_t param_seq,
        uint32_t param_flags, const WCHAR *name, uint32_t reserved, const mdToken *constraints,
        mdGenericParam *generic_param);
    HRESULT(CLR_CALL *SetGenericParamProps)(IMetaDataEmit2 *self, mdGenericParam generic_param,
        uint32_t param_flags, const WCHAR *name, uint32_t reserved, const mdToken *constraints);
    HRESULT(CLR_CALL *ResetENCLog)(IMetaDataEmit2 *self);
};

struct IMetaDataAssemblyImport {
    const struct IMetaDataAssemblyImport_vtbl *vtbl;
};
struct IMetaDataAssemblyImport_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(IMetaDataAssemblyImport *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(IMetaDataAssemblyImport *self);
    uint32_t(CLR_CALL *Release)(IMetaDataAssemblyImport *self);
    HRESULT(CLR_CALL *GetAssemblyProps)(IMetaDataAssemblyImport *self, mdAssembly assembly,
        const void **public_key, uint32_t *public_key_size, uint32_t *hash_alg_id, WCHAR *name,
        uint32_t name_capacity, uint32_t *name_length, ASSEMBLYMETADATA *metadata,
        uint32_t *assembly_flags);
    HRESULT(CLR_CALL *GetAssemblyRefProps)(IMetaDataAssemblyImport *self,
        mdAssemblyRef assembly_ref_token, const void **public_key_or_token,
        uint32_t *public_key_or_token_size, WCHAR *name, uint32_t name_capacity,
        uint32_t *name_length, ASSEMBLYMETADATA *metadata, const void **hash_value,
        uint32_t *hash_value_size, uint32_t *assembly_ref_flags);
    HRESULT(CLR_CALL *GetFileProps)(IMetaDataAssemblyImport *self, mdFile file, WCHAR *name,
        uint32_t name_capacity, uint32_t *name_length, const void **hash_value,
        uint32_t *hash_value_size, uint32_t *file_flags);
    HRESULT(CLR_CALL *GetExportedTypeProps)(IMetaDataAssemblyImport *self,
        mdExportedType exported_type_token, WCHAR *name, uint32_t name_capacity,
        uint32_t *name_length, mdToken *implementation, mdTypeDef *type_def,
        uint32_t *exported_type_flags);
    HRESULT(CLR_CALL *GetManifestResourceProps)(IMetaDataAssemblyImport *self,
        mdManifestResource resource, WCHAR *name, uint32_t name_capacity, uint32_t *name_length,
        mdToken *implementation, uint32_t *offset, uint32_t *resource_flags);
    HRESULT(CLR_CALL *EnumAssemblyRefs)(IMetaDataAssemblyImport *self, clr_enumeration *enumeration,
        mdAssemblyRef *assembly_refs, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *EnumFiles)(IMetaDataAssemblyImport *self, clr_enumeration *enumeration,
        mdFile *files, uint32_t capacity, uint32_t *token_count);
    HRESULT(CLR_CALL *EnumExportedTypes)(IMetaDataAssemblyImport *self,
        clr_enumeration *enumeration, mdExportedType *exported_types, uint32_t capacity,
        uint32_t *token_count);
    HRESULT(CLR_CALL *EnumManifestResources)(IMetaDataAssemblyImport *self,
        clr_enumeration *enumeration, mdManifestResource *manifest_resources, uint32_t capacity,
        uint32_t *token_count);
    HRESULT(CLR_CALL *GetAssemblyFromScope)(IMetaDataAssemblyImport *self, mdAssembly *assembly);
    HRESULT(CLR_CALL *FindExportedTypeByName)(IMetaDataAssemblyImport *self, const WCHAR *name,
        mdToken mdt_exported_type, mdExportedType *exported_type);
    HRESULT(CLR_CALL *FindManifestResourceByName)(IMetaDataAssemblyImport *self, const WCHAR *name,
        mdManifestResource *manifest_resource);
    void(CLR_CALL *CloseEnum)(IMetaDataAssemblyImport *self, clr_enumeration enumeration);
    HRESULT(CLR_CALL *FindAssembliesByName)(IMetaDataAssemblyImport *self, const WCHAR *app_base,
        const WCHAR *private_bin, const WCHAR *assembly_name, clr_unknown **out, uint32_t capacity,
        uint32_t *assemblies_count);
};

struct IMetaDataAssemblyEmit {
    const struct IMetaDataAssemblyEmit_vtbl *vtbl;
};
struct IMetaDataAssemblyEmit_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(IMetaDataAssemblyEmit *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(IMetaDataAssemblyEmit *self);
    uint32_t(CLR_CALL *Release)(IMetaDataAssemblyEmit *self);
    HRESULT(CLR_CALL *DefineAssembly)(IMetaDataAssemblyEmit *self, const void *public_key,
        uint32_t public_key_size, uint32_t hash_alg_id, const WCHAR *name,
        const ASSEMBLYMETADATA *metadata, uint32_t assembly_flags, mdAssembly *assembly);
    HRESULT(CLR_CALL *DefineAssemblyRef)(IMetaDataAssemblyEmit *self,
        const void *public_key_or_token, uint32_t public_key_or_token_size, const WCHAR *name,
        const ASSEMBLYMETADATA *metadata, const void *hash_value, uint32_t hash_value_size,
        uint32_t assembly_ref_flags, mdAssemblyRef *assembly_ref);
    HRESULT(CLR_CALL *DefineFile)(IMetaDataAssemblyEmit *self, const WCHAR *name,
        const void *hash_value, uint32_t hash_value_size, uint32_t file_flags, mdFile *file);
    HRESULT(CLR_CALL *DefineExportedType)(IMetaDataAssemblyEmit *self, const WCHAR *name,
        mdToken implementation, mdTypeDef type_def, uint32_t exported_type_flags,
        mdExportedType *exported_type);
    HRESULT(CLR_CALL *DefineManifestResource)(IMetaDataAssemblyEmit *self, const WCHAR *name,
        mdToken implementation, uint32_t offset, uint32_t resource_flags,
        mdManifestResource *resource);
    HRESULT(CLR_CALL *SetAssemblyProps)(IMetaDataAssemblyEmit *self, mdAssembly assembly,
        const void *public_key, uint32_t public_key_size, uint32_t hash_alg_id, const WCHAR *name,
        const ASSEMBLYMETADATA *metadata, uint32_t assembly_flags);
    HRESULT(CLR_CALL *SetAssemblyRefProps)(IMetaDataAssemblyEmit *self,
        mdAssemblyRef assembly_ref_token, const void *public_key_or_token,
        uint32_t public_key_or_token_size, const WCHAR *name, const ASSEMBLYMETADATA *metadata,
        const void *hash_value, uint32_t hash_value_size, uint32_t assembly_ref_flags);
    HRESULT(CLR_CALL *SetFileProps)(IMetaDataAssemblyEmit *self, mdFile file,
        const void *hash_value, uint32_t hash_value_size, uint32_t file_flags);
    HRESULT(CLR_CALL *SetExportedTypeProps)(IMetaDataAssemblyEmit *self,
        mdExportedType exported_type_token, mdToken implementation, mdTypeDef type_def,
        uint32_t exported_type_flags);
    HRESULT(CLR_CALL *SetManifestResourceProps)(IMetaDataAssemblyEmit *self,
        mdManifestResource resource, mdToken implementation, uint32_t offset,
        uint32_t resource_flags);
};

struct IMetaDataDispenserEx {
    const struct IMetaDataDispenserEx_vtbl *vtbl;
};
struct IMetaDataDispenserEx_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(IMetaDataDispenserEx *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(IMetaDataDispenserEx *self);
    uint32_t(CLR_CALL *Release)(IMetaDataDispenserEx *self);
    HRESULT(CLR_CALL *DefineScope)(IMetaDataDispenserEx *self, const GUID *clsid,
        uint32_t create_flags, const GUID *iid, clr_unknown **out);
    HRESULT(CLR_CALL *OpenScope)(IMetaDataDispenserEx *self, const WCHAR *scope,
        uint32_t open_flags, const GUID *iid, clr_unknown **out);
    HRESULT(CLR_CALL *OpenScopeOnMemory)(IMetaDataDispenserEx *self, const void *data,
        uint32_t data_size, uint32_t open_flags, const GUID *iid, clr_unknown **out);
    HRESULT(CLR_CALL *SetOption)(IMetaDataDispenserEx *self, const GUID *option, const void *value);
    HRESULT(CLR_CALL *GetOption)(IMetaDataDispenserEx *self, const GUID *option, void *value);
    HRESULT(CLR_CALL *OpenScopeOnITypeInfo)(IMetaDataDispenserEx *self, void *type_info,
        uint32_t open_flags, const GUID *iid, clr_unknown **out);
    HRESULT(CLR_CALL *GetCORSystemDirectory)(IMetaDataDispenserEx *self, WCHAR *directory,
        uint32_t directory_capacity, uint32_t *directory_length);
    HRESULT(CLR_CALL *FindAssembly)(IMetaDataDispenserEx *self, const WCHAR *app_base,
        const WCHAR *private_bin, const WCHAR *global_bin, const WCHAR *assembly_name, WCHAR *name,
        uint32_t name_capacity, uint32_t *name_length);
    HRESULT(CLR_CALL *FindAssemblyModule)(IMetaDataDispenserEx *self, const WCHAR *app_base,
        const WCHAR *private_bin, const WCHAR *global_bin, const WCHAR *assembly_name,
        const WCHAR *module_name, WCHAR *name, uint32_t name_capacity, uint32_t *name_length);
};

struct IMetaDataTables2 {
    const struct IMetaDataTables2_vtbl *vtbl;
};
struct IMetaDataTables2_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(IMetaDataTables2 *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(IMetaDataTables2 *self);
    uint32_t(CLR_CALL *Release)(IMetaDataTables2 *self);
    HRESULT(CLR_CALL *GetStringHeapSize)(IMetaDataTables2 *self, uint32_t *size);
    HRESULT(CLR_CALL *GetBlobHeapSize)(IMetaDataTables2 *self, uint32_t *size);
    HRESULT(CLR_CALL *GetGuidHeapSize)(IMetaDataTables2 *self, uint32_t *size);
    HRESULT(CLR_CALL *GetUserStringHeapSize)(IMetaDataTables2 *self, uint32_t *size);
    HRESULT(CLR_CALL *GetNumTables)(IMetaDataTables2 *self, uint32_t *count);
    HRESULT(CLR_CALL *GetTableIndex)(IMetaDataTables2 *self, uint32_t token, uint32_t *table);
    HRESULT(CLR_CALL *GetTableInfo)(IMetaDataTables2 *self, uint32_t table, uint32_t *row_size,
        uint32_t *row_count, uint32_t *column_count, uint32_t *key_column, const char **name);
    HRESULT(CLR_CALL *GetColumnInfo)(IMetaDataTables2 *self, uint32_t table, uint32_t column,
        uint32_t *offset, uint32_t *column_size, uint32_t *type, const char **name);
    HRESULT(CLR_CALL *GetCodedTokenInfo)(IMetaDataTables2 *self, uint32_t coded_token,
        uint32_t *token_count, uint32_t **tokens, const char **name);
    HRESULT(CLR_CALL *GetRow)(IMetaDataTables2 *self, uint32_t table, uint32_t row, void **data);
    HRESULT(CLR_CALL *GetColumn)(IMetaDataTables2 *self, uint32_t table, uint32_t column,
        uint32_t row, uint32_t *value);
    HRESULT(CLR_CALL *GetString)(IMetaDataTables2 *self, uint32_t string, const char **text);
    HRESULT(CLR_CALL *GetBlob)(IMetaDataTables2 *self, uint32_t blob, uint32_t *data_size,
        const void **data);
    HRESULT(CLR_CALL *GetGuid)(IMetaDataTables2 *self, uint32_t guid, const GUID **value);
    HRESULT(CLR_CALL *GetUserString)(IMetaDataTables2 *self, uint32_t user_string,
        uint32_t *data_size, const void **data);
    HRESULT(CLR_CALL *GetNextString)(IMetaDataTables2 *self, uint32_t string, uint32_t *next);
    HRESULT(CLR_CALL *GetNextBlob)(IMetaDataTables2 *self, uint32_t blob, uint32_t *next);
    HRESULT(CLR_CALL *GetNextGuid)(IMetaDataTables2 *self, uint32_t guid, uint32_t *next);
    HRESULT(CLR_CALL *GetNextUserString)(IMetaDataTables2 *self, uint32_t user_string,
        uint32_t *next);
    HRESULT(CLR_CALL *GetMetaDataStorage)(IMetaDataTables2 *self, const void **metadata,
        uint32_t *metadata_size);
    HRESULT(CLR_CALL *GetMetaDataStreamInfo)(IMetaDataTables2 *self, uint32_t index,
        const char **name, const void **data, uint32_t *size);
};

struct ClrClassFactory {
    const struct ClrClassFactory_vtbl *vtbl;
};
struct ClrClassFactory_vtbl {
    HRESULT(CLR_CALL *QueryInterface)(ClrClassFactory *self, const GUID *iid, void **out);
    uint32_t(CLR_CALL *AddRef)(ClrClassFactory *self);
    uint32_t(CLR_CALL *Release)(ClrClassFactory *self);
    HRESULT(CLR_CALL *CreateInstance)(ClrClassFactory *self, clr_unknown *outer, const GUID *iid,
        void **out);
    HRESULT(CLR_CALL *LockServer)(ClrClassFactory *self, BOOL lock);
};

#ifdef __cplusplus
}
#endif

#endif
