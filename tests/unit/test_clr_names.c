/* Names as text: what the compiler makes of C# sources, and signatures from bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "clarinet/clarinet.h"

/* Arguments are cut at | . */
static size_t split(const char *text, char *store, const char **items)
{
    size_t count = 0;

    if (text == NULL)
        return 0;
    strcpy(store, text);
    for (char *item = strtok(store, "|"); item != NULL; item = strtok(NULL, "|"))
        items[count++] = item;
    return count;
}

static const struct {
    const char *path, *arguments, *method, *method_arguments, *expected;
} METHODS[] = {
    {"Shop.Orders", NULL, "Place", NULL, "Shop.Orders.Place"},
    {"Orders", NULL, "Place", NULL, "Orders.Place"},
    {"", NULL, "Start", NULL, "Start"},
    {"Shop.Orders", NULL, ".ctor", NULL, "Shop.Orders..ctor"},
    {"Shop.Cache`1", "string", "Get", "int", "Shop.Cache<string>.Get<int>"},
    {"Shop.Outer`1+Inner`2", "int|bool|string", "Run", NULL,
     "Shop.Outer<int>.Inner<bool, string>.Run"},
    {"Shop.Cache`2", NULL, "Get", NULL, "Shop.Cache<,>.Get"},
    /* async and iterators */
    {"Shop.Orders+<GetAsync>d__12", NULL, "MoveNext", NULL, "Shop.Orders.GetAsync"},
    {"Shop.Repo`1+<GetAsync>d__4`1", "int|string", "MoveNext", NULL,
     "Shop.Repo<int>.GetAsync<string>"},
    {"Shop.Orders+<Items>d__3", NULL, "System.IDisposable.Dispose", NULL,
     "Shop.Orders.Items.System.IDisposable.Dispose"},
    {"Shop.Names+<Iter>d__3`1", "double", ".ctor", NULL, "Shop.Names.Iter<double>..ctor"},
    {"Shop.Names+<Iter>d__3`1", "double", "System.Collections.Generic.IEnumerable<T>.GetEnumerator",
     NULL, "Shop.Names.Iter<double>.System.Collections.Generic.IEnumerable.GetEnumerator"},
    {"Shop.Names+<Iter>d__3", NULL,
     "System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator", NULL,
     "Shop.Names.Iter.System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator"},
    {"Shop.Names+<Iter>d__3`1", "double", "A<", NULL, "Shop.Names.Iter<double>.A<"},
    {"Shop.Set+<System-Collections-IEnumerable-GetEnumerator>d__5", NULL, "MoveNext", NULL,
     "Shop.Set.System.Collections.IEnumerable.GetEnumerator"},
    {"Program+<<Main>$>d__0", NULL, "MoveNext", NULL, "Program.Main"},
    {"M+VB$StateMachine_3_LoadAsync", NULL, "MoveNext", NULL, "M.LoadAsync"},
    /* lambdas */
    {"Shop.Orders+<>c", NULL, "<Run>b__3_0", NULL, "Shop.Orders.Run.lambda"},
    {"Shop.Orders+<>c__DisplayClass5_0", NULL, "<Run>b__1", NULL, "Shop.Orders.Run.lambda"},
    {"Shop.Orders+<>c__3`1", "int", "<Run>b__3_0", NULL, "Shop.Orders.Run.lambda<int>"},
    {"Shop.Orders+<>c+<<Run>b__3_0>d", NULL, "MoveNext", NULL, "Shop.Orders.Run.lambda"},
    {"Shop.Orders+<>c", NULL, ".ctor", NULL, "Shop.Orders.<>c..ctor"},
    {"Shop.Orders+<>c__DisplayClass5_0`1", "int", ".ctor", NULL,
     "Shop.Orders.<>c__DisplayClass5_0<int>..ctor"},
    {"Program+<>c", NULL, "<<Main>$>b__0_0", NULL, "Program.Main.lambda"},
    /* local functions */
    {"Program", NULL, "<Main>g__Local|0_1", NULL, "Program.Main.Local"},
    {"Program", NULL, "<<Main>$>g__Add|0_0", NULL, "Program.Main.Add"},
    {"Program+<<Main>g__Local|0_1>d", NULL, "MoveNext", NULL, "Program.Main.Local"},
    {"A`1+<>c__DisplayClass1_0`1", "int|bool", "<F>g__G|0", "string", "A<int>.F.G<bool, string>"},
    {"System.Threading.Thread", NULL, "<PollGC>g__PollGCWorker|67_0", NULL,
     "System.Threading.Thread.PollGC.PollGCWorker"},
    /* the rest */
    {"Program", NULL, "<Main>$", NULL, "Program.Main"},
    {"Program", NULL, "<Main>", NULL, "Program.Main"},
    {"R", NULL, "<Clone>$", NULL, "R.Clone"},
    {"Shop.Orders", NULL, "<>n__0", NULL, "Shop.Orders.<>n__0"},
    {"<Program>F0123456789ABCDEF__Widget", NULL, "Spin", NULL, "Widget.Spin"},
    {"Shop.<Program>F0123456789ABCDEF__Widget`1+Part", "int", "Spin", NULL,
     "Shop.Widget<int>.Part.Spin"},
    {"Shop.<Program>F0123456789ABCDEF__Widget+<Go>d__1", NULL, "MoveNext", NULL, "Shop.Widget.Go"},
    {"Shop.L", NULL, "System.Collections.Generic.IEnumerable<T>.GetEnumerator", NULL,
     "Shop.L.System.Collections.Generic.IEnumerable<T>.GetEnumerator"},
    /* broken ones are kept, not crashed on */
    {"A", NULL, "<", NULL, "A.<"},
    {"A", NULL, "<<<<", NULL, "A.<<<<"},
    {"A+<", NULL, "MoveNext", NULL, "A.<.MoveNext"},
    {"A`99999999999", NULL, "M", NULL, "A`99999999999.M"},
    {"A", NULL, "<x>g__", NULL, "A.x."},
    {"A", NULL, "", NULL, "A."},
};

