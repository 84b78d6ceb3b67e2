/* Unit tests of the agent's coming and going, with a runtime that refuses all but the going. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/os.h"
#include "clarinet/profiler.h"
#include "control/control.h"

HRESULT CLR_ENTRY DllGetClassObject(const GUID *clsid, const GUID *iid, void **out);

static atomic_bool is_leaving;

static HRESULT CLR_CALL refuse(void)
{
    return E_FAIL;
}

static HRESULT CLR_CALL query(ICorProfilerInfo15 *self, const GUID *iid, void **out)
{
    (void)iid;
    *out = self;
    return S_OK;
}

static uint32_t CLR_CALL count(ICorProfilerInfo15 *self)
{
    (void)self;
    return 1;
}

static HRESULT CLR_CALL leave(ICorProfilerInfo15 *self, uint32_t expected)
{
    (void)self;
    (void)expected;
    atomic_store(&is_leaving, true);
    return S_OK;
}

static void *runtime(void)
{
    static struct ICorProfilerInfo15_vtbl table;
    static ICorProfilerInfo15 object = {&table};
    HRESULT(CLR_CALL * no)(void) = refuse;

    for (size_t i = 0; i < sizeof table / sizeof no; i++)
        memcpy((char *)&table + i * sizeof no, (const void *)&no, sizeof no);
    table.QueryInterface = query;
    table.AddRef = count;
    table.Release = count;
    table.RequestProfilerDetach = leave;
    return &object;
}

static HRESULT ask_for_class(ClrClassFactory **factory)
{
    void *found = NULL;
    GUID clsid;
    HRESULT hr;

    clr_guid_parse(CONTROL_CLSID_BESIDE, &clsid);
    hr = DllGetClassObject(&clsid, &CLR_IID_ClrClassFactory, &found);
    *factory = found;
    return hr;
}

/* As the runtime does up to the call of the object. */
static ICorProfilerCallback11 *come(void)
{
    ClrClassFactory *factory;
    void *found = NULL;

    assert_int_equal(ask_for_class(&factory), S_OK);
    assert_int_equal(
        factory->vtbl->CreateInstance(factory, NULL, &CLR_IID_ICorProfilerCallback11, &found),
        S_OK);
    factory->vtbl->Release(factory);
    return found;
}

/* The runtime stops whoever comes until the one that leaves has gone, and calls the object of the
 * one that comes then: its memory must not be what the other one takes along. */
static void nobody_comes_while_one_leaves(void **state)
{
    uint8_t data[256];
    ClrClassFactory *factory;
    ICorProfilerCallback11 *object;
    buffer words = BUFFER_EMPTY;

    (void)state;
    for (int round = 0; round < 2; round++) {
        static const uint8_t TOKEN[CONTROL_TOKEN_SIZE] = {1};
        char folder[] = "/tmp/clarinet-test-XXXXXX"; /* who leaves takes it along */

        assert_non_null(mkdtemp(folder));
        atomic_store(&is_leaving, false);
        object = come();
        buffer_clear(&words);
        buffer_append_u32(&words, CONTROL_PROTOCOL);
        buffer_append(&words, TOKEN, sizeof TOKEN);
        buffer_append_blob(&words, folder, strlen(folder));
        buffer_append_blob(&words, "", 0);
        assert_true(words.length <= sizeof data);
        memcpy(data, words.data, words.length);
        assert_int_equal(
            object->vtbl->InitializeForAttach(object, runtime(), data, (uint32_t)words.length),
            S_OK);
        object->vtbl->ProfilerAttachComplete(object);
        assert_int_equal(ask_for_class(&factory), E_FAIL);
        assert_null(factory);
        for (int i = 0; i < 1000 && !atomic_load(&is_leaving); i++)
            os_sleep_ms(10); /* nobody connects */
        assert_true(atomic_load(&is_leaving));
        assert_int_equal(ask_for_class(&factory), E_FAIL);
        object->vtbl->ProfilerDetachSucceeded(object);
        object->vtbl->Release(object);
    }
    object = come();
    object->vtbl->Release(object);
    buffer_free(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_comes_while_one_leaves)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
