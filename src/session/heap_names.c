/* heap_names: see heap_names.h. */
#include "session/heap_names.h"

#include "session/assemblies.h"

static void take(void *context, const void *bytes, size_t length)
{
    type_index_add(context, bytes, length);
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
    type_index_init(index);
    assemblies_each(process_id, NULL, take, index);
    return (import_namer){index, nested, class_of_static};
}
