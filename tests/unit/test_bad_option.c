/* What is said of an option that is not taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/bad_option.h"

static const char LETTERS[] = "+o:";
static const struct option OPTIONS[] = {
    {"by", required_argument, NULL, 'b'}, {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};

static const struct {
    const char *typed[4];
    const char *said;
} CASES[] = {
    {{"heap", "--by"}, "--by wants a value"},
    {{"heap", "--json", "--by"}, "--by wants a value"},
    {{"heap", "-o"}, "-o wants a value"},
    {{"heap", "--json=yes"}, "--json takes no value"},
    {{"heap", "--bytes"}, "heap does not know the option --bytes"},
    {{"heap", "--bytes=7"}, "heap does not know the option --bytes"},
    /* the letter by which the program knows --by is no option */
    {{"heap", "-b"}, "heap does not know the option -b"},
    {{"heap", "-+"}, "heap does not know the option -+"},
    /* of letters in one word: the word before is right */
    {{"heap", "-xy"}, "heap does not know the option -x"},
    {{"heap", "--json", "-xy"}, "heap does not know the option -x"},
    {{"heap", "--json", "-jy"}, "heap does not know the option -j"},
    {{"heap", "--by=3", "-by"}, "heap does not know the option -b"},
    {{"heap", "--by", "3", "-by"}, "heap does not know the option -b"},
    {{"heap", "--js=3"}, "--json takes no value"},
};

static void says_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char words[4][16];
        char *argv[5] = {0};
        error e = {0};
        int argc = 0, option;

        for (; argc < 4 && CASES[i].typed[argc] != NULL; argc++)
            argv[argc] = strcpy(words[argc], CASES[i].typed[argc]);
        opterr = 0;
        optind = 0; /* begins anew */
        do
            option = getopt_long(argc, argv, LETTERS, OPTIONS, NULL);
        while (option == 'j' || option == 'b');
        assert_int_equal(option, '?');
        assert_int_equal(bad_option("heap", LETTERS, OPTIONS, argv, &e), ERROR_USAGE);
        assert_string_equal(e.message, CASES[i].said);
        assert_string_equal(e.advice, "`clarinet heap --help` lists the options");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_is_wrong)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
