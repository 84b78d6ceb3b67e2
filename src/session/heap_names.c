/* heap_names: see heap_names.h. */
#include "session/heap_names.h"

#include <stdio.h>
#include <string.h>

#include "diagnostics/maps.h"
#include "diagnostics/procfs.h"
#include "symbols/root.h"

enum { MOST_MAPS = 16 << 20, MOST_BYTES = 64 << 20, PATH_ROOM = 4096 };

typedef struct {
    root root;
    type_index *index;
} work;

static void take_assembly(void *context, const char *path, size_t length)
{
    work *w = context;
    buffer bytes = BUFFER_EMPTY;
    char whole[PATH_ROOM];

    if (length >= sizeof whole)
        return;
    memcpy(whole, path, length);
    whole[length] = '\0';
    if (root_read(&w->root, whole, MOST_BYTES, &bytes) == 0)
        type_index_add(w->index, bytes.data, bytes.length);
    buffer_free(&bytes);
}

static const char *nested(void *context, const char *assembly, uint32_t token)
{
    return type_index_nested(context, assembly, token);
}

static const char *class_of_static(void *context, const char *field)
{
    return type_index_static(context, field);
}

import_namer heap_names_read(type_index *index, int process_id)
{
    work w = {.index = index};
    buffer maps = BUFFER_EMPTY;
    char folder[64];

    type_index_init(index);
    if (procfs_read(process_id, "maps", MOST_MAPS, &maps) == 0) {
        snprintf(folder, sizeof folder, "/proc/%d/root", process_id);
        root_open(&w.root, folder);
        maps_each_assembly(&maps, take_assembly, &w);
        root_close(&w.root);
    }
    buffer_free(&maps);
    return (import_namer){index, nested, class_of_static};
}
