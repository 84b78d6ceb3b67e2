/* Unit tests of reading .gcdump files, on one that dotnet-gcdump wrote of the sample LeakyCache
 * (2,000 entries) on 10.0; its paths were changed. `dotnet-gcdump report` says of it: 401,560 bytes
 * in 4,590 nodes, 68 of which are groups of roots and places of objects that are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "analysis/heap.h"
#include "analysis/heap_growth.h"
#include "diagnostics/gcdump.h"
#include "diagnostics/type_text.h"

enum {
    ENTRIES = 2000,
    OBJECTS = 4522,
    BYTES_SAID = 401560,
    ONE_EMPTY_STRING = 2, /* 22 bytes in the file; no object is smaller than 24 */
    SAMPLE_RATE = 96,     /* where the file's end has the rate, counted from its last byte */
};

static int read_file(void **state)
{
    static buffer bytes;
    char piece[8192];
    gzFile file = gzopen(TEST_SOURCE_DIR "/tests/unit/data/leaky-10.0.gcdump.gz", "rb");
    int got;

    assert_non_null(file);
    while ((got = gzread(file, piece, sizeof piece)) > 0)
        buffer_append(&bytes, piece, (size_t)got);
    assert_int_equal(gzclose(file), Z_OK);
    *state = &bytes;
    return 0;
}

static int free_file(void **state)
{
    buffer_free(*state);
    return 0;
}

static int load(const void *bytes, size_t length, char note[160], model *m, error *e)
{
    buffer out = BUFFER_EMPTY;
    recording_file *file = NULL;
    int code = gcdump_import(bytes, length, "leaky", 1700000000000000000, &out, note, 160, e);

    if (code == 0) {
        assert_int_equal(recording_file_open_bytes(out.data, out.length, &file, e), 0);
        assert_int_equal(model_load(file, 0, m, e), 0);
        recording_file_close(file);
        assert_string_equal(m->cut, "");
        assert_int_equal(m->damaged_chunks, 0);
    }
    buffer_free(&out);
    return code;
}

static const heap_type *type_of(const heap *h, const char *name)
{
    const heap_type *found = NULL;

    for (uint32_t i = 0; i < h->type_count; i++) {
        if (strcmp(heap_type_name(h, i), name) == 0) {
            assert_null(found);
            found = &h->types[i];
        }
    }
    assert_non_null(found);
    return found;
}

static void has_what_the_other_tool_says(void **state)
{
    const buffer *bytes = *state;
    error e = {0};
    char note[160];
    buffer text = BUFFER_EMPTY;
    model m;
    heap h;

    assert_int_equal(load(bytes->data, bytes->length, note, &m, &e), 0);
    assert_string_equal(note, "");
    assert_string_equal(model_text(&m, m.processes[0].name), "leaky");
    assert_string_equal(model_info_value(&m, NULL, "created_unix_ns"), "1700000000000000000");
    assert_int_equal(heap_build(&m, heap_find(&m), &h, &e), 0);
    assert_int_equal(h.objects, OBJECTS);
    assert_int_equal(h.bytes, BYTES_SAID + ONE_EMPTY_STRING);
    assert_int_equal(h.in_generation[MODEL_HEAP_NOT_KNOWN], h.bytes);
    assert_int_equal(type_of(&h, "LeakyCache.Entry")->count, ENTRIES);
    assert_int_equal(type_of(&h, "LeakyCache.Entry")->bytes, ENTRIES * 32);
    assert_int_equal(type_of(&h, "LeakyCache.Entry")->retained, ENTRIES * (32 + 124));
    assert_int_equal(type_of(&h, "LeakyCache.Label")->count, ENTRIES / 10);
    /* the file has three types of these, by size */
    assert_int_equal(type_of(&h, "object[]")->largest, 8184);
    assert_int_equal(type_of(&h, "LeakyCache.Entry[]")->largest, 16408);
    assert_int_equal(type_of(&h, "System.Collections.Generic.List<LeakyCache.Entry>")->retained,
                     32 + 16408 + ENTRIES * (32 + 124));
    assert_int_equal(heap_growth_way(&(heap_growth){0}, &h, "LeakyCache.Entry", &text, &e), 0);
    assert_string_equal(buffer_text(&text),
                        "static field Entries -> System.Collections.Generic.List<LeakyCache.Entry>"
                        " -> LeakyCache.Entry[] -> LeakyCache.Entry");
    buffer_free(&text);
    heap_free(&h);
    model_free(&m);
}