static void test_methods(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        buffer out = BUFFER_EMPTY;
        char store[2][200];
        const char *items[2][20];
        size_t count[2];

        count[0] = split(METHODS[i].arguments, store[0], items[0]);
        count[1] = split(METHODS[i].method_arguments, store[1], items[1]);
        clr_name_append_method(&out, METHODS[i].path, items[0], count[0], METHODS[i].method,
                               items[1], count[1]);
        assert_string_equal(buffer_text(&out), METHODS[i].expected);
        buffer_free(&out);
    }
}

static const struct {
    const char *path, *arguments;
    unsigned style;
    const char *expected;
} TYPES[] = {
    {"System.Int32", NULL, CLR_NAME_FULL, "int"},
    {"System.Int32", NULL, CLR_NAME_PLAIN, "System.Int32"},
    {"System.String", NULL, CLR_NAME_SHORT, "string"},
    {"System.IntPtr", NULL, CLR_NAME_FULL, "nint"},
    {"System.Nullable`1", "int", CLR_NAME_FULL, "int?"},
    {"System.Nullable`1", "int", CLR_NAME_PLAIN, "System.Nullable<int>"},
    {"System.Nullable`1", NULL, CLR_NAME_FULL, "System.Nullable<>"},
    {"System.ValueTuple`2", "int|string", CLR_NAME_FULL, "(int, string)"},
    {"System.ValueTuple`8", "a|b|c|d|e|f|g|h", CLR_NAME_SHORT,
     "ValueTuple<a, b, c, d, e, f, g, h>"},
    {"System.ValueTuple`8", "a|b|c|d|e|f|g|ValueTuple<h>", CLR_NAME_SHORT,
     "(a, b, c, d, e, f, g, h)"},
    {"System.ValueTuple`8", "a|b|c|d|e|f|g|System.ValueTuple<(h, int)>", CLR_NAME_FULL,
     "(a, b, c, d, e, f, g, (h, int))"},
    {"System.ValueTuple`8", "a|b|c|d|e|f|g|(h, i)", CLR_NAME_FULL, "(a, b, c, d, e, f, g, h, i)"},
    {"System.Collections.Generic.List`1", "Shop.Order", CLR_NAME_FULL,
     "System.Collections.Generic.List<Shop.Order>"},
    {"System.Collections.Generic.Dictionary`2+Enumerator", "int|string", CLR_NAME_SHORT,
     "Dictionary<int, string>.Enumerator"},
    {"Shop.Orders+<>c__DisplayClass5_0", NULL, CLR_NAME_FULL, "Shop.Orders.<>c__DisplayClass5_0"},
    {"<>f__AnonymousType0`2", "int|string", CLR_NAME_FULL, "<>f__AnonymousType0<int, string>"},
    {"", NULL, CLR_NAME_FULL, ""},
};

static void test_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        buffer out = BUFFER_EMPTY;
        char store[200];
        const char *items[20];
        size_t count = split(TYPES[i].arguments, store, items);

        clr_name_append_type(&out, TYPES[i].path, items, count, TYPES[i].style);
        assert_string_equal(buffer_text(&out), TYPES[i].expected);
        buffer_free(&out);
    }
}

/* Token 1 of a table is List, 2 is Order, 3 is a nested generic, 4 a modifier. */
static void append_path(void *context, mdToken token, clr_text *out)
{
    static const char *const PATHS[] = {"?", "System.Collections.Generic.List`1", "Shop.Order",
                                        "Shop.Map`1+Entry`1",
                                        "System.Runtime.InteropServices.InAttribute"};

    (void)context;
    clr_text_append(out, CLR_TOKEN_ROW(token) < 5 ? PATHS[CLR_TOKEN_ROW(token)] : "?");
}

