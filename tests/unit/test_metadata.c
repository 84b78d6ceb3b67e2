/* PE files and metadata: hand-made broken ones here; real assemblies in the proof at scale. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cil/compressed.h"
#include "metadata/metadata.h"
#include "metadata/pe.h"

/* A root with #~ (Module and TypeDef, one row each), #Strings, #Blob and #GUID. */
static void make_metadata(buffer *b)
{
    static const char strings[24] = "\0one.dll\0Type\0Space\0\0\0";
    static const struct {
        uint32_t offset, size;
        const char *name;
    } streams[] = {{108, 56, "#~\0"},
                   {164, 24, "#Strings\0\0\0"},
                   {188, 4, "#Blob\0\0"},
                   {192, 16, "#GUID\0\0"}};

    buffer_append_u32(b, 0x424A5342);
    buffer_append_u16(b, 1);
    buffer_append_u16(b, 1);
    buffer_append_u32(b, 0);
    buffer_append_u32(b, 12);
    buffer_append(b, "v4.0.30319\0\0", 12);
    buffer_append_u16(b, 0);
    buffer_append_u16(b, 4);
    for (size_t i = 0; i < 4; i++) {
        size_t length = strlen(streams[i].name) + 1;

        buffer_append_u32(b, streams[i].offset);
        buffer_append_u32(b, streams[i].size);
        buffer_append(b, streams[i].name, (length + 3) & ~(size_t)3);
    }
    buffer_append_fill(b, 0, 108 - b->length);
    buffer_append_u32(b, 0);
    buffer_append_u8(b, 2);
    buffer_append_u8(b, 0);
    buffer_append_u8(b, 0);
    buffer_append_u8(b, 1);
    buffer_append_u64(b, 1 << 0 | 1 << 2);
    buffer_append_u64(b, 0);
    buffer_append_u32(b, 1);
    buffer_append_u32(b, 1);
    for (size_t i = 0; i < 5; i++)
        buffer_append_u16(b, (uint16_t[]){0, 1, 1, 0, 0}[i]);
    buffer_append_u32(b, 0x100001);
    for (size_t i = 0; i < 5; i++)
        buffer_append_u16(b, (uint16_t[]){9, 14, 0, 1, 1}[i]);
    buffer_append_fill(b, 0, 164 - b->length);
    buffer_append(b, strings, 24);
    buffer_append(b, "\0\2ab", 4);
    buffer_append_fill(b, 7, 16);
}

static void reads_cells_and_heaps(void **state)
{
    buffer b = BUFFER_EMPTY;
    metadata m;
    error e;

    (void)state;
    make_metadata(&b);
    assert_int_equal(0, metadata_open(&m, b.data, b.length, &e));
    assert_int_equal(1, metadata_rows(&m, METADATA_TYPE_DEF));
    assert_string_equal("one.dll", metadata_cell_string(&m, METADATA_MODULE, 1, 1));
    assert_string_equal("Type", metadata_cell_string(&m, METADATA_TYPE_DEF, 1, 1));
    assert_string_equal("Space", metadata_cell_string(&m, METADATA_TYPE_DEF, 1, 2));
    assert_int_equal(0x100001, metadata_cell(&m, METADATA_TYPE_DEF, 1, 0));
    assert_int_equal(16, metadata_guid(&m, 1).length);
    assert_null(metadata_guid(&m, 2).data);
    assert_int_equal(2, metadata_blob(&m, 1).length);
    assert_null(metadata_blob(&m, 3).data); /* says 98 bytes */
    assert_string_equal("", metadata_string(&m, 4000));
    assert_int_equal(0, metadata_cell(&m, METADATA_TYPE_DEF, 2, 0));
    assert_int_equal(0, metadata_cell(&m, METADATA_TYPE_DEF, 1, 6));
    buffer_free(&b);
}

/* Cut at every length and with every byte broken: an error or an answer, never a read outside
 * (the sanitizer presets see it). */
static void survives_broken_bytes(void **state)
{
    buffer b = BUFFER_EMPTY;
    metadata m;

    (void)state;
    make_metadata(&b);
    for (size_t length = 0; length < b.length; length++)
        assert_true(metadata_open(&m, b.data, length, NULL) != 0);
    for (size_t i = 0; i < b.length; i++) {
        uint8_t was = b.data[i];

        b.data[i] = 0xFF;
        if (metadata_open(&m, b.data, b.length, NULL) == 0)
            for (uint32_t row = 0; row < 3; row++)
                for (unsigned column = 0; column < 7; column++)
                    metadata_cell_string(&m, METADATA_TYPE_DEF, row, column);
        b.data[i] = was;
    }
    buffer_free(&b);
}

static void refuses_what_is_not_pe(void **state)
{
    pe p;
    error e;
    uint8_t bytes[256] = {'M', 'Z'};

    (void)state;
    assert_int_equal(ERROR_CORRUPT, pe_open(&p, "", 0, false, &e));
    assert_int_equal(ERROR_CORRUPT, pe_open(&p,
                                            "\x7f"
                                            "ELF",
                                            4, false, &e));
    bytes[0x3C] = 0x80;
    assert_int_equal(ERROR_CORRUPT, pe_open(&p, bytes, sizeof bytes, false, &e));
    bytes[0x3F] = 0xFF;
    assert_int_equal(ERROR_CORRUPT, pe_open(&p, bytes, sizeof bytes, false, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_cells_and_heaps),
        cmocka_unit_test(survives_broken_bytes),
        cmocka_unit_test(refuses_what_is_not_pe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
