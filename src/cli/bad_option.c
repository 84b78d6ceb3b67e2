/* bad_option: see bad_option.h. */
#include "cli/bad_option.h"

#include <string.h>

static int advise(const char *verb, error *e)
{
    return error_advise(e, "`clarinet %s --help` lists the options", verb);
}

/* getopt_long leaves the value of a long option that it knows in optopt, 0 of another. */
static int bad_long(const char *verb, const struct option *options, const char *typed, error *e)
{
    int length = (int)strcspn(typed, "=");

    for (; options->name != NULL; options++) {
        if (optopt == 0 || options->val != optopt)
            continue;
        if (options->has_arg == required_argument)
            error_set(e, ERROR_USAGE, "--%s wants a value", options->name);
        else
            error_set(e, ERROR_USAGE, "--%s takes no value", options->name);
        return advise(verb, e);
    }
    error_set(e, ERROR_USAGE, "%s does not know the option %.*s", verb, length, typed);
    return advise(verb, e);
}

int bad_option(const char *verb, const char *letters, const struct option *options,
               char *const *argv, error *e)
{
    const char *typed = argv[optind - 1];
    const char *known = optopt == 0 || optopt == ':' ? NULL : strchr(letters, optopt);

    if (strncmp(typed, "--", 2) == 0)
        return bad_long(verb, options, typed, e);
    if (known != NULL && known[1] == ':')
        error_set(e, ERROR_USAGE, "-%c wants a value", optopt);
    else
        error_set(e, ERROR_USAGE, "%s does not know the option -%c", verb, optopt);
    return advise(verb, e);
}
