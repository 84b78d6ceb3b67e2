/* tail_calls: see tail_calls.h. */
#include "instrumentation/tail_calls.h"

#include "base/text.h"
#include "clarinet/flags.h"
#include "clarinet/lookup.h"

enum { LONGEST_NAME = 1024 };

static uint32_t generic_method(void *context, uint32_t token)
{
    mdToken method = 0;

    return CLR_OK(clr_import_get_method_spec_props(context, token, &method, NULL, NULL)) ? method
                                                                                         : 0;
}

static uint32_t member(void *context, uint32_t token, buffer *name)
{
    WCHAR units[LONGEST_NAME];
    uint32_t length = 0;
    mdToken parent = 0;
    clr_method props;

    if (CLR_TOKEN_TYPE(token) == mdtMethodDef)
        return CLR_OK(clr_get_method(context, token, name, &props)) ? props.type : 0;
    if (!CLR_OK(clr_import_get_member_ref_props(context, token, &parent, units, LONGEST_NAME,
                                                &length, NULL, NULL)))
        return 0;
    text_append_utf16(name, (const uint16_t *)units,
                      text_utf16_length((const uint16_t *)units, LONGEST_NAME));
    return parent;
}

static bool type_spec(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    uint32_t size = 0;
    bool is_found = CLR_OK(clr_import_get_type_spec_from_token(context, token, bytes, &size));

    *length = size;
    return is_found;
}

static void add_method(tails *t, const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                       mdMethodDef method, cil_body *body)
{
    tails_metadata metadata = {import, generic_method, member, type_spec};
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    buffer name = BUFFER_EMPTY;
    clr_method props;

    if (CLR_OK(clr_info_get_il_function_body(info, module, method, &bytes, &size)) &&
        tails_may_be_in(bytes, size) && cil_decode(body, bytes, size, NULL) == 0 &&
        CLR_OK(clr_get_method(import, method, &name, &props)))
        tails_add(t, method, props.type, buffer_text(&name), body, &metadata);
    buffer_free(&name);
}

/* NULL without memory. */
static tails *read_module(const clr_info *info, ModuleID module, IMetaDataImport2 *import)
{
    tails *t = tails_new();
    cil_body body;

    if (t == NULL)
        return NULL;
    cil_body_init(&body);
    for (mdMethodDef method = mdtMethodDef | 1; clr_import_is_valid_token(import, method); method++)
        add_method(t, info, module, import, method, &body);
    cil_body_free(&body);
    if (tails_finish(t))
        return t;
    tails_free(t);
    return NULL;
}

bool tail_calls_come_back(const clr_info *info, targets *all, ModuleID module,
                          IMetaDataImport2 *import, mdMethodDef method, bool with_virtual)
{
    _Atomic(tails *) *kept = targets_tails(all, module);
    tails *known = kept == NULL ? NULL : atomic_load(kept);
    tails *none = NULL;

    if (kept == NULL)
        return true;
    if (known == NULL) {
        known = read_module(info, module, import);
        if (known == NULL)
            return true;
        if (!atomic_compare_exchange_strong(kept, &none, known)) { /* another thread was first */
            tails_free(known);
            known = none;
        }
    }
    return tails_come_back(known, method, with_virtual);
}
