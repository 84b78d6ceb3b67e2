/* emit: see emit.h. One table of texts: the kind, then what makes the row what it is. */
#include "clarinet/emit.h"

#include <stdatomic.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "clarinet/lookup.h"

struct clr_emitter {
    IMetaDataImport2 *import;
    IMetaDataEmit2 *emit;
    IMetaDataAssemblyImport *assembly_import;
    IMetaDataAssemblyEmit *assembly_emit;
    atomic_flag busy;
    table_text known;
    _Atomic(HRESULT) result;
};

typedef enum {
    ASSEMBLY = 'a',
    TYPE = 't',
    MEMBER = 'm',
    TYPE_SPEC = 's',
    METHOD_SPEC = 'g',
    SIGNATURE = 'l',
    STRING = 'u'
} row_kind;

/* What makes a row what it is. Unused parts are 0 or NULL. */
typedef struct {
    row_kind kind;
    mdToken parent;
    const char *name;
    const uint8_t *bytes;
    size_t size;
} row;

/* Finds or makes the row in the module's metadata; `units` is its name in UTF-16 with a zero. */
typedef HRESULT row_maker(clr_emitter *e, const row *r, const buffer *units, mdToken *token);

/* ---- what is known ---- */

/* Tried, never waited for: who does not get it asks the metadata, which has the row or makes one
 * more. */
static bool try_lock(clr_emitter *e)
{
    return !atomic_flag_test_and_set_explicit(&e->busy, memory_order_acquire);
}

static void unlock(clr_emitter *e)
{
    atomic_flag_clear_explicit(&e->busy, memory_order_release);
}

static void make_key(buffer *key, const row *r)
{
    buffer_append_u8(key, (uint8_t)r->kind);
    buffer_append_u32(key, r->parent);
    if (r->name != NULL)
        buffer_append(key, r->name, strlen(r->name) + 1);
    buffer_append(key, r->bytes, r->size);
}

static mdToken recall(clr_emitter *e, const buffer *key)
{
    uint64_t token = 0;

    if (!try_lock(e))
        return 0;
    table_text_get(&e->known, (const char *)key->data, key->length, &token);
    unlock(e);
    return (mdToken)token;
}

static void remember(clr_emitter *e, const buffer *key, mdToken token)
{
    if (!try_lock(e))
        return;
    table_text_put(&e->known, (const char *)key->data, key->length, token);
    unlock(e);
}

static bool to_utf16(buffer *units, const char *text)
{
    text_append_utf8_as_utf16(units, text, strlen(text));
    buffer_append_u16(units, 0);
    return !buffer_failed(units);
}

/* The row's token: the one that is known, or what `make` gives. A failure is not remembered. */
static mdToken find_or_make(clr_emitter *e, const row *r, row_maker *make)
{
    buffer key = BUFFER_EMPTY;
    buffer units = BUFFER_EMPTY;
    HRESULT hr = E_OUTOFMEMORY;
    mdToken token = 0;

    make_key(&key, r);
    if (!buffer_failed(&key))
        token = recall(e, &key);
    if (token == 0) {
        if (r->name == NULL || to_utf16(&units, r->name))
            hr = make(e, r, &units, &token);
        if (hr < 0 || token == 0) {
            e->result = hr < 0 ? hr : E_FAIL;
            token = 0;
        } else if (!buffer_failed(&key)) {
            remember(e, &key, token);
        }
    }
    buffer_free(&units);
    buffer_free(&key);
    return token;
}

/* ---- life ---- */

HRESULT clr_emitter_open(const clr_info *info, ModuleID module, clr_emitter **emitter)
{
    clr_emitter *e = memory_allocate_array(1, sizeof *e);
    HRESULT hr;

    *emitter = NULL;
    if (e == NULL)
        return E_OUTOFMEMORY;
    atomic_flag_clear(&e->busy);
    hr = clr_open_emit(info, module, &e->emit);
    if (CLR_OK(hr))
        hr = clr_open_import(info, module, &e->import);
    if (CLR_OK(hr))
        hr = clr_open_assembly_emit(info, module, &e->assembly_emit);
    if (CLR_OK(hr))
        hr = clr_open_assembly_import(info, module, &e->assembly_import);
    if (!CLR_OK(hr)) {
        clr_emitter_free(e);
        return hr;
    }
    *emitter = e;
    return S_OK;
}

void clr_emitter_free(clr_emitter *e)
{
    if (e == NULL)
        return;
    clr_release(e->import);
    clr_release(e->emit);
    clr_release(e->assembly_import);
    clr_release(e->assembly_emit);
    table_text_free(&e->known);
    memory_free(e);
}

HRESULT clr_emitter_result(const clr_emitter *e)
{
    return e->result;
}

IMetaDataImport2 *clr_emitter_import(clr_emitter *e)
{
    return e->import;
}

/* ---- rows ---- */

