/*
 * Being a profiler, against runtimes that a real one cannot be made to be: one that lies (S_OK and
 * nothing), one that fails, one that is old, one that reports lengths and counts out of all reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "clarinet/clarinet.h"

#define CLSID "{C1A21E70-00AA-4C4C-8A11-6E6574434C52}"

/* The object the runtime holds. */

static int initialized, attached;
static unsigned seen_version;
static void *seen_context;

static HRESULT on_start(void *context, const clr_info *info)
{
    initialized++;
    seen_context = context;
    seen_version = info->version;
    return S_OK;
}

static HRESULT on_attach(void *context, const clr_info *info, void *data, uint32_t size)
{
    (void)context;
    (void)info;
    attached += data != NULL && size == 4;
    return S_FALSE;
}

static ClrClassFactory *factory_of(clr_profiler *profiler)
{
    GUID clsid;
    void *out = NULL;

    assert_true(clr_guid_parse(CLSID, &clsid));
    assert_int_equal(
        clr_profiler_get_class_object(profiler, &clsid, &CLR_IID_ClrClassFactory, &out), S_OK);
    assert_non_null(out);
    return out;
}

static void test_class_object(void **state)
{
    static const clr_profiler_callbacks callbacks;
    clr_profiler profiler = {CLSID, &callbacks, NULL, 0};
    GUID clsid, other;
    void *out = &out;

    (void)state;
    assert_true(clr_guid_parse(CLSID, &clsid));
    assert_true(clr_guid_parse("{C1A21E70-00AB-4C4C-8A11-6E6574434C52}", &other));
    assert_int_equal(
        clr_profiler_get_class_object(&profiler, &other, &CLR_IID_ClrClassFactory, &out),
        CLASS_E_CLASSNOTAVAILABLE);
    assert_null(out);
    assert_int_equal(clr_profiler_get_class_object(&profiler, &clsid, &CLR_IID_IMethodMalloc, &out),
                     E_NOINTERFACE);
    assert_null(out);
    assert_int_equal(clr_profiler_get_class_object(&profiler, &clsid, &CLR_IID_IUnknown, NULL),
                     E_POINTER);
    assert_int_equal(clr_profiler_get_class_object(&profiler, NULL, &CLR_IID_IUnknown, &out),
                     E_INVALIDARG);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_OK);
    profiler.clsid = NULL; /* any */
    assert_int_equal(clr_profiler_get_class_object(&profiler, &other, &CLR_IID_IUnknown, &out),
                     S_OK);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_FALSE);
    assert_int_equal(clr_release(out), 0);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_OK);
}

static void test_factory(void **state)
{
    static const clr_profiler_callbacks callbacks;
    clr_profiler profiler = {CLSID, &callbacks, NULL, 0};
    ClrClassFactory *factory = factory_of(&profiler);
    void *out = &out;

    (void)state;
    assert_int_equal(
        clr_class_factory_create_instance(factory, (clr_unknown *)factory, &CLR_IID_IUnknown, &out),
        CLASS_E_NOAGGREGATION);
    assert_null(out);
    assert_int_equal(
        clr_class_factory_create_instance(factory, NULL, &CLR_IID_ICorProfilerInfo, &out),
        E_NOINTERFACE);
    assert_null(out);
    assert_int_equal(
        factory->vtbl->CreateInstance(factory, NULL, &CLR_IID_ICorProfilerCallback2, NULL),
        E_POINTER);
    assert_int_equal(clr_class_factory_lock_server(factory, 1), S_OK);
    assert_int_equal(clr_release(factory), 0);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_FALSE);
    factory = factory_of(&profiler);
    assert_int_equal(clr_class_factory_lock_server(factory, 0), S_OK);
    assert_int_equal(clr_release(factory), 0);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_OK);
}

