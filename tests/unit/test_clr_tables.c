/*
 * The headers against the tables: every slot, IID, flag and result code as the compiler sees them,
 * and every call through the slot it should take. clr_table.inc only lists names; the values
 * expected are read from tools/clr/ at run time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clarinet/clarinet.h"
#include "clr/profiler_object.h"

enum { MOST_ROWS = 1200, MOST_SLOTS = 128 };

typedef struct {
    char group[64]; /* interface or enumeration */
    char name[64];
    char text[48]; /* value, slot or IID */
    int used;
} row;

static row methods[MOST_ROWS], interfaces[MOST_ROWS], flags[MOST_ROWS], results[MOST_ROWS];
static size_t method_count, interface_count, flag_count, result_count;

static row *add(row *rows, size_t *count, const char *group, const char *name, const char *text)
{
    row *r = &rows[(*count)++];

    assert_true(*count <= MOST_ROWS);
    snprintf(r->group, sizeof r->group, "%s", group);
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->text, sizeof r->text, "%s", text);
    return r;
}

static FILE *table(const char *name)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/tools/clr/%s", TEST_SOURCE_DIR, name);
    file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

static int read_tables(void **state)
{
    char line[4096], group[64] = "", a[64], b[64], c[64];
    FILE *file = table("interfaces.txt");

    (void)state;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "interface %63s %63s %63s", a, b, c) == 3) {
            strcpy(group, a);
            add(interfaces, &interface_count, c, a, b);
        } else if (line[0] >= '0' && line[0] <= '9' && sscanf(line, "%63s %63s", a, b) == 2) {
            add(methods, &method_count, group, b, a);
        }
    }
    fclose(file);
    file = table("enums.txt");
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] != '#' && sscanf(line, "%63s %63s", a, b) == 2 && strcmp(a, "enum") != 0)
            add(flags, &flag_count, "", a, b);
    }
    fclose(file);
    file = table("hresults.txt");
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] != '#' && sscanf(line, "%63s %63s", a, b) == 2)
            add(results, &result_count, "", a, b);
    }
    fclose(file);
    return 0;
}

static row *find(row *rows, size_t count, const char *group, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0 && (group == NULL || strcmp(rows[i].group, group) == 0))
            return &rows[i];
    }
    fail_msg("not in the table: %s %s", group == NULL ? "" : group, name);
    return NULL;
}

static size_t unused(const row *rows, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += !rows[i].used;
    return n;
}

static long slot_of(const char *interface, const char *method)
{
    row *r = find(methods, method_count, interface, method);

    r->used = 1;
    return strtol(r->text, NULL, 10);
}

/* What each kind of row of clr_table.inc does; one kind at a time. */
#define IID(name)
#define SLOT(interface, newest, method)
#define CALL(interface, method, call)
#define CALLBACK(method, name)
#define FLAG(name)
#define RESULT(name)

