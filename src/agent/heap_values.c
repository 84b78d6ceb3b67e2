/* heap_values: see heap_values.h. */
#include "agent/heap_values.h"

#include <string.h>

#include "base/buffer.h"

enum { MOST_PARENTS = 12, MOST_ARGUMENTS = 8, TASK = 0, POOLED_BOX = 1 };

/* Of the core library, each with the type nested in it that is meant: one text behind the other, as
 * pointers would need relocations. The first two are TASK and POOLED_BOX. */
static const char TYPES[] = "System.Threading.Tasks.Task\0\0"
                            "System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1\0"
                            "StateMachineBox\0"
                            "System.Threading.TimerQueueTimer\0\0"
                            "System.Threading.SemaphoreSlim\0\0"
                            "System.Threading.Thread\0\0"
                            "System.Threading.PortableThreadPool\0\0"
                            "System.Threading.ThreadPoolWorkQueue\0WorkStealingQueue\0"
                            "System.Collections.Concurrent.ConcurrentQueueSegment`1\0\0";

static const char COLLECTIONS[HEAP_VALUES_COLLECTIONS][40] = {
    "System.Collections.Generic.List`1",
    "System.Collections.Generic.Dictionary`2",
    "System.Collections.Generic.HashSet`1",
    "System.Collections.Generic.Queue`1",
};

/* Of a name with dots the last ones may stand before nested types. */
static mdTypeDef find_named(IMetaDataImport2 *import, const char *name, size_t length)
{
    char path[256];
    mdTypeDef token = 0;

    if (length == 0 || length >= sizeof path)
        return 0;
    memcpy(path, name, length);
    path[length] = '\0';
    while (clr_find_type_path(import, path, &token) != S_OK) {
        char *dot = strrchr(path, '.');

        if (dot == NULL)
            return 0;
        *dot = '+';
    }
    return token;
}

static int take_named(void *context, uintptr_t module)
{
    heap_values *v = context;
    IMetaDataImport2 *import = NULL;

    if (clr_open_import(v->info, module, &import) != S_OK)
        return 1;
    for (const char *name = v->fields; *name != '\0';) {
        size_t length = strcspn(name, ",");
        mdTypeDef token = find_named(import, name, length);

        if (token != 0 && v->named_count < HEAP_VALUES_NAMED) {
            v->named[v->named_count].module = module;
            v->named[v->named_count++].token = token;
        }
        name += length + (name[length] == ',');
    }
    clr_release(import);
    return 1;
}

bool heap_values_names(const heap_values *v, ClassID class_id)
{
    ClassID parent = 0;
    ModuleID module = 0;
    mdTypeDef token = 0;

    if (v->named_count == 0 || !CLR_OK(clr_info_get_class_id_info2(v->info, class_id, &module,
                                                                   &token, &parent, 0, NULL, NULL)))
        return false;
    for (size_t i = 0; i < v->named_count; i++)
        if (v->named[i].module == module && v->named[i].token == token)
            return true;
    return false;
}

static void find_types(heap_values *v, IMetaDataImport2 *import)
{
    const char *name = TYPES;

    for (size_t i = 0; i < HEAP_VALUES_TYPES; i++) {
        const char *nested = name + strlen(name) + 1;
        mdTypeDef outer = 0;

        if (clr_find_type(import, name, 0, &outer) == S_OK && nested[0] == '\0')
            v->tokens[i] = outer;
        else if (outer != 0)
            clr_find_type(import, nested, outer, &v->tokens[i]);
        name = nested + strlen(nested) + 1;
    }
}

static int take_module(void *context, uintptr_t module)
{
    heap_values *v = context;
    clr_text *path = clr_text_create();
    IMetaDataImport2 *import = NULL;

    if (path != NULL && clr_get_module_path(v->info, module, path, NULL) == S_OK &&
        strstr(clr_text_value(path), "System.Private.CoreLib") != NULL &&
        clr_open_import(v->info, module, &import) == S_OK) {
        v->core = module;
        for (size_t i = 0; i < HEAP_VALUES_COLLECTIONS && v->counts; i++)
            clr_find_type(import, COLLECTIONS[i], 0, &v->collections[i]);
        if (v->tasks)
            find_types(v, import);
        clr_release(import);
    }
    clr_text_free(path);
    return v->core == 0;
}

void heap_values_open(heap_values *v, const clr_info *info, bool tasks, bool counts,
                      const char *fields)
{
    memset(v, 0, sizeof *v);
    v->info = info;
    v->fields = fields;
    v->tasks = tasks;
    v->counts = counts && !tasks;
    if (tasks || counts)
        clr_each_module(info, take_module, v);
    if (fields[0] != '\0')
        clr_each_module(info, take_named, v);
}

bool heap_values_counts(const heap_values *v, ClassID class_id)
{
    ClassID parent = 0, arguments[2] = {0};
    ModuleID module = 0;
    mdTypeDef token = 0;
    uint32_t count = 0, offset;
    bool found = false;

    if (!v->counts || v->core == 0 ||
        clr_info_get_class_id_info2(v->info, class_id, &module, &token, &parent, 2, &count,
                                    arguments) != S_OK ||
        module != v->core || token == 0 || count == 0 || count > 2)
        return false;
    for (size_t i = 0; i < HEAP_VALUES_COLLECTIONS; i++)
        found = found || v->collections[i] == token;
    return found && arguments[0] != 0 &&
           clr_info_get_box_class_layout(v->info, arguments[0], &offset) == S_OK;
}

bool heap_values_wants(const heap_values *v, ClassID class_id, ClassID *machine, bool *is_apart)
{
    ClassID at = class_id, parent = 0, arguments[MOST_ARGUMENTS] = {0};

    *machine = 0;
    *is_apart = false;
    for (int i = 0; v->tasks && v->core != 0 && i < MOST_PARENTS && at != 0; i++, at = parent) {
        uint32_t count = 0, offset;
        ModuleID module = 0;
        mdTypeDef token = 0;

        if (clr_info_get_class_id_info2(v->info, at, &module, &token, &parent,
                                        i == 0 ? MOST_ARGUMENTS : 0, &count,
                                        i == 0 ? arguments : NULL) != S_OK)
            return false;
        if (i == 0 && count >= 2 && count <= MOST_ARGUMENTS)
            *machine = arguments[count - 1];
        for (unsigned k = 0; k < HEAP_VALUES_TYPES && module == v->core && token != 0; k++) {
            if (v->tokens[k] != token)
                continue;
            if (k > POOLED_BOX || i == 0)
                *machine = 0;
            *is_apart =
                *machine != 0 && clr_info_get_box_class_layout(v->info, *machine, &offset) != S_OK;
            return true;
        }
    }
    return false;
}
