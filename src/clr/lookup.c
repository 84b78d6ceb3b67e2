/*
 * lookup: see clarinet/lookup.h. Text in two calls, metadata of one row.
 *
 * Invariant: no length that the runtime reports is trusted beyond the buffer it was given; text
 * ends at the first zero inside that buffer.
 */
#include "clarinet/lookup.h"

#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"

enum { FIRST_UNITS = 256, MOST_UNITS = 1 << 20, NAME_UNITS = 1024, MOST_NESTED = 16 };

static size_t text_length(const WCHAR *units, size_t limit)
{
    size_t n = 0;

    while (n < limit && units[n] != 0)
        n++;
    return n;
}

HRESULT clr_read_string(clr_string_reader *read, void *context, clr_text *out)
{
    WCHAR first[FIRST_UNITS];
    WCHAR *units = first;
    uint32_t capacity = FIRST_UNITS;
    HRESULT hr = E_FAIL;

    for (int round = 0; round < 4; round++) {
        uint32_t length = 0;

        units[0] = 0;
        hr = read(context, units, capacity, &length);
        if (!CLR_OK(hr) && hr != CLR_E_INSUFFICIENT_BUFFER)
            break;
        if (length <= capacity && hr != CLDB_S_TRUNCATION && hr != CLR_E_INSUFFICIENT_BUFFER) {
            clr_text_append_utf16(out, units, text_length(units, length));
            hr = buffer_failed(out) ? E_OUTOFMEMORY : S_OK;
            break;
        }
        if (length >= MOST_UNITS) {
            hr = E_FAIL;
            break;
        }
        capacity = length > capacity ? length + 1 : capacity * 2;
        if (units != first)
            memory_free(units);
        units = memory_allocate(capacity * sizeof *units);
        if (units == NULL)
            return E_OUTOFMEMORY;
        hr = E_FAIL;
    }
    if (units != first)
        memory_free(units);
    return hr;
}

/* What the readers below pass on to the runtime. */
typedef struct {
    const clr_info *info;
    IMetaDataImport2 *import;
    IMetaDataAssemblyImport *assemblies;
    uintptr_t id;
    mdToken token;
    const WCHAR *name;
    uintptr_t owner;
    uint32_t flags;
    mdToken other;
    GUID *guid;
    clr_method *method;
} question;

static HRESULT read_module(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_info_get_module_info(q->info, q->id, NULL, capacity, length, units, &q->owner);
}

HRESULT clr_get_module_path(const clr_info *info, ModuleID module, clr_text *path,
                            AssemblyID *assembly)
{
    question q = {.info = info, .id = module};
    HRESULT hr = clr_read_string(read_module, &q, path);

    if (assembly != NULL)
        *assembly = hr == S_OK ? q.owner : 0;
    return hr;
}

int clr_is_module_collectible(const clr_info *info, ModuleID module)
{
    uint32_t length = 0;
    uint32_t flags = 0;

    return CLR_OK(clr_info_get_module_info2(info, module, NULL, 0, &length, NULL, NULL, &flags)) &&
           (flags & COR_PRF_MODULE_COLLECTIBLE) != 0;
}

static HRESULT read_assembly(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_info_get_assembly_info(q->info, q->id, capacity, length, units, NULL, NULL);
}

HRESULT clr_get_assembly_name(const clr_info *info, AssemblyID assembly, clr_text *name)
{
    question q = {.info = info, .id = assembly};

    return clr_read_string(read_assembly, &q, name);
}

static HRESULT read_appdomain(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_info_get_appdomain_info(q->info, q->id, capacity, length, units, NULL);
}

HRESULT clr_get_appdomain_name(const clr_info *info, AppDomainID appdomain, clr_text *name)
{
    question q = {.info = info, .id = appdomain};

    return clr_read_string(read_appdomain, &q, name);
}

static HRESULT read_environment(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_info_get_environment_variable(q->info, q->name, capacity, length, units);
}

HRESULT clr_get_environment(const clr_info *info, const char *name, clr_text *value)
{
    WCHAR units[NAME_UNITS];
    question q = {.info = info, .name = units};

    if (!clr_utf16(name, units, NAME_UNITS))
        return E_INVALIDARG;
    return clr_read_string(read_environment, &q, value);
}

HRESULT clr_get_runtime(const clr_info *info, clr_runtime *runtime)
{
    memset(runtime, 0, sizeof *runtime);
    return clr_info_get_runtime_information(info, NULL, &runtime->type, &runtime->major,
                                            &runtime->minor, &runtime->build, &runtime->revision, 0,
                                            NULL, NULL);
}

HRESULT clr_get_string_object(const clr_info *info, ObjectID object, clr_text *value)
{
    uint32_t length_offset;
    uint32_t units_offset;
    uint32_t length;
    HRESULT hr;

    if (object == 0)
        return E_POINTER;
    hr = clr_info_get_string_layout2(info, &length_offset, &units_offset);
    if (hr != S_OK)
        return hr;
    memcpy(&length, (const void *)(object + length_offset), sizeof length);
    clr_text_append_utf16(value, (const WCHAR *)(object + units_offset), length);
    return buffer_failed(value) ? E_OUTOFMEMORY : S_OK;
}

