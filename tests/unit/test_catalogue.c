/* Unit tests of the catalogue: the table itself, choosing, setting, durations and sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/engine.h"
#include "catalogue/catalogue.h"

static void every_row_is_complete_and_its_defaults_hold(void **state)
{
    (void)state;
    for (const catalogue_profiler *p = CATALOGUE; p->name != NULL; p++) {
        catalogue_selection s = {0};
        error e;
        size_t parameters = 0;

        assert_int_equal(catalogue_add(&s, p->name, &e), 0);
        assert_int_equal(strlen(p->guid), 36);
        assert_true(strlen(p->description) > 10 && strlen(p->cost) > 3);
        assert_true((p->where & (CATALOGUE_ATTACH | CATALOGUE_START)) != 0);
        while (p->parameters != NULL && p->parameters[parameters].name != NULL)
            assert_non_null(p->parameters[parameters++].description);
        assert_true(parameters <= CATALOGUE_MAX_PARAMETERS);
        for (const catalogue_profiler *q = CATALOGUE; q != p; q++) {
            assert_string_not_equal(p->name, q->name);
            assert_string_not_equal(p->guid, q->guid);
        }
    }
}

static void every_engine_has_a_row(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        size_t losses = 0;

        assert_non_null(catalogue_find(ENGINES[i]->name));
        assert_true(ENGINES[i]->table_count <= ENGINE_MAX_TABLES);
        for (const char *loss = ENGINES[i]->losses; *loss != '\0'; loss += strlen(loss) + 1)
            losses++;
        assert_true(losses >= 1 && losses <= ENGINE_MAX_LOSSES);
        assert_string_equal(ENGINES[i]->losses, "ring full");
    }
}

static void parameters_are_checked(void **state)
{
    static const struct {
        const char *setting;
        const char *words; /* in message or advice; NULL = accepted */
    } CASES[] = {
        {"exceptions.stacks=50", NULL},
        {"exceptions.stacks=0", "range"},
        {"exceptions.stacks=-1", "whole number"},
        {"exceptions.stacks=99999999999999999999", "whole number"},
        {"exceptions.stacks=", "whole number"},
        {"exceptions.messages=off", NULL},
        {"exceptions.messages=maybe", "neither true nor false"},
        {"exceptions.colour=red", "stacks, depth"},
        {"nonsense.x=1", "the profilers are"},
        {"exceptions", "PROFILER.PARAMETER=VALUE"},
        {"exceptions.stacks", "PROFILER.PARAMETER=VALUE"},
        {"=", "PROFILER.PARAMETER=VALUE"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        catalogue_selection s = {0};
        error e;
        int code;

        error_clear(&e);
        assert_int_equal(catalogue_add_list(&s, "exceptions", &e), 0);
        code = catalogue_set_text(&s, CASES[i].setting, &e);
        if (CASES[i].words == NULL) {
            assert_int_equal(code, 0);
        } else {
            assert_int_equal(code, ERROR_USAGE);
            assert_true(strstr(e.message, CASES[i].words) != NULL ||
                        strstr(e.advice, CASES[i].words) != NULL);
        }
    }
}

static void values_are_found_by_name(void **state)
{
    catalogue_selection s = {0};
    catalogue_selected *item;

    (void)state;
    assert_int_equal(catalogue_add_list(&s, "exceptions,", NULL), ERROR_USAGE);
    s.count = 0;
    assert_int_equal(catalogue_add_list(&s, ",exceptions", NULL), ERROR_USAGE);
    assert_int_equal(catalogue_add_list(&s, "", NULL), 0);
    assert_int_equal(s.count, 0);
    assert_int_equal(catalogue_add_list(&s, "exceptions", NULL), 0);
    assert_int_equal(catalogue_add_list(&s, "exceptions", NULL), ERROR_USAGE); /* twice */
    item = catalogue_selected_by_name(&s, "exceptions");
    assert_int_equal(catalogue_number(item, "stacks"), 100);
    assert_int_equal(catalogue_set(&s, "exceptions", "stacks", "7", NULL), 0);
    assert_int_equal(catalogue_number(item, "stacks"), 7);
    assert_string_equal(catalogue_text(item, "stacks"), "7");
    assert_int_equal(catalogue_number(item, "nonsense"), 0);
    assert_null(catalogue_selected_by_name(&s, "cpu-that-is-not-there"));
}

static void durations_and_sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t value; /* UINT64_MAX = refused */
    } DURATIONS[] = {{"10ms", 10000000},     {"30s", 30000000000},  {"2", 2000000000},
                     {"1m30s", 90000000000}, {"1.5s", 1500000000},  {"250us", 250000},
                     {"2h", 7200000000000},  {"0.5", 500000000},    {"", UINT64_MAX},
                     {"s", UINT64_MAX},      {"5x", UINT64_MAX},    {"-5s", UINT64_MAX},
                     {"5s ", UINT64_MAX},    {"1..2s", UINT64_MAX}, {"99999999999h", UINT64_MAX}},
      SIZES[] = {{"64", 64},         {"100K", 102400},   {"4M", 4194304},
                 {"1g", 1073741824}, {"1.5M", 1572864},  {"4MB", 4194304},
                 {"", UINT64_MAX},   {"4X", UINT64_MAX}, {"M", UINT64_MAX}};
    uint64_t value;
    error e;

    (void)state;
    for (size_t i = 0; i < sizeof DURATIONS / sizeof *DURATIONS; i++) {
        int code = catalogue_parse_duration(DURATIONS[i].text, &value, NULL);

        assert_int_equal(code, DURATIONS[i].value == UINT64_MAX ? ERROR_USAGE : 0);
        if (code == 0)
            assert_true(value == DURATIONS[i].value);
    }
    assert_int_equal(catalogue_parse_duration("99999999999h", &value, &e), ERROR_USAGE);
    assert_string_equal(e.message, "'99999999999h' is too long a duration");
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        int code = catalogue_parse_size(SIZES[i].text, &value, NULL);

        assert_int_equal(code, SIZES[i].value == UINT64_MAX ? ERROR_USAGE : 0);
        if (code == 0)
            assert_true(value == SIZES[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete_and_its_defaults_hold),
        cmocka_unit_test(every_engine_has_a_row),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(values_are_found_by_name),
        cmocka_unit_test(durations_and_sizes_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
