/* Signatures and compressed integers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cil/compressed.h"
#include "cil/signature.h"

static void compresses_at_the_borders(void **state)
{
    static const struct {
        uint32_t value;
        size_t length;
        uint8_t bytes[4];
    } cases[] = {
        {0, 1, {0}},
        {0x7F, 1, {0x7F}},
        {0x80, 2, {0x80, 0x80}},
        {0x2E57, 2, {0xAE, 0x57}},
        {0x3FFF, 2, {0xBF, 0xFF}},
        {0x4000, 4, {0xC0, 0x00, 0x40, 0x00}},
        {0x1FFFFFFF, 4, {0xDF, 0xFF, 0xFF, 0xFF}},
    };
    static const int32_t numbers[] = {0,    1,    -1,    63,    64,        -64,       -65,
                                      8191, 8192, -8192, -8193, 268435455, -268435456};
    buffer out = BUFFER_EMPTY;
    reader r;

    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        buffer_clear(&out);
        assert_true(cil_append_compressed(&out, cases[n].value));
        assert_int_equal(cases[n].length, out.length);
        assert_memory_equal(cases[n].bytes, out.data, out.length);
        r = reader_of(out.data, out.length);
        assert_int_equal(cases[n].value, cil_read_compressed(&r));
        r = reader_of(out.data, out.length - 1);
        cil_read_compressed(&r);
        assert_true(reader_failed(&r));
    }
    assert_false(cil_append_compressed(&out, 0x20000000));
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
        buffer_clear(&out);
        assert_true(cil_append_compressed_signed(&out, numbers[n]));
        r = reader_of(out.data, out.length);
        assert_int_equal(numbers[n], cil_read_compressed_signed(&r));
        assert_true(reader_at_end(&r));
    }
    assert_false(cil_append_compressed_signed(&out, 268435456));
    r = reader_of("\xFF", 1);
    cil_read_compressed(&r);
    assert_true(reader_failed(&r));
    buffer_clear(&out);
    assert_true(cil_append_compressed_token(&out, 0x0100007F));
    r = reader_of(out.data, out.length);
    assert_int_equal(0x0100007F, cil_read_compressed_token(&r));
    assert_false(cil_append_compressed_token(&out, 0x06000001));
    buffer_free(&out);
}

static void name(void *context, uint32_t token, buffer *out)
{
    (void)context;
    buffer_format(out, "T%x`1", (unsigned)(token & 0xFF));
}

/* Bytes, then the text of the parameters, full and plain. Token of byte 05 is TypeRef 1, 09 is
 * TypeRef 2. */
static void reads_and_writes_types(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *full, *plain;
    } cases[] = {
        {"\x00\x00\x01", 3, "", ""},
        {"\x20\x02\x01\x08\x0E", 5, "System.Int32,System.String", "int, string"},
        {"\x00\x01\x01\x14\x08\x02\x00\x00", 8, "System.Int32[,]", "int[,]"},
        {"\x00\x01\x01\x14\x08\x02\x02\x02\x03\x02\x02\x0C", 12, "System.Int32[1...2,6...8]",
         "int[1...2,6...8]"},
        {"\x00\x01\x01\x14\x08\x01\x01\x03\x00", 9, "System.Int32[0...2]", "int[0...2]"},
        {"\x00\x01\x01\x14\x08\x01\x00\x01\x7F", 9, "System.Int32[-1...]", "int[-1...]"},
        {"\x00\x01\x01\x1D\x1D\x08", 6, "System.Int32[][]", "int[][]"},
        {"\x10\x01\x02\x01\x13\x00\x1E\x01", 8, "!0,!!1", "!0, !!1"},
        {"\x00\x01\x01\x15\x11\x05\x02\x08\x0E", 9, "T1`1[System.Int32,System.String]",
         "T1<int, string>"},
        {"\x00\x02\x01\x0F\x01\x10\x08", 7, "void*,System.Int32&", "void*, int&"},
        {"\x00\x01\x1F\x05\x10\x20\x09\x08\x1F\x05\x10\x08", 12, "System.Int32&", "int&"},
        {"\x00\x01\x01\x1B\x00\x02\x08\x0E\x1C", 9, "(System.Int32)(System.String,System.Object)",
         "(int)(string, object)"},
        {"\x05\x02\x01\x08\x41\x0E", 6, "System.Int32,...,System.String", "int, ..., string"},
        {"\x00\x02\x01\x16\x18", 5, "System.TypedReference,System.IntPtr", "TypedReference, nint"},
        {"\x07\x02\x45\x10\x08\x12\x09", 7, "System.Int32&,T2`1", "int&, T2`1"},
        {"\x0A\x01\x12\x05", 4, "T1`1", "T1`1"},
        {"\x09\x01\x20\x05\x01\x0A", 6, "System.Int64", "long"},
    };
    cil_signature s;
    buffer out = BUFFER_EMPTY;

    (void)state;
    cil_signature_init(&s);
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        cil_type_namer namer = {name, NULL, false};
        error e;

        if (cil_signature_read(&s, cases[n].bytes, cases[n].length, &e) != 0)
            fail_msg("case %zu: %s", n, e.message);
        buffer_clear(&out);
        cil_signature_write(&s, &out);
        assert_int_equal(cases[n].length, out.length);
        assert_memory_equal(cases[n].bytes, out.data, out.length);
        buffer_clear(&out);
        cil_signature_parameters_text(&s, &namer, &out);
        assert_string_equal(cases[n].full, buffer_text(&out));
        buffer_clear(&out);
        namer.plain = true;
        cil_signature_parameters_text(&s, &namer, &out);
        assert_string_equal(cases[n].plain, buffer_text(&out));
        /* Cut anywhere, it is refused. */
        for (size_t length = 0; length < cases[n].length; length++)
            assert_int_not_equal(0, cil_signature_read(&s, cases[n].bytes, length, &e));
    }
    buffer_free(&out);
    cil_signature_free(&s);
}