static void says_that_it_is_a_sample(void **state)
{
    const buffer *bytes = *state;
    static const uint8_t ONE[4] = {0, 0, 0x80, 0x3f}, TWO[4] = {0, 0, 0, 0x40};
    buffer changed = BUFFER_EMPTY;
    error e = {0};
    char note[160];
    model m;

    buffer_append(&changed, bytes->data, bytes->length);
    assert_memory_equal(changed.data + changed.length - SAMPLE_RATE, ONE, 4);
    memcpy(changed.data + changed.length - SAMPLE_RATE, TWO, 4);
    assert_int_equal(load(changed.data, changed.length, note, &m, &e), 0);
    assert_string_equal(note,
                        "the file holds a sample: one object stands for 2.0 of the program's");
    model_free(&m);
    buffer_free(&changed);
}

/* All that is needed stands before the facts at the end. */
static void a_cut_file_is_said(void **state)
{
    const buffer *bytes = *state;
    char note[160];
    model m;

    for (size_t length = 0; length < bytes->length - 2 * SAMPLE_RATE; length += 1999) {
        error e = {0};

        assert_int_equal(load(bytes->data, length, note, &m, &e), ERROR_CORRUPT);
        assert_string_equal(e.message, "the .gcdump file is broken or breaks off");
    }
}

static void spells_types(void **state)
{
    static const char *const NAMES[][2] = {
        {"System.String", "string"},
        {"System.Int32[]", "int[]"},
        {"System.Int32[,]", "int[,]"},
        {"System.Int32[][]", "int[][]"},
        {"Shop.Order[*]", "Shop.Order[]"},
        {"Shop.Order<*>", "Shop.Order[]"},
        {"System.String<,>", "string[,]"},
        {"Shop.Order", "Shop.Order"},
        {"Shop.Store+Order", "Shop.Store.Order"},
        {"System.Collections.Generic.List`1[System.Int32]", "System.Collections.Generic.List<int>"},
        {"System.Collections.Generic.List<System.Int32>", "System.Collections.Generic.List<int>"},
        {"A.D`2[System.String,A.L`1[A.B[]]]", "A.D<string, A.L<A.B[]>>"},
        {"A.D<System.String,A.L<A.B[]>>[]", "A.D<string, A.L<A.B[]>>[]"},
        /* as the events of 8.0 and 10.0 have them */
        {"Entry[System.String,System.Collections.Generic.List`1[System.Int32]][]",
         "Entry<string, System.Collections.Generic.List<int>>[]"},
        {"System.Int32[,][]", "int[][,]"},
        {"Bad`1[System.Int32]", "Bad<int>"},
        {"Shop.Program+<>c", "Shop.Program.<>c"},
        {"Shop.Program+[]c", "Shop.Program.<>c"},
        {"Shop.Program+<Main>d__0", "Shop.Program.<Main>d__0"},
        /* of statements without a method around them */
        {"Program+<<Main>$>d__0", "Program.<<Main>$>d__0"},
        {"A.Box`1[Program+<<Main>$>d__0]", "A.Box<Program.<<Main>$>d__0>"},
        {"A.Box`1[Program+<<<Main>$>g__Ask|0_1>d[]]", "A.Box<Program.<<<Main>$>g__Ask|0_1>d[]>"},
        {"A.<<Main", "A.<<Main"},
        {"", ""},
        {"A[", "A"},
        {"A<B", "A<B>"},
        {"A]x", "A]x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        buffer out = BUFFER_EMPTY;

        type_text_append(&out, NAMES[i][0]);
        assert_string_equal(buffer_text(&out), NAMES[i][1]);
        buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_what_the_other_tool_says),
        cmocka_unit_test(says_that_it_is_a_sample),
        cmocka_unit_test(a_cut_file_is_said),
        cmocka_unit_test(spells_types),
    };

    return cmocka_run_group_tests(tests, read_file, free_file);
}