static void test_slots(void **state)
{
    (void)state;
#undef SLOT
#define SLOT(interface, newest, method)                                                            \
    assert_int_equal(offsetof(struct newest##_vtbl, method),                                       \
                     (size_t)slot_of(#interface, #method) * sizeof(void *));
#include "support/clr_table.inc"
#undef SLOT
#define SLOT(interface, newest, method)
    assert_true(method_count > 400);
    assert_int_equal(unused(methods, method_count), 0);
    assert_int_equal(sizeof(struct ICorProfilerInfo15_vtbl), 115 * sizeof(void *));
    assert_int_equal(sizeof(struct ICorProfilerCallback11_vtbl), 98 * sizeof(void *));
}

static void check_iid(const char *name, const GUID *iid)
{
    row *r = find(interfaces, interface_count, NULL, name);
    char text[CLR_GUID_TEXT];
    GUID expected;

    r->used = 1;
    assert_true(clr_guid_parse(r->text, &expected));
    assert_memory_equal(iid, &expected, sizeof expected);
    /* and by hand, so that a fault in the parser cannot hide one in the table */
    snprintf(text, sizeof text, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             (unsigned)iid->Data1, iid->Data2, iid->Data3, iid->Data4[0], iid->Data4[1],
             iid->Data4[2], iid->Data4[3], iid->Data4[4], iid->Data4[5], iid->Data4[6],
             iid->Data4[7]);
    assert_string_equal(text, r->text);
}

static void test_iids(void **state)
{
    (void)state;
#undef IID
#define IID(name) check_iid(#name, &CLR_IID_##name);
#include "support/clr_table.inc"
#undef IID
#define IID(name)
    assert_int_equal(interface_count, 45);
    assert_int_equal(unused(interfaces, interface_count), 0);
}

static void check_number(row *rows, size_t count, const char *name, int64_t value)
{
    row *r = find(rows, count, NULL, name);

    r->used = 1;
    assert_int_equal((uint32_t)value, (uint32_t)strtoll(r->text, NULL, 0));
}

static void test_flags(void **state)
{
    (void)state;
#undef FLAG
#define FLAG(name) check_number(flags, flag_count, #name, (int64_t)name);
#include "support/clr_table.inc"
#undef FLAG
#define FLAG(name)
    assert_true(flag_count > 580);
    assert_int_equal(unused(flags, flag_count), 0);
}

static void test_results(void **state)
{
    char text[CLR_HRESULT_TEXT];

    (void)state;
#undef RESULT
#define RESULT(name)                                                                               \
    check_number(results, result_count, #name, name);                                              \
    assert_string_equal(clr_hresult_name(name, text), #name);
#include "support/clr_table.inc"
#undef RESULT
#define RESULT(name)
    assert_int_equal(unused(results, result_count), 0);
}

/* Every call goes through its slot: a vtable whose entries only say which one was called. The
 * calling conventions of the targets of this test let a function ignore its arguments. */

static int last_slot;

/* clang-format off */
#define STUB(n)                                                                                    \
    static HRESULT CLR_CALL stub_##n(void)                                                         \
    {                                                                                              \
        last_slot = n;                                                                             \
        return S_FALSE;                                                                            \
    }
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define ALL(X)                                                                                     \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)                                              \
    TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9)      \
    TEN(X, 10) TEN(X, 11)
ALL(STUB)

typedef HRESULT(CLR_CALL *any_function)(void);
static any_function stubs[MOST_SLOTS] = {
#define ENTRY(n) stub_##n,
    ALL(ENTRY)
};
/* clang-format on */

static void test_calls(void **state)
{
    any_function *vtbl = stubs;
    void *object = &vtbl;
    clr_info info = {.com = object, .version = 15};
    COR_PRF_EVENTPIPE_PROVIDER_CONFIG config = {0};
    int calls = 0;

    (void)state;
#undef CALL
#define CALL(interface, method, call)                                                              \
    last_slot = -1;                                                                                \
    (void)call;                                                                                    \
    assert_int_equal(last_slot, slot_of(#interface, #method));                                     \
    calls++;
#include "support/clr_table.inc"
#undef CALL
#define CALL(interface, method, call)
    assert_true(calls > 300);
    last_slot = -1;
    assert_int_equal(clr_add_ref(object), S_FALSE);
    assert_int_equal(last_slot, 1);
    clr_release(object);
    assert_int_equal(last_slot, 2);
}

/* A call on a runtime that is too old touches nothing. */
static void test_old_runtimes(void **state)
{
    any_function *vtbl = stubs;
    clr_info info = {.com = (void *)&vtbl, .version = 3};
    ICorProfilerThreadEnum *threads = (void *)1;
    size_t size = 5;

    (void)state;
    last_slot = -1;
    assert_int_equal(clr_info_enum_threads(&info, &threads), E_NOINTERFACE);
    assert_null(threads);
    assert_int_equal(clr_info_get_object_size2(&info, 0, &size), E_NOINTERFACE);
    assert_int_equal(size, 0);
    assert_int_equal(clr_info_enumerate_gc_heap_objects(&info, NULL, NULL), E_NOINTERFACE);
    assert_int_equal(last_slot, -1);
    assert_int_equal(clr_info_request_profiler_detach(&info, 1), S_FALSE);
    assert_int_equal(last_slot, 58);
}

/* Every callback of the runtime reaches the function of its name, with the context first. */

typedef HRESULT(CLR_CALL *any_callback)(void *self, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                        uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                        uintptr_t, uintptr_t, uintptr_t);

static void test_callbacks(void **state)
{
    static clr_profiler_callbacks callbacks;
    static clr_profiler_callbacks none;
    clr_profiler_object object = {{&clr_callback_table}, &callbacks, NULL, {0}, NULL, 1};
    int count = 0;

    (void)state;
#undef CALLBACK
#define CALLBACK(method, name)                                                                     \
    if (strcmp(#name, "initialize") != 0 && strcmp(#name, "initialize_for_attach") != 0) {         \
        any_function own = stubs[slot_of_callback(#method)];                                       \
        any_callback slot;                                                                         \
                                                                                                   \
        memcpy(&slot, &clr_callback_table.method, sizeof slot);                                    \
        memset(&callbacks, 0, sizeof callbacks);                                                   \
        memcpy(&callbacks.name, &own, sizeof own);                                                 \
        object.callbacks = &callbacks;                                                             \
        last_slot = -1;                                                                            \
        slot(&object, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);                                         \
        assert_int_equal(last_slot, slot_of_callback(#method));                                    \
        object.callbacks = &none;                                                                  \
        last_slot = -1;                                                                            \
        assert_int_equal(slot(&object, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), S_OK);                 \
        assert_int_equal(last_slot, -1);                                                           \
        count++;                                                                                   \
    }
#define slot_of_callback(method)                                                                   \
    (int)strtol(find(methods, method_count, NULL, method)->text, NULL, 10)
#include "support/clr_table.inc"
    assert_int_equal(count, 93);
}

/* Layouts, on 32 and 64 bit. */
static void test_layouts(void **state)
{
    const size_t word = sizeof(void *);
    const size_t long_alignment = offsetof(
        struct {
            char c;
            uint64_t l;
        },
        l);

    (void)state;
    assert_int_equal(sizeof(GUID), 16);
    assert_int_equal(sizeof(HRESULT), 4);
    assert_int_equal(sizeof(BOOL), 4);
    assert_int_equal(sizeof(WCHAR), 2);
    assert_int_equal(sizeof(FunctionIDOrClientID), word);
    assert_int_equal(sizeof(COR_PRF_MONITOR), 4);
    assert_int_equal(sizeof(COR_IL_MAP), 12);
    assert_int_equal(sizeof(COR_DEBUG_IL_TO_NATIVE_MAP), 12);
    assert_int_equal(sizeof(COR_FIELD_OFFSET), 8);
    assert_int_equal(sizeof(COR_PRF_FUNCTION_ARGUMENT_RANGE), 2 * word);
    assert_int_equal(offsetof(COR_PRF_FUNCTION_ARGUMENT_INFO, ranges), 8);
    assert_int_equal(sizeof(COR_PRF_FUNCTION_ARGUMENT_INFO), 8 + 2 * word);
    assert_int_equal(sizeof(COR_PRF_CODE_INFO), 2 * word);
    assert_int_equal(sizeof(COR_PRF_FUNCTION), 2 * word);
    assert_int_equal(sizeof(COR_PRF_METHOD), 2 * word);
    assert_int_equal(offsetof(COR_PRF_GC_GENERATION_RANGE, rangeStart), word);
    assert_int_equal(sizeof(COR_PRF_GC_GENERATION_RANGE), 4 * word);
    assert_int_equal(sizeof(COR_PRF_NONGC_HEAP_RANGE), 3 * word);
    assert_int_equal(offsetof(COR_PRF_EX_CLAUSE_INFO, programCounter), word);
    assert_int_equal(sizeof(COR_PRF_EX_CLAUSE_INFO), 4 * word);
    assert_int_equal(offsetof(COR_PRF_EVENTPIPE_PROVIDER_CONFIG, keywords),
                     word < long_alignment ? long_alignment : word);
    assert_int_equal(offsetof(COR_PRF_EVENTPIPE_PROVIDER_CONFIG, loggingLevel),
                     offsetof(COR_PRF_EVENTPIPE_PROVIDER_CONFIG, keywords) + 8);
    assert_int_equal(offsetof(COR_PRF_EVENTPIPE_PROVIDER_CONFIG, filterData),
                     offsetof(COR_PRF_EVENTPIPE_PROVIDER_CONFIG, loggingLevel) + word);
    assert_int_equal(sizeof(COR_PRF_EVENTPIPE_PARAM_DESC), 8 + word);
    assert_int_equal(sizeof(COR_PRF_EVENT_DATA), 16);
    assert_int_equal(sizeof(COR_PRF_FILTER_DATA), 16);
    assert_int_equal(offsetof(ASSEMBLYMETADATA, szLocale), 8);
    assert_int_equal(sizeof(ASSEMBLYMETADATA), word == 8 ? 56 : 32);
    assert_int_equal(sizeof(COR_PRF_ASSEMBLY_REFERENCE_INFO), word == 8 ? 48 : 28);
    assert_int_equal(sizeof(COR_SECATTR), 3 * word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),     cmocka_unit_test(test_iids),
        cmocka_unit_test(test_flags),     cmocka_unit_test(test_results),
        cmocka_unit_test(test_calls),     cmocka_unit_test(test_old_runtimes),
        cmocka_unit_test(test_callbacks), cmocka_unit_test(test_layouts),
    };

    return cmocka_run_group_tests(tests, read_tables, NULL);
}
