/* Unit tests of help_options: what counts as an option line and what is read from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cli.h"
#include "cli/help_options.h"

static void reads_each_shape_of_an_option(void **state)
{
    const char *help = "Options:\n"
                       "  -o, --output FILE      where to write\n"
                       "  -f, --format json|md   how\n"
                       "      --json             for machines\n"
                       "  -q                     be quiet\n"
                       "  --set NAME.PARAM=VALUE\n"
                       "  --color=WHEN\n"
                       "not indented -x\n"
                       "  - a bullet\n"
                       "  text -y  more\n"
                       "  -- CMD ARG…            a program\n"
                       "  -l, --last";
    static const help_option EXPECTED[] = {
        {"-o", "--output", "FILE", "where to write"}, {"-f", "--format", "json|md", "how"},
        {"", "--json", "", "for machines"},           {"-q", "", "", "be quiet"},
        {"", "--set", "NAME.PARAM=VALUE", ""},        {"", "--color", "WHEN", ""},
        {"", "--", "CMD ARG…", "a program"},          {"-l", "--last", "", ""},
    };
    help_option option;

    (void)state;
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        if (strcmp(EXPECTED[i].long_name, "--") == 0)
            continue; /* the end of options is not an option */
        assert_true(help_options_next(&help, &option));
        assert_string_equal(option.short_name, EXPECTED[i].short_name);
        assert_string_equal(option.long_name, EXPECTED[i].long_name);
        assert_string_equal(option.argument, EXPECTED[i].argument);
        assert_string_equal(option.summary, EXPECTED[i].summary);
    }
    assert_false(help_options_next(&help, &option));
}

static void cuts_what_is_too_long(void **state)
{
    char text[700];
    const char *help = text;
    help_option option;

    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text, "  --", 4);
    memcpy(text + 200, " A", 2);
    memcpy(text + 400, "  b", 3);
    text[sizeof text - 1] = '\0';
    assert_true(help_options_next(&help, &option));
    assert_int_equal(strlen(option.long_name), sizeof option.long_name - 1);
    assert_int_equal(strlen(option.argument), sizeof option.argument - 1);
    assert_int_equal(strlen(option.summary), sizeof option.summary - 1);
}

static void knows_choices_and_words(void **state)
{
    (void)state;
    assert_true(help_options_is_choice("bash|zsh|fish"));
    assert_false(help_options_is_choice("FILE"));
    assert_false(help_options_is_choice("json"));
    assert_false(help_options_is_choice("PID|NAME"));
    assert_true(help_options_has_word("-p NAME (PID|NAME | -- CMD ARG…)", "PID"));
    assert_false(help_options_has_word("PIDS and RAPID", "PID"));
    assert_true(help_options_has_word("RAPID PID", "PID"));
}

static void every_verb_has_a_name_and_a_summary(void **state)
{
    (void)state;
    for (const cli_verb *verb = CLI_VERBS; verb->name != NULL; verb++) {
        assert_true(verb->name[0] != '\0');
        assert_true(verb->summary[0] != '\0' && strlen(verb->summary) < 100);
        assert_non_null(verb->run);
        assert_non_null(verb->help);
        assert_null(strchr(verb->summary, '"')); /* stands in double quotes for fish */
        assert_null(strchr(verb->summary, '$'));
        if (verb->help[0] != '\0')
            assert_int_equal(verb->help[strlen(verb->help) - 1], '\n');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_shape_of_an_option),
        cmocka_unit_test(cuts_what_is_too_long),
        cmocka_unit_test(knows_choices_and_words),
        cmocka_unit_test(every_verb_has_a_name_and_a_summary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
