/* Unit tests of what is left out of recorded command lines and environments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "diagnostics/secrets.h"

static void words_lose_their_secrets(void **state)
{
    static const char *const WORDS[][2] = {
        {"Shop.dll", "Shop.dll"},
        {"/srv/tokens/Shop.dll", "/srv/tokens/Shop.dll"},
        {"--password=hush", "--password=***"},
        {"--password=hu;sh=1", "--password=***"},
        {"/pwd:hush", "/pwd:***"},
        {"--Api-Key=hush", "--Api-Key=***"},
        {"Login:Secret:Value=hush", "Login:Secret:***"},
        {"Server=a;User Id=sa;Password=hush;Timeout=3", "Server=a;User Id=sa;Password=***"},
        {"Endpoint=sb://a/;SharedAccessKey = hush", "Endpoint=sb://a/;SharedAccessKey =***"},
        {"https://ann:hush@shop/a?b=c", "https://***@shop/a?b=c"},
        {"https://shop/a?b=c&access_token=hush", "https://shop/a?b=c&access_token=***"},
        {"{\"user\": \"ann\", \"password\": \"hush\"}", "{\"user\": \"ann\", \"password\":***"},
        {"--header=Bearer hush", "--header=***"},
        {"ghp_hush", "***"},
        {"--urls=http://*:5000", "--urls=http://*:5000"},
        {"--password=", "--password="},
        {"=", "="},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        buffer out = BUFFER_EMPTY;

        secrets_append_word(&out, WORDS[i][0], strlen(WORDS[i][0]));
        assert_string_equal(buffer_text(&out), WORDS[i][1]);
        buffer_free(&out);
    }
}

static void the_word_after_a_secret_option_is_hidden(void **state)
{
    static const char WORDS[] = "dotnet\0Shop.dll\0--api-key\0hush hush\0--port\0"
                                "80\0--token\0--verbose\0-Pass\0-hush\0/opt/keys/Run.dll\0x\0"
                                "--secret";
    static const char LINE[] = "dotnet Shop.dll --api-key hush --port 80";
    buffer out = BUFFER_EMPTY;

    (void)state;
    secrets_append_command(&out, WORDS, sizeof WORDS, '\0');
    assert_string_equal(buffer_text(&out), "dotnet Shop.dll --api-key *** --port 80 --token "
                                           "--verbose -Pass *** /opt/keys/Run.dll x --secret");
    buffer_clear(&out);
    secrets_append_command(&out, LINE, sizeof LINE - 1, ' ');
    assert_string_equal(buffer_text(&out), "dotnet Shop.dll --api-key *** --port 80");
    buffer_clear(&out);
    secrets_append_command(&out, "", 0, '\0');
    assert_int_equal(out.length, 0);
    buffer_free(&out);
}

static bool is_hidden(const char *name, const char *value)
{
    return secrets_is_variable(name, strlen(name), value);
}

static void variables_are_judged_by_name_and_beginning(void **state)
{
    (void)state;
    assert_true(is_hidden("DB_PASSWORD", "x"));
    assert_true(is_hidden("AWS_SECRET_ACCESS_KEY", "x"));
    assert_true(is_hidden("ConnectionStrings__Shop", "Server=a"));
    assert_true(is_hidden("HARMLESS", "ghp_abc"));
    assert_false(is_hidden("PWD", "/srv"));
    assert_false(is_hidden("OLDPWD", "/srv"));
    assert_false(is_hidden("PATH", "/bin"));
    assert_false(is_hidden("DOTNET_gcServer", "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_lose_their_secrets),
        cmocka_unit_test(the_word_after_a_secret_option_is_hidden),
        cmocka_unit_test(variables_are_judged_by_name_and_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
