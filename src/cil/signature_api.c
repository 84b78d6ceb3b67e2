/* signature_api: see clarinet/signatures.h. The SDK's names for signatures. */
#include "clarinet/signatures.h"

#include "base/memory.h"
#include "cil/api_error.h"
#include "cil/signature.h"

clr_signature *clr_signature_create(void)
{
    clr_signature *s = memory_allocate_array(1, sizeof *s);

    if (s != NULL)
        cil_signature_init(s);
    return s;
}

void clr_signature_free(clr_signature *signature)
{
    if (signature == NULL)
        return;
    cil_signature_free(signature);
    memory_free(signature);
}

HRESULT clr_signature_read(clr_signature *signature, const void *bytes, size_t length,
                           clr_text *why)
{
    error e;

    return api_result(cil_signature_read(signature, bytes, length, &e), &e, why);
}

HRESULT clr_signature_read_type(clr_signature *signature, const void *bytes, size_t length,
                                clr_text *why)
{
    error e;

    return api_result(cil_signature_read_type(signature, bytes, length, &e), &e, why);
}

uint8_t clr_signature_convention(const clr_signature *signature)
{
    return signature->convention;
}

uint32_t clr_signature_generic_count(const clr_signature *signature)
{
    return signature->generic_count;
}

uint32_t clr_signature_count(const clr_signature *signature)
{
    return signature->count;
}

const cil_type *clr_signature_types(const clr_signature *signature, uint32_t *count)
{
    *count = signature->type_count;
    return signature->types;
}

uint32_t clr_signature_first(const clr_signature *signature)
{
    return cil_signature_first(signature);
}

uint32_t clr_signature_after(const clr_signature *signature, uint32_t type)
{
    return cil_signature_after(signature, type);
}

uint32_t clr_signature_skip_modifiers(const clr_signature *signature, uint32_t type)
{
    return cil_type_skip_modifiers(signature, type);
}

void clr_signature_type_text(const clr_signature *signature, uint32_t type,
                             void (*name)(void *context, mdToken token, clr_text *out),
                             void *context, int plain, clr_text *out)
{
    cil_type_namer namer = {name, context, plain != 0};

    cil_type_text(signature, type, &namer, out);
}

void clr_signature_write(const clr_signature *signature, clr_text *out)
{
    cil_signature_write(signature, out);
}

void clr_signature_copy_type(const clr_signature *signature, uint32_t type, clr_text *out)
{
    cil_type_copy(signature, type, out);
}

HRESULT clr_signature_append_locals(const uint8_t *old, size_t old_size, const clr_text *types,
                                    uint32_t count, clr_text *out, uint32_t *first, clr_text *why)
{
    error e;

    return api_result(cil_signature_append_locals(old, old_size, types, count, out, first, &e), &e,
                      why);
}
