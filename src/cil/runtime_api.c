/* runtime_api: the part of clarinet/cil.h that asks the runtime: bodies of its methods, read,
 * checked and handed over; the signature that probes are called through. */
#include "clarinet/cil.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "cil/compressed.h"
#include "clarinet/lookup.h"
#include "clarinet/profiler.h"

#define NO_TRANSITION "System.Runtime.CompilerServices.CallConvSuppressGCTransition"

mdToken clr_cil_probe_signature(clr_emitter *emitter, uint32_t count)
{
    buffer signature = BUFFER_EMPTY;
    mdToken modifier = 0;
    mdToken token = 0;

    /* In the core library itself the type is at hand; elsewhere it is referred to. */
    if (clr_find_type(clr_emitter_import(emitter), NO_TRANSITION, 0, &modifier) != S_OK ||
        modifier == 0)
        modifier = clr_emitter_type(
            emitter, clr_emitter_assembly(emitter, "System.Private.CoreLib"), NO_TRANSITION);
    if (modifier == 0 || count > 127)
        return 0;
    buffer_append_u8(&signature, CIL_CONVENTION_UNMANAGED);
    cil_append_compressed(&signature, count);
    buffer_append_u8(&signature, CIL_TYPE_OPTIONAL);
    cil_append_compressed_token(&signature, modifier);
    buffer_append_u8(&signature, CIL_TYPE_VOID);
    buffer_append_fill(&signature, CIL_TYPE_I8, count);
    if (!buffer_failed(&signature))
        token = clr_emitter_signature(emitter, signature.data, signature.length);
    buffer_free(&signature);
    return token;
}

static HRESULT refused(HRESULT hr, const char *what, clr_text *why)
{
    char text[CLR_HRESULT_TEXT];

    if (why != NULL)
        clr_text_format(why, "the runtime refused %s (%s)", what, clr_hresult_name(hr, text));
    return CLR_OK(hr) ? E_FAIL : hr;
}

HRESULT clr_cil_read_method(clr_cil *cil, const clr_info *info, ModuleID module, mdMethodDef method,
                            clr_text *why)
{
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    HRESULT hr = clr_info_get_il_function_body(info, module, method, &bytes, &size);

    clr_cil_clear(cil);
    if (hr != S_OK)
        return refused(hr, "the method's body", why);
    return clr_cil_decode(cil, bytes, size, why);
}

static int resolve(void *context, mdToken token, const uint8_t **bytes, uint32_t *size)
{
    return CLR_OK(clr_get_signature(context, token, bytes, size));
}

/* Checks the body as one of this method, and makes room for its stack. */
static HRESULT check(clr_cil *cil, const clr_info *info, ModuleID module, mdMethodDef method,
                     clr_text *why)
{
    IMetaDataImport2 *import = NULL;
    clr_cil_method m = {NULL, 0, NULL, 0, resolve, NULL};
    uint32_t size = 0;
    uint32_t depth = 0;
    HRESULT hr = clr_open_import(info, module, &import);

    if (hr != S_OK)
        return refused(hr, "the module's metadata", why);
    m.context = import;
    hr = clr_get_signature(import, method, &m.signature, &size);
    m.signature_size = size;
    if (CLR_OK(hr) && clr_cil_locals(cil) != 0) {
        hr = clr_get_signature(import, clr_cil_locals(cil), &m.locals, &size);
        m.locals_size = size;
    }
    if (!CLR_OK(hr))
        hr = refused(hr, "the method's signature", why);
    else
        hr = clr_cil_check(cil, &m, &depth, NULL, why);
    if (hr == S_OK && depth > clr_cil_max_stack(cil))
        clr_cil_set_max_stack(cil, depth);
    clr_release(import);
    return hr;
}

HRESULT clr_cil_write_method(clr_cil *cil, const clr_info *info, ModuleID module,
                             mdMethodDef method, clr_text *why)
{
    IMethodMalloc *allocator = NULL;
    const uint8_t *bytes = NULL;
    uint8_t *room = NULL;
    size_t length = 0;
    HRESULT hr = check(cil, info, module, method, why);

    if (hr == S_OK)
        hr = clr_cil_encode(cil, 0, &bytes, &length, why);
    if (hr != S_OK)
        return hr;
    hr = clr_info_get_il_function_body_allocator(info, module, &allocator);
    if (hr != S_OK)
        return refused(hr, "memory for the new body", why);
    room = clr_method_malloc_alloc(allocator, (uint32_t)length);
    clr_release(allocator);
    if (room == NULL)
        return refused(E_OUTOFMEMORY, "memory for the new body", why);
    memcpy(room, bytes, length);
    hr = clr_info_set_il_function_body(info, module, method, room);
    return hr == S_OK ? S_OK : refused(hr, "the new body", why);
}

HRESULT clr_cil_write_rejit(clr_cil *cil, const clr_info *info, ModuleID module, mdMethodDef method,
                            ICorProfilerFunctionControl *control, clr_text *why)
{
    const uint8_t *bytes = NULL;
    cil_map_entry *entries = NULL;
    COR_IL_MAP *map = NULL;
    size_t length = 0;
    size_t count = 0;
    HRESULT hr = check(cil, info, module, method, why);

    if (hr == S_OK)
        hr = clr_cil_encode(cil, CIL_ENCODE_FAT, &bytes, &length, why);
    if (hr != S_OK)
        return hr;
    count = clr_cil_offset_map(cil, NULL, 0);
    entries = memory_allocate_array(count + 1, sizeof *entries);
    map = memory_allocate_array(count + 1, sizeof *map);
    if (entries == NULL || map == NULL) {
        hr = refused(E_OUTOFMEMORY, "memory for the map of offsets", why);
        goto out;
    }
    clr_cil_offset_map(cil, entries, count);
    for (size_t i = 0; i < count; i++)
        map[i] = (COR_IL_MAP){entries[i].old_offset, entries[i].new_offset, 1};
    hr = clr_function_control_set_il_function_body(control, (uint32_t)length, bytes);
    if (hr != S_OK) {
        hr = refused(hr, "the new body", why);
        goto out;
    }
    hr = clr_function_control_set_il_instrumented_code_map(control, (uint32_t)count, map);
    if (hr != S_OK)
        hr = refused(hr, "the map of offsets", why);
out:
    memory_free(entries);
    memory_free(map);
    return hr;
}
