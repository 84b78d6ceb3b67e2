/*
 * watch: see watch.h. The factory is replaced by one that forwards. An object that it makes gets a
 * copy of its own table of methods with another Initialize, which gives the table back first. As
 * many slots are copied as the object is sure to have: those of the latest interface that it offers
 * by the same pointer.
 */
#include "gate/watch.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "clarinet/hresults.h"
#include "clarinet/interfaces.h"

enum { SLOTS = sizeof(struct ICorProfilerCallback11_vtbl) / sizeof(void *) };

typedef struct {
    const GUID *iid;
    size_t end; /* of its methods in the table, in bytes */
} version;

#define END_OF(method) (offsetof(struct ICorProfilerCallback11_vtbl, method) + sizeof(void *))

/* Each by its last method. */
static const version VERSIONS[] = {
    {&CLR_IID_ICorProfilerCallback11, END_OF(LoadAsNotificationOnly)},
    {&CLR_IID_ICorProfilerCallback10, END_OF(EventPipeProviderCreated)},
    {&CLR_IID_ICorProfilerCallback9, END_OF(DynamicMethodUnloaded)},
    {&CLR_IID_ICorProfilerCallback8, END_OF(DynamicMethodJITCompilationFinished)},
    {&CLR_IID_ICorProfilerCallback7, END_OF(ModuleInMemorySymbolsUpdated)},
    {&CLR_IID_ICorProfilerCallback6, END_OF(GetAssemblyReferences)},
    {&CLR_IID_ICorProfilerCallback5, END_OF(ConditionalWeakTableElementReferences)},
    {&CLR_IID_ICorProfilerCallback4, END_OF(SurvivingReferences2)},
    {&CLR_IID_ICorProfilerCallback3, END_OF(ProfilerDetachSucceeded)},
    {&CLR_IID_ICorProfilerCallback2, END_OF(HandleDestroyed)},
};

/* The one root of state. */
static struct {
    ClrClassFactory ours;
    ClrClassFactory *real;
    void (*entered)(void);
    void (*returned)(int32_t result);
    const struct ICorProfilerCallback11_vtbl *table; /* the object's own */
    union {
        struct ICorProfilerCallback11_vtbl methods;
        void *slots[SLOTS];
    } copy;
} watch;

static HRESULT CLR_CALL initialize(ICorProfilerCallback11 *self, clr_unknown *unknown)
{
    HRESULT result;

    self->vtbl = watch.table;
    watch.entered();
    result = self->vtbl->Initialize(self, unknown);
    watch.returned(result);
    return result;
}

static size_t bytes_of_table(ICorProfilerCallback11 *object)
{
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        void *same = NULL;

        if (object->vtbl->QueryInterface(object, VERSIONS[i].iid, &same) != S_OK || same == NULL)
            continue;
        ((clr_unknown *)same)->vtbl->Release(same);
        if (same == object)
            return VERSIONS[i].end;
    }
    return 0;
}

/* The object may lie where nobody can write: the kernel says so without a fault. */
static void set_table(ICorProfilerCallback11 *object, const void *table)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    if (write(ends[1], &table, sizeof table) == (ssize_t)sizeof table &&
        read(ends[0], (void *)object, sizeof table) < 0) {
        /* It is not watched then. */
    }
    close(ends[0]);
    close(ends[1]);
}

static void watch_object(ICorProfilerCallback11 *object)
{
    size_t bytes = bytes_of_table(object);

    if (bytes == 0 || watch.table != NULL)
        return;
    watch.table = object->vtbl;
    memcpy(watch.copy.slots, watch.table, bytes);
    watch.copy.methods.Initialize = initialize;
    set_table(object, &watch.copy);
}

static HRESULT CLR_CALL query(ClrClassFactory *self, const GUID *iid, void **out)
{
    HRESULT result = watch.real->vtbl->QueryInterface(watch.real, iid, out);

    if (result == S_OK && *out == watch.real)
        *out = self;
    return result;
}

static uint32_t CLR_CALL add(ClrClassFactory *self)
{
    (void)self;
    return watch.real->vtbl->AddRef(watch.real);
}

static uint32_t CLR_CALL release(ClrClassFactory *self)
{
    (void)self;
    return watch.real->vtbl->Release(watch.real);
}

static HRESULT CLR_CALL create(ClrClassFactory *self, clr_unknown *outer, const GUID *iid,
                               void **out)
{
    HRESULT result = watch.real->vtbl->CreateInstance(watch.real, outer, iid, out);

    (void)self;
    if (result == S_OK && *out != NULL &&
        memcmp(iid, &CLR_IID_ICorProfilerCallback2, sizeof *iid) == 0)
        watch_object(*out);
    return result;
}

static HRESULT CLR_CALL lock(ClrClassFactory *self, BOOL locked)
{
    (void)self;
    return watch.real->vtbl->LockServer(watch.real, locked);
}

void watch_factory(void **factory, void (*entered)(void), void (*returned)(int32_t result))
{
    static const struct ClrClassFactory_vtbl TABLE = {query, add, release, create, lock};

    watch.ours.vtbl = &TABLE;
    watch.real = *factory;
    watch.entered = entered;
    watch.returned = returned;
    *factory = &watch.ours;
}