static void test_query_interface(void **state)
{
    static const GUID *const IIDS[] = {
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
    static const clr_profiler_callbacks callbacks;
    clr_profiler profiler = {CLSID, &callbacks, NULL, 0};
    ClrClassFactory *factory = factory_of(&profiler);
    void *object = NULL, *out = NULL;

    (void)state;
    assert_int_equal(
        clr_class_factory_create_instance(factory, NULL, &CLR_IID_ICorProfilerCallback2, &object),
        S_OK);
    for (size_t i = 0; i < sizeof IIDS / sizeof *IIDS; i++) {
        assert_int_equal(clr_query_interface(object, IIDS[i], &out), S_OK);
        assert_ptr_equal(out, object);
        assert_int_equal(clr_release(out), 1);
    }
    assert_int_equal(clr_query_interface(object, &CLR_IID_ClrClassFactory, &out), E_NOINTERFACE);
    assert_null(out);
    assert_int_equal(clr_add_ref(object), 2);
    assert_int_equal(clr_release(object), 1);
    assert_int_equal(clr_release(factory), 0);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_FALSE);
    assert_int_equal(clr_release(object), 0);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_OK);
}

/* A runtime that knows ICorProfilerInfo up to some version. */

static unsigned runtime_version;
static int lies; /* says S_OK to every QueryInterface, hands back nothing */

static HRESULT CLR_CALL runtime_query(void *self, const GUID *iid, void **out)
{
    static const GUID *const INFOS[] = {
        &CLR_IID_ICorProfilerInfo,   &CLR_IID_ICorProfilerInfo2,  &CLR_IID_ICorProfilerInfo3,
        &CLR_IID_ICorProfilerInfo4,  &CLR_IID_ICorProfilerInfo5,  &CLR_IID_ICorProfilerInfo6,
        &CLR_IID_ICorProfilerInfo7,  &CLR_IID_ICorProfilerInfo8,  &CLR_IID_ICorProfilerInfo9,
        &CLR_IID_ICorProfilerInfo10, &CLR_IID_ICorProfilerInfo11, &CLR_IID_ICorProfilerInfo12,
        &CLR_IID_ICorProfilerInfo13, &CLR_IID_ICorProfilerInfo14, &CLR_IID_ICorProfilerInfo15};

    if (lies)
        return S_OK;
    for (unsigned i = 0; i < runtime_version; i++) {
        if (clr_guid_equal(iid, INFOS[i])) {
            *out = self;
            return S_OK;
        }
    }
    return E_NOINTERFACE;
}

static int runtime_released;

static uint32_t CLR_CALL one(void *self)
{
    (void)self;
    return 1;
}

static uint32_t CLR_CALL release_runtime(void *self)
{
    (void)self;
    runtime_released++;
    return 1;
}

static void test_newest_info(void **state)
{
    static const struct clr_unknown_vtbl vtbl = {runtime_query, one, one};
    clr_unknown runtime = {&vtbl};
    clr_info info;

    (void)state;
    for (unsigned version = 0; version <= 15; version++) {
        runtime_version = version;
        if (version < 3) {
            assert_int_equal(clr_info_open(&runtime, &info), E_NOINTERFACE);
            assert_null(info.com);
            continue;
        }
        assert_int_equal(clr_info_open(&runtime, &info), S_OK);
        assert_int_equal(info.version, version);
        assert_ptr_equal(info.com, &runtime);
    }
    lies = 1;
    assert_int_equal(clr_info_open(&runtime, &info), E_POINTER);
    assert_null(info.com);
    lies = 0;
    assert_int_equal(clr_info_open(NULL, &info), E_POINTER);
}

