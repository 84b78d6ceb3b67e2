/* Unit tests of counters in Prometheus' text format, and of lists of sources. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/counters_show.h"
#include "clr/counter_events.h"

static counters_value VALUE = {1000, 1000, 3};

static counters_series series(const char *provider, const char *name, const char *tags,
                              unsigned kind)
{
    return (counters_series){.provider = provider,
                             .name = name,
                             .title = "",
                             .unit = "",
                             .tags = tags,
                             .kind = kind,
                             .sum = 7,
                             .values = &VALUE,
                             .count = 1};
}

static void assert_prometheus(counters_series *all, size_t count, const char *expected)
{
    counters_live live = {.series = all, .count = count};
    buffer text = BUFFER_EMPTY;

    counters_show_prometheus(&text, &live);
    assert_string_equal(buffer_text(&text), expected);
    buffer_free(&text);
}

static void labels_are_escaped_as_the_format_says(void **state)
{
    counters_series one =
        series("Shop", "shop.lookups", "note=a \"b\" \\ c\nd,2nd=x", COUNTERS_INCREASE);

    (void)state;
    assert_prometheus(
        &one, 1,
        "# TYPE dotnet_shop_shop_lookups_total counter\n"
        "dotnet_shop_shop_lookups_total{note=\"a \\\"b\\\" \\\\ c\\nd\",_2nd=\"x\"} 7\n");
}

static void commas_in_values_stay(void **state)
{
    counters_series one = series("Shop", "a", "kind=b\"x\\,\n,y,to=z,", COUNTERS_LEVEL);

    (void)state;
    assert_prometheus(&one, 1,
                      "# TYPE dotnet_shop_a gauge\n"
                      "dotnet_shop_a{kind=\"b\\\"x\\\\,\\n,y\",to=\"z,\"} 3\n");
}

static void what_is_no_number_is_spelled_as_the_format_says(void **state)
{
    counters_value values[] = {{0, 0, -NAN}, {0, 0, INFINITY}, {0, 0, -INFINITY}};
    counters_series all[] = {series("Shop", "a", "", COUNTERS_LEVEL),
                             series("Shop", "b", "", COUNTERS_LEVEL),
                             series("Shop", "c", "", COUNTERS_LEVEL)};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        all[i].values = &values[i];
    assert_prometheus(all, 3,
                      "# TYPE dotnet_shop_a gauge\ndotnet_shop_a NaN\n"
                      "# TYPE dotnet_shop_b gauge\ndotnet_shop_b +Inf\n"
                      "# TYPE dotnet_shop_c gauge\ndotnet_shop_c -Inf\n");
}

/* A type stands once before all series of its metric, whatever else came between them. */
static void series_of_one_metric_stand_together(void **state)
{
    counters_series all[] = {
        series("Shop", "a.b", "x=1", COUNTERS_LEVEL), series("Shop", "c", "", COUNTERS_LEVEL),
        series("Shop", "a-b", "x=2", COUNTERS_LEVEL), series("Shop", "a.b", "", COUNTERS_INCREASE)};

    (void)state;
    assert_prometheus(all, 4,
                      "# TYPE dotnet_shop_a_b gauge\ndotnet_shop_a_b{x=\"1\"} 3\n"
                      "dotnet_shop_a_b{x=\"2\"} 3\n# TYPE dotnet_shop_c gauge\ndotnet_shop_c 3\n"
                      "# TYPE dotnet_shop_a_b_total counter\ndotnet_shop_a_b_total 7\n");
}

static void lists_of_sources_are_taken_apart(void **state)
{
    const char *list = " ,Shop-Counters , My Source,,x,";
    const char *name;

    (void)state;
    assert_int_equal(counter_next_source(&list, &name), 13);
    assert_memory_equal(name, "Shop-Counters", 13);
    assert_int_equal(counter_next_source(&list, &name), 9);
    assert_memory_equal(name, "My Source", 9);
    assert_int_equal(counter_next_source(&list, &name), 1);
    assert_int_equal(counter_next_source(&list, &name), 0);
    assert_int_equal(counter_next_source(&list, &name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_escaped_as_the_format_says),
        cmocka_unit_test(commas_in_values_stay),
        cmocka_unit_test(what_is_no_number_is_spelled_as_the_format_says),
        cmocka_unit_test(series_of_one_metric_stand_together),
        cmocka_unit_test(lists_of_sources_are_taken_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
