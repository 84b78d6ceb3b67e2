/* Unit tests of what the runtime's record of a class says of its objects: where references are, and
 * which fields there are; and that nothing is believed that does not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "diagnostics/class_memory.h"

enum {
    BASE = 0x10000,
    CLASS = BASE + 0x100,
    OTHER = BASE + 0x200,
    DETAILS = BASE + 0x300,
    FIELDS = BASE + 0x400,
    END = BASE + 0x800,
    HAS_REFERENCES = 0x01000000,
};

typedef struct {
    uint8_t bytes[END - BASE];
} memory;

static size_t read_memory(void *context, uint64_t address, void *out, size_t size)
{
    memory *m = context;

    if (address < BASE || address >= END)
        return 0;
    size = size < END - address ? size : END - address;
    memcpy(out, m->bytes + (address - BASE), size);
    return size;
}

static void put_word(memory *m, uint64_t at, uint64_t word)
{
    memcpy(m->bytes + (at - BASE), &word, sizeof word);
}

static void put_pair(memory *m, uint64_t at, uint32_t low, uint32_t high)
{
    put_word(m, at, low | (uint64_t)high << 32);
}

static size_t places_of(const memory *m, uint64_t size, uint64_t *out, size_t room)
{
    class_memory from = {read_memory, (void *)(uintptr_t)m};
    class_memory_shape shape = class_memory_shape_of(&from, CLASS);
    class_memory_places all = class_memory_begin(&shape, size);
    size_t count = 0;

    assert_true(shape.is_known);
    while (count < room && class_memory_next(&all, &out[count]))
        count++;
    class_memory_shape_free(&shape);
    return count;
}

static bool is_known(const memory *m)
{
    class_memory from = {read_memory, (void *)(uintptr_t)m};
    class_memory_shape shape = class_memory_shape_of(&from, CLASS);
    bool known = shape.is_known;

    class_memory_shape_free(&shape);
    return known;
}

/* An object of 48 bytes: references at 8, 16 and 32. */
static void put_plain(memory *m)
{
    memset(m, 0, sizeof *m);
    put_pair(m, CLASS, HAS_REFERENCES, 48);
    put_word(m, CLASS - 8, 2);
    put_word(m, CLASS - 16, 8);
    put_word(m, CLASS - 24, (uint64_t)(16 - 48));
    put_word(m, CLASS - 32, 32);
    put_word(m, CLASS - 40, (uint64_t)(8 - 48));
}

static void places_are_in_the_collectors_order(void **state)
{
    uint64_t places[8];
    memory m;

    (void)state;
    put_plain(&m);
    assert_int_equal(places_of(&m, 48, places, 8), 3);
    assert_int_equal(places[0], 8);
    assert_int_equal(places[1], 16);
    assert_int_equal(places[2], 32);
    /* without references */
    put_pair(&m, CLASS, 0, 48);
    assert_int_equal(places_of(&m, 48, places, 8), 0);
}

static void an_array_is_one_run(void **state)
{
    uint64_t places[8];
    memory m;

    (void)state;
    memset(&m, 0, sizeof m);
    put_pair(&m, CLASS, HAS_REFERENCES | 0x80000008u, 24);
    put_word(&m, CLASS - 8, 1);
    put_word(&m, CLASS - 16, 16);
    put_word(&m, CLASS - 24, (uint64_t)-24);
    assert_int_equal(places_of(&m, 24, places, 8), 0);
    assert_int_equal(places_of(&m, 24 + 3 * 8, places, 8), 3);
    assert_int_equal(places[0], 16);
    assert_int_equal(places[2], 32);
}

/* Elements of 32 bytes: references at 8 and 24. */
static void put_structs(memory *m)
{
    memset(m, 0, sizeof *m);
    put_pair(m, CLASS, HAS_REFERENCES | 0x80000020u, 24);
    put_word(m, CLASS - 8, (uint64_t)-2);
    put_word(m, CLASS - 16, 24);
    put_pair(m, CLASS - 24, 1, 8);
    put_pair(m, CLASS - 32, 1, 8);
}

static void structs_repeat_in_an_array(void **state)
{
    uint64_t places[8];
    memory m;

    (void)state;
    put_structs(&m);
    assert_int_equal(places_of(&m, 24 + 2 * 32, places, 8), 4);
    assert_int_equal(places[0], 24);
    assert_int_equal(places[1], 40);
    assert_int_equal(places[2], 56);
    assert_int_equal(places[3], 72);
    assert_int_equal(places_of(&m, 24, places, 8), 0);
}