static void limits_nesting(void **state)
{
    uint8_t bytes[200];
    cil_signature s;

    (void)state;
    memset(bytes, 0x1D, sizeof bytes);
    bytes[0] = 0x06;
    bytes[50] = 0x08;
    cil_signature_init(&s);
    assert_int_equal(0, cil_signature_read(&s, bytes, 51, NULL));
    bytes[50] = 0x1D;
    bytes[199] = 0x08;
    assert_int_equal(ERROR_CORRUPT, cil_signature_read(&s, bytes, 200, NULL));
    cil_signature_free(&s);
}

static void copies_types_without_modifiers(void **state)
{
    static const uint8_t by_ref[] = {0x00, 0x00, 0x1F, 0x05, 0x10, 0x20, 0x09, 0x08};
    cil_signature s;
    buffer out = BUFFER_EMPTY;

    (void)state;
    cil_signature_init(&s);
    assert_int_equal(0, cil_signature_read(&s, by_ref, sizeof by_ref, NULL));
    cil_type_copy(&s, 0, &out);
    assert_int_equal(2, out.length);
    assert_memory_equal("\x10\x08", out.data, 2);
    buffer_free(&out);
    cil_signature_free(&s);
}

static void appends_locals(void **state)
{
    static const uint32_t counts[] = {0, 126, 127, 128, 255, 16382, 16383, 16384, 65533};

    (void)state;
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
        buffer old = BUFFER_EMPTY, types = BUFFER_EMPTY, out = BUFFER_EMPTY;
        uint32_t first = 0;
        cil_signature s;

        buffer_append_u8(&old, 0x07);
        cil_append_compressed(&old, counts[n]);
        buffer_append_fill(&old, 0x08, counts[n]);
        buffer_append_u8(&types, 0x1C);
        assert_int_equal(
            0, cil_signature_append_locals(old.data, old.length, &types, 1, &out, &first, NULL));
        assert_int_equal(counts[n], first);
        cil_signature_init(&s);
        assert_int_equal(0, cil_signature_read(&s, out.data, out.length, NULL));
        assert_int_equal(counts[n] + 1, s.count);
        assert_int_equal(CIL_TYPE_OBJECT, s.types[counts[n]].element);
        assert_int_equal(ERROR_LIMIT,
                         cil_signature_append_locals(old.data, old.length, &types,
                                                     65535 - counts[n], &out, &first, NULL));
        cil_signature_free(&s);
        buffer_free(&old);
        buffer_free(&types);
        buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compresses_at_the_borders),
        cmocka_unit_test(reads_and_writes_types),
        cmocka_unit_test(limits_nesting),
        cmocka_unit_test(copies_types_without_modifiers),
        cmocka_unit_test(appends_locals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
