/* Unit tests of the comparing of strings in a snapshot: what repeats is known again, whatever else
 * comes in between, and the table does not grow without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/heap_strings.h"

static uint64_t code_of(heap_strings *s, const char *text)
{
    uint16_t units[64];
    uint32_t length = (uint32_t)strlen(text);

    for (uint32_t i = 0; i < length; i++)
        units[i] = (uint8_t)text[i];
    return heap_strings_code(s, units, length);
}

/* A text of its own for every number. */
static uint64_t code_of_number(heap_strings *s, uint32_t number)
{
    uint16_t units[12];

    for (uint32_t i = 0; i < 12; i++)
        units[i] = (uint16_t)('a' + (number >> (2 * i) & 3));
    return heap_strings_code(s, units, 12);
}

static void a_text_follows_the_second_time(void **state)
{
    heap_strings s;

    (void)state;
    heap_strings_open(&s, true);
    assert_int_equal(code_of(&s, "first"), HEAP_STRINGS_NEW);
    assert_int_equal(code_of(&s, "second"), HEAP_STRINGS_NEW);
    assert_int_equal(code_of(&s, ""), HEAP_STRINGS_NEW);
    assert_int_equal(code_of(&s, "second"), HEAP_STRINGS_FIRST + 2 * 1 + 1);
    assert_int_equal(code_of(&s, "second"), HEAP_STRINGS_FIRST + 2 * 1);
    assert_int_equal(code_of(&s, ""), HEAP_STRINGS_FIRST + 2 * 2 + 1);
    assert_int_equal(code_of(&s, "first"), HEAP_STRINGS_FIRST + 1);
    /* a walk that begins anew knows nothing */
    heap_strings_clear(&s);
    assert_int_equal(code_of(&s, "second"), HEAP_STRINGS_NEW);
    assert_int_equal(code_of(&s, "second"), HEAP_STRINGS_FIRST + 1);
    heap_strings_close(&s);
}

static void off_compares_nothing(void **state)
{
    heap_strings s;

    (void)state;
    heap_strings_open(&s, false);
    assert_int_equal(code_of(&s, "one"), HEAP_STRINGS_NOT_COMPARED);
    assert_int_equal(code_of(&s, "one"), HEAP_STRINGS_NOT_COMPARED);
    assert_null(s.slots);
    heap_strings_close(&s);
}

static void what_repeats_outlives_a_full_table(void **state)
{
    enum { REPEATED = 1000, SINGLES = 1000000 };
    heap_strings s;

    (void)state;
    heap_strings_open(&s, true);
    for (uint32_t i = 0; i < 2 * REPEATED; i++)
        code_of_number(&s, i % REPEATED);
    for (uint32_t i = 0; i < SINGLES; i++)
        assert_int_equal(code_of_number(&s, REPEATED + i), HEAP_STRINGS_NEW);
    assert_true(s.forgotten > 0);
    assert_true(s.capacity * sizeof *s.slots <= 8 << 20);
    for (uint32_t i = 0; i < REPEATED; i++)
        assert_int_equal(code_of_number(&s, i), HEAP_STRINGS_FIRST + 2 * i);
    heap_strings_close(&s);
}

static void a_table_of_repeated_texts_only_stays_bounded(void **state)
{
    enum { TEXTS = 600000 };
    uint64_t not_compared = 0;
    heap_strings s;

    (void)state;
    heap_strings_open(&s, true);
    for (uint32_t i = 0; i < TEXTS; i++) {
        if (code_of_number(&s, i) == HEAP_STRINGS_NOT_COMPARED)
            not_compared++;
        code_of_number(&s, i);
    }
    assert_true(not_compared > 0);
    assert_true(s.forgotten >= not_compared);
    assert_true(s.capacity * sizeof *s.slots <= 8 << 20);
    assert_true(s.count < s.capacity);
    heap_strings_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_follows_the_second_time),
        cmocka_unit_test(off_compares_nothing),
        cmocka_unit_test(what_repeats_outlives_a_full_table),
        cmocka_unit_test(a_table_of_repeated_texts_only_stays_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
