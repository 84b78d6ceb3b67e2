/* assemblies: see assemblies.h. */
#include "session/assemblies.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "diagnostics/maps.h"
#include "diagnostics/procfs.h"
#include "symbols/root.h"

enum { MOST_MAPS = 16 << 20, MOST_BYTES = 64 << 20, PATH_ROOM = 4096 };

typedef struct {
    root root;
    bool (*wanted)(const char *path);
    void (*found)(void *context, const void *bytes, size_t length);
    void *context;
} search;

static void take(void *context, const char *path, size_t length)
{
    search *s = context;
    buffer bytes = BUFFER_EMPTY;
    char whole[PATH_ROOM];

    if (length >= sizeof whole)
        return;
    memcpy(whole, path, length);
    whole[length] = '\0';
    if ((s->wanted == NULL || s->wanted(whole)) &&
        root_read(&s->root, whole, MOST_BYTES, &bytes) == 0)
        s->found(s->context, bytes.data, bytes.length);
    buffer_free(&bytes);
}

void assemblies_each(int process_id, bool (*wanted)(const char *path),
                     void (*found)(void *context, const void *bytes, size_t length), void *context)
{
    search s = {.wanted = wanted, .found = found, .context = context};
    buffer maps = BUFFER_EMPTY;
    char folder[64];

    if (procfs_read(process_id, "maps", MOST_MAPS, &maps) == 0) {
        snprintf(folder, sizeof folder, "/proc/%d/root", process_id);
        root_open(&s.root, folder);
        maps_each_assembly(&maps, take, &s);
        root_close(&s.root);
    }
    buffer_free(&maps);
}
