/* newcomers: see newcomers.h. */
#include "session/newcomers.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/dotnet_host.h"
#include "diagnostics/procfs.h"

enum { YOUNG_SECONDS = 5, ENVIRONMENT_LIMIT = 4 << 20, ARGUMENTS_LIMIT = 64 << 10 };

static bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool carries(int process_id, const char *name, const char *value)
{
    buffer environment = BUFFER_EMPTY;
    const char *found = NULL;
    bool same;

    if (procfs_read(process_id, "environ", ENVIRONMENT_LIMIT, &environment) == 0)
        found = procfs_find_variable(&environment, name);
    same = found != NULL && strcmp(found, value) == 0;
    buffer_free(&environment);
    return same;
}

static bool is_sdk(int process_id)
{
    buffer arguments = BUFFER_EMPTY;
    char executable[512];
    bool answer =
        procfs_read_link(process_id, "exe", executable, sizeof executable) &&
        procfs_read(process_id, "cmdline", ARGUMENTS_LIMIT, &arguments) == 0 &&
        dotnet_host_is_sdk(executable, buffer_text(&arguments), arguments.length, file_exists);

    buffer_free(&arguments);
    return answer;
}

bool newcomers_expected(const char *name, const char *value, bool sdk,
                        bool (*known)(void *context, int process_id), void *context)
{
    DIR *listing = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    while (listing != NULL && !found && (entry = readdir(listing)) != NULL) {
        int process_id = atoi(entry->d_name);
        procfs_stat stat;

        if (process_id <= 0 || !procfs_read_stat(process_id, &stat) || stat.state == 'Z' ||
            stat.state == 'X' || procfs_uptime_seconds(&stat) > YOUNG_SECONDS ||
            known(context, process_id))
            continue;
        found = carries(process_id, name, value) && (sdk || !is_sdk(process_id));
    }
    if (listing != NULL)
        closedir(listing);
    return found;
}
