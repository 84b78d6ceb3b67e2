/* instrument_tails: see instrument_tails.h. */
#include "cli/instrument_tails.h"

static uint32_t generic_method(void *context, uint32_t token)
{
    const assembly *a = context;

    return metadata_token(&a->tables, METADATA_METHOD_SPEC, token & 0xFFFFFF, 0);
}

static uint32_t member(void *context, uint32_t token, buffer *name)
{
    const assembly *a = context;
    uint32_t row = token & 0xFFFFFF;

    if (token >> 24 == METADATA_METHOD_DEF) {
        buffer_append_text(
            name, metadata_cell_string(&a->tables, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME));
        return (uint32_t)METADATA_TYPE_DEF << 24 | assembly_method_type(a, row);
    }
    buffer_append_text(
        name, metadata_cell_string(&a->tables, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_NAME));
    return metadata_token(&a->tables, METADATA_MEMBER_REF, row, METADATA_MEMBER_REF_PARENT);
}

static bool type_spec(void *context, uint32_t token, const uint8_t **bytes, size_t *length)
{
    metadata_span span = assembly_signature(context, token);

    *bytes = span.data;
    *length = span.length;
    return span.data != NULL;
}

tails *instrument_tails_read(const assembly *a, error *e)
{
    tails_metadata source = {(void *)(uintptr_t)a, generic_method, member, type_spec};
    tails *t = tails_new();
    cil_body body;

    cil_body_init(&body);
    for (uint32_t row = 1; t != NULL && row <= metadata_rows(&a->tables, METADATA_METHOD_DEF);
         row++) {
        pe_span code = assembly_body(a, row);

        if (code.data != NULL && cil_decode(&body, code.data, code.length, NULL) == 0 &&
            tails_may_be_in(code.data, body.size))
            tails_add(
                t, (uint32_t)METADATA_METHOD_DEF << 24 | row,
                (uint32_t)METADATA_TYPE_DEF << 24 | assembly_method_type(a, row),
                metadata_cell_string(&a->tables, METADATA_METHOD_DEF, row, METADATA_METHOD_NAME),
                &body, &source);
    }
    cil_body_free(&body);
    if (t == NULL || !tails_finish(t)) {
        tails_free(t);
        error_set(e, ERROR_MEMORY, "no memory for the tail calls of an assembly");
        return NULL;
    }
    return t;
}