/* Opening metadata. */

static HRESULT open_metadata(const clr_info *info, ModuleID module, uint32_t flags, const GUID *iid,
                             void **out)
{
    clr_unknown *found;
    HRESULT hr = clr_info_get_module_metadata(info, module, flags, iid, &found);

    /* S_FALSE: a resource-only module has no metadata. */
    *out = hr == S_OK ? found : NULL;
    return hr == S_FALSE ? E_FAIL : hr;
}

HRESULT clr_open_import(const clr_info *info, ModuleID module, IMetaDataImport2 **import)
{
    return open_metadata(info, module, ofRead, &CLR_IID_IMetaDataImport2, (void **)import);
}

HRESULT clr_open_emit(const clr_info *info, ModuleID module, IMetaDataEmit2 **emit)
{
    return open_metadata(info, module, ofRead | ofWrite, &CLR_IID_IMetaDataEmit2, (void **)emit);
}

HRESULT clr_open_assembly_import(const clr_info *info, ModuleID module,
                                 IMetaDataAssemblyImport **import)
{
    return open_metadata(info, module, ofRead, &CLR_IID_IMetaDataAssemblyImport, (void **)import);
}

HRESULT clr_open_assembly_emit(const clr_info *info, ModuleID module, IMetaDataAssemblyEmit **emit)
{
    return open_metadata(info, module, ofRead | ofWrite, &CLR_IID_IMetaDataAssemblyEmit,
                         (void **)emit);
}

/* Rows of metadata. */

/* Runs a reader; without a text only what else it fills counts. */
static HRESULT ask(clr_string_reader *read, question *q, clr_text *name)
{
    HRESULT hr;

    if (name != NULL)
        return clr_read_string(read, q, name);
    hr = read(q, NULL, 0, NULL);
    return CLR_OK(hr) ? S_OK : hr;
}

static HRESULT read_type_def(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_import_get_type_def_props(q->import, q->token, units, capacity, length, &q->flags,
                                         &q->other);
}

HRESULT clr_get_type_def(IMetaDataImport2 *import, mdTypeDef type, clr_text *name, uint32_t *flags,
                         mdToken *extends)
{
    question q = {.import = import, .token = type};
    HRESULT hr = ask(read_type_def, &q, name);

    if (flags != NULL)
        *flags = hr == S_OK ? q.flags : 0;
    if (extends != NULL)
        *extends = hr == S_OK ? q.other : 0;
    return hr;
}

static HRESULT read_type_ref(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_import_get_type_ref_props(q->import, q->token, &q->other, units, capacity, length);
}

HRESULT clr_get_type_ref(IMetaDataImport2 *import, mdTypeRef type, clr_text *name, mdToken *scope)
{
    question q = {.import = import, .token = type};
    HRESULT hr = ask(read_type_ref, &q, name);

    if (scope != NULL)
        *scope = hr == S_OK ? q.other : 0;
    return hr;
}

static HRESULT read_method(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;
    clr_method *m = q->method;

    return clr_import_get_method_props(q->import, q->token, &m->type, units, capacity, length,
                                       &m->flags, &m->signature, &m->signature_size, &m->rva,
                                       &m->impl_flags);
}

HRESULT clr_get_method(IMetaDataImport2 *import, mdMethodDef token, clr_text *name,
                       clr_method *method)
{
    clr_method own = {0};
    question q = {.import = import, .token = token, .method = &own};
    HRESULT hr = ask(read_method, &q, name);

    if (hr != S_OK)
        memset(&own, 0, sizeof own);
    if (method != NULL)
        *method = own;
    return hr;
}

HRESULT clr_get_signature(IMetaDataImport2 *import, mdToken token, const uint8_t **signature,
                          uint32_t *size)
{
    clr_method method;
    mdToken parent = 0;
    HRESULT hr = E_INVALIDARG;

    *signature = NULL;
    *size = 0;
    switch (CLR_TOKEN_TYPE(token)) {
    case mdtMethodDef:
        hr = clr_get_method(import, token, NULL, &method);
        *signature = method.signature;
        *size = method.signature_size;
        break;
    case mdtMemberRef:
        hr = clr_import_get_member_ref_props(import, token, NULL, NULL, 0, NULL, signature, size);
        break;
    case mdtMethodSpec:
        hr = clr_import_get_method_spec_props(import, token, &parent, NULL, NULL);
        if (!CLR_OK(hr) || CLR_TOKEN_TYPE(parent) == mdtMethodSpec)
            return CLR_OK(hr) ? E_FAIL : hr;
        return clr_get_signature(import, parent, signature, size);
    case mdtFieldDef:
        hr = clr_import_get_field_props(import, token, NULL, NULL, 0, NULL, NULL, signature, size,
                                        NULL, NULL, NULL);
        break;
    case mdtSignature:
        hr = clr_import_get_sig_from_token(import, token, signature, size);
        break;
    default:
        break;
    }
    if (CLR_OK(hr) && *signature == NULL)
        hr = E_FAIL;
    return hr;
}

