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

/* Verbs whose work the SDK does itself; all others start a program. */
static const char *const OWN_WORK[] = {
    "build", "build-server", "clean",   "format",  "fsi", "list",  "msbuild", "new",
    "nuget", "pack",         "publish", "restore", "sln", "store", "tool",    "workload",
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

/* What a command line asks the host for. */
typedef struct {
    bool is_sdk;
    const char *verb; /* NULL when an assembly or a program of the SDK is named */
} asked;

static asked look(const char *executable, const char *arguments, size_t length,
                  bool (*exists)(const char *path))
{
    const asked no = {false, NULL};
    const char *slash = strrchr(executable, '/');
    const char *end = arguments + length;
    const char *argument = memchr(arguments, '\0', length);

    if (is_in_sdk_folder(executable, exists))
        return (asked){true, NULL};
    if (!text_equal(slash == NULL ? executable : slash + 1, "dotnet") || argument == NULL)
        return no;
    for (argument++; argument < end; argument++) {
        const char *stop = memchr(argument, '\0', (size_t)(end - argument));

        if (stop == NULL)
            return no;
        if (takes_value(argument)) {
            stop = memchr(stop + 1, '\0', (size_t)(end - stop - 1));
            if (stop == NULL)
                return no;
        } else if (text_ends_with(argument, ".dll") || text_ends_with(argument, ".exe")) {
            return (asked){is_in_sdk_folder(argument, exists), NULL};
        } else if (argument[0] != '-' && !text_equal(argument, "exec")) {
            return (asked){true, argument}; /* a verb: run, test, build … */
        }
        argument = stop;
    }
    return no;
}

bool dotnet_host_is_sdk(const char *executable, const char *arguments, size_t length,
                        bool (*exists)(const char *path))
{
    return look(executable, arguments, length, exists).is_sdk;
}

bool dotnet_host_means_sdk(const char *executable, const char *arguments, size_t length,
                           bool (*exists)(const char *path))
{
    asked what = look(executable, arguments, length, exists);

    if (!what.is_sdk || what.verb == NULL)
        return what.is_sdk;
    for (size_t i = 0; i < sizeof OWN_WORK / sizeof *OWN_WORK; i++) {
        if (text_equal(what.verb, OWN_WORK[i]))
            return true;
    }
    return false;
}
