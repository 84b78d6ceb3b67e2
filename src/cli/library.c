/* library: see library.h. */
#include "cli/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Appends the absolute form of `candidate` and returns true if it is a file. */
static bool take_file(const char *candidate, buffer *path)
{
    char whole[PATH_MAX];

    if (!is_file(candidate) || realpath(candidate, whole) == NULL)
        return false;
    buffer_append_text(path, whole);
    return true;
}

static int find_named(const char *named, const char *name, buffer *path, error *e)
{
    char candidate[PATH_MAX];

    if (is_folder(named)) {
        if (snprintf(candidate, sizeof candidate, "%s/%s", named, name) < (int)sizeof candidate &&
            take_file(candidate, path))
            return 0;
    } else if (text_equal(name, LIBRARY_AGENT) && take_file(named, path)) {
        return 0;
    }
    error_set(e, ERROR_NOT_FOUND, "CLARINET_LIBRARY is '%s', but there is no %s", named, name);
    return error_advise(e, "let it name the library file or its folder, or unset it");
}

int library_find(const char *name, buffer *path, error *e)
{
    static const char *const PLACES[] = {"", "../lib/clarinet/"};
    const char *named = getenv("CLARINET_LIBRARY");
    char folder[PATH_MAX];
    char candidate[PATH_MAX + 64];
    ssize_t length;

    if (named != NULL && named[0] != '\0')
        return find_named(named, name, path, e);
    length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return error_set(e, ERROR_IO, "cannot read /proc/self/exe");
    folder[length] = '\0';
    strrchr(folder, '/')[1] = '\0';
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        snprintf(candidate, sizeof candidate, "%s%s%s", folder, PLACES[i], name);
        if (take_file(candidate, path))
            return 0;
    }
    error_set(e, ERROR_NOT_FOUND, "%s is neither in %s nor in %s../lib/clarinet", name, folder,
              folder);
    return error_advise(e, "install clarinet as a whole, or set CLARINET_LIBRARY to the file");
}