static void nothing_is_believed_that_does_not_fit(void **state)
{
    class_memory nothing = {0};
    memory m;

    (void)state;
    assert_false(class_memory_shape_of(&nothing, CLASS).is_known);
    put_plain(&m);
    put_word(&m, CLASS - 8, 0); /* it has references, but nowhere */
    assert_false(is_known(&m));
    put_word(&m, CLASS - 8, 1 << 20);
    assert_false(is_known(&m));
    put_plain(&m);
    put_word(&m, CLASS - 16, 12); /* between two places */
    assert_false(is_known(&m));
    put_word(&m, CLASS - 16, 4096); /* behind the object */
    assert_false(is_known(&m));
    put_plain(&m);
    put_word(&m, CLASS - 24, 3);
    assert_false(is_known(&m));
    put_structs(&m);
    put_pair(&m, CLASS - 32, 2, 8); /* more than an element */
    assert_false(is_known(&m));
    put_structs(&m);
    put_pair(&m, CLASS - 32, 0, 16);
    assert_false(is_known(&m));
}

static void a_run_ends_with_the_object(void **state)
{
    uint64_t places[8];
    memory m;

    (void)state;
    put_plain(&m);
    put_word(&m, CLASS - 24, (uint64_t)(80 - 48)); /* a run of 80 bytes in an object of 48 */
    assert_int_equal(places_of(&m, 48, places, 8), 0);
    assert_int_equal(places_of(&m, 0, places, 8), 0);
}

static void put_class(memory *m)
{
    memset(m, 0, sizeof *m);
    put_word(m, CLASS + 8, 77u << 8);
    put_word(m, CLASS + 16, OTHER);
    put_word(m, CLASS + 24, 0x5000);
    put_word(m, CLASS + 40, DETAILS);
    put_word(m, DETAILS + 16, CLASS);
    put_word(m, DETAILS + 24, FIELDS);
    put_word(m, FIELDS, CLASS);
    put_pair(m, FIELDS + 8, 0x12, 0x12u << 27 | 8);
    put_word(m, FIELDS + 16, CLASS);
    put_pair(m, FIELDS + 24, 0x13 | 1 << 24, 0x12u << 27); /* static */
    put_word(m, FIELDS + 32, CLASS);
    put_pair(m, FIELDS + 40, 0x14, 0x08u << 27 | 16);
}

static void fields_are_told_until_something_else_comes(void **state)
{
    class_memory from;
    class_memory_class class;
    memory m;

    (void)state;
    from = (class_memory){read_memory, &m};
    put_class(&m);
    put_word(&m, FIELDS + 48, CLASS);                    /* methods say the same class, */
    put_word(&m, FIELDS + 56, UINT64_C(0x7f1234567890)); /* and then a pointer */
    assert_true(class_memory_class_of(&from, CLASS, &class));
    assert_int_equal(class.parent, OTHER);
    assert_int_equal(class.module, 0x5000);
    assert_int_equal(class.rows[1], 77);
    assert_int_equal(class.field_count, 2);
    assert_int_equal(class.fields[0].token, 0x04000012);
    assert_int_equal(class.fields[0].offset, 8);
    assert_int_equal(class.fields[0].kind, 0x12);
    assert_int_equal(class.fields[1].token, 0x04000014);
    assert_int_equal(class.fields[1].offset, 16);
    class_memory_class_free(&class);
}

static void instances_share_the_fields_of_their_class(void **state)
{
    class_memory from;
    class_memory_class class;
    memory m;

    (void)state;
    from = (class_memory){read_memory, &m};
    put_class(&m);
    put_word(&m, OTHER + 40, CLASS | 1);
    assert_true(class_memory_class_of(&from, OTHER, &class));
    assert_int_equal(class.field_count, 2);
    class_memory_class_free(&class);
    put_word(&m, DETAILS + 16, OTHER); /* the details are another class's */
    assert_false(class_memory_class_of(&from, OTHER, &class));
    assert_false(class_memory_class_of(&from, END - 8, &class));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_in_the_collectors_order),
        cmocka_unit_test(an_array_is_one_run),
        cmocka_unit_test(structs_repeat_in_an_array),
        cmocka_unit_test(nothing_is_believed_that_does_not_fit),
        cmocka_unit_test(a_run_ends_with_the_object),
        cmocka_unit_test(fields_are_told_until_something_else_comes),
        cmocka_unit_test(instances_share_the_fields_of_their_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