static void test_initialize(void **state)
{
    static const struct clr_unknown_vtbl vtbl = {runtime_query, one, release_runtime};
    clr_unknown runtime = {&vtbl};
    clr_profiler_callbacks callbacks = {.initialize = on_start};
    int context, data = 1;
    clr_profiler profiler = {CLSID, &callbacks, &context, 0};
    ClrClassFactory *factory = factory_of(&profiler);
    ICorProfilerCallback11 *object;
    void *out;

    (void)state;
    initialized = attached = 0;
    assert_int_equal(
        clr_class_factory_create_instance(factory, NULL, &CLR_IID_ICorProfilerCallback11, &out),
        S_OK);
    object = out;
    runtime_version = 2;
    assert_int_equal(object->vtbl->Initialize(object, &runtime), E_NOINTERFACE);
    assert_int_equal(initialized, 0);
    runtime_version = 12;
    assert_int_equal(object->vtbl->Initialize(object, &runtime), S_OK);
    assert_int_equal(initialized, 1);
    assert_int_equal(seen_version, 12);
    assert_ptr_equal(seen_context, &context);
    /* without an attach callback the other one serves */
    assert_int_equal(object->vtbl->InitializeForAttach(object, &runtime, &data, 4), S_OK);
    assert_int_equal(initialized, 2);
    callbacks.initialize_for_attach = on_attach;
    assert_int_equal(object->vtbl->InitializeForAttach(object, &runtime, &data, 4), S_FALSE);
    assert_int_equal(attached, 1);
    assert_int_equal(initialized, 2);
    callbacks.initialize = NULL;
    runtime_released = 0;
    assert_int_equal(object->vtbl->Initialize(object, &runtime), S_OK);
    assert_int_equal(runtime_released, 1); /* the one of before */
    clr_release(object);
    assert_int_equal(runtime_released, 2);
    clr_release(factory);
}

/* A runtime that answers every call the same and writes nothing. */

static HRESULT answer;

static HRESULT CLR_CALL same_answer(void)
{
    return answer;
}

typedef HRESULT(CLR_CALL *any_function)(void);
static any_function same[128];
static any_function *same_vtbl = same;

static clr_info same_runtime(HRESULT hr)
{
    clr_info info = {.com = (void *)&same_vtbl, .version = 15};

    answer = hr;
    for (size_t i = 0; i < 128; i++)
        same[i] = same_answer;
    return info;
}

static int never(void *context, uintptr_t id)
{
    (void)context;
    (void)id;
    fail();
    return 0;
}

static int never_token(void *context, mdToken token)
{
    (void)token;
    return never(context, 0);
}

static int never_function(void *context, FunctionID function, ReJITID rejit)
{
    (void)rejit;
    return never(context, function);
}

static int never_method(void *context, ModuleID module, mdMethodDef method)
{
    (void)method;
    return never(context, module);
}

/* S_OK with a null pointer is a failure, wherever a pointer comes back. */
static void test_lying_runtime(void **state)
{
    clr_info info = same_runtime(S_OK);
    IMetaDataImport2 *import = (void *)&same_vtbl;
    const uint8_t *bytes = (void *)1;
    uint32_t size = 9;
    clr_unknown *unknown = (void *)1;
    ICorProfilerModuleEnum *modules = (void *)1;
    IMethodMalloc *allocator = (void *)1;
    void *address = (void *)1;
    mdToken token = 7;
    clr_text *text = clr_text_create();

    (void)state;
    assert_int_equal(clr_info_get_code_info(&info, 1, &bytes, &size), E_POINTER);
    assert_null(bytes);
    assert_int_equal(size, 0);
    assert_int_equal(
        clr_info_get_module_metadata(&info, 1, ofRead, &CLR_IID_IMetaDataImport, &unknown),
        E_POINTER);
    assert_null(unknown);
    assert_int_equal(clr_info_get_token_and_metadata_from_function(
                         &info, 1, &CLR_IID_IMetaDataImport, &unknown, &token),
                     E_POINTER);
    assert_int_equal(token, 0);
    assert_int_equal(clr_info_get_il_function_body(&info, 1, 1, &bytes, &size), E_POINTER);
    assert_int_equal(clr_info_get_il_function_body_allocator(&info, 1, &allocator), E_POINTER);
    assert_int_equal(clr_info_enum_modules(&info, &modules), E_POINTER);
    assert_null(modules);
    assert_int_equal(clr_info_get_appdomain_static_address(&info, 1, 1, 1, &address), E_POINTER);
    assert_int_equal(clr_import_get_type_spec_from_token(import, 1, &bytes, &size), E_POINTER);
    /* where null is an answer, it is one */
    assert_int_equal(clr_info_get_module_info(&info, 1, &bytes, 0, NULL, NULL, NULL), S_OK);
    /* and without a place for the pointer nothing is looked at */
    assert_int_equal(clr_info_get_code_info(&info, 1, NULL, &size), S_OK);

    assert_int_equal(clr_open_import(&info, 1, &import), E_POINTER);
    assert_null(import);
    import = (void *)&same_vtbl;
    assert_int_equal(clr_each_module(&info, never, NULL), E_POINTER);
    assert_int_equal(clr_each_thread(&info, never, NULL), E_POINTER);
    assert_int_equal(clr_each_nongc_object(&info, never, NULL), E_POINTER);
    assert_int_equal(clr_each_function(&info, never_function, NULL), E_POINTER);
    assert_int_equal(clr_each_inliner(&info, 1, 1, 1, never_method, NULL), E_POINTER);
    assert_int_equal(clr_each_type_def(import, never_token, NULL), S_OK);
    assert_int_not_equal(clr_append_class(&info, 1, text), S_OK);
    assert_int_not_equal(clr_append_function(&info, 1, 0, text, text, NULL), S_OK);
    assert_int_not_equal(clr_append_type_token(import, 0x1b000001, text, 0), S_OK);
    assert_int_not_equal(clr_append_type_token(import, 0x99000001, text, 0), S_OK);
    assert_string_equal(clr_text_value(text), "");
    assert_int_not_equal(clr_find_method(import, 1, "Main", &token), S_OK);
    clr_text_free(text);
}

