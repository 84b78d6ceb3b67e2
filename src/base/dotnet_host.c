/* dotnet_host: see dotnet_host.h. Nothing is shared or kept. */
#include "base/dotnet_host.h"

#include <string.h>

#include "base/text.h"

/* Options of the host that stand before the assembly and take a value. */
static const char *const VALUE_OPTIONS[] = {
    "--fx-version",
    "--runtimeconfig",
    "--depsfile",
    "--additionalprobingpath",
    "--roll-forward",
    "--additional-deps",
    "--roll-forward-on-no-candidate-fx",
};

static bool is_in_sdk_folder(const char *path, bool (*exists)(const char *path))
{
    char sibling[512];
    const char *at = path;

    while ((at = strstr(at, "/sdk/")) != NULL) {
        size_t root = (size_t)(at - path);

        at += sizeof "/sdk/" - 1;
        if (*at < '0' || *at > '9' || root + sizeof "/host/fxr" > sizeof sibling)
            continue;
        memcpy(sibling, path, root);
        memcpy(sibling + root, "/host/fxr", sizeof "/host/fxr");
        if (exists(sibling))
            return true;
    }
    return false;
}

static bool takes_value(const char *option)
{
    for (size_t i = 0; i < sizeof VALUE_OPTIONS / sizeof *VALUE_OPTIONS; i++) {
        if (text_equal(option, VALUE_OPTIONS[i]))
            return true;
    }
    return false;
}

bool dotnet_host_is_sdk(const char *executable, const char *arguments, size_t length,
                        bool (*exists)(const char *path))
{
    const char *slash = strrchr(executable, '/');
    const char *end = arguments + length;
    const char *argument = memchr(arguments, '\0', length);

    if (is_in_sdk_folder(executable, exists))
        return true;
    if (!text_equal(slash == NULL ? executable : slash + 1, "dotnet") || argument == NULL)
        return false;
    for (argument++; argument < end; argument++) {
        const char *stop = memchr(argument, '\0', (size_t)(end - argument));

        if (stop == NULL)
            return false;
        if (takes_value(argument)) {
            stop = memchr(stop + 1, '\0', (size_t)(end - stop - 1));
            if (stop == NULL)
                return false;
        } else if (text_ends_with(argument, ".dll") || text_ends_with(argument, ".exe")) {
            return is_in_sdk_folder(argument, exists);
        } else if (argument[0] != '-' && !text_equal(argument, "exec")) {
            return true; /* a verb: run, test, build … */
        }
        argument = stop;
    }
    return false;
}
