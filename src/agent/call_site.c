/* call_site: see call_site.h. */
#include "agent/call_site.h"

#include <string.h>

enum {
    NAME_UNITS = 256,
    TABLE_SHIFT = 24,
    TABLE_METHOD = 0x06,
    TABLE_MEMBER_REF = 0x0a,
    TABLE_METHOD_SPEC = 0x2b,
};

/* The method that was called, and the metadata of the one that called it. */
typedef struct {
    IMetaDataImport2 *import;
    mdMethodDef token; /* 0 = in another module */
    WCHAR name[NAME_UNITS];
    uint32_t length; /* 0 = only the token counts */
} called;

static bool is_call(const cil_instruction *i)
{
    return i->opcode == CIL_CALL || i->opcode == CIL_CALLVIRT || i->opcode == CIL_NEWOBJ ||
           i->opcode == CIL_CALLI;
}

/* The first call between the map's place and the next one is the one, if it fits. If it does not,
 * it may be one that was inlined, and called on: the map may be right. A place without any call
 * cannot be: then the nearest call that fits, rather behind it than before. */
uint32_t call_site_choose(const cil_body *body, const compiled_place *place,
                          call_site_match *matches, void *context)
{
    uint32_t from = place->il_offset - 1, before = 0, behind = 0;
    bool may_be_right = false;

    for (cil_at at = cil_first(body); at != CIL_END; at = cil_get(body, at)->next) {
        const cil_instruction *i = cil_get(body, at);
        bool is_inside = i->offset >= from && i->offset < place->il_end;

        if (!is_call(i))
            continue;
        if (i->opcode == CIL_CALLI || !matches(context, i->operand.token))
            may_be_right |= is_inside && place->is_exact;
        else if (is_inside && !may_be_right)
            return i->offset + 1;
        else if (i->offset < from)
            before = i->offset + 1;
        else if (behind == 0)
            behind = i->offset + 1;
    }
    if (may_be_right || (behind == 0 && before == 0))
        return place->il_offset;
    return behind != 0 ? behind : before;
}

/* An implementation of an interface may bear the interface's name before its own. */
static uint32_t own_part(WCHAR *name, uint32_t length)
{
    uint32_t start = 0;

    for (uint32_t i = 0; i < length; i++) {
        if (name[i] == '.')
            start = i + 1;
    }
    memmove(name, name + start, (length - start) * sizeof *name);
    return length - start;
}

static bool names_the_called(void *context, uint32_t token)
{
    called *c = context;
    WCHAR name[NAME_UNITS];
    uint32_t length = 0;
    mdToken parent = 0;
    HRESULT hr = E_FAIL;

    if (token >> TABLE_SHIFT == TABLE_METHOD_SPEC &&
        clr_import_get_method_spec_props(c->import, token, &parent, NULL, NULL) == S_OK)
        token = parent;
    if (token == c->token)
        return true;
    if (c->length == 0)
        return false;
    if (token >> TABLE_SHIFT == TABLE_METHOD)
        hr = clr_import_get_method_props(c->import, token, NULL, name, NAME_UNITS, &length, NULL,
                                         NULL, NULL, NULL, NULL);
    else if (token >> TABLE_SHIFT == TABLE_MEMBER_REF)
        hr = clr_import_get_member_ref_props(c->import, token, NULL, name, NAME_UNITS, &length,
                                             NULL, NULL);
    return hr == S_OK && length == c->length + 1 &&
           memcmp(name, c->name, c->length * sizeof *name) == 0;
}

/* Name and token of the method that was called. */
static bool learn_called(const clr_info *info, FunctionID callee, ModuleID from, called *c)
{
    IMetaDataImport2 *import = NULL;
    ModuleID module = 0;
    mdMethodDef token = 0;
    uint32_t length = 0;
    bool known;

    if (clr_info_get_function_info2(info, callee, 0, NULL, &module, &token, 0, NULL, NULL) !=
            S_OK ||
        !CLR_OK(clr_open_import(info, module, &import)))
        return false;
    known = clr_import_get_method_props(import, token, NULL, c->name, NAME_UNITS, &length, NULL,
                                        NULL, NULL, NULL, NULL) == S_OK &&
            length > 1;
    clr_release(import);
    if (!known)
        return false;
    c->token = module == from ? token : 0;
    /* all constructors have one name */
    c->length = c->name[0] == '.' ? 0 : own_part(c->name, length - 1);
    return c->token != 0 || c->length != 0;
}

/* The body lies in the module's memory, which must not go away. */
static bool decode(const clr_info *info, cil_body *body, ModuleID module, mdMethodDef token)
{
    const uint8_t *bytes = NULL;
    uint32_t size = 0, length = 0, flags = 0;

    return clr_info_get_module_info2(info, module, NULL, 0, &length, NULL, NULL, &flags) == S_OK &&
           (flags & COR_PRF_MODULE_COLLECTIBLE) == 0 &&
           clr_info_get_il_function_body(info, module, token, &bytes, &size) == S_OK &&
           bytes != NULL && cil_decode(body, bytes, size, NULL) == 0;
}

uint32_t call_site_find(const clr_info *info, cil_body *body, FunctionID caller, FunctionID callee,
                        const compiled_place *place)
{
    called c = {0};
    ModuleID module = 0;
    mdMethodDef token = 0;
    uint32_t found = place->il_offset;

    if (found == 0 || callee == 0 ||
        clr_info_get_function_info2(info, caller, 0, NULL, &module, &token, 0, NULL, NULL) !=
            S_OK ||
        !learn_called(info, callee, module, &c) || !decode(info, body, module, token) ||
        !CLR_OK(clr_open_import(info, module, &c.import)))
        return found;
    found = call_site_choose(body, place, names_the_called, &c);
    clr_release(c.import);
    return found;
}
