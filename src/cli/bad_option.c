/* bad_option: see bad_option.h. */
#include "cli/bad_option.h"

#include <string.h>

/* getopt_long leaves the value of a long option that it knows in optopt, 0 of another. Of letters
 * in one word it has not passed the word before the last of them: the word before that is another,
 * with which nothing is wrong. */
static const struct option *find_long(const struct option *options, const char *typed)
{
    size_t length = strcspn(typed, "=");

    for (; options->name != NULL; options++)
        if (options->val == optopt && strncmp(options->name, typed + 2, length - 2) == 0 &&
            (typed[length] == '=') == (options->has_arg == no_argument))
            return options;
    return NULL;
}

int bad_option(const char *verb, const char *letters, const struct option *options,
               char *const *argv, error *e)
{
    const char *typed = argv[optind - 1];
    const char *known = optopt == 0 || optopt == ':' ? NULL : strchr(letters, optopt);
    const struct option *found = strncmp(typed, "--", 2) == 0 ? find_long(options, typed) : NULL;

    if (optopt == 0)
        error_set(e, ERROR_USAGE, "%s does not know the option %.*s", verb,
                  (int)strcspn(typed, "="), typed);
    else if (found != NULL && found->has_arg == no_argument)
        error_set(e, ERROR_USAGE, "--%s takes no value", found->name);
    else if (found != NULL && argv[optind] == NULL)
        error_set(e, ERROR_USAGE, "--%s wants a value", found->name);
    else if (known != NULL && known[1] == ':')
        error_set(e, ERROR_USAGE, "-%c wants a value", optopt);
    else
        error_set(e, ERROR_USAGE, "%s does not know the option -%c", verb, optopt);
    return error_advise(e, "`clarinet %s --help` lists the options", verb);
}
