/* Unit tests of comparing the contents of a heap that events tell: what is read from memory counts
 * only where it is what the events say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "diagnostics/heap_texts.h"

enum { BASE = 0x10000, TYPE = BASE, BYTES = BASE + 16, NAMES = BASE + 32, FIRST = BASE + 64 };

/* Memory from BASE on: three types, then objects. */
typedef struct {
    uint8_t bytes[4096];
    size_t end;
    unsigned reads;
} memory;

static size_t read_memory(void *context, uint64_t address, void *out, size_t size)
{
    memory *m = context;
    size_t at = (size_t)(address - BASE);

    m->reads++;
    if (address < BASE || at >= m->end)
        return 0;
    size = size < m->end - at ? size : m->end - at;
    memcpy(out, m->bytes + at, size);
    return size;
}

static void put(memory *m, size_t at, const void *bytes, size_t size)
{
    memcpy(m->bytes + at - BASE, bytes, size);
}

static uint64_t put_string(memory *m, size_t at, const char *text)
{
    uint64_t type = TYPE | 1; /* with a mark of the collector's */
    uint32_t length = (uint32_t)strlen(text);

    put(m, at, &type, sizeof type);
    put(m, at + 8, &length, sizeof length);
    for (uint32_t i = 0; i < length; i++)
        m->bytes[at - BASE + 12 + 2 * i] = (uint8_t)text[i];
    return 22 + 2ull * length;
}

static void open_both(memory *m, heap_texts *t)
{
    static const uint32_t types[3][2] = {{0x80000002, 22}, {0x80000001, 24}, {0x81000008, 24}};

    memset(m, 0, sizeof *m);
    m->end = sizeof m->bytes;
    for (size_t i = 0; i < 3; i++)
        put(m, BASE + 16 * i, types[i], sizeof types[i]);
    heap_texts_init(t);
    t->memory = (class_memory){read_memory, m};
    t->is_comparing = true;
}

static void kinds_are_told_by_the_class(void **state)
{
    heap_texts t;
    memory m;

    (void)state;
    open_both(&m, &t);
    assert_int_equal(heap_texts_kind_of(&t, TYPE), HEAP_TEXTS_STRING);
    assert_int_equal(heap_texts_kind_of(&t, BYTES), HEAP_TEXTS_ARRAY);
    assert_int_equal(heap_texts_kind_of(&t, NAMES), HEAP_TEXTS_NONE);
    assert_int_equal(heap_texts_kind_of(&t, 0x10), HEAP_TEXTS_NONE);
    heap_texts_free(&t);
}

static void what_was_disposed_is_told(void **state)
{
    static const uint32_t type[2] = {0x01100000, 24}; /* with references and a finalizer */
    const uint64_t words[2] = {UINT64_C(0x40000000) << 32, BASE + 48};
    bool is_finalized = true;
    heap_texts t;
    memory m;

    (void)state;
    open_both(&m, &t);
    put(&m, BASE + 48, type, sizeof type);
    assert_int_equal(heap_texts_kind_of(&t, BASE + 48), HEAP_TEXTS_FINALIZABLE);
    put(&m, FIRST + 8, &words[1], sizeof words[1]);
    put(&m, FIRST + 16, words, sizeof words);
    assert_true(heap_texts_is_finalized(&t, BASE + 48, FIRST + 8, &is_finalized));
    assert_false(is_finalized);
    assert_true(heap_texts_is_finalized(&t, BASE + 48, FIRST + 24, &is_finalized));
    assert_true(is_finalized);
    /* another object by now, or none */
    assert_false(heap_texts_is_finalized(&t, BASE + 48, FIRST + 40, &is_finalized));
    assert_false(heap_texts_is_finalized(&t, BASE + 48, 0x10, &is_finalized));
    heap_texts_free(&t);
}

static void equal_strings_have_one_number(void **state)
{
    uint64_t sizes[4];
    uint64_t codes[4];
    const uint16_t *text = NULL;
    uint32_t length = 0;
    heap_texts t;
    memory m;

    (void)state;
    open_both(&m, &t);
    sizes[0] = put_string(&m, FIRST, "one");
    sizes[1] = put_string(&m, FIRST + 64, "two");
    sizes[2] = put_string(&m, FIRST + 128, "two");
    sizes[3] = put_string(&m, FIRST + 192, "two");
    for (size_t i = 0; i < 4; i++)
        codes[i] = heap_texts_code(&t, HEAP_TEXTS_STRING, TYPE, FIRST + 64 * i,
                                   (sizes[i] + 7) & ~7ull, &text, &length);
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
    assert_int_equal(codes[2], 2 + 2 * 1 + 1);
    assert_int_equal(codes[3], 2 + 2 * 1);
    assert_int_equal(length, 3);
    assert_int_equal(text[0], 't');
    assert_int_equal(m.reads, 1);
    assert_int_equal(t.not_compared, 0);
    heap_texts_free(&t);
}

static void what_is_another_object_by_now_is_not_compared(void **state)
{
    const uint16_t *text = NULL;
    uint32_t length = 0;
    uint64_t size;
    heap_texts t;
    memory m;

    (void)state;
    open_both(&m, &t);
    size = put_string(&m, FIRST, "one");
    assert_int_equal(heap_texts_code(&t, HEAP_TEXTS_STRING, BYTES, FIRST, size, &text, &length), 1);
    assert_int_equal(heap_texts_code(&t, HEAP_TEXTS_STRING, TYPE, FIRST, 64, &text, &length), 1);
    assert_int_equal(
        heap_texts_code(&t, HEAP_TEXTS_STRING, TYPE, BASE + sizeof m.bytes - 8, 32, &text, &length),
        1);
    assert_int_equal(heap_texts_code(&t, HEAP_TEXTS_STRING, TYPE, FIRST, 1 << 30, &text, &length),
                     1);
    assert_int_equal(t.not_compared, 4);
    heap_texts_clear(&t);
    assert_int_equal(t.not_compared, 0);
    assert_int_equal(heap_texts_code(&t, HEAP_TEXTS_STRING, TYPE, FIRST, size, &text, &length), 0);
    heap_texts_free(&t);
}

/* Where a sum of address and size begins anew at 0. */
static void addresses_at_the_end_of_memory_are_not_read(void **state)
{
    const uint16_t *text = NULL;
    uint32_t length = 0;
    heap_texts t;
    memory m;

    (void)state;
    open_both(&m, &t);
    assert_int_equal(heap_texts_code(&t, HEAP_TEXTS_STRING, TYPE, FIRST,
                                     put_string(&m, FIRST, "one"), &text, &length),
                     0);
    for (uint64_t size = 16; size <= 4096; size += 8)
        assert_int_equal(
            heap_texts_code(&t, HEAP_TEXTS_STRING, TYPE, UINT64_MAX - 7, size, &text, &length), 1);
    heap_texts_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_by_the_class),
        cmocka_unit_test(what_was_disposed_is_told),
        cmocka_unit_test(equal_strings_have_one_number),
        cmocka_unit_test(what_is_another_object_by_now_is_not_compared),
        cmocka_unit_test(addresses_at_the_end_of_memory_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
