/* counter_sources: see counter_sources.h. */
#include "session/counter_sources.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dotnet_host.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"
#include "clr/counter_events.h"
#include "session/assemblies.h"
#include "symbols/event_sources.h"

enum { MOST_BYTES = 64 << 20, MOST_NAMED = 32, PATH_ROOM = 4096 };

/* The frameworks' own sources are known by name. */
static bool is_own(const char *path)
{
    return strstr(path, "/shared/Microsoft.NETCore.App/") == NULL &&
           strstr(path, "/shared/Microsoft.AspNetCore.App/") == NULL;
}

static void look_into(void *context, const void *bytes, size_t length)
{
    event_sources_append(context, bytes, length);
}

/* ---- the assemblies beside a command's program ---- */

/* `dotnet Shop.dll`, `./Shop` with its Shop.dll: the folder, with a slash at its end. */
static bool find_folder(char *const *command, char *folder, size_t room)
{
    char path[PATH_ROOM];

    for (command += dotnet_host_skip_prefixes(command); *command != NULL; command++) {
        bool is_host = strchr(*command, '/') != NULL && !text_ends_with(*command, ".dll");
        char *slash;

        if (!is_host && !text_ends_with(*command, ".dll"))
            continue;
        snprintf(path, sizeof path, "%s%s", *command, is_host ? ".dll" : "");
        if (access(path, R_OK) != 0)
            continue;
        slash = strrchr(path, '/');
        if (slash == NULL)
            return snprintf(folder, room, "./") > 0;
        slash[1] = '\0';
        return (size_t)snprintf(folder, room, "%s", path) < room;
    }
    return false;
}

static void find_in_folder(const char *folder, buffer *found)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;

    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        char path[PATH_ROOM + 256];
        buffer bytes = BUFFER_EMPTY;
        error e;

        if (!text_ends_with(entry->d_name, ".dll"))
            continue;
        snprintf(path, sizeof path, "%s%s", folder, entry->d_name);
        if (is_own(path) && os_read_file(path, MOST_BYTES, &bytes, &e) == 0)
            look_into(found, bytes.data, bytes.length);
        buffer_free(&bytes);
    }
    if (listing != NULL)
        closedir(listing);
}

/* ---- the parameter ---- */

static int check(const char *list, size_t *count, error *e)
{
    const char *name;
    size_t length;

    for (*count = 0; (length = counter_next_source(&list, &name)) != 0; ++*count)
        if (length >= COUNTER_SOURCE_NAME)
            return error_set(e, ERROR_USAGE, "no event source has a name as long as '%.40s…'",
                             name);
    if (*count > MOST_NAMED) {
        error_set(e, ERROR_USAGE, "counters.sources names %zu event sources", *count);
        return error_advise(e, "name at most %d", MOST_NAMED), ERROR_USAGE;
    }
    return 0;
}

static bool has_name(const char *list, const char *wanted, size_t wanted_length)
{
    const char *name;
    size_t length;

    while ((length = counter_next_source(&list, &name)) != 0)
        if (length == wanted_length && memcmp(name, wanted, length) == 0)
            return true;
    return false;
}

/* Those that somebody named come first; what has no room is left out. */
static catalogue_selection *add(const catalogue_selection *s, size_t count, const char *found)
{
    catalogue_selection *with = memory_allocate(sizeof *with);
    const catalogue_selected *item;
    char text[CATALOGUE_MAX_TEXT];
    const char *name;
    size_t length;
    size_t used;

    if (with == NULL)
        return NULL;
    *with = *s;
    item = catalogue_selected_by_name(with, "counters");
    used = (size_t)snprintf(text, sizeof text, "%s", catalogue_text(item, "sources"));
    while (count < MOST_NAMED && (length = counter_next_source(&found, &name)) != 0) {
        if (length >= COUNTER_SOURCE_NAME || used + length + 2 > sizeof text ||
            has_name(text, name, length) || has_name(COUNTER_LIBRARIES, name, length))
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used == 0 ? "" : ",",
                                 (int)length, name);
        count++;
    }
    if (text_equal(text, catalogue_text(item, "sources")) ||
        catalogue_set(with, "counters", "sources", text, NULL) != 0) {
        memory_free(with);
        return NULL;
    }
    return with;
}

static int prepare(const catalogue_selection *s, int process_id, char *const *command,
                   catalogue_selection **with, error *e)
{
    const catalogue_selected *item = NULL;
    char folder[PATH_ROOM];
    buffer found = BUFFER_EMPTY;
    size_t count;
    int code;

    *with = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (text_equal(s->items[i].profiler->name, "counters"))
            item = &s->items[i];
    if (item == NULL)
        return 0;
    code = check(catalogue_text(item, "sources"), &count, e);
    if (code != 0 || catalogue_number(item, "find") == 0)
        return code;
    if (command == NULL)
        assemblies_each(process_id, is_own, look_into, &found);
    else if (find_folder(command, folder, sizeof folder))
        find_in_folder(folder, &found);
    if (found.length != 0)
        *with = add(s, count, buffer_text(&found));
    buffer_free(&found);
    return 0;
}

int counter_sources_of_process(const catalogue_selection *s, int process_id,
                               catalogue_selection **with, error *e)
{
    return prepare(s, process_id, NULL, with, e);
}

int counter_sources_of_command(const catalogue_selection *s, char *const *command,
                               catalogue_selection **with, error *e)
{
    return prepare(s, 0, command, with, e);
}
