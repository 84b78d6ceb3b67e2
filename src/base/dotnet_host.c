/* dotnet_host: see dotnet_host.h. Nothing is shared or kept. */
#include "base/dotnet_host.h"

#include <string.h>

#include "base/text.h"

/* Options of the host that stand before the assembly and take a value. */
static const char VALUE_OPTIONS[][34] = {
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

/* Programs that run another in their place: their options that take a value as the next word, and
 * how many words of their own come before the program. */
static const struct {
    const char *name;
    const char *valued; /* each between spaces */
    int words;
} PREFIXES[] = {
    {"chrt", " -T --sched-runtime -P --sched-period -D --sched-deadline ", 1},
    {"env", " -u --unset -C --chdir ", 0},
    {"ionice", " -c --class -n --classdata ", 0},
    {"nice", " -n --adjustment ", 0},
    {"nohup", "", 0},
    {"setsid", "", 0},
    {"stdbuf", " -i --input -o --output -e --error ", 0},
    {"sudo", " -u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -T ", 0},
    {"taskset", "", 1},
    {"time", " -f --format -o --output ", 0},
    {"timeout", " -k --kill-after -s --signal ", 1},
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

/* Whether the list, of words between spaces, has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at++)
        if (at > list && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

size_t dotnet_host_skip_prefixes(char *const *command)
{
    const size_t count = sizeof PREFIXES / sizeof *PREFIXES;
    size_t at = 0;

    for (;;) {
        const char *slash = command[at] == NULL ? NULL : strrchr(command[at], '/');
        const char *name = slash == NULL ? command[at] : slash + 1;
        size_t i = 0;
        int words;

        while (name != NULL && i < count && !text_equal(name, PREFIXES[i].name))
            i++;
        if (name == NULL || i == count)
            return at;
        words = PREFIXES[i].words;
        for (at++; command[at] != NULL; at++) {
            if (text_equal(command[at], "--"))
                continue;
            if (command[at][0] == '-') {
                if (has_word(PREFIXES[i].valued, command[at]) && command[at + 1] != NULL)
                    at++;
            } else if (strchr(command[at], '=') != NULL &&
                       (text_equal(name, "env") || text_equal(name, "sudo"))) {
                continue; /* a variable */
            } else if (words-- <= 0) {
                break;
            }
        }
    }
}