/* The name of an assembly reference equals `units` (which ends in a zero)? */
static bool is_named(clr_emitter *e, mdToken reference, const buffer *units)
{
    WCHAR name[512];
    uint32_t length = 0;
    ASSEMBLYMETADATA data;
    HRESULT hr;

    memset(&data, 0, sizeof data);
    hr = clr_assembly_import_get_assembly_ref_props(e->assembly_import, reference, NULL, NULL, name,
                                                    512, &length, &data, NULL, NULL, NULL);
    return CLR_OK(hr) && length * sizeof(WCHAR) == units->length &&
           memcmp(name, units->data, units->length) == 0;
}

static mdToken find_assembly(clr_emitter *e, const buffer *units)
{
    clr_enumeration enumeration = NULL;
    mdToken tokens[64];
    mdToken found = 0;
    uint32_t count = 0;

    while (found == 0 &&
           CLR_OK(clr_assembly_import_enum_assembly_refs(e->assembly_import, &enumeration, tokens,
                                                         64, &count)) &&
           count != 0) {
        for (uint32_t i = 0; i < count && found == 0; i++) {
            if (is_named(e, tokens[i], units))
                found = tokens[i];
        }
    }
    if (enumeration != NULL)
        clr_assembly_import_close_enum(e->assembly_import, enumeration);
    return found;
}

static HRESULT make_assembly(clr_emitter *e, const row *r, const buffer *units, mdToken *token)
{
    ASSEMBLYMETADATA data;

    (void)r;
    *token = find_assembly(e, units);
    if (*token != 0)
        return S_OK;
    memset(&data, 0, sizeof data);
    return clr_assembly_emit_define_assembly_ref(
        e->assembly_emit, NULL, 0, (const WCHAR *)units->data, &data, NULL, 0, 0, token);
}

mdToken clr_emitter_assembly(clr_emitter *e, const char *name)
{
    return find_or_make(e, &(row){ASSEMBLY, 0, name, NULL, 0}, make_assembly);
}

static HRESULT make_type(clr_emitter *e, const row *r, const buffer *units, mdToken *token)
{
    return clr_emit_define_type_ref_by_name(e->emit, r->parent, (const WCHAR *)units->data, token);
}

mdToken clr_emitter_type(clr_emitter *e, mdToken scope, const char *full_name)
{
    return scope == 0 ? 0 : find_or_make(e, &(row){TYPE, scope, full_name, NULL, 0}, make_type);
}

mdToken clr_emitter_core_type(clr_emitter *e, const char *full_name)
{
    return clr_emitter_type(e, clr_emitter_assembly(e, "System.Runtime"), full_name);
}

static HRESULT make_member(clr_emitter *e, const row *r, const buffer *units, mdToken *token)
{
    HRESULT hr = clr_import_find_member_ref(e->import, r->parent, (const WCHAR *)units->data,
                                            r->bytes, (uint32_t)r->size, token);

    if (CLR_OK(hr) && *token != 0)
        return hr;
    return clr_emit_define_member_ref(e->emit, r->parent, (const WCHAR *)units->data, r->bytes,
                                      (uint32_t)r->size, token);
}

mdToken clr_emitter_member(clr_emitter *e, mdToken parent, const char *name,
                           const uint8_t *signature, size_t size)
{
    return parent == 0
               ? 0
               : find_or_make(e, &(row){MEMBER, parent, name, signature, size}, make_member);
}

static HRESULT make_type_spec(clr_emitter *e, const row *r, const buffer *units, mdToken *token)
{
    (void)units;
    return clr_emit_get_token_from_type_spec(e->emit, r->bytes, (uint32_t)r->size, token);
}

mdToken clr_emitter_type_spec(clr_emitter *e, const uint8_t *signature, size_t size)
{
    return find_or_make(e, &(row){TYPE_SPEC, 0, NULL, signature, size}, make_type_spec);
}

static HRESULT make_method_spec(clr_emitter *e, const row *r, const buffer *units, mdToken *token)
{
    (void)units;
    return clr_emit_define_method_spec(e->emit, r->parent, r->bytes, (uint32_t)r->size, token);
}

mdToken clr_emitter_method_spec(clr_emitter *e, mdToken method, const uint8_t *signature,
                                size_t size)
{
    return method == 0 ? 0
                       : find_or_make(e, &(row){METHOD_SPEC, method, NULL, signature, size},
                                      make_method_spec);
}

static HRESULT make_signature(clr_emitter *e, const row *r, const buffer *units, mdToken *token)
{
    (void)units;
    return clr_emit_get_token_from_sig(e->emit, r->bytes, (uint32_t)r->size, token);
}

mdToken clr_emitter_signature(clr_emitter *e, const uint8_t *signature, size_t size)
{
    return find_or_make(e, &(row){SIGNATURE, 0, NULL, signature, size}, make_signature);
}

static HRESULT make_string(clr_emitter *e, const row *r, const buffer *units, mdToken *token)
{
    (void)r;
    return clr_emit_define_user_string(e->emit, (const WCHAR *)units->data,
                                       (uint32_t)(units->length / 2 - 1), token);
}

mdToken clr_emitter_string(clr_emitter *e, const char *text)
{
    return find_or_make(e, &(row){STRING, 0, text, NULL, 0}, make_string);
}
