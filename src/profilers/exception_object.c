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

static int is_named(IMetaDataImport2 *import, mdFieldDef field, const char *wanted)
{
    WCHAR name[NAME_UNITS] = {0};
    uint32_t length = 0;
    size_t i = 0;

    if (!CLR_OK(clr_import_get_field_props(import, field, NULL, name, NAME_UNITS, &length, NULL,
                                           NULL, NULL, NULL, NULL, NULL)))
        return 0;
    while (i < NAME_UNITS && wanted[i] != '\0' && name[i] == (WCHAR)wanted[i])
        i++;
    return i < NAME_UNITS && wanted[i] == '\0' && name[i] == 0;
}

static void find_offsets(const clr_info *info, ClassID class_id, uint32_t *message, uint32_t *inner)
{
    COR_FIELD_OFFSET fields[MAXIMUM_FIELDS];
    uint32_t count = 0;
    uint32_t size = 0;
    ModuleID module = 0;
    ClassID exception = find_exception_class(info, class_id, &module);
    IMetaDataImport2 *import = NULL;

    if (exception == 0 ||
        clr_info_get_class_layout(info, exception, fields, MAXIMUM_FIELDS, &count, &size) != S_OK)
        return;
    if (clr_open_import(info, module, &import) != S_OK)
        return;
    for (uint32_t i = 0; i < count && i < MAXIMUM_FIELDS; i++) {
        if (is_named(import, fields[i].ridOfField, "_message"))
            *message = fields[i].ulOffset;
        else if (is_named(import, fields[i].ridOfField, "_innerException"))
            *inner = fields[i].ulOffset;
    }
    clr_release(import);
}

int exception_learn(const clr_info *info, exception_layout *layout, ClassID class_id)
{
    unsigned known = atomic_load_explicit(&layout->known, memory_order_acquire);
    uint32_t length = 0;
    uint32_t start = 0;
    uint32_t message = 0;
    uint32_t inner = 0;

    if (known != NOT_ASKED)
        return known == KNOWN;
    known = NOT_TOLD;
    find_offsets(info, class_id, &message, &inner);
    if (message != 0 && clr_info_get_string_layout2(info, &length, &start) == S_OK) {
        atomic_store_explicit(&layout->message, message, memory_order_relaxed);
        atomic_store_explicit(&layout->inner, inner, memory_order_relaxed);
        atomic_store_explicit(&layout->string_length, length, memory_order_relaxed);
        atomic_store_explicit(&layout->string_start, start, memory_order_relaxed);
        known = KNOWN;
    }
    atomic_store_explicit(&layout->known, known, memory_order_release);
    return known == KNOWN;
}

/* The reference in the field at `offset`; 0 when there is none. */
static uintptr_t reference_at(exception_layout *layout, ObjectID object, atomic_uint *offset)
{
    uint32_t at = atomic_load_explicit(offset, memory_order_relaxed);
    uintptr_t reference;

    if (atomic_load_explicit(&layout->known, memory_order_acquire) != KNOWN || at == 0)
        return 0;
    memcpy(&reference, (const void *)(object + at), sizeof reference);
    return reference;
}

exception_text exception_message(exception_layout *layout, ObjectID object, size_t limit)
{
    uintptr_t string = reference_at(layout, object, &layout->message);
    exception_text text = {NULL, 0, false};
    uint32_t length;

    if (string == 0)
        return text;
    memcpy(&length, (const void *)(string + atomic_load(&layout->string_length)), sizeof length);
    text.units = (const WCHAR *)(string + atomic_load(&layout->string_start));
    text.count = length < limit ? length : limit;
    text.is_cut = length > limit;
    return text;
}

ObjectID exception_inner(exception_layout *layout, ObjectID object)
{
    return reference_at(layout, object, &layout->inner);
}
