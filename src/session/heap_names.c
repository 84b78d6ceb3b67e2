/* heap_names: see heap_names.h. */
#include "session/heap_names.h"

#include "session/assemblies.h"

static void take(void *context, const void *bytes, size_t length)
{
    type_index_add(context, bytes, length);
}

static const char *nested(void *context, const char *home, uint32_t token)
{
    return type_index_nested(context, home, token);
}

static void classes_of_statics(void *context, const static_told *told, const char **classes,
                               size_t count)
{
    type_index *index = context;

    static_fields_name(&index->statics, told, classes, count);
}

import_namer heap_names_read(type_index *index, int process_id)
{
    type_index_init(index);
    assemblies_each(process_id, NULL, take, index);
    return (import_namer){index, nested, classes_of_statics, &index->fields};
}
