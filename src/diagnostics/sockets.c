/* sockets: see sockets.h. */
#include "diagnostics/sockets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

static const char PREFIX[] = "dotnet-diagnostic-";

static void list_entries(sockets_cache *cache, sockets_folder *folder, int descriptor);

void sockets_free(sockets_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        memory_free(cache->folders[i].entries);
    memory_free(cache->folders);
    memset(cache, 0, sizeof *cache);
}

bool sockets_parse_name(const char *name, int *inner_pid, uint64_t *start_ticks)
{
    unsigned long pid;
    char *end;

    if (!text_starts_with(name, PREFIX))
        return false;
    name += sizeof PREFIX - 1;
    if (!isdigit((unsigned char)*name))
        return false;
    pid = strtoul(name, &end, 10);
    if (*end != '-' || pid == 0 || pid > INT32_MAX || !isdigit((unsigned char)end[1]))
        return false;
    *inner_pid = (int)pid;
    *start_ticks = strtoull(end + 1, &end, 10);
    return text_equal(end, "-socket");
}

sockets_folder *sockets_list(sockets_cache *cache, const char *root, const char *path)
{
    char inside[sizeof cache->folders->path + 2];
    sockets_folder *grown;
    sockets_folder *folder;
    const char *rest;
    struct stat status;
    size_t length = strlen(path);
    int descriptor;

    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof cache->folders->path || path[0] != '/')
        return NULL;
    snprintf(inside, sizeof inside, "%.*s/", (int)length, path);
    descriptor = ipc_open_folder(root, inside, &rest);
    if (descriptor < 0) {
        cache->out_of_files |= errno == EMFILE || errno == ENFILE;
        return NULL;
    }
    if (fstat(descriptor, &status) != 0) {
        close(descriptor);
        return NULL;
    }
    for (size_t i = 0; i < cache->count; i++) {
        if (cache->folders[i].device == status.st_dev && cache->folders[i].inode == status.st_ino) {
            close(descriptor);
            return &cache->folders[i];
        }
    }
    grown = memory_resize(cache->folders, (cache->count + 1) * sizeof *grown);
    if (grown == NULL) {
        close(descriptor);
        return NULL;
    }
    cache->folders = grown;
    folder = &grown[cache->count++];
    memset(folder, 0, sizeof *folder);
    folder->device = status.st_dev;
    folder->inode = status.st_ino;
    snprintf(folder->root, sizeof folder->root, "%s", root);
    snprintf(folder->path, sizeof folder->path, "%.*s", (int)length, path);
    list_entries(cache, folder, descriptor);
    close(descriptor);
    return folder;
}

static void list_entries(sockets_cache *cache, sockets_folder *folder, int descriptor)
{
    int readable = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = readable < 0 ? NULL : fdopendir(readable);
    const struct dirent *entry;

    if (listing == NULL) {
        cache->out_of_files |= errno == EMFILE || errno == ENFILE;
        if (readable >= 0)
            close(readable);
        return;
    }
    while ((entry = readdir(listing)) != NULL) {
        sockets_entry found = {0};
        sockets_entry *grown;

        if (strlen(entry->d_name) >= sizeof found.name ||
            !sockets_parse_name(entry->d_name, &found.inner_pid, &found.start_ticks))
            continue;
        grown = memory_resize(folder->entries, (folder->count + 1) * sizeof *grown);
        if (grown == NULL)
            break;
        folder->entries = grown;
        strcpy(found.name, entry->d_name);
        found.socket = entry->d_type == DT_SOCK;
        folder->entries[folder->count++] = found;
    }
    closedir(listing);
}

sockets_entry *sockets_find(sockets_folder *folder, int inner_pid, uint64_t start_ticks)
{
    for (size_t i = 0; folder != NULL && i < folder->count; i++) {
        sockets_entry *entry = &folder->entries[i];

        if (entry->inner_pid == inner_pid &&
            (start_ticks == 0 || entry->start_ticks == start_ticks)) {
            entry->taken = true;
            return entry;
        }
    }
    return NULL;
}

/* A temporary folder may hold thousands of them: the folder is opened once, and a socket that was
 * refused serves for the next. */
void sockets_mark_stale(sockets_folder *folder)
{
    struct sockaddr_un target = {.sun_family = AF_UNIX};
    char inside[sizeof folder->path + 2];
    const char *rest;
    int descriptor;
    int probe = -1;

    snprintf(inside, sizeof inside, "%s/", folder->path[1] == '\0' ? "" : folder->path);
    descriptor = ipc_open_folder(folder->root, inside, &rest);
    for (size_t i = 0; descriptor >= 0 && i < folder->count; i++) {
        sockets_entry *entry = &folder->entries[i];

        if (entry->taken || !entry->socket)
            continue;
        if (probe < 0 &&
            (probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
            break;
        snprintf(target.sun_path, sizeof target.sun_path, "/proc/self/fd/%d/%s", descriptor,
                 entry->name);
        if (connect(probe, (const struct sockaddr *)&target, sizeof target) == 0) {
            close(probe);
            probe = -1;
        } else {
            entry->stale = errno == ECONNREFUSED;
        }
    }
    if (probe >= 0)
        close(probe);
    if (descriptor >= 0)
        close(descriptor);
}

void sockets_address(const sockets_folder *folder, const sockets_entry *entry, ipc_address *address)
{
    snprintf(address->root, sizeof address->root, "%s", folder->root);
    snprintf(address->path, sizeof address->path, "%s/%s",
             folder->path[1] == '\0' ? "" : folder->path, entry->name);
}
