/* Unit tests of the facts of a process: limits, and the environment without secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "recording/encode.h"
#include "session/facts.h"

static void limits_are_read(void **state)
{
    (void)state;
    assert_true(facts_parse_cpu_max("50000 100000\n") == 0.5);
    assert_true(facts_parse_cpu_max("400000 100000") == 4);
    assert_true(facts_parse_cpu_max("max 100000\n") == 0);
    assert_true(facts_parse_cpu_max("") == 0);
    assert_true(facts_parse_cpu_max("1 0") == 0);
}

static void secrets_stay_where_they_are(void **state)
{
    static const char TEXT[] = "PATH=/bin\0DOTNET_gcServer=1\0ASPNETCORE_Kestrel__Password=hush\0"
                               "DB_PASSWORD=hush\0DOTNET_X=a\nb\0ASPNETCORE_ApiKey=hush\0DOTNET_NO";
    buffer environment = BUFFER_EMPTY, out = BUFFER_EMPTY;

    (void)state;
    buffer_append(&environment, TEXT, sizeof TEXT - 1);
    facts_append_environment(&out, &environment);
    assert_string_equal(buffer_text(&out),
                        "DOTNET_gcServer=1\nASPNETCORE_Kestrel__Password=(not recorded)\n"
                        "DOTNET_X=a b\nASPNETCORE_ApiKey=(not recorded)");
    buffer_free(&environment);
    buffer_free(&out);
}

static void nobody_has_no_facts(void **state)
{
    buffer out = BUFFER_EMPTY;

    (void)state;
    facts_put(&out, 0x7ffffff0);
    assert_int_equal(out.length, 0);
    buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_read),
        cmocka_unit_test(secrets_stay_where_they_are),
        cmocka_unit_test(nobody_has_no_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
