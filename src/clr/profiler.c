/*
 * profiler: see clarinet/profiler.h. The class factory and the hand-written slots of the callback
 * object. Reference counts are atomic; an object frees itself with its last reference.
 */
#include "clarinet/profiler.h"

#include "base/memory.h"
#include "clr/profiler_object.h"

typedef struct {
    ClrClassFactory com;
    clr_profiler *profiler;
    int32_t references;
} factory_object;

static const GUID *const CALLBACK_IIDS[] = {
    &CLR_IID_IUnknown,
    &CLR_IID_ICorProfilerCallback,
    &CLR_IID_ICorProfilerCallback2,
    &CLR_IID_ICorProfilerCallback3,
    &CLR_IID_ICorProfilerCallback4,
    &CLR_IID_ICorProfilerCallback5,
    &CLR_IID_ICorProfilerCallback6,
    &CLR_IID_ICorProfilerCallback7,
    &CLR_IID_ICorProfilerCallback8,
    &CLR_IID_ICorProfilerCallback9,
    &CLR_IID_ICorProfilerCallback10,
    &CLR_IID_ICorProfilerCallback11,
};

/* Newest first; [i] is version COUNT - i. Before 3 there is nothing this SDK can work with. */
static const GUID *const INFO_IIDS[] = {
    &CLR_IID_ICorProfilerInfo15, &CLR_IID_ICorProfilerInfo14, &CLR_IID_ICorProfilerInfo13,
    &CLR_IID_ICorProfilerInfo12, &CLR_IID_ICorProfilerInfo11, &CLR_IID_ICorProfilerInfo10,
    &CLR_IID_ICorProfilerInfo9,  &CLR_IID_ICorProfilerInfo8,  &CLR_IID_ICorProfilerInfo7,
    &CLR_IID_ICorProfilerInfo6,  &CLR_IID_ICorProfilerInfo5,  &CLR_IID_ICorProfilerInfo4,
    &CLR_IID_ICorProfilerInfo3,
};
enum { NEWEST_INFO = 15 };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static int32_t count_up(int32_t *counter)
{
    return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static int32_t count_down(int32_t *counter)
{
    return __atomic_sub_fetch(counter, 1, __ATOMIC_ACQ_REL);
}

HRESULT clr_info_open(clr_unknown *unknown, clr_info *info)
{
    HRESULT hr = E_NOINTERFACE;

    info->com = NULL;
    info->version = 0;
    for (unsigned i = 0; i < COUNT_OF(INFO_IIDS); i++) {
        void *found;

        hr = clr_query_interface(unknown, INFO_IIDS[i], &found);
        if (hr == S_OK) {
            info->com = found;
            info->version = NEWEST_INFO - i;
            return S_OK;
        }
    }
    return CLR_OK(hr) ? E_NOINTERFACE : hr;
}

/* The callback object. */

HRESULT CLR_CALL clr_profiler_object_query_interface(ICorProfilerCallback11 *self, const GUID *iid,
                                                     void **out)
{
    if (out == NULL)
        return E_POINTER;
    *out = NULL;
    for (size_t i = 0; i < COUNT_OF(CALLBACK_IIDS); i++) {
        if (clr_guid_equal(iid, CALLBACK_IIDS[i])) {
            clr_profiler_object_add_ref(self);
            *out = self;
            return S_OK;
        }
    }
    return E_NOINTERFACE;
}

uint32_t CLR_CALL clr_profiler_object_add_ref(ICorProfilerCallback11 *self)
{
    return (uint32_t)count_up(&((clr_profiler_object *)self)->references);
}

uint32_t CLR_CALL clr_profiler_object_release(ICorProfilerCallback11 *self)
{
    clr_profiler_object *object = (clr_profiler_object *)self;
    int32_t left = count_down(&object->references);

    if (left == 0) {
        clr_profiler *profiler = object->profiler;

        clr_release(object->info.com);
        memory_free(object);
        count_down(&profiler->live); /* last: who sees none may take the memory back */
    }
    return (uint32_t)left;
}

static HRESULT open_info(clr_profiler_object *object, clr_unknown *unknown)
{
    clr_release(object->info.com);
    return clr_info_open(unknown, &object->info);
}

HRESULT CLR_CALL clr_profiler_object_initialize(ICorProfilerCallback11 *self, clr_unknown *unknown)
{
    clr_profiler_object *object = (clr_profiler_object *)self;
    HRESULT hr = open_info(object, unknown);

    if (hr != S_OK)
        return hr;
    if (object->callbacks->initialize == NULL)
        return S_OK;
    return object->callbacks->initialize(object->context, &object->info);
}

HRESULT CLR_CALL clr_profiler_object_initialize_for_attach(ICorProfilerCallback11 *self,
                                                           clr_unknown *unknown, void *client_data,
                                                           uint32_t client_data_size)
{
    clr_profiler_object *object = (clr_profiler_object *)self;
    HRESULT hr;

    if (object->callbacks->initialize_for_attach == NULL)
        return clr_profiler_object_initialize(self, unknown);
    hr = open_info(object, unknown);
    if (hr != S_OK)
        return hr;
    return object->callbacks->initialize_for_attach(object->context, &object->info, client_data,
                                                    client_data_size);
}

/* The class factory. */

static uint32_t CLR_CALL factory_add_ref(ClrClassFactory *self)
{
    return (uint32_t)count_up(&((factory_object *)self)->references);
}

static uint32_t CLR_CALL factory_release(ClrClassFactory *self)
{
    factory_object *factory = (factory_object *)self;
    int32_t left = count_down(&factory->references);

    if (left == 0) {
        clr_profiler *profiler = factory->profiler;

        memory_free(factory);
        count_down(&profiler->live);
    }
    return (uint32_t)left;
}

static HRESULT CLR_CALL factory_query_interface(ClrClassFactory *self, const GUID *iid, void **out)
{
    if (out == NULL)
        return E_POINTER;
    *out = NULL;
    if (!clr_guid_equal(iid, &CLR_IID_IUnknown) && !clr_guid_equal(iid, &CLR_IID_ClrClassFactory))
        return E_NOINTERFACE;
    factory_add_ref(self);
    *out = self;
    return S_OK;
}

static HRESULT CLR_CALL factory_create_instance(ClrClassFactory *self, clr_unknown *outer,
                                                const GUID *iid, void **out)
{
    clr_profiler *profiler = ((factory_object *)self)->profiler;
    clr_profiler_object *object;
    HRESULT hr;

    if (out == NULL)
        return E_POINTER;
    *out = NULL;
    if (outer != NULL)
        return CLASS_E_NOAGGREGATION;
    object = memory_allocate_array(1, sizeof *object);
    if (object == NULL)
        return E_OUTOFMEMORY;
    object->com.vtbl = &clr_callback_table;
    object->callbacks = profiler->callbacks;
    object->context = profiler->context;
    object->profiler = profiler;
    object->references = 1;
    count_up(&profiler->live);
    hr = clr_profiler_object_query_interface(&object->com, iid, out);
    clr_profiler_object_release(&object->com);
    return hr;
}

static HRESULT CLR_CALL factory_lock_server(ClrClassFactory *self, BOOL lock)
{
    clr_profiler *profiler = ((factory_object *)self)->profiler;

    if (lock)
        count_up(&profiler->live);
    else
        count_down(&profiler->live);
    return S_OK;
}

static const struct ClrClassFactory_vtbl FACTORY_TABLE = {
    .QueryInterface = factory_query_interface,
    .AddRef = factory_add_ref,
    .Release = factory_release,
    .CreateInstance = factory_create_instance,
    .LockServer = factory_lock_server,
};

HRESULT clr_profiler_get_class_object(clr_profiler *profiler, const GUID *clsid, const GUID *iid,
                                      void **out)
{
    factory_object *factory;
    GUID own;
    HRESULT hr;

    if (out == NULL)
        return E_POINTER;
    *out = NULL;
    if (clsid == NULL || iid == NULL)
        return E_INVALIDARG;
    if (profiler->clsid != NULL &&
        (!clr_guid_parse(profiler->clsid, &own) || !clr_guid_equal(clsid, &own)))
        return CLASS_E_CLASSNOTAVAILABLE;
    factory = memory_allocate_array(1, sizeof *factory);
    if (factory == NULL)
        return E_OUTOFMEMORY;
    factory->com.vtbl = &FACTORY_TABLE;
    factory->profiler = profiler;
    factory->references = 1;
    count_up(&profiler->live);
    hr = factory_query_interface(&factory->com, iid, out);
    factory_release(&factory->com);
    return hr;
}

HRESULT clr_profiler_can_unload(const clr_profiler *profiler)
{
    return __atomic_load_n(&profiler->live, __ATOMIC_ACQUIRE) == 0 ? S_OK : S_FALSE;
}
