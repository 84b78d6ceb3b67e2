/* Unit tests of watching: when a trigger gives reason, and what is told to a collector. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "server/push.h"
#include "server/watch_rules.h"

#define SECOND UINT64_C(1000000000)
#define MB     (UINT64_C(1) << 20)

static watch_rules rules_of(const char *text)
{
    watch_rules rules;
    error e;

    error_clear(&e);
    assert_int_equal(watch_rules_parse(text, &rules, &e), 0);
    return rules;
}

static void test_rules_are_read(void **state)
{
    static const char *const WRONG[] = {"disk",      "cpu=",          "cpu=x", "cpu=-1",
                                        "cpu=80/",   "cpu=80/0s",     "cpu=0", "memory=50 /1m",
                                        "cpu=80/1y", "errors=5/10s x"};
    watch_rules rules = rules_of("cpu=70/20s,errors");
    error e;

    (void)state;
    assert_true(rules.cpu_percent == 70 && rules.cpu_ns == 20 * SECOND);
    assert_true(rules.memory_percent == 0 && rules.errors == 5 && rules.errors_ns == 10 * SECOND);
    rules = rules_of("cpu,memory");
    assert_true(rules.cpu_percent == 80 && rules.cpu_ns == 30 * SECOND);
    assert_true(rules.memory_percent == 50 && rules.memory_ns == 600 * SECOND);
    rules = rules_of("none");
    assert_true(rules.cpu_percent == 0 && rules.memory_percent == 0 && rules.errors == 0);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        error_clear(&e);
        assert_int_equal(watch_rules_parse(WRONG[i], &rules, &e), ERROR_USAGE);
        assert_non_null(strstr(e.message, "--trigger"));
    }
}

static const char *cpu(const watch_rules *rules, watch_pulse *pulse, double percent, uint64_t at)
{
    watch_values values = {.cpu_percent = percent};

    return watch_judge(rules, pulse, &values, at * SECOND);
}

static void test_a_busy_process_without_a_break(void **state)
{
    watch_rules rules = rules_of("cpu=80/30s");
    watch_pulse pulse = {0};

    (void)state;
    assert_null(cpu(&rules, &pulse, -1, 1));
    assert_null(cpu(&rules, &pulse, 90, 2));
    assert_null(cpu(&rules, &pulse, 79, 31)); /* a break */
    assert_null(cpu(&rules, &pulse, 90, 33));
    assert_null(cpu(&rules, &pulse, 80, 62));
    assert_string_equal(cpu(&rules, &pulse, 99, 63), "cpu");
    assert_null(cpu(&rules, &pulse, 99, 64)); /* it has to come again */
    assert_string_equal(cpu(&rules, &pulse, 99, 94), "cpu");
}

static const char *memory(const watch_rules *rules, watch_pulse *pulse, uint64_t mb, uint64_t at)
{
    watch_values values = {.cpu_percent = -1, .memory_bytes = mb * MB};

    return watch_judge(rules, pulse, &values, at * SECOND);
}

static void test_memory_that_grows(void **state)
{
    watch_rules rules = rules_of("memory=50/10m");
    watch_pulse pulse = {0};

    (void)state;
    assert_null(memory(&rules, &pulse, 40, 1));
    assert_null(memory(&rules, &pulse, 70, 2)); /* too little, whatever the percent */
    assert_null(memory(&rules, &pulse, 0, 3));  /* not known */
    assert_string_equal(memory(&rules, &pulse, 72, 4), "memory");
    assert_null(memory(&rules, &pulse, 104, 5)); /* of 72 */
    assert_string_equal(memory(&rules, &pulse, 108, 6), "memory");
    assert_null(memory(&rules, &pulse, 150, 607)); /* so slowly: what was small is long ago */
    assert_null(memory(&rules, &pulse, 200, 608));
}

static const char *errors(const watch_rules *rules, watch_pulse *pulse, uint64_t failed,
                          uint64_t at)
{
    watch_values values = {.cpu_percent = -1, .failed = failed, .has_failed = true};

    return watch_judge(rules, pulse, &values, at * SECOND);
}

static void test_a_burst_of_failed_requests(void **state)
{
    watch_rules rules = rules_of("errors=5/10s");
    watch_pulse pulse = {0};

    (void)state;
    assert_null(errors(&rules, &pulse, 1000, 1)); /* those before we looked */
    assert_null(errors(&rules, &pulse, 1004, 5));
    assert_null(errors(&rules, &pulse, 1004, 12)); /* slowly */
    assert_null(errors(&rules, &pulse, 1008, 13));
    assert_string_equal(errors(&rules, &pulse, 1009, 14), "errors");
    assert_null(errors(&rules, &pulse, 1009, 15));
    assert_null(errors(&rules, &pulse, 3, 16)); /* counted anew: the program's counter */
}

static void test_metrics_for_a_collector(void **state)
{
    json_t *checkup = json_pack("{s:{s:{s:f, s:s}, s:{s:s}}, s:[{s:s, s:s}]}", "vitals", "cpu",
                                "value", 1.5, "unit", "cores", "gc", "unit", "%", "findings", "id",
                                "deadlock", "severity", "critical");
    push_session s = {.name = "Shop \"x\"", .process_id = 4711, .until_ns = 5 * SECOND};
    const char *name, *value;
    buffer out = BUFFER_EMPTY;
    json_t *root, *metrics;

    (void)state;
    assert_true(push_metrics(checkup, &s, &out));
    root = json_loadb(buffer_text(&out), out.length, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_unpack(root, "{s:[{s:{s:[{s:{s:s}}, {s:{s:s}}]}, s:[{s:o}]}]}",
                                 "resourceMetrics", "resource", "attributes", "value",
                                 "stringValue", &name, "value", "intValue", &value, "scopeMetrics",
                                 "metrics", &metrics),
                     0);
    assert_string_equal(name, "Shop \"x\"");
    assert_string_equal(value, "4711");
    assert_int_equal(json_array_size(metrics), 3); /* a sign that is not known is not told */
    assert_int_equal(json_unpack(json_array_get(metrics, 0), "{s:s}", "name", &name), 0);
    assert_string_equal(name, "clarinet.cpu");
    json_decref(root);
    json_decref(checkup);
    buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_are_read),
        cmocka_unit_test(test_a_busy_process_without_a_break),
        cmocka_unit_test(test_memory_that_grows),
        cmocka_unit_test(test_a_burst_of_failed_requests),
        cmocka_unit_test(test_metrics_for_a_collector),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