#define BYTES(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})

static const struct {
    uint8_t bytes[40];
    size_t size;
    const char *expected; /* NULL = broken */
} PARAMETERS[] = {
    {BYTES(0, 0, 1), "()"},
    {BYTES(0x20, 2, 1, 8, 0x0e), "(int, string)"},
    {BYTES(0, 1, 1, 0x10, 0x0e), "(ref string)"},
    {BYTES(0, 1, 1, 0x1d, 0x1d, 0x08), "(int[][])"},
    {BYTES(0, 1, 1, 0x14, 0x1d, 0x08, 2, 0, 0), "(int[,][])"},
    {BYTES(0, 1, 1, 0x1d, 0x14, 0x08, 3, 0, 3, 0, 0, 0), "(int[][,,])"},
    {BYTES(0, 1, 1, 0x0f, 0x0f, 0x01), "(void**)"},
    {BYTES(0, 1, 1, 0x15, 0x12, 0x05, 1, 0x12, 0x09), "(List<Order>)"},
    {BYTES(0, 1, 1, 0x1d, 0x15, 0x12, 0x05, 1, 0x1d, 0x08), "(List<int[]>[])"},
    {BYTES(0, 1, 1, 0x15, 0x11, 0x0d, 2, 0x13, 0, 0x1e, 0), "(Map<TKey>.Entry<TValue>)"},
    {BYTES(0, 2, 1, 0x13, 9, 0x1e, 9), "(T9, M9)"},
    {BYTES(0x10, 1, 1, 1, 0x1e, 0), "(TValue)"},
    {BYTES(0, 1, 1, 0x1b, 0, 2, 1, 8, 0x0e), "(delegate*<int, string, void>)"},
    {BYTES(0, 1, 1, 0x1b, 1, 1, 1, 8), "(delegate* unmanaged[Cdecl]<int, void>)"},
    {BYTES(0, 1, 1, 0x1b, 2, 1, 1, 8), "(delegate* unmanaged[Stdcall]<int, void>)"},
    {BYTES(0, 1, 1, 0x1b, 9, 0, 8), "(delegate* unmanaged<int>)"},
    {BYTES(0, 1, 1, 0x1b, 0x0f, 0, 8), "(delegate*<int>)"},
    {BYTES(0, 1, 1, 0x1f, 0x05, 0x10, 0x08), "(ref int)"},
    {BYTES(5, 2, 1, 8, 0x41, 0x0e), "(int, string)"},
    {BYTES(0, 0xc0, 0, 0, 1, 1, 8), "(int)"},
    {BYTES(0, 1), NULL},
    {BYTES(0, 2, 1, 8), NULL},
    {BYTES(0, 1, 1, 0x99), NULL},
    {BYTES(0, 1, 1, 0x15, 0x12, 0x05, 0x7f, 8), NULL},
    {BYTES(0, 1, 1, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d,
           0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d,
           0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 0x1d, 8),
     NULL},
};

static void is_field(const char *field, const char *expected)
{
    buffer out = BUFFER_EMPTY;

    clr_name_append_field(&out, field);
    assert_string_equal(buffer_text(&out), expected);
    buffer_free(&out);
}

static void test_fields(void **state)
{
    (void)state;
    is_field("items", "items");
    is_field("<Log>k__BackingField", "Log");
    is_field("<>9__1_0", "<>9__1_0");
    is_field("<Log>k__BackingFields", "<Log>k__BackingFields");
    is_field("<Log", "<Log");
    is_field("", "");
}

static void test_parameters(void **state)
{
    static const char *const TYPE_ARGUMENTS[] = {"TKey"};
    static const char *const METHOD_ARGUMENTS[] = {"TValue"};
    clr_signature_names names = {append_path, NULL, TYPE_ARGUMENTS, 1, METHOD_ARGUMENTS, 1, NULL};

    (void)state;
    for (size_t i = 0; i < sizeof PARAMETERS / sizeof *PARAMETERS; i++) {
        buffer out = BUFFER_EMPTY;
        int good = clr_signature_append_parameters(&out, PARAMETERS[i].bytes, PARAMETERS[i].size,
                                                   &names, CLR_NAME_SHORT);

        assert_int_equal(good, PARAMETERS[i].expected != NULL);
        if (good)
            assert_string_equal(buffer_text(&out), PARAMETERS[i].expected);
        buffer_free(&out);
    }
}

static const char *by_reference(void *context, uint32_t number)
{
    static const char *const MARKS[] = {NULL, "out", NULL, "ref readonly"};

    (void)context;
    return number < 4 ? MARKS[number] : "in";
}

