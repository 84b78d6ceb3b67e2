/* spell: the texts of names (types, methods, module ids), written by the CLR adapter. */
#include <string.h>

#include "agent/names_private.h"
#include "clarinet/names.h"
#include "recording/encode.h"

void names_write_class(names *n, ClassID class_id, buffer *out)
{
    size_t before = out->length;

    if (!CLR_OK(clr_append_class(n->info, class_id, out)) || out->length == before)
        buffer_append_text(out, "(unknown)");
}

bool names_write_method(names *n, FunctionID function, buffer *name, buffer *parameters,
                        ModuleID *module, names_method *method)
{
    clr_function found;

    memset(&found, 0, sizeof found);
    if (!CLR_OK(clr_append_function(n->info, function, 0, name, parameters, &found)) ||
        name->length == 0)
        return false;
    *module = found.module;
    method->token = found.token;
    method->flags = found.dynamic ? RECORDING_METHOD_DYNAMIC : 0;
    return true;
}

uint32_t names_write_mvid(names *n, ModuleID module, uint8_t *identity)
{
    IMetaDataImport2 *import = NULL;
    GUID mvid;
    uint32_t length = 0;

    if (clr_open_import(n->info, module, &import) != S_OK)
        return 0;
    if (clr_get_module_identity(import, NULL, &mvid) == S_OK) {
        memcpy(identity, &mvid, sizeof mvid);
        length = sizeof mvid;
    }
    clr_release(import);
    return length;
}