static HRESULT read_field(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_import_get_field_props(q->import, q->token, &q->other, units, capacity, length,
                                      &q->flags, NULL, NULL, NULL, NULL, NULL);
}

HRESULT clr_get_field(IMetaDataImport2 *import, mdFieldDef token, clr_text *name, mdTypeDef *type,
                      uint32_t *flags)
{
    question q = {.import = import, .token = token};
    HRESULT hr = ask(read_field, &q, name);

    if (type != NULL)
        *type = hr == S_OK ? q.other : 0;
    if (flags != NULL)
        *flags = hr == S_OK ? q.flags : 0;
    return hr;
}

static HRESULT read_scope(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_import_get_scope_props(q->import, units, capacity, length, q->guid);
}

HRESULT clr_get_module_identity(IMetaDataImport2 *import, clr_text *name, GUID *mvid)
{
    question q = {.import = import, .guid = mvid};

    return ask(read_scope, &q, name);
}

static HRESULT read_user_string(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;
    HRESULT hr = clr_import_get_user_string(q->import, q->token, units, capacity, length);

    /* These have no closing zero: give them one, if there is room. */
    if (CLR_OK(hr) && *length < capacity)
        units[*length] = 0;
    return hr;
}

HRESULT clr_get_user_string(IMetaDataImport2 *import, mdString token, clr_text *value)
{
    question q = {.import = import, .token = token};

    return clr_read_string(read_user_string, &q, value);
}

HRESULT clr_find_type(IMetaDataImport2 *import, const char *name, mdTypeDef enclosing,
                      mdTypeDef *type)
{
    WCHAR units[NAME_UNITS];

    *type = 0;
    if (!clr_utf16(name, units, NAME_UNITS))
        return E_INVALIDARG;
    return clr_import_find_type_def_by_name(import, units, enclosing, type);
}

/* A search that found nothing is S_OK with 0 or a failure, depending on the runtime: one answer. */
static HRESULT found(HRESULT hr, mdToken *token)
{
    if (hr == S_OK && !CLR_TOKEN_IS_NIL(*token))
        return S_OK;
    *token = 0;
    return CLR_OK(hr) ? CLDB_E_RECORD_NOTFOUND : hr;
}

HRESULT clr_find_type_path(IMetaDataImport2 *import, const char *path, mdTypeDef *type)
{
    char piece[NAME_UNITS];
    mdTypeDef enclosing = 0;

    for (;;) {
        const char *plus = strchr(path, '+');
        size_t length = plus == NULL ? strlen(path) : (size_t)(plus - path);
        HRESULT hr;

        *type = 0;
        if (length >= sizeof piece)
            return E_INVALIDARG;
        memcpy(piece, path, length);
        piece[length] = '\0';
        hr = found(clr_find_type(import, piece, enclosing, type), type);
        if (hr != S_OK || plus == NULL)
            return hr;
        enclosing = *type;
        path = plus + 1;
    }
}

static HRESULT read_assembly_ref(void *context, WCHAR *units, uint32_t capacity, uint32_t *length)
{
    question *q = context;

    return clr_assembly_import_get_assembly_ref_props(q->assemblies, q->token, NULL, NULL, units,
                                                      capacity, length, NULL, NULL, NULL, NULL);
}

HRESULT clr_get_type_ref_assembly(const clr_info *info, ModuleID module, IMetaDataImport2 *import,
                                  mdTypeRef type, clr_text *name)
{
    question q = {.token = type};
    HRESULT hr = S_OK;

    for (int depth = 0; depth < MOST_NESTED && CLR_TOKEN_TYPE(q.token) == mdtTypeRef; depth++)
        hr = clr_get_type_ref(import, q.token, NULL, &q.token);
    if (hr == S_OK)
        hr = CLR_TOKEN_TYPE(q.token) == mdtAssemblyRef
                 ? clr_open_assembly_import(info, module, &q.assemblies)
                 : CLDB_E_RECORD_NOTFOUND;
    if (hr == S_OK)
        hr = clr_read_string(read_assembly_ref, &q, name);
    clr_release(q.assemblies);
    return hr;
}

HRESULT clr_find_method(IMetaDataImport2 *import, mdTypeDef type, const char *name,
                        mdMethodDef *method)
{
    WCHAR units[NAME_UNITS];

    *method = 0;
    if (!clr_utf16(name, units, NAME_UNITS))
        return E_INVALIDARG;
    return found(clr_import_find_method(import, type, units, NULL, 0, method), method);
}

HRESULT clr_find_field(IMetaDataImport2 *import, mdTypeDef type, const char *name,
                       mdFieldDef *field)
{
    WCHAR units[NAME_UNITS];

    *field = 0;
    if (!clr_utf16(name, units, NAME_UNITS))
        return E_INVALIDARG;
    return found(clr_import_find_field(import, type, units, NULL, 0, field), field);
}
