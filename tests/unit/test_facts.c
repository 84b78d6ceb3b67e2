/* Unit tests of the facts of a process: limits, the environment without secrets, assemblies. */
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
    static const char TEXT[] =
        "PATH=/bin\0DOTNET_gcServer=1\0ASPNETCORE_Kestrel__Password=hush\0"
        "DB_PASSWORD=hush\0DOTNET_X=a\nb\0ASPNETCORE_ApiKey=hush\0DOTNET_NO\0"
        "DATABASE=postgres://ann:hush@db/shop";
    buffer environment = BUFFER_EMPTY, out = BUFFER_EMPTY;

    (void)state;
    buffer_append(&environment, TEXT, sizeof TEXT - 1);
    facts_append_environment(&out, &environment);
    assert_string_equal(buffer_text(&out),
                        "PATH=/bin\nDOTNET_gcServer=1\n"
                        "ASPNETCORE_Kestrel__Password=(not recorded)\n"
                        "DB_PASSWORD=(not recorded)\nDOTNET_X=a b\n"
                        "ASPNETCORE_ApiKey=(not recorded)\nDATABASE=postgres://***@db/shop");
    buffer_free(&environment);
    buffer_free(&out);
}

static void assemblies_are_told_once(void **state)
{
    static const char MAPS[] =
        "7f00-7f01 r--p 00000000 08:01 1 /shop/Shop.Api.dll\n"
        "7f01-7f02 r-xp 00001000 08:01 1 /shop/Shop.Api.dll\n"
        "7f02-7f03 rw-p 00000000 00:00 0\n"
        "7f03-7f04 r--p 00000000 08:01 2 /net/with space/System.Runtime.dll\n"
        "7f04-7f05 r-xp 00000000 08:01 3 /net/libcoreclr.so\n"
        "7f05-7f06 r--p 00000000 08:01 1 /shop/Shop.Api.dll\n"
        "7f06-7f07 r--p 00000000 08:01 4 /shop/Api.dll";
    buffer maps = BUFFER_EMPTY, out = BUFFER_EMPTY;

    (void)state;
    buffer_append(&maps, MAPS, sizeof MAPS - 1);
    facts_append_assemblies(&out, &maps);
    assert_string_equal(buffer_text(&out),
                        "/shop/Shop.Api.dll\n/net/with space/System.Runtime.dll\n/shop/Api.dll");
    buffer_free(&maps);
    buffer_free(&out);
}

static void nobody_has_no_facts(void **state)
{
    buffer out = BUFFER_EMPTY;

    (void)state;
    facts_put(&out, 0x7ffffff0);
    facts_put_assemblies(&out, 0x7ffffff0);
    assert_int_equal(out.length, 0);
    buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_read),
        cmocka_unit_test(secrets_stay_where_they_are),
        cmocka_unit_test(assemblies_are_told_once),
        cmocka_unit_test(nobody_has_no_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