static void test_failing_runtime(void **state)
{
    static const clr_eventpipe_source source = {"Source", 1, 1, NULL};
    static const clr_eventpipe_source nameless = {NULL, 1, 1, NULL};
    static const clr_eventpipe_description description = {.name = "Event"};
    clr_info info = same_runtime(CORPROF_E_DATAINCOMPLETE);
    IMetaDataImport2 *import = (void *)&same_vtbl;
    clr_text *text = clr_text_create();
    EVENTPIPE_SESSION session = 5;
    EVENTPIPE_EVENT event = 5;
    clr_arguments arguments;
    clr_result result;
    clr_runtime runtime;
    clr_method method;
    AssemblyID assembly = 3;
    mdToken token = 3;
    int value;

    (void)state;
    assert_int_equal(clr_get_module_path(&info, 1, text, &assembly), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(assembly, 0);
    assert_int_equal(clr_get_assembly_name(&info, 1, text), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_get_environment(&info, "HOME", text), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_get_runtime(&info, &runtime), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_get_string_object(&info, 1, text), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_get_string_object(&info, 0, text), E_POINTER);
    assert_int_equal(clr_get_method(import, 1, text, &method), CORPROF_E_DATAINCOMPLETE);
    assert_null(method.signature);
    assert_int_equal(clr_find_field(import, 1, "x", &token), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(token, 0);
    assert_int_equal(clr_each_thread(&info, never, NULL), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_each_method(import, 1, never_token, NULL), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_append_class(&info, 1, text), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_append_class(&info, 0, text), E_INVALIDARG);
    assert_int_equal(clr_append_function(&info, 1, 0, text, NULL, NULL), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(clr_append_function(&info, 0, 0, text, NULL, NULL), E_INVALIDARG);
    assert_string_equal(clr_text_value(text), "");
    assert_int_equal(clr_eventpipe_start(&info, &source, 1, &session), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(session, 0);
    assert_int_equal(clr_eventpipe_start(&info, &source, 0, &session), E_INVALIDARG);
    assert_int_equal(clr_eventpipe_start(&info, &source, CLR_EVENTPIPE_SOURCES + 1, &session),
                     E_INVALIDARG);
    assert_int_equal(clr_eventpipe_start(&info, NULL, 1, &session), E_INVALIDARG);
    assert_int_equal(clr_eventpipe_start(&info, &nameless, 1, &session), E_INVALIDARG);
    assert_int_equal(clr_eventpipe_add(&info, 1, &nameless), E_INVALIDARG);
    assert_int_equal(clr_eventpipe_add(&info, 1, NULL), E_INVALIDARG);
    assert_int_equal(clr_eventpipe_define(&info, 1, &description, &event),
                     CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(event, 0);
    memset(&arguments, 0xff, sizeof arguments);
    assert_int_equal(clr_hook_get_arguments(&info, 1, 1, &arguments), CORPROF_E_DATAINCOMPLETE);
    assert_false(clr_argument_read(&arguments, 0, &value, sizeof value));
    assert_int_equal(clr_hook_get_result(&info, 1, 1, &result), CORPROF_E_DATAINCOMPLETE);
    assert_null(result.address);
    clr_text_free(text);
}

/* The two-call pattern. */

typedef struct {
    uint32_t units;  /* there are so many, without the zero */
    uint32_t claims; /* said to be so many; 0 = the truth */
    HRESULT second;  /* of the second call */
    int calls;
} text_source;

static HRESULT read_units(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    text_source *s = context;
    uint32_t i;

    if (++s->calls == 2 && s->second != S_OK)
        return s->second;
    for (i = 0; i < s->units && i + 1 < capacity; i++)
        units[i] = 'a';
    units[i] = 0;
    *length = s->claims != 0 ? s->claims : s->units + 1;
    return *length > capacity ? CLDB_S_TRUNCATION : S_OK;
}

static void test_two_calls(void **state)
{
    static const uint32_t SIZES[] = {0, 1, 254, 255, 256, 257, 5000, 70000};
    buffer out = BUFFER_EMPTY;
    text_source s;

    (void)state;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        s = (text_source){SIZES[i], 0, S_OK, 0};
        buffer_clear(&out);
        assert_int_equal(clr_read_string(read_units, &s, &out), S_OK);
        assert_int_equal(out.length, SIZES[i]);
        assert_true(s.calls <= 2);
    }
    buffer_clear(&out);
    s = (text_source){1000, 0, E_FAIL, 0};
    assert_int_equal(clr_read_string(read_units, &s, &out), E_FAIL);
    s = (text_source){10, UINT32_MAX, S_OK, 0};
    assert_int_equal(clr_read_string(read_units, &s, &out), E_FAIL);
    s = (text_source){1 << 19, 0, CLDB_S_TRUNCATION, 0}; /* never done growing */
    assert_int_equal(clr_read_string(read_units, &s, &out), S_OK);
    buffer_clear(&out);
    s = (text_source){10, 200, S_OK, 0}; /* says more than there is: ends at the zero */
    assert_int_equal(clr_read_string(read_units, &s, &out), S_OK);
    assert_string_equal(buffer_text(&out), "aaaaaaaaaa");
    buffer_free(&out);
}

/* Enumerators. */

static struct ICorProfilerModuleEnum_vtbl module_vtbl;
static ICorProfilerModuleEnum module_enum = {&module_vtbl};
static uint32_t modules_left, modules_claimed;
static int released;

static HRESULT CLR_CALL next_modules(ICorProfilerModuleEnum *self, uint32_t count, ModuleID *ids,
                                     uint32_t *fetched)
{
    uint32_t n = modules_left < count ? modules_left : count;

    (void)self;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = modules_left - i;
    modules_left -= n;
    *fetched = modules_claimed != 0 ? modules_claimed : n;
    return n < count ? S_FALSE : S_OK;
}

static uint32_t CLR_CALL release_modules(ICorProfilerModuleEnum *self)
{
    (void)self;
    released++;
    return 0;
}

static HRESULT CLR_CALL enum_modules(ICorProfilerInfo15 *self, ICorProfilerModuleEnum **out)
{
    (void)self;
    *out = &module_enum;
    return S_OK;
}

static int count_modules(void *context, uintptr_t id)
{
    uintptr_t *state = context;

    assert_int_equal(id, state[0] - state[1]);
    state[1]++;
    return state[1] < state[2];
}

static void test_enumerators(void **state)
{
    static struct ICorProfilerInfo15_vtbl vtbl;
    ICorProfilerInfo15 com = {&vtbl};
    clr_info info = {&com, 15};

    (void)state;
    vtbl.EnumModules = enum_modules;
    module_vtbl.Next = next_modules;
    module_vtbl.Release = release_modules;
    for (uint32_t total = 0; total <= 200; total += 8) {
        uintptr_t seen[3] = {total, 0, UINTPTR_MAX};

        modules_left = total;
        released = 0;
        assert_int_equal(clr_each_module(&info, count_modules, seen), S_OK);
        assert_int_equal(seen[1], total);
        assert_int_equal(released, 1);
    }
    {
        uintptr_t seen[3] = {200, 0, 70}; /* stops in the second batch */

        modules_left = 200;
        released = 0;
        assert_int_equal(clr_each_module(&info, count_modules, seen), S_OK);
        assert_int_equal(seen[1], 70);
        assert_int_equal(released, 1);
    }
    modules_claimed = 1000000; /* more than it was asked for */
    modules_left = 200;
    assert_int_equal(clr_each_module(&info, never, NULL), S_OK);
    assert_int_equal(released, 2);
    modules_claimed = 0;
}

static void test_arguments(void **state)
{
    static uint8_t first[4] = {1, 2, 3, 4}, second[6] = {5, 6, 7, 8, 9, 10};
    clr_arguments arguments;
    uint8_t value[10];

    (void)state;
    memset(&arguments, 0, sizeof arguments);
    arguments.ranges.info.numRanges = 2;
    arguments.ranges.info.ranges[0] =
        (COR_PRF_FUNCTION_ARGUMENT_RANGE){(uintptr_t)first, sizeof first};
    memcpy((uint8_t *)arguments.ranges.info.ranges + sizeof arguments.ranges.info.ranges[0],
           &(COR_PRF_FUNCTION_ARGUMENT_RANGE){(uintptr_t)second, sizeof second},
           sizeof(COR_PRF_FUNCTION_ARGUMENT_RANGE));
    for (size_t offset = 0; offset < 10; offset++) {
        for (size_t size = 1; offset + size <= 10; size++) {
            assert_true(clr_argument_read(&arguments, offset, value, size));
            for (size_t i = 0; i < size; i++)
                assert_int_equal(value[i], offset + i + 1);
        }
    }
    assert_false(clr_argument_read(&arguments, 8, value, 3));
    assert_false(clr_argument_read(&arguments, 10, value, 1));
    arguments.ranges.info.numRanges = UINT32_MAX; /* not believed past the room there is */
    assert_false(clr_argument_read(&arguments, SIZE_MAX / 2, value, 1));
}

/* A method with as many arguments as there are places for. */
static void test_many_arguments(void **state)
{
    enum { PLACES = 255 };
    static uint8_t bytes[PLACES];
    clr_arguments arguments;
    uint8_t value[PLACES];

    (void)state;
    memset(&arguments, 0, sizeof arguments);
    arguments.ranges.info.numRanges = PLACES;
    for (size_t i = 0; i < PLACES; i++) {
        size_t at = offsetof(COR_PRF_FUNCTION_ARGUMENT_INFO, ranges) +
                    i * sizeof(COR_PRF_FUNCTION_ARGUMENT_RANGE);

        bytes[i] = (uint8_t)i;
        assert_true(at + sizeof(COR_PRF_FUNCTION_ARGUMENT_RANGE) <= sizeof arguments.ranges);
        memcpy(&arguments.ranges.room[at],
               &(COR_PRF_FUNCTION_ARGUMENT_RANGE){(uintptr_t)&bytes[i], 1},
               sizeof(COR_PRF_FUNCTION_ARGUMENT_RANGE));
    }
    assert_true(clr_argument_read(&arguments, 0, value, sizeof value));
    assert_memory_equal(value, bytes, sizeof value);
    assert_false(clr_argument_read(&arguments, PLACES, value, 1));
}

/* The stubs: called as the JIT calls them, they pass the function and keep the registers. */

static uintptr_t hooked[3];

static void destroy_registers(void)
{
#if defined(__x86_64__)
    __asm__ volatile("mov $-1, %%rax; mov $-1, %%rcx; mov $-1, %%rdx; mov $-1, %%rsi;"
                     "mov $-1, %%rdi; mov $-1, %%r8; mov $-1, %%r9; mov $-1, %%r10;"
                     "mov $-1, %%r11; pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1;"
                     "pxor %%xmm7, %%xmm7" ::
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",
                           "xmm1", "xmm7");
#elif defined(__aarch64__)
    __asm__ volatile("mov x0, #-1; mov x1, #-1; mov x7, #-1; mov x8, #-1; mov x10, #-1;"
                     "movi v0.2d, #0; movi v7.2d, #0" ::
                         : "x0", "x1", "x7", "x8", "x10", "v0", "v7");
#endif
}

static void hook_enter(uintptr_t function)
{
    hooked[0] = function;
    destroy_registers();
}

static void hook_leave(uintptr_t function)
{
    hooked[1] = function;
    destroy_registers();
}

static void hook_tailcall(uintptr_t function)
{
    hooked[2] = function;
    destroy_registers();
}

static void *installed[3];

static HRESULT CLR_CALL set_hooks(ICorProfilerInfo15 *self, FunctionEnter3 *enter,
                                  FunctionLeave3 *leave, FunctionTailcall3 *tailcall)
{
    (void)self;
    memcpy(&installed[0], &enter, sizeof enter);
    memcpy(&installed[1], &leave, sizeof leave);
    memcpy(&installed[2], &tailcall, sizeof tailcall);
    return S_OK;
}

/* Calls a stub with the function in `function`'s register; 1 when all other registers came back. */
static int call_stub(void *stub, uintptr_t function, int is_enter)
{
#if defined(__x86_64__) && !defined(_WIN32)
    static uint64_t out[9];
    static double floats[3];

    __asm__ volatile(
        "sub $128, %%rsp\n" /* below the red zone */
        "mov %[stub], %%rbx\n"
        "mov %[function], %%r14\n"
        "mov %[function], %%rdi\n"
        "test %[enter], %[enter]\n"
        "jz 1f\n"
        "mov $105, %%rdi\n"
        "1: mov $101, %%rax\n mov $102, %%rcx\n mov $103, %%rdx\n mov $104, %%rsi\n"
        "mov $106, %%r8\n mov $107, %%r9\n mov $108, %%r10\n mov $109, %%r11\n"
        "cvtsi2sd %%eax, %%xmm0\n cvtsi2sd %%ecx, %%xmm1\n cvtsi2sd %%edx, %%xmm7\n"
        "call *%%rbx\n"
        "add $128, %%rsp\n"
        "lea %[out], %%rbx\n"
        "mov %%rax, (%%rbx)\n mov %%rcx, 8(%%rbx)\n mov %%rdx, 16(%%rbx)\n mov %%rsi, 24(%%rbx)\n"
        "mov %%rdi, 32(%%rbx)\n mov %%r8, 40(%%rbx)\n mov %%r9, 48(%%rbx)\n mov %%r10, 56(%%rbx)\n"
        "mov %%r11, 64(%%rbx)\n"
        "lea %[floats], %%rbx\n"
        "movsd %%xmm0, (%%rbx)\n movsd %%xmm1, 8(%%rbx)\n movsd %%xmm7, 16(%%rbx)\n"
        : [out] "=m"(out), [floats] "=m"(floats)
        : [stub] "r"(stub), [function] "r"(function), [enter] "r"((uint64_t)is_enter)
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r14", "xmm0", "xmm1",
          "xmm7", "memory", "cc");
    for (uint64_t i = 0; i < 9; i++) {
        if (out[i] != (i == 4 && !is_enter ? function : 101 + i))
            return 0;
    }
    return floats[0] == 101 && floats[1] == 102 && floats[2] == 103;
#elif defined(__aarch64__)
    uint64_t out[4];
    double floats[2];

    (void)is_enter;
    __asm__ volatile("mov x19, %[stub]\n mov x10, %[function]\n"
                     "mov x0, #101\n mov x1, #102\n mov x7, #103\n mov x8, #104\n"
                     "scvtf d0, x0\n scvtf d7, x7\n"
                     "blr x19\n"
                     "mov %[a], x0\n mov %[b], x1\n mov %[c], x7\n mov %[d], x8\n"
                     "fmov %d[e], d0\n fmov %d[f], d7\n"
                     : [a] "=&r"(out[0]), [b] "=&r"(out[1]), [c] "=&r"(out[2]), [d] "=&r"(out[3]),
                       [e] "=&w"(floats[0]), [f] "=&w"(floats[1])
                     : [stub] "r"(stub), [function] "r"(function)
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
                       "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x30", "v0", "v1", "v2",
                       "v3", "v4", "v5", "v6", "v7", "memory", "cc");
    return out[0] == 101 && out[1] == 102 && out[2] == 103 && out[3] == 104 && floats[0] == 101 &&
           floats[1] == 103;
#else
    (void)stub;
    (void)function;
    (void)is_enter;
    return 0;
#endif
}

static void test_hook_stubs(void **state)
{
    static struct ICorProfilerInfo15_vtbl vtbl;
    static const clr_hooks hooks = {hook_enter, hook_leave, hook_tailcall};
    static const clr_hooks only_enter = {hook_enter, NULL, NULL};
    ICorProfilerInfo15 com = {&vtbl};
    clr_info info = {&com, 15};

    (void)state;
    vtbl.SetEnterLeaveFunctionHooks3 = set_hooks;
#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__aarch64__)
    assert_int_equal(clr_hooks_install(&info, &hooks), S_OK);
    for (uintptr_t i = 0; i < 3; i++) {
        assert_true(call_stub(installed[i], 0x123456789a0 + i, i == 0));
        assert_int_equal(hooked[i], 0x123456789a0 + i);
    }
    assert_int_equal(clr_hooks_install(&info, &only_enter), S_OK);
    assert_non_null(installed[0]);
    assert_null(installed[1]);
    assert_null(installed[2]);
#else
    assert_int_equal(clr_hooks_install(&info, &only_enter), E_NOTIMPL);
    (void)hooks;
    (void)installed;
    (void)call_stub;
    (void)hooked;
#endif
}

/* Memory that runs out, at every point in turn. */

static int allocations_left;

static void *failing_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    if (allocations_left-- <= 0)
        return NULL;
    return realloc(pointer, size);
}

static void test_out_of_memory(void **state)
{
    static const memory_backend failing = {failing_resize, NULL};
    static const clr_profiler_callbacks callbacks;
    clr_profiler profiler = {CLSID, &callbacks, NULL, 0};
    ClrClassFactory *factory;
    GUID clsid;
    void *out;
    text_source s;

    (void)state;
    assert_true(clr_guid_parse(CLSID, &clsid));
    memory_use(&failing);
    allocations_left = 0;
    assert_int_equal(clr_profiler_get_class_object(&profiler, &clsid, &CLR_IID_IUnknown, &out),
                     E_OUTOFMEMORY);
    assert_null(out);
    assert_null(clr_text_create());
    allocations_left = 1;
    factory = factory_of(&profiler);
    assert_int_equal(
        clr_class_factory_create_instance(factory, NULL, &CLR_IID_ICorProfilerCallback2, &out),
        E_OUTOFMEMORY);
    assert_null(out);
    clr_release(factory);
    assert_int_equal(clr_profiler_can_unload(&profiler), S_OK);
    for (int n = 0; n < 3; n++) {
        buffer text = BUFFER_EMPTY;

        allocations_left = n;
        s = (text_source){1000, 0, S_OK, 0};
        if (n < 2)
            assert_int_equal(clr_read_string(read_units, &s, &text), E_OUTOFMEMORY);
        buffer_free(&text);
    }
    for (int n = 0; n < 8; n++) {
        static const char *const ARGUMENTS[] = {"int"};
        buffer text = BUFFER_EMPTY;

        allocations_left = n;
        clr_name_append_method(&text, "Shop.Repo`1+<GetAsync>d__4", ARGUMENTS, 1, "MoveNext", NULL,
                               0);
        clr_name_make_array(&text, 0, 2);
        assert_true(buffer_failed(&text) == (n == 0));
        buffer_free(&text);
    }
    memory_use(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_object),    cmocka_unit_test(test_factory),
        cmocka_unit_test(test_query_interface), cmocka_unit_test(test_newest_info),
        cmocka_unit_test(test_initialize),      cmocka_unit_test(test_lying_runtime),
        cmocka_unit_test(test_failing_runtime), cmocka_unit_test(test_two_calls),
        cmocka_unit_test(test_enumerators),     cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_many_arguments),  cmocka_unit_test(test_hook_stubs),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