/* What the rows of parameters say goes before the signature's modifiers; only by-refs ask, and not
 * those inside of a function pointer. */
static void test_marks(void **state)
{
    static const struct {
        uint8_t bytes[20];
        size_t size;
        const char *expected;
    } MARKED[] = {
        {BYTES(0, 4, 1, 0x10, 8, 0x10, 8, 0x10, 8, 0x10, 8),
         "(out int, ref int, ref readonly int, in int)"},
        {BYTES(0, 2, 1, 8, 0x1f, 0x11, 0x10, 0x0e), "(int, in string)"},
        {BYTES(0, 3, 1, 8, 8, 0x1f, 0x11, 0x10, 0x0e), "(int, int, ref readonly string)"},
        {BYTES(0, 1, 1, 0x1b, 0, 1, 1, 0x1f, 0x11, 0x10, 8), "(delegate*<in int, void>)"},
        {BYTES(0, 1, 1, 0x1b, 0, 1, 1, 0x10, 8), "(delegate*<ref int, void>)"},
        {BYTES(0, 1, 1, 0x1b, 0, 0, 0x1f, 0x11, 0x10, 8), "(delegate*<ref int>)"},
    };
    clr_signature_names names = {.append_path = append_path, .by_reference = by_reference};

    (void)state;
    for (size_t i = 0; i < sizeof MARKED / sizeof *MARKED; i++) {
        buffer out = BUFFER_EMPTY;

        assert_true(clr_signature_append_parameters(&out, MARKED[i].bytes, MARKED[i].size, &names,
                                                    CLR_NAME_SHORT));
        assert_string_equal(buffer_text(&out), MARKED[i].expected);
        buffer_free(&out);
    }
}

/* No prefix of a good signature reads past its end. */
static void test_cut_signatures(void **state)
{
    clr_signature_names names = {.append_path = append_path};

    (void)state;
    for (size_t i = 0; i < sizeof PARAMETERS / sizeof *PARAMETERS; i++) {
        for (size_t size = 0; size < PARAMETERS[i].size; size++) {
            uint8_t *copy = malloc(size + 1);
            buffer out = BUFFER_EMPTY;

            memcpy(copy, PARAMETERS[i].bytes, size);
            if (PARAMETERS[i].expected != NULL)
                assert_false(clr_signature_append_parameters(&out, copy, size, &names, 0));
            free(copy);
            buffer_free(&out);
        }
    }
}

static void test_results_and_guids(void **state)
{
    char text[CLR_HRESULT_TEXT];
    char guid_text[CLR_GUID_TEXT];
    GUID guid;

    (void)state;
    assert_string_equal(clr_hresult_name(S_OK, text), "S_OK");
    assert_string_equal(clr_hresult_name((HRESULT)0x80131351u, text), "CORPROF_E_DATAINCOMPLETE");
    assert_string_equal(clr_hresult_name((HRESULT)0x80001234u, text), "0x80001234");
    assert_true(clr_guid_parse("{b446462d-bd22-41dd-872d-dc714c49eb56}", &guid));
    assert_true(clr_guid_equal(&guid, &CLR_IID_ICorProfilerInfo15));
    assert_string_equal(clr_guid_format(&guid, guid_text),
                        "{B446462D-BD22-41DD-872D-DC714C49EB56}");
    assert_true(clr_guid_parse("B446462D-BD22-41DD-872D-DC714C49EB56", &guid));
    assert_false(clr_guid_parse("{B446462D-BD22-41DD-872D-DC714C49EB56", &guid));
    assert_false(clr_guid_parse("B446462D-BD22-41DD-872D-DC714C49EB5", &guid));
    assert_false(clr_guid_parse("", &guid));
    assert_false(clr_guid_parse("{B446462DxBD22-41DD-872D-DC714C49EB56}", &guid));
}

static void test_text(void **state)
{
    WCHAR units[8];
    clr_text *text = clr_text_create();

    (void)state;
    clr_text_append(text, "a");
    clr_text_format(text, "%d%s", 12, "b");
    assert_string_equal(clr_text_value(text), "a12b");
    clr_text_clear(text);
    assert_true(clr_utf16("h\xc3\xa9\xf0\x9f\x98\x80", units, 8));
    assert_int_equal(units[1], 0xe9);
    assert_int_equal(units[2], 0xd83d);
    clr_text_append_utf16(text, units, 4);
    assert_string_equal(clr_text_value(text), "h\xc3\xa9\xf0\x9f\x98\x80");
    assert_true(clr_utf16("1234567", units, 8));
    assert_int_equal(units[7], 0);
    assert_false(clr_utf16("12345678", units, 8));
    assert_int_equal(units[0], 0);
    clr_text_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_cut_signatures),
        cmocka_unit_test(test_results_and_guids),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
