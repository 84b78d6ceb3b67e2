/* exception_object: see exception_object.h. */
#include "profilers/exception_object.h"

#include <string.h>

#include "clarinet/lookup.h"

enum { MAXIMUM_FIELDS = 64, MAXIMUM_PARENTS = 64, NAME_UNITS = 16 };
enum { NOT_ASKED = 0, KNOWN = 1, NOT_TOLD = 2 };

/* System.Exception: the class whose parent is the root of all. */
static ClassID find_exception_class(const clr_info *info, ClassID class_id, ModuleID *module)
{
    ClassID below = 0;
    ModuleID module_below = 0;

    for (int i = 0; i < MAXIMUM_PARENTS; i++) {
        ClassID parent = 0;
        ModuleID owner = 0;
        mdTypeDef token = 0;
        uint32_t arguments = 0;

        if (!CLR_OK(clr_info_get_class_id_info2(info, class_id, &owner, &token, &parent, 0,
                                                &arguments, NULL)))
            return 0;
        if (parent == 0) {
            *module = module_below;
            return below;
        }
        below = class_id;
        module_below = owner;
        class_id = parent;
    }
    return 0;
}

static int is_message_field(IMetaDataImport2 *import, mdFieldDef field)
{
    static const WCHAR MESSAGE[] = {'_', 'm', 'e', 's', 's', 'a', 'g', 'e', 0};
    WCHAR name[NAME_UNITS] = {0};
    uint32_t length = 0;

    return CLR_OK(clr_import_get_field_props(import, field, NULL, name, NAME_UNITS, &length, NULL,
                                             NULL, NULL, NULL, NULL, NULL)) &&
           memcmp(name, MESSAGE, sizeof MESSAGE) == 0;
}

static uint32_t find_message_offset(const clr_info *info, ClassID class_id)
{
    COR_FIELD_OFFSET fields[MAXIMUM_FIELDS];
    uint32_t count = 0;
    uint32_t size = 0;
    uint32_t offset = 0;
    ModuleID module = 0;
    ClassID exception = find_exception_class(info, class_id, &module);
    IMetaDataImport2 *import = NULL;

    if (exception == 0 ||
        clr_info_get_class_layout(info, exception, fields, MAXIMUM_FIELDS, &count, &size) != S_OK)
        return 0;
    if (clr_open_import(info, module, &import) != S_OK)
        return 0;
    for (uint32_t i = 0; i < count && i < MAXIMUM_FIELDS && offset == 0; i++)
        if (is_message_field(import, fields[i].ridOfField))
            offset = fields[i].ulOffset;
    clr_release(import);
    return offset;
}

static unsigned learn(const clr_info *info, exception_layout *layout, ClassID class_id)
{
    uint32_t length = 0;
    uint32_t start = 0;
    uint32_t message = find_message_offset(info, class_id);
    unsigned known = NOT_TOLD;

    if (message != 0 && clr_info_get_string_layout2(info, &length, &start) == S_OK) {
        atomic_store_explicit(&layout->message, message, memory_order_relaxed);
        atomic_store_explicit(&layout->string_length, length, memory_order_relaxed);
        atomic_store_explicit(&layout->string_start, start, memory_order_relaxed);
        known = KNOWN;
    }
    atomic_store_explicit(&layout->known, known, memory_order_release);
    return known;
}

size_t exception_read_message(const clr_info *info, exception_layout *layout, ClassID class_id,
                              ObjectID object, WCHAR *units, size_t room)
{
    unsigned known = atomic_load_explicit(&layout->known, memory_order_acquire);
    uintptr_t string;
    uint32_t length;

    if (known == NOT_ASKED)
        known = learn(info, layout, class_id);
    if (known != KNOWN)
        return 0;
    memcpy(&string, (const void *)(object + atomic_load(&layout->message)), sizeof string);
    if (string == 0)
        return 0;
    memcpy(&length, (const void *)(string + atomic_load(&layout->string_length)), sizeof length);
    if (length > room)
        length = (uint32_t)room;
    memcpy(units, (const void *)(string + atomic_load(&layout->string_start)),
           length * sizeof *units);
    return length;
}
